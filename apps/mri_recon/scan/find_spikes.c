/* Finds samples that no object can have.
 *
 * A single sample of k-space is a plane wave of even magnitude over the whole field of view, and a single line is a wave
 * along its normal. An object that fills the share f < 1 of an axis has neighbours of its strongest sample that are
 * sinc(f) times as strong: a ninth for f = 0.9. So the strongest sample of an object has support: its neighbours in
 * other readouts. Let M be the strongest level that has support, the largest minimum of a sample and of the strongest
 * one beside it in another readout. Samples are impossible if
 *
 *   - they exceed ALONE times M, and what is beside them in other readouts is weaker than M / 2, so M is not theirs but
 *     that of an object elsewhere: a phase over an object moves its centre together with its neighbours, and an object
 *     that fills the field of view evenly (f = 1) has its whole signal in one sample, and there is nothing elsewhere;
 *   - and they are alone in their readout, too (STEEP times the samples before and after), or at least half of a
 *     readout of LEAST_LINE samples or more is like that;
 *   - and M is an object's: MOST_NOISE times the median. (Of n samples of noise the largest has sqrt(log2 n) times the
 *     median, at most 5.) Otherwise, as for a grid that fills the field of view with waves, only single samples have
 *     signal, and they are the object.
 */
#include "find_spikes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "voxfield/device.h"
#include "voxfield/team_size.h"

static const double ALONE = 20, STEEP = 3, MOST_NOISE = 8;
enum { MOST_TOP = 8192, WIDEST = 8, MOST_CELLS = 1 << 24, LEAST_LINE = 8 };
enum { PIECE = SPIKE_PIECE };

/* ---- cells ---- */

/* The nearest whole k along an axis, from 1 for the first of the matrix on; it may be beyond the matrix. */
static int64_t place_of(const scan_trajectory *at, int64_t m, int axis, const int64_t matrix[3])
{
    return llrint((double)at->k[3 * m + axis]) + matrix[axis] / 2 + 1;
}

/* Marks the places of samples, seen [axis][row], in a row of matrix + 3 or more; the first and the last are for all beyond. */
static void mark_places(const vf_context *ctx, const scan_trajectory *at, const int64_t matrix[3], int64_t row,
                        unsigned char *seen)
{
    memset(seen, 0, (size_t)(3 * row));
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(ctx, 5 * at->samples))                            \
    reduction(|                                                                                                        \
              : seen[:3 * row])
    for (int64_t m = 0; m < at->samples; m++)
        for (int a = 0; a < 3; a++) {
            const int64_t k = matrix[a] > 1 ? place_of(at, m, a, matrix) : 0;
            seen[a * row + (k < 0 ? 0 : k > matrix[a] + 2 ? matrix[a] + 2 : k)] |= 1;
        }
}

/* The spacing of samples along an axis in whole cycles: of lines, if lines are regularly missing. */
static int64_t spacing(const unsigned char *seen, int64_t matrix)
{
    int64_t first = matrix + 2, last = -1, distinct = 0;
    for (int64_t i = 0; i < matrix + 3; i++) {
        distinct += seen[i];
        first = seen[i] && i < first ? i : first;
        last = seen[i] ? i : last;
    }
    const int64_t wide = distinct > 0 ? (last - first + distinct) / distinct : 1;
    return wide < 1 ? 1 : wide < WIDEST ? wide : WIDEST;
}

/* Whether sample m is as far from the one before as the second of its run, which began at `first`, from the first. */
static bool goes_on(const scan_trajectory *at, int64_t first, int64_t m)
{
    double apart = 0, step = 0;
    for (int a = 0; a < 3 && m > first + 1; a++) {
        const float *k = at->k + a;
        const double of_run = (double)k[3 * first + 3] - (double)k[3 * first];
        apart += fabs((double)k[3 * m] - (double)k[3 * m - 3] - of_run);
        step += fabs(of_run);
    }
    return apart <= 0.02 * step;
}

static int64_t end_of(const scan_trajectory *at, int64_t piece)
{
    return (piece + 1) * PIECE < at->samples ? (piece + 1) * PIECE : at->samples;
}

/* Marks those of samples [begin, end) that begin runs, if one begins at `begin`. Returns where the last of them does. */
static int64_t mark_runs(const scan_trajectory *at, int64_t begin, int64_t end, int32_t *begins)
{
    int64_t first = begin;
    begins[begin] = 1;
    for (int64_t m = begin + 1; m < end; m++) {
        begins[m] = !goes_on(at, first, m);
        first = begins[m] ? m : first;
    }
    return first;
}

/* The same after mark_runs, which returned `last`, if the run before the piece began at `first` and may go on. As soon as a
 * run begins with and without it, the other marks are right. */
static int64_t join_runs(const scan_trajectory *at, int64_t first, int64_t begin, int64_t end, int64_t last,
                         int32_t *begins)
{
    for (int64_t m = begin; m < end; m++) {
        const bool now = !goes_on(at, first, m);
        if (now && begins[m])
            return last;
        begins[m] = now;
        first = now ? m : first;
    }
    return first;
}

/* Straight runs of even steps. All threads look for those that begin within a piece. `of` [pieces]: memory. */
static void number_runs(const scan_trajectory *at, int threads, int64_t pieces, int64_t *of, spike_cells *out)
{
    int64_t first = 0, runs = 0;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t p = 0; p < pieces; p++)
        of[p] = mark_runs(at, p * PIECE, end_of(at, p), out->readout);
    for (int64_t p = 0; p < pieces; p++)
        first = p > 0 ? join_runs(at, first, p * PIECE, end_of(at, p), of[p], out->readout) : of[p];
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t p = 0; p < pieces; p++) {
        of[p] = 0;
        for (int64_t m = p * PIECE; m < end_of(at, p); m++)
            of[p] += out->readout[m];
    }
    for (int64_t p = 0; p < pieces; p++) { /* those before the piece */
        const int64_t own = of[p];
        of[p] = runs;
        runs += own;
    }
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t p = 0; p < pieces; p++) {
        int64_t begun = of[p];
        for (int64_t m = p * PIECE; m < end_of(at, p); m++) {
            begun += out->readout[m];
            out->readout[m] = (int32_t)(begun - 1);
        }
    }
    out->readouts = runs > 0 ? runs : 1;
}

/* Readouts as the scan has them; else runs. Returns false without memory. */
static bool number_readouts(const vf_context *ctx, const scan_trajectory *at, spike_cells *out)
{
    const int64_t pieces = (at->samples + PIECE - 1) / PIECE;
    const int threads = vf_threads_for(ctx, 10 * at->samples);
    if (at->readouts == 0) {
        int64_t *of = malloc((size_t)(pieces + 1) * sizeof *of);
        const bool enough = of;
        if (enough)
            number_runs(at, threads, pieces, of, out);
        free(of);
        return enough;
    }
    out->readouts = at->readouts;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t r = 0; r < at->readouts; r++)
        for (int64_t m = at->readout[r]; m < at->readout[r + 1]; m++)
            out->readout[m] = (int32_t)r;
    return true;
}

static vf_status no_memory(vf_context *ctx)
{
    return vf_fail(ctx, VF_ERR_MEMORY, "no memory to look for interference");
}

vf_status spike_cells_make(vf_context *ctx, const mri_scan *raw, const scan_trajectory *at, spike_cells *out)
{
    int64_t wide[3] = {1, 1, 1}, most = 1;
    for (int a = 0; a < 3; a++)
        most = raw->matrix[a] > most ? raw->matrix[a] : most;
    *out = (spike_cells){.cell = malloc((size_t)(at->samples + 1) * sizeof *out->cell),
                         .readout = malloc((size_t)(at->samples + 1) * sizeof *out->readout)};
    const int64_t row = most + 3;
    unsigned char *seen = malloc(3 * (size_t)row);
    if (!out->cell || !out->readout || !seen) {
        free(seen);
        return no_memory(ctx);
    }
    vf_large_pages(out->cell, (size_t)at->samples * sizeof *out->cell);
    vf_large_pages(out->readout, (size_t)at->samples * sizeof *out->readout);
    mark_places(ctx, at, raw->matrix, row, seen);
    for (int a = 0; a < 3; a++)
        wide[a] = raw->matrix[a] > 1 ? spacing(seen + a * row, raw->matrix[a]) : 1;
    free(seen);
    do { /* coarser cells for very large matrices */
        out->cells = 1;
        for (int a = 0; a < 3; a++) {
            out->n[a] = raw->matrix[a] > 1 ? (raw->matrix[a] + 2) / wide[a] + 1 : 1;
            out->cells *= out->n[a];
        }
        for (int a = 0; a < 3 && out->cells > MOST_CELLS; a++)
            wide[a] *= 2;
    } while (out->cells > MOST_CELLS);
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(ctx, 10 * at->samples))
    for (int64_t m = 0; m < at->samples; m++) {
        int64_t index = 0;
        for (int a = 2; a >= 0; a--) {
            const int64_t place = place_of(at, m, a, raw->matrix), k = place > 0 ? place : 0;
            const int64_t i = out->n[a] == 1 ? 0 : wide[a] > 1 ? k / wide[a] : k; /* divisions take long */
            index = index * out->n[a] + (i < out->n[a] ? i : out->n[a] - 1);
        }
        out->cell[m] = (int32_t)index;
    }
    return number_readouts(ctx, at, out) ? VF_OK : no_memory(ctx);
}

void spike_cells_free(spike_cells *c)
{
    free(c->cell);
    free(c->readout);
    *c = (spike_cells){0};
}

/* ---- one coil ---- */

/* The strongest sample of a cell, and the strongest one of another readout. */
typedef struct strongest {
    float first, second;
    int64_t readout; /* of the first */
} strongest;

typedef struct search {
    const spike_cells *c;
    const scan_trajectory *at;
    const float complex *data;
    strongest *of; /* [cells] */
} search;

static float square(const search *s, int64_t m)
{
    const float re = crealf(s->data[m]), im = cimagf(s->data[m]);
    return s->at->weights && !(s->at->weights[m] > 0) ? 0 : re * re + im * im;
}

static float level(const search *s, int64_t m)
{
    return sqrtf(square(s, m));
}

/* Nearly all that is done with most scans. LANES are side by side in vectors. */
static float largest_square(const search *s)
{
    enum { LANES = 16 };
    float most[LANES] = {0}, largest = 0;
    for (int64_t first = 0; first < s->at->samples; first += LANES) {
        const int64_t left = s->at->samples - first;
        for (int i = 0; i < (left < LANES ? (int)left : LANES); i++) {
            const float re = crealf(s->data[first + i]), im = cimagf(s->data[first + i]), own = re * re + im * im;
            most[i] = own > most[i] ? own : most[i];
        }
    }
    for (int i = 0; i < LANES; i++)
        largest = most[i] > largest ? most[i] : largest;
    return largest;
}

/* The same for a scan with weights: samples of weight 0 do not count. */
static float largest_weighted(const search *s)
{
    float largest = 0;
    for (int64_t m = 0; m < s->at->samples; m++) {
        const float own = square(s, m);
        largest = own > largest ? own : largest;
    }
    return largest;
}

static void fill(const search *s)
{
    memset(s->of, 0, (size_t)s->c->cells * sizeof *s->of);
    for (int64_t m = 0; m < s->at->samples; m++) {
        strongest *cell = &s->of[s->c->cell[m]];
        const float own = level(s, m);
        const int64_t readout = s->c->readout[m];
        if (own > cell->first) {
            cell->second = readout == cell->readout ? cell->second : cell->first;
            cell->first = own;
            cell->readout = readout;
        } else if (readout != cell->readout && own > cell->second) {
            cell->second = own;
        }
    }
}

/* The strongest sample in other readouts, within a cell. */
static float beside(const search *s, int64_t m)
{
    const int64_t *n = s->c->n, cell = s->c->cell[m], readout = s->c->readout[m];
    const int64_t at[3] = {cell % n[0], cell / n[0] % n[1], cell / n[0] / n[1]};
    float most = 0;
    for (int64_t z = at[2] - 1; z <= at[2] + 1; z++)
        for (int64_t y = at[1] - 1; y <= at[1] + 1; y++)
            for (int64_t x = at[0] - 1; x <= at[0] + 1; x++) {
                if (x < 0 || y < 0 || z < 0 || x >= n[0] || y >= n[1] || z >= n[2])
                    continue;
                const strongest *there = &s->of[(z * n[1] + y) * n[0] + x];
                most = fmaxf(most, there->readout != readout ? there->first : there->second);
            }
    return most;
}

static bool near(const spike_cells *c, int64_t a, int64_t b)
{
    int64_t p = c->cell[a], q = c->cell[b];
    bool close = c->readout[a] != c->readout[b];
    for (int axis = 0; axis < 3; axis++) {
        close = close && llabs(p % c->n[axis] - q % c->n[axis]) <= 1;
        p /= c->n[axis];
        q /= c->n[axis];
    }
    return close;
}

/* Whether two of the samples above `bound` support each other, so that there is nothing to find: the common case. */
static bool supported(const search *s, float bound)
{
    int64_t *top = malloc(MOST_TOP * sizeof *top), count = 0;
    bool found = !top;
    for (int64_t m = 0; m < s->at->samples && !found; m++) {
        if (!(level(s, m) >= bound))
            continue;
        for (int64_t i = count - 1; i >= 0 && !found; i--)
            found = near(s->c, top[i], m);
        top[count++] = m;
        found = found || count == MOST_TOP;
    }
    free(top);
    return found;
}

static int ascending(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* The median of at most 64 Ki levels that are not 0. */
static float median(const search *s)
{
    enum { MOST = 1 << 16 };
    const int64_t step = s->at->samples / MOST + 1;
    int64_t count = 0;
    float *values = malloc(MOST * sizeof *values), middle = INFINITY;
    for (int64_t m = 0; m < s->at->samples && values && count < MOST; m += step) {
        values[count] = level(s, m);
        count += values[count] > 0;
    }
    if (values && count > 0) {
        qsort(values, (size_t)count, sizeof *values, ascending);
        middle = values[count / 2];
    }
    free(values);
    return middle;
}

static bool same_readout(const search *s, int64_t a, int64_t b)
{
    return b >= 0 && b < s->at->samples && s->c->readout[a] == s->c->readout[b];
}

/* Marks the samples of one readout, [begin, end). */
static int64_t judge(const search *s, int64_t begin, int64_t end, float support, bool *bad, double *ratio)
{
    int64_t suspects = 0, marked = 0;
    for (int64_t m = begin; m < end; m++)
        suspects += level(s, m) > (float)ALONE * support && beside(s, m) < support / 2;
    const bool whole = end - begin >= LEAST_LINE && 2 * suspects >= end - begin;
    for (int64_t m = begin; m < end && suspects > 0; m++) {
        const float own = level(s, m);
        bool alone = own > (float)ALONE * support && beside(s, m) < support / 2;
        for (int64_t step = -1; step <= 1; step += 2)
            alone = alone && !(same_readout(s, m, m + step) && (float)STEEP * level(s, m + step) > own);
        if (!alone && !whole)
            continue;
        *ratio = fmax(*ratio, (double)own / (double)support);
        marked += !bad[m];
        bad[m] = true;
    }
    return marked;
}

int64_t find_spikes(const scan_trajectory *at, const spike_cells *c, const float complex *data, bool *bad,
                    double *ratio)
{
    search s = {.c = c, .at = at, .data = data};
    float largest, support = 0;
    int64_t marked = 0;
    largest = sqrtf(at->weights ? largest_weighted(&s) : largest_square(&s));
    if (!(largest > 0) || supported(&s, largest / (float)ALONE))
        return 0;
    s.of = malloc((size_t)c->cells * sizeof *s.of);
    if (!s.of)
        return -1;
    fill(&s);
    for (int64_t m = 0; m < at->samples; m++) {
        const float own = level(&s, m);
        support = own > support ? fmaxf(support, fminf(own, beside(&s, m))) : support;
    }
    if (support > (float)MOST_NOISE * median(&s))
        for (int64_t begin = 0, end = 0; begin < at->samples; begin = end) {
            while (end < at->samples && c->readout[end] == c->readout[begin])
                end++;
            marked += judge(&s, begin, end, support, bad, ratio);
        }
    free(s.of);
    return marked;
}
