/* Gradients of image series, thresholds and norms of vector fields (differences.h). A thread has a voxel. */
typedef struct stencil_term {
    char input, axis, shift, inside;
    float scale;
} stencil_term;

/* As in differences_backend.h: `outputs` lists of terms. */
typedef struct stencil {
    int outputs, terms[OUTPUTS];
    stencil_term term[OUTPUTS][TERMS];
    long counts[4], voxels;
} stencil;

kernel void apply_stencil(stencil of, ARRAY(const REAL2, in), ARRAY(REAL2, out))
{
    OPEN(const REAL2, in);
    OPEN(REAL2, out);
    const LONG n = get_global_id(0);
    if (n >= of.voxels)
        return;
    for (int o = 0; o < of.outputs; o++) {
        REAL2 sum = (REAL2)(0, 0);
        for (int t = 0; t < of.terms[o]; t++) {
            const stencil_term term = of.term[o][t];
            LONG step = 1;
            for (int a = 0; a < term.axis; a++)
                step *= of.counts[a];
            const LONG place = n / step % of.counts[term.axis] + term.inside;
            if (place >= 0 && place < of.counts[term.axis])
                sum += (REAL)term.scale * in[term.input * of.voxels + n + term.shift * step];
        }
        out[o * of.voxels + n] = sum;
    }
}

/* Lengths are in double precision where a device has it; else numbers are scaled, so that squares neither overflow nor vanish. */
#if defined(REAL_IS_DOUBLE) || defined(HAVE_DOUBLE)
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef double WIDE;
#else
typedef float WIDE;
#define NARROW
#endif

typedef struct group_field {
    long groups, n;
    WIDE threshold, weights[MOST_GROUPS];
} group_field;

/* r(i) */
static inline WIDE length_at(const group_field *f, global const REAL2 *v, LONG i)
{
    WIDE sum = 0;
    int power = 0;
#ifdef NARROW
    float most = 0;
    for (LONG g = 0; g < f->groups; g++)
        most = fmax(most, fmax(fabs(v[g * f->n + i].x), fabs(v[g * f->n + i].y)));
    power = most > 0 && isfinite(most) ? ilogb(most) : 0;
#endif
    for (LONG g = 0; g < f->groups; g++) {
        const REAL2 x = v[g * f->n + i];
#ifdef NARROW
        const WIDE re = ldexp(x.x, -power), im = ldexp(x.y, -power);
#else
        const WIDE re = x.x, im = x.y;
#endif
        sum += f->weights[g] * (re * re + im * im);
    }
    return ldexp(sqrt(sum), power);
}

/* v and z may be the same: a thread reads all that it overwrites. */
kernel void soften(group_field f, ARRAY(const REAL2, v), ARRAY(REAL2, z))
{
    OPEN(const REAL2, v);
    OPEN(REAL2, z);
    const LONG i = get_global_id(0);
    if (i >= f.n)
        return;
    const WIDE r = length_at(&f, v, i), factor = r <= f.threshold ? 0 : 1 - f.threshold / r; /* a NaN stays */
    for (LONG g = 0; g < f.groups; g++) {
        const REAL2 x = v[g * f.n + i];
        z[g * f.n + i] = (REAL2)((REAL)(factor * x.x), (REAL)(factor * x.y));
    }
}

/* Each thread adds up the lengths of every so many points, in parts that REAL holds. */
kernel void sum_lengths(group_field f, LONG threads, ARRAY(const REAL2, v), ARRAY(partial_sum, sums))
{
    OPEN(const REAL2, v);
    OPEN(partial_sum, sums);
    const LONG first = get_global_id(0);
    if (first >= threads)
        return;
    partial_sum sum = no_sum();
    for (LONG i = first; i < f.n; i += threads) {
        WIDE rest = length_at(&f, v, i);
        for (int part = 0; part < (int)(sizeof(WIDE) / sizeof(REAL)) + 1; part++) {
            const REAL now = (REAL)rest;
            add_number(&sum, now);
            rest = isfinite(now) ? rest - now : 0;
        }
    }
    sums[first] = sum;
}
