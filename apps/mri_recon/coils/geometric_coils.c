/* Geometric coil compression: T. Zhang, J. M. Pauly, S. S. Vasanawala, M. Lustig, "Coil compression for accelerated imaging
 * with Cartesian sampling", Magn. Reson. Med. 69 (2013) 571.
 *
 * Along a complete line of k-space the transform to voxels is unitary, so the samples may be mixed at each voxel of the
 * line, with another mixture at each, and transformed back. Coils see less at one position than in the whole volume, so
 * fewer components explain it. The rows of each mixture are orthonormal, so white noise stays white with the same
 * variance, and the maps of the virtual coils are the mixtures of the maps.
 *
 * The components at a position are the principal components of the others near it, without itself: weights fall by e in
 * a 64th of the field of view. So the noise at a position is independent of its components, and the energy that they leave
 * out there is that of the signal plus that of as many coils' noise, whatever the number of lines. Components of the
 * position's own samples would fit its noise, and seem to leave out less. */
#include "geometric_coils.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "coil_sums.h"
#include "voxfield/dense.h"
#include "voxfield/fft.h"
#include "voxfield/team_size.h"

enum {
    SIDE = 8,               /* lines that are transformed together: their values of a position fill a line of cache */
    MOST_LINES = 256,       /* of a block: VF_COIL_BLOCK */
    BLOCK_BYTES = 32 << 20, /* of a block, if SIDE lines take less */
    WINDOWS = 64,
    REACH = 4, /* weights fall by e in 1 / WINDOWS of the field of view; beyond REACH times that they are 0 */
    ALIGNMENT = 64
};

/* Some lines of a frame's data or of a map. */
typedef struct line_block {
    const geometric_coils *g;
    int64_t first, count;
    float complex *hybrid; /* [position][coil][count] */
    double complex *room;  /* [thread][SIDE][position] */
} line_block;

/* ---- lines and positions ---- */

static int64_t lines_of_block(const geometric_coils *g)
{
    const int64_t fit = BLOCK_BYTES / (int64_t)sizeof(float complex) / g->lines.length / g->coils / SIDE * SIDE;
    return fit < SIDE ? SIDE : fit > MOST_LINES ? MOST_LINES : fit;
}

static vf_status make_block(vf_context *ctx, const geometric_coils *g, line_block *b)
{
    const size_t n = (size_t)g->lines.length, threads = (size_t)vf_context_threads(ctx);
    *b = (line_block){.g = g,
                      .hybrid = malloc(n * (size_t)g->coils * (size_t)lines_of_block(g) * sizeof *b->hybrid),
                      .room = aligned_alloc(ALIGNMENT, threads * SIDE * n * sizeof *b->room)};
    return b->hybrid && b->room ? VF_OK
                                : vf_fail(ctx, VF_ERR_MEMORY, "coil compression: no memory for lines of k-space");
}

static void free_block(line_block *b)
{
    free(b->hybrid);
    free(b->room);
}

static int threads_for_lines(vf_context *ctx, const line_block *b, int coils)
{
    return vf_threads_for(ctx, 20 * b->count * b->g->lines.length * coils);
}

/* Transforms the block's lines of all coils, unitary. `data` [coil][samples]; `place` is that of the first line. */
static void to_positions(vf_context *ctx, const line_block *b, int64_t samples, const int32_t *place,
                         const float complex *data)
{
    const int64_t n = b->g->lines.length, groups = (b->count + SIDE - 1) / SIDE, coils = b->g->coils;
    const double scale = 1 / sqrt((double)n);
#pragma omp parallel for schedule(static) num_threads(threads_for_lines(ctx, b, b->g->coils))
    for (int64_t j = 0; j < groups * coils; j++) {
        const int64_t c = j / groups, line = j % groups * SIDE;
        const int64_t some = b->count - line < SIDE ? b->count - line : SIDE;
        double complex *room = b->room + omp_get_thread_num() * SIDE * n;
        memset(room, 0, (size_t)(SIDE * n) * sizeof *room);
        for (int64_t l = 0; l < some; l++)
            for (int64_t i = 0; i < n; i++)
                room[l * n + place[(line + l) * n + i]] = data[c * samples + (b->first + line + l) * n + i];
        vf_fft_rows_execute(b->g->rows, VF_FFT_BACKWARD, room);
        for (int64_t x = 0; x < n; x++)
            for (int64_t l = 0; l < some; l++)
                b->hybrid[(x * coils + c) * b->count + line + l] = (float complex)(scale * room[l * n + x]);
    }
}

/* The reverse, for the first `keep` coils. */
static void to_samples(vf_context *ctx, const line_block *b, int64_t samples, const int32_t *place, float complex *data)
{
    const int64_t n = b->g->lines.length, groups = (b->count + SIDE - 1) / SIDE, coils = b->g->coils;
    const double scale = 1 / sqrt((double)n);
#pragma omp parallel for schedule(static) num_threads(threads_for_lines(ctx, b, b->g->keep))
    for (int64_t j = 0; j < groups * b->g->keep; j++) {
        const int64_t c = j / groups, line = j % groups * SIDE;
        const int64_t some = b->count - line < SIDE ? b->count - line : SIDE;
        double complex *room = b->room + omp_get_thread_num() * SIDE * n;
        memset(room, 0, (size_t)(SIDE * n) * sizeof *room);
        for (int64_t x = 0; x < n; x++)
            for (int64_t l = 0; l < some; l++)
                room[l * n + x] = b->hybrid[(x * coils + c) * b->count + line + l];
        vf_fft_rows_execute(b->g->rows, VF_FFT_FORWARD, room);
        for (int64_t l = 0; l < some; l++)
            for (int64_t i = 0; i < n; i++)
                data[c * samples + (b->first + line + l) * n + i] =
                    (float complex)(scale * room[l * n + place[(line + l) * n + i]]);
    }
}

/* ---- covariances and components ---- */

/* sum [position][coil][coil] += the products of a block, each line with its share. */
static void add_products(vf_context *ctx, const line_block *b, const double *share, double *room, double complex *sum)
{
    const int64_t coils = b->g->coils, n = b->g->lines.length;
    const size_t of_thread = vf_coil_block_room(b->g->coils);
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(ctx, n * b->count * coils * coils / 2))
    for (int64_t x = 0; x < n; x++) {
        bool acquired[VF_COIL_BLOCK];
        const vf_wiener_samples samples = {
            .coils = b->g->coils, .stride = b->count, .data = (const float *)(b->hybrid + x * coils * b->count)};
        vf_coil_products_add(&samples, share, 0, b->count, room + (size_t)omp_get_thread_num() * of_thread, acquired,
                             (double *)(sum + x * coils * coils));
    }
}

/* Adds the lines of a frame; `share` [sample], of which those of a line are equal. */
static vf_status add_frame(vf_context *ctx, const mri_scan *raw, const scan_frame *frame, const double *share,
                           line_block *b, double *room, double complex *sum)
{
    const geometric_coils *g = b->g;
    const int64_t n = g->lines.length, samples = scan_stride(raw, frame), step = lines_of_block(g);
    for (b->first = 0; b->first < samples / n; b->first += step) {
        double of_line[MOST_LINES];
        b->count = samples / n - b->first < step ? samples / n - b->first : step;
        for (int64_t l = 0; l < b->count; l++)
            of_line[l] = share[(b->first + l) * n];
        to_positions(ctx, b, samples, g->lines.place[frame->trajectory] + b->first * n, frame->data);
        add_products(ctx, b, of_line, room, sum);
        if (vf_cancelled(ctx))
            return vf_fail(ctx, VF_ERR_CANCELLED, "interrupted");
    }
    return VF_OK;
}

static vf_status sum_lines(vf_context *ctx, mri_scan *raw, const geometric_coils *g, double complex *sum)
{
    int64_t longest = 1;
    line_block b;
    for (int t = 0; t < g->lines.trajectories; t++)
        longest = raw->trajectory[t].samples > longest ? raw->trajectory[t].samples : longest;
    double *share = malloc((size_t)longest * sizeof *share);
    double *room = malloc((size_t)vf_context_threads(ctx) * vf_coil_block_room(g->coils) * sizeof *room);
    vf_status status = make_block(ctx, g, &b);
    if (status == VF_OK && !(share && room))
        status = vf_fail(ctx, VF_ERR_MEMORY, "coil compression: no memory for %d coils", g->coils);
    for (int t = 0; t < g->lines.trajectories && status == VF_OK; t++) {
        bool known = false;
        for (int f = 0; f < raw->frames + raw->calibrations && status == VF_OK; f++) {
            if (raw->frame[f].trajectory != t || !raw->frame[f].data)
                continue;
            if (!known)
                status = coil_shares(ctx, raw, t, share);
            known = true;
            VF_TRY(status, add_frame(ctx, raw, &raw->frame[f], share, &b, room, sum));
        }
    }
    free_block(&b);
    free(share);
    free(room);
    return status;
}

/* The weighted sum of the covariances near a position, without its own; voxels beyond the borders have none. */
static void sum_near(const geometric_coils *g, const double complex *sum, int64_t position, double complex *out)
{
    const int64_t n = g->lines.length, elements = (int64_t)g->coils * g->coils;
    const double width = n > WINDOWS ? (double)n / WINDOWS : 1;
    const int64_t reach = (int64_t)(REACH * width), voxel = (position + n / 2) % n;
    memset(out, 0, (size_t)elements * sizeof *out);
    for (int64_t v = voxel - reach < 0 ? 0 : voxel - reach; v <= voxel + reach && v < n; v++) {
        const double weight = v == voxel ? 0 : exp(-fabs((double)(v - voxel)) / width);
        const double complex *from = sum + (v + n - n / 2) % n * elements;
        for (int64_t e = 0; e < elements; e++)
            out[e] += weight * from[e];
    }
}

/* The energy v^H R v of each component. */
static void measure_energies(int coils, const double complex *r, const double complex *component, double *energy)
{
    for (int j = 0; j < coils; j++) {
        const double complex *v = component + (int64_t)j * coils;
        energy[j] = 0;
        for (int a = 0; a < coils; a++) {
            double complex row = 0;
            for (int b = 0; b < coils; b++)
                row += r[a * coils + b] * v[b];
            energy[j] += creal(conj(v[a]) * row);
        }
    }
}

static vf_status find_components(vf_context *ctx, geometric_coils *g, const double complex *sum)
{
    const int coils = g->coils;
    const int64_t n = g->lines.length, elements = (int64_t)coils * coils;
    const int threads = vf_threads_for(ctx, 100 * n * elements * coils); /* a hundred passes of rotations */
    double complex *near = malloc((size_t)(threads * elements) * sizeof *near);
    double *energy = malloc((size_t)(n * coils) * sizeof *energy),
           *values = malloc((size_t)(threads * coils) * sizeof *values);
    vf_status status = near && energy && values
                           ? VF_OK
                           : vf_fail(ctx, VF_ERR_MEMORY, "coil compression: no memory for %d coils", coils);
    if (status == VF_OK) {
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
        for (int64_t x = 0; x < n; x++) {
            const int thread = omp_get_thread_num();
            if (vf_cancelled(ctx))
                continue;
            sum_near(g, sum, x, near + thread * elements);
            vf_hermitian_eigen(coils, near + thread * elements, values + thread * coils, g->component + x * elements);
            measure_energies(coils, sum + x * elements, g->component + x * elements, energy + x * coils);
        }
        double most = -1;
        for (int64_t x = 0; x < n && !vf_cancelled(ctx); x++) {
            double all = 0;
            for (int c = 0; c < coils; c++) {
                g->values[c] += energy[x * coils + c];
                all += energy[x * coils + c];
            }
            g->strongest = all > most ? x : g->strongest;
            most = fmax(all, most);
        }
    }
    free(near);
    free(energy);
    free(values);
    return status == VF_OK && vf_cancelled(ctx) ? vf_fail(ctx, VF_ERR_CANCELLED, "interrupted") : status;
}

vf_status geometric_find(vf_context *ctx, const mri_scan *raw, geometric_coils *out, bool *there)
{
    vf_status status = VF_OK;
    *out = (geometric_coils){.coils = raw->coils};
    *there = false;
    for (int a = 0; a < 3 && status == VF_OK && !*there; a++) {
        if (raw->matrix[a] == 1)
            continue;
        whole_lines_free(&out->lines);
        status = whole_lines_find(ctx, raw, a, &out->lines, there);
    }
    if (status != VF_OK || !*there)
        whole_lines_free(&out->lines);
    else
        for (int f = 0; f < raw->frames + raw->calibrations; f++)
            out->count += raw->frame[f].data ? scan_stride(raw, &raw->frame[f]) / out->lines.length : 0;
    return status;
}

vf_status geometric_measure(vf_context *ctx, mri_scan *raw, geometric_coils *g)
{
    const size_t n = (size_t)g->lines.length, elements = (size_t)g->coils * (size_t)g->coils;
    double complex *sum = calloc(n * elements, sizeof *sum);
    g->component = malloc(n * elements * sizeof *g->component);
    g->values = calloc((size_t)g->coils, sizeof *g->values);
    vf_status status = sum && g->component && g->values
                           ? vf_fft_rows_create(ctx, VF_C128, g->lines.length, SIDE, &g->rows)
                           : vf_fail(ctx, VF_ERR_MEMORY, "coil compression: no memory for %d coils", g->coils);
    VF_TRY(status, sum_lines(ctx, raw, g, sum));
    for (size_t x = 0; x < n && status == VF_OK; x++) /* only the lower triangles were summed */
        for (size_t i = 0; i < (size_t)g->coils; i++)
            for (size_t j = i + 1; j < (size_t)g->coils; j++)
                sum[x * elements + i * (size_t)g->coils + j] = conj(sum[x * elements + j * (size_t)g->coils + i]);
    VF_TRY(status, find_components(ctx, g, sum));
    free(sum);
    return status;
}

/* ---- alignment ---- */

/* Makes row i of q[i + 1][n] orthonormal to the rows before it; a row that nearly depends on them is replaced. */
static void orthonormalise(int n, int i, double complex *q)
{
    double complex *row = q + (int64_t)i * n;
    for (int next = 0;; next++) { /* of n unit vectors, one has at least 1 / sqrt(n) that is new */
        double before = 0, after = 0;
        for (int l = 0; l < n; l++)
            before += creal(row[l] * conj(row[l]));
        for (int pass = 0; pass < 2; pass++)
            for (int k = 0; k < i; k++) {
                double complex part = 0;
                for (int l = 0; l < n; l++)
                    part += row[l] * conj(q[(int64_t)k * n + l]);
                for (int l = 0; l < n; l++)
                    row[l] -= part * q[(int64_t)k * n + l];
            }
        for (int l = 0; l < n; l++)
            after += creal(row[l] * conj(row[l]));
        if (after > 1e-3 / n * before && after > 1e-20) {
            for (int l = 0; l < n; l++)
                row[l] /= sqrt(after);
            return;
        }
        for (int l = 0; l < n; l++)
            row[l] = l == next;
    }
}

/* out = P V with the unitary P for which it is nearest to `before`: if M = before V^H = sum_i s_i u_i q_i^H, P = sum_i u_i
 * q_i^H. All are [keep][coils]; `room` has 4 keep^2 numbers. */
static void align(int keep, int coils, const double complex *before, const double complex *v, double complex *room,
                  double *values, double complex *out)
{
    const int64_t elements = (int64_t)keep * keep;
    double complex *m = room, *gram = m + elements, *u = gram + elements, *q = u + elements;
    for (int k = 0; k < keep; k++)
        for (int l = 0; l < keep; l++) {
            m[k * keep + l] = 0;
            for (int c = 0; c < coils; c++)
                m[k * keep + l] += before[k * coils + c] * conj(v[l * coils + c]);
        }
    for (int k = 0; k < keep; k++)
        for (int l = 0; l < keep; l++) {
            gram[k * keep + l] = 0;
            for (int j = 0; j < keep; j++)
                gram[k * keep + l] += m[k * keep + j] * conj(m[l * keep + j]);
        }
    vf_hermitian_eigen(keep, gram, values, u);
    for (int i = 0; i < keep; i++) { /* row i of q is the conjugate of q_i: u_i^H M */
        for (int l = 0; l < keep; l++) {
            q[i * keep + l] = 0;
            for (int k = 0; k < keep; k++)
                q[i * keep + l] += conj(u[i * keep + k]) * m[k * keep + l];
        }
        orthonormalise(keep, i, q);
    }
    memset(m, 0, (size_t)elements * sizeof *m); /* P */
    for (int i = 0; i < keep; i++)
        for (int k = 0; k < keep; k++)
            for (int l = 0; l < keep; l++)
                m[k * keep + l] += u[i * keep + k] * q[i * keep + l];
    memset(out, 0, (size_t)keep * (size_t)coils * sizeof *out);
    for (int k = 0; k < keep; k++)
        for (int l = 0; l < keep; l++)
            for (int c = 0; c < coils; c++)
                out[k * coils + c] += m[k * keep + l] * v[l * coils + c];
}

vf_status geometric_align(vf_context *ctx, int keep, geometric_coils *g)
{
    const int64_t n = g->lines.length, of_position = (int64_t)keep * g->coils;
    const int64_t middle = (g->strongest + n / 2) % n; /* its voxel */
    double complex *room = malloc((size_t)keep * (size_t)keep * 4 * sizeof *room);
    double *values = malloc((size_t)keep * sizeof *values);
    g->keep = keep;
    g->mixture = malloc((size_t)(n * of_position) * sizeof *g->mixture);
    vf_status status = room && values && g->mixture
                           ? VF_OK
                           : vf_fail(ctx, VF_ERR_MEMORY, "coil compression: no memory for %d coils", g->coils);
    for (int64_t i = 0; i < n && status == VF_OK; i++) { /* from the strongest position up, and then down */
        const int64_t voxel = i < n - middle ? middle + i : n - 1 - i;
        const int64_t from = voxel == middle ? voxel : voxel > middle ? voxel - 1 : voxel + 1;
        const int64_t x = (voxel + n - n / 2) % n, near = (from + n - n / 2) % n;
        const double complex *v = g->component + x * g->coils * g->coils;
        if (x == near)
            memcpy(g->mixture + x * of_position, v, (size_t)of_position * sizeof *v);
        else
            align(keep, g->coils, g->mixture + near * of_position, v, room, values, g->mixture + x * of_position);
    }
    for (int64_t e = 0; e < n * of_position && status == VF_OK; e++) /* z_k = sum_i conj(v_ki) d_i */
        g->mixture[e] = conj(g->mixture[e]);
    free(room);
    free(values);
    return status;
}

/* ---- mixing ---- */

vf_status geometric_mix_frame(vf_context *ctx, const geometric_coils *g, const mri_scan *raw, const scan_frame *frame)
{
    const int64_t n = g->lines.length, samples = scan_stride(raw, frame), lines = samples / n, step = lines_of_block(g);
    line_block b;
    vf_status status = make_block(ctx, g, &b);
    for (int64_t first = 0; first < lines && status == VF_OK; first += step) {
        const int32_t *place = g->lines.place[frame->trajectory] + first * n;
        b.first = first;
        b.count = lines - first < step ? lines - first : step;
        to_positions(ctx, &b, samples, place, frame->data);
        status = vf_mix_sets(ctx, n, g->keep, g->coils, g->mixture, b.count, b.hybrid);
        if (status == VF_OK)
            to_samples(ctx, &b, samples, place, frame->data);
    }
    free_block(&b);
    return status;
}

/* Copies some lines of voxels of a map to the block, or back the first `keep` coils. */
static void copy_voxels(vf_context *ctx, const line_block *b, const mri_scan *raw, bool back, float complex *map)
{
    const int64_t n = b->g->lines.length, coils = b->g->coils, *size = raw->matrix;
    const int64_t voxels = size[0] * size[1] * size[2], axis = b->g->lines.axis;
    const int64_t inner = axis == 0 ? 1 : axis == 1 ? size[0] : size[0] * size[1];
    const int64_t rows = n * (back ? b->g->keep : coils);
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(ctx, rows * b->count))
    for (int64_t j = 0; j < rows; j++) {
        const int64_t c = j / n, voxel = j % n, x = (voxel + n - n / 2) % n;
        for (int64_t l = 0; l < b->count; l++) {
            const int64_t line = b->first + l;
            float complex *hybrid = b->hybrid + (x * coils + c) * b->count + l;
            float complex *value = map + c * voxels + (line / inner * n + voxel) * inner + line % inner;
            *(back ? value : hybrid) = *(back ? hybrid : value);
        }
    }
}

vf_status geometric_mix_map(vf_context *ctx, const geometric_coils *g, const mri_scan *raw, float complex *map)
{
    const int64_t lines = raw->matrix[0] * raw->matrix[1] * raw->matrix[2] / g->lines.length, step = lines_of_block(g);
    line_block b;
    vf_status status = make_block(ctx, g, &b);
    for (b.first = 0; b.first < lines && status == VF_OK; b.first += step) {
        b.count = lines - b.first < step ? lines - b.first : step;
        copy_voxels(ctx, &b, raw, false, map);
        status = vf_mix_sets(ctx, g->lines.length, g->keep, g->coils, g->mixture, b.count, b.hybrid);
        if (status == VF_OK)
            copy_voxels(ctx, &b, raw, true, map);
    }
    free_block(&b);
    return status;
}

void geometric_free(geometric_coils *g)
{
    whole_lines_free(&g->lines);
    free(g->component);
    free(g->values);
    free(g->mixture);
    vf_fft_rows_destroy(g->rows);
    *g = (geometric_coils){0};
}
