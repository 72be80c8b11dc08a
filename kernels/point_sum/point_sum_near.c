/* Charges in bins, and the rows of bins within reach of a point. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/variants.h"
#include "point_sum_internal.h"

enum { BINS_OF_REACH = 3 };

/* Charges and images as they are found. */
typedef struct found {
    int64_t count, capacity;
    double (*at)[4];
    double charge;
    bool failed;
} found;

static void take(void *user, const double image[3])
{
    found *f = user;
    if (f->count == f->capacity) {
        const int64_t capacity = f->capacity + f->capacity / 2 + 1024;
        double(*larger)[4] = f->failed ? NULL : realloc(f->at, (size_t)capacity * sizeof *larger);
        f->failed = !larger;
        if (f->failed)
            return;
        f->at = larger;
        f->capacity = capacity;
    }
    memcpy(f->at[f->count], image, 3 * sizeof *image);
    f->at[f->count++][3] = f->charge;
}

static int64_t bin_along(const point_near *n, int axis, double x)
{
    const double bin = floor((x - n->lo[axis]) / n->edge);
    return bin > 0 ? (bin < (double)n->bins[axis] ? (int64_t)bin : n->bins[axis] - 1) : 0;
}

static int64_t bin_of(const point_near *n, const double at[4])
{
    return (bin_along(n, 2, at[2]) * n->bins[1] + bin_along(n, 1, at[1])) * n->bins[0] + bin_along(n, 0, at[0]);
}

/* Bins of a third of the reach, or larger ones if they would be many more than the charges. */
static void lay_bins(const double lo[3], const double hi[3], int64_t charges, point_near *n)
{
    double all;
    n->edge = n->reach / BINS_OF_REACH;
    do {
        all = 1;
        for (int a = 0; a < 3; a++) {
            n->lo[a] = lo[a] - n->reach;
            all *= ceil((hi[a] - lo[a] + 2 * n->reach) / n->edge) + 1;
        }
        n->edge *= all > 4.0 * (double)charges + 4096 ? 1.25 : 1;
    } while (all > 4.0 * (double)charges + 4096);
    for (int a = 0; a < 3; a++)
        n->bins[a] = (int64_t)ceil((hi[a] - lo[a] + 2 * n->reach) / n->edge) + 1;
}

static bool sort(const found *f, point_near *n)
{
    const int64_t bins = n->bins[0] * n->bins[1] * n->bins[2], room = f->count + POINT_PADDING;
    n->count = f->count;
    n->first = calloc((size_t)bins + 2, sizeof *n->first);
    n->data = calloc((size_t)room * 4, sizeof *n->data);
    if (!n->first || !n->data)
        return false;
    for (int64_t i = 0; i < f->count; i++)
        n->first[bin_of(n, f->at[i]) + 2]++;
    for (int64_t b = 0; b < bins; b++)
        n->first[b + 2] += n->first[b + 1];
    for (int64_t i = 0; i < f->count; i++) {
        const int64_t place = n->first[bin_of(n, f->at[i]) + 1]++;
        for (int a = 0; a < 4; a++)
            n->data[a * room + place] = f->at[i][a];
    }
    return true;
}

vf_status point_near_make(vf_context *ctx, const vf_cell *cell, const vf_coulomb_atoms *charges, const double lo[3],
                          const double hi[3], point_near *n)
{
    static const point_simd *const sets[] = {&point_simd_baseline, &point_simd_avx2, &point_simd_avx512};
    double from[3], to[3];
    found f = {0};
    n->simd = sets[vf_cpu_isa()];
    n->reach = 0;
    for (int l = 0; l < n->laws; l++)
        n->reach = fmax(n->reach, n->law[l].cutoff);
    for (int a = 0; a < 3; a++) {
        from[a] = lo[a] - n->reach;
        to[a] = hi[a] + n->reach;
    }
    for (int64_t i = 0; i < charges->count && !f.failed; i++) {
        const double r[3] = {charges->x[i], charges->y[i], charges->z[i]};
        bool inside = true;
        f.charge = charges->charge[i];
        for (int a = 0; a < 3; a++)
            inside = inside && r[a] > from[a] && r[a] < to[a];
        if (cell->kind != VF_CELL_NONE)
            vf_cell_images(cell, r, from, to, take, &f);
        else if (inside)
            take(&f, r);
        if (i % 65536 == 0 && vf_cancelled(ctx))
            break;
    }
    lay_bins(lo, hi, f.count, n);
    const bool sorted = !f.failed && sort(&f, n);
    free(f.at);
    if (!sorted)
        return vf_fail(ctx, VF_ERR_MEMORY, "sum at points: not enough memory to sort %lld charges",
                       (long long)charges->count);
    return vf_cancelled(ctx) ? vf_fail(ctx, VF_ERR_CANCELLED, "interrupted") : VF_OK;
}

void point_near_free(point_near *n)
{
    free(n->first);
    free(n->data);
    n->first = NULL;
    n->data = NULL;
}

/* The distance along an axis from x to a bin. */
static double outside_bin(const point_near *n, int axis, int64_t bin, double x)
{
    const double lo = n->lo[axis] + n->edge * (double)bin;
    return x < lo ? lo - x : x > lo + n->edge ? x - lo - n->edge : 0;
}

/* A law at a point: adds the charges in the rows of bins that come within its cutoff. Charges at the rim of a bin may lie a
 * rounding error outside; the law is 0 there. */
static void add_rows(const point_near *n, const point_law *law, const double at[3], bool fields, double out[4])
{
    const int64_t room = n->count + POINT_PADDING;
    const point_charges charges = {n->data, n->data + room, n->data + 2 * room, n->data + 3 * room};
    const double cutoff = law->cutoff;
    int64_t range[POINT_ROWS][2];
    int rows = 0;
    for (int64_t z = bin_along(n, 2, at[2] - cutoff); z <= bin_along(n, 2, at[2] + cutoff); z++)
        for (int64_t y = bin_along(n, 1, at[1] - cutoff); y <= bin_along(n, 1, at[1] + cutoff); y++) {
            const double dz = outside_bin(n, 2, z, at[2]), dy = outside_bin(n, 1, y, at[1]);
            const double rest = cutoff * cutoff - dz * dz - dy * dy;
            if (!(rest > 0))
                continue;
            const int64_t row = (z * n->bins[1] + y) * n->bins[0];
            range[rows][0] = n->first[row + bin_along(n, 0, at[0] - sqrt(rest))];
            range[rows][1] = n->first[row + bin_along(n, 0, at[0] + sqrt(rest)) + 1];
            rows += range[rows][1] > range[rows][0];
            if (rows < POINT_ROWS)
                continue;
            n->simd->near(law, &charges, rows, (const int64_t(*)[2])range, at, fields, out);
            rows = 0;
        }
    n->simd->near(law, &charges, rows, (const int64_t(*)[2])range, at, fields, out);
}

void point_near_add(const point_near *n, const double at[3], bool fields, double out[4])
{
    for (int l = 0; l < n->laws; l++)
        add_rows(n, &n->law[l], at, fields, out);
}
