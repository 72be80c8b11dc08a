/* Places in bins of about the reach's size. In a cell, bins divide the cell's vectors, and a bin's index beyond the cell is that
 * of a bin in the cell and a translation. So the images that may be near are found whatever the cell's shape. */
#include "near_places.h"

#include <math.h>
#include <stdlib.h>

struct near_places {
    bool periodic;
    double vectors[3][3], inverse[3][3]; /* r - origin = sum_a f_a vectors[a]; f = inverse (r - origin) */
    double origin[3];
    double spread[3]; /* the reach, as fractions along each vector */
    int64_t bins[3];
    int64_t count;
    double (*place)[3]; /* [count] in the order of bins; in a cell, the image in it */
    int64_t *index;     /* [count] of the caller's arrays */
    int64_t *first;     /* [bins + 1] */
};

static void fractions_of(const near_places *p, const double at[3], double out[3])
{
    for (int a = 0; a < 3; a++)
        out[a] = p->inverse[a][0] * (at[0] - p->origin[0]) + p->inverse[a][1] * (at[1] - p->origin[1]) +
                 p->inverse[a][2] * (at[2] - p->origin[2]);
}

static void set_vectors(near_places *p, const vf_cell *cell, int64_t count, const double *const place[3])
{
    p->periodic = cell->kind != VF_CELL_NONE;
    for (int a = 0; a < 3 && p->periodic; a++)
        for (int b = 0; b < 3; b++)
            p->vectors[a][b] = cell->vectors[a][b];
    for (int a = 0; a < 3 && !p->periodic; a++) {
        double lo = INFINITY, hi = -INFINITY;
        for (int64_t i = 0; i < count; i++) {
            lo = fmin(lo, place[a][i]);
            hi = fmax(hi, place[a][i]);
        }
        p->origin[a] = count > 0 ? lo : 0;
        p->vectors[a][a] = fmax(count > 0 ? hi - lo : 0, 1); /* not 0 */
    }
    const double(*v)[3] = p->vectors;
    const double volume = v[0][0] * (v[1][1] * v[2][2] - v[1][2] * v[2][1]) +
                          v[0][1] * (v[1][2] * v[2][0] - v[1][0] * v[2][2]) +
                          v[0][2] * (v[1][0] * v[2][1] - v[1][1] * v[2][0]);
    for (int a = 0; a < 3; a++) {
        const double *b = v[(a + 1) % 3], *c = v[(a + 2) % 3];
        for (int i = 0; i < 3; i++)
            p->inverse[a][i] = (b[(i + 1) % 3] * c[(i + 2) % 3] - b[(i + 2) % 3] * c[(i + 1) % 3]) / volume;
    }
}

static void set_bins(near_places *p, int64_t count, double reach)
{
    const double most = ceil(cbrt((double)count)) + 1; /* more bins than places serve nobody */
    for (int a = 0; a < 3; a++) {
        const double *inverse = p->inverse[a];
        p->spread[a] =
            reach * sqrt(inverse[0] * inverse[0] + inverse[1] * inverse[1] + inverse[2] * inverse[2]) * (1 + 1e-12);
        p->bins[a] = (int64_t)fmin(fmax(floor(1 / fmax(p->spread[a], 1e-9)), 1), most);
    }
}

/* The bin of a place, which is moved into the cell. */
static int64_t bin_of(const near_places *p, double place[3])
{
    double f[3];
    int64_t bin = 0;
    fractions_of(p, place, f);
    for (int a = 2; a >= 0; a--) {
        const double turns = p->periodic ? floor(f[a]) : 0;
        for (int b = 0; b < 3; b++)
            place[b] -= turns * p->vectors[a][b];
        const int64_t k = (int64_t)((f[a] - turns) * (double)p->bins[a]);
        bin = bin * p->bins[a] + (k < 0 ? 0 : k < p->bins[a] ? k : p->bins[a] - 1);
    }
    return bin;
}

static void sort(near_places *p, const double *const place[3], int64_t *bin)
{
    const int64_t bins = p->bins[0] * p->bins[1] * p->bins[2];
    for (int64_t i = 0; i < p->count; i++) {
        double at[3] = {place[0][i], place[1][i], place[2][i]};
        bin[i] = bin_of(p, at);
        p->first[bin[i] + 1]++;
    }
    for (int64_t b = 0; b < bins; b++)
        p->first[b + 1] += p->first[b];
    for (int64_t i = p->count - 1; i >= 0; i--) { /* first[b + 1] moves down to the bin's beginning */
        const int64_t to = --p->first[bin[i] + 1];
        for (int a = 0; a < 3; a++)
            p->place[to][a] = place[a][i];
        (void)bin_of(p, p->place[to]);
        p->index[to] = i;
    }
    for (int64_t b = 0; b < bins; b++)
        p->first[b] = p->first[b + 1];
    p->first[bins] = p->count;
}

vf_status near_places_create(vf_context *ctx, const vf_cell *cell, int64_t count, const double *x, const double *y,
                             const double *z, double reach, near_places **out)
{
    const double *const place[3] = {x, y, z};
    near_places *p = *out = calloc(1, sizeof *p);
    if (!p)
        return vf_fail(ctx, VF_ERR_MEMORY, "no memory for distances");
    set_vectors(p, cell, count, place);
    set_bins(p, count, reach);
    p->count = count;
    p->place = malloc((size_t)(count + 1) * sizeof *p->place);
    p->index = malloc((size_t)(count + 1) * sizeof *p->index);
    p->first = calloc((size_t)(p->bins[0] * p->bins[1] * p->bins[2] + 1), sizeof *p->first);
    int64_t *bin = malloc((size_t)(count + 1) * sizeof *bin);
    const bool enough = p->place && p->index && p->first && bin;
    if (enough)
        sort(p, place, bin);
    free(bin);
    if (enough)
        return VF_OK;
    near_places_destroy(p);
    *out = NULL;
    return vf_fail(ctx, VF_ERR_MEMORY, "no memory for the distances of %lld atoms", (long long)count);
}

void near_places_destroy(near_places *p)
{
    if (!p)
        return;
    free(p->place);
    free(p->index);
    free(p->first);
    free(p);
}

/* ---- looking ---- */

/* The bin in the cell, and how many cells away index k is. */
static int64_t wrap(int64_t k, int64_t bins, double *turns)
{
    const int64_t cells = k >= 0 ? k / bins : -((bins - 1 - k) / bins);
    *turns = (double)cells;
    return k - cells * bins;
}

static bool any_in_bin(const near_places *p, int64_t bin, const double at[3], const double *distance)
{
    for (int64_t i = p->first[bin]; i < p->first[bin + 1]; i++) {
        const double *q = p->place[i], least = distance[p->index[i]];
        const double dx = q[0] - at[0], dy = q[1] - at[1], dz = q[2] - at[2];
        if (dx * dx + dy * dy + dz * dz < least * least)
            return true;
    }
    return false;
}

bool near_places_any(const near_places *p, const double at[3], const double *distance)
{
    double f[3], here[3] = {at[0], at[1], at[2]}, turns[3];
    int64_t lo[3], hi[3], k[3], in[3];
    if (p->count == 0)
        return false;
    fractions_of(p, at, f);
    for (int a = 0; a < 3; a++) {
        const double whole = p->periodic ? floor(f[a]) : 0;
        for (int b = 0; b < 3; b++)
            here[b] -= whole * p->vectors[a][b];
        const double bins = (double)p->bins[a], last = bins - 1;
        const double from = floor((f[a] - whole - p->spread[a]) * bins),
                     to = floor((f[a] - whole + p->spread[a]) * bins);
        lo[a] = (int64_t)(p->periodic ? from : fmin(fmax(from, 0), last));
        hi[a] = (int64_t)(p->periodic ? to : fmin(fmax(to, 0), last));
    }
    for (k[2] = lo[2]; k[2] <= hi[2]; k[2]++)
        for (k[1] = lo[1]; k[1] <= hi[1]; k[1]++)
            for (k[0] = lo[0]; k[0] <= hi[0]; k[0]++) {
                double seen_from[3] = {here[0], here[1], here[2]};
                for (int a = 0; a < 3; a++) {
                    in[a] = wrap(k[a], p->bins[a], &turns[a]);
                    for (int b = 0; b < 3; b++)
                        seen_from[b] -= turns[a] * p->vectors[a][b];
                }
                if (any_in_bin(p, (in[2] * p->bins[1] + in[1]) * p->bins[0] + in[0], seen_from, distance))
                    return true;
            }
    return false;
}
