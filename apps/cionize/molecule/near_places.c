/* Places in bins. In a cell, bins divide the cell's vectors, and a bin's index beyond the cell is that of a bin in the cell and a
 * translation. So the images that may be near are found whatever the cell's shape. Bins are about a quarter of the reach thick, so that
 * little is looked at outside of the sphere, but hold a place or two of a molecule at least. A search looks into the bins that the sphere
 * may touch, the nearest first, until it finds a place near enough. */
#include "near_places.h"

#include <math.h>
#include <stdlib.h>

static const double LEAST_EDGE = 2.5; /* angstrom: one or two atoms */
enum { EDGES = 4 };                   /* in the reach */

/* From the bin of a point to another one that may have places near it. */
typedef struct near_bin {
    int64_t at[3];
    double least; /* no distance between the two bins is smaller; angstrom */
} near_bin;

struct near_places {
    bool periodic;
    double vectors[3][3], inverse[3][3]; /* r - origin = sum_a f_a vectors[a]; f = inverse (r - origin) */
    double origin[3];
    int64_t bins[3];
    double thick[3]; /* of a bin: between its faces across each vector, angstrom */
    near_bin *near;  /* [near_bins] the nearest first */
    int64_t near_bins;
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

static double norm(const double v[3])
{
    return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

/* Not many more bins than places. */
static void set_bins(near_places *p, int64_t count, double reach)
{
    double edge = fmax(reach / EDGES, LEAST_EDGE) / 1.26, total;
    do {
        edge *= 1.26;
        total = 1;
        for (int a = 0; a < 3; a++)
            total *= fmax(floor(1 / norm(p->inverse[a]) / edge), 1);
    } while (total > 8 * (double)count + 1000);
    for (int a = 0; a < 3; a++) {
        p->bins[a] = (int64_t)fmax(floor(1 / norm(p->inverse[a]) / edge), 1);
        p->thick[a] = 1 / norm(p->inverse[a]) / (double)p->bins[a];
    }
}

static int by_distance(const void *left, const void *right)
{
    const double a = ((const near_bin *)left)->least, b = ((const near_bin *)right)->least;
    return (a > b) - (a < b);
}

/* Lists the bins within the reach. Between layers of bins that are not neighbours lie whole layers; the distance is at least as large
 * along each of the three directions. */
static bool list_near(near_places *p, double reach)
{
    int64_t most[3], room = 1;
    const double within = reach * (1 + 1e-9);
    for (int a = 0; a < 3; a++) {
        const double layers = ceil(within / p->thick[a]) + 1, last = (double)p->bins[a] - 1;
        most[a] = (int64_t)(p->periodic ? layers : fmin(layers, last));
        room *= 2 * most[a] + 1;
    }
    p->near = malloc((size_t)room * sizeof *p->near);
    for (int64_t z = -most[2]; p->near && z <= most[2]; z++)
        for (int64_t y = -most[1]; y <= most[1]; y++)
            for (int64_t x = -most[0]; x <= most[0]; x++) {
                near_bin bin = {.at = {x, y, z}};
                for (int a = 0; a < 3; a++)
                    bin.least = fmax(bin.least, ((double)llabs(bin.at[a]) - 1) * p->thick[a]);
                if (bin.least <= within)
                    p->near[p->near_bins++] = bin;
            }
    if (p->near)
        qsort(p->near, (size_t)p->near_bins, sizeof *p->near, by_distance);
    return p->near != NULL;
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
    if (p->periodic) /* no point is farther from the nearest image of a place */
        reach = fmin(reach, (norm(p->vectors[0]) + norm(p->vectors[1]) + norm(p->vectors[2])) / 2 * (1 + 1e-9));
    set_bins(p, count, reach);
    p->count = count;
    p->place = malloc((size_t)(count + 1) * sizeof *p->place);
    p->index = malloc((size_t)(count + 1) * sizeof *p->index);
    p->first = calloc((size_t)(p->bins[0] * p->bins[1] * p->bins[2] + 1), sizeof *p->first);
    int64_t *bin = malloc((size_t)(count + 1) * sizeof *bin);
    const bool enough = p->place && p->index && p->first && bin && list_near(p, reach);
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
    free(p->near);
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

/* The bin of `at`; in a cell, that of its image `here` in the cell, otherwise the nearest to it. */
static void find_home(const near_places *p, const double at[3], double here[3], int64_t home[3])
{
    double f[3];
    fractions_of(p, at, f);
    for (int a = 0; a < 3; a++)
        here[a] = at[a];
    for (int a = 0; a < 3; a++) {
        const double whole = p->periodic ? floor(f[a]) : 0;
        for (int b = 0; b < 3; b++)
            here[b] -= whole * p->vectors[a][b];
        home[a] = (int64_t)fmin(fmax(floor((f[a] - whole) * (double)p->bins[a]), 0), (double)p->bins[a] - 1);
    }
}

bool near_places_any(const near_places *p, const double at[3], const double *distance)
{
    double here[3], turns[3];
    int64_t home[3], in[3];
    if (p->count == 0)
        return false;
    find_home(p, at, here, home);
    for (int64_t n = 0; n < p->near_bins; n++) {
        double seen_from[3] = {here[0], here[1], here[2]};
        bool inside = true;
        for (int a = 0; a < 3; a++) {
            in[a] = home[a] + p->near[n].at[a];
            inside &= p->periodic || (in[a] >= 0 && in[a] < p->bins[a]);
            if (!p->periodic)
                continue;
            in[a] = wrap(in[a], p->bins[a], &turns[a]);
            for (int b = 0; b < 3; b++)
                seen_from[b] -= turns[a] * p->vectors[a][b];
        }
        if (inside && any_in_bin(p, (in[2] * p->bins[1] + in[1]) * p->bins[0] + in[0], seen_from, distance))
            return true;
    }
    return false;
}
