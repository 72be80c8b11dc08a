/* Removes readout oversampling before the computation: transforms each line of k-space to its voxels, cuts out the
 * voxels that the image keeps, and transforms those back to fewer samples.
 *
 * Why the image stays the same. Let every line along an axis have each of the N values of k once, with one weight w
 * and the same other components of k. In F^H W F, the sum over the k of a line is sum_k exp(i 2 pi k (n - n') / N) =
 * N for n = n', and 0 for all other n' in the field of view. So the matrix does not couple voxels of different n,
 * and F^H W d at n is N w times the contribution of the line's inverse transform g(n) = 1/N sum_k d(k) exp(i 2 pi k
 * r_n). With the identity as prior, each n has its own equations, and those outside the kept M voxels need not be
 * solved. Lines of M samples that transform to the same g, with weight w N / M, give exactly the same equations for
 * every kept n: M (w N / M) = N w. So F^H d, the diagonal that lambda is relative to (now over the kept voxels), the
 * solution and its scale are those of the whole scan, restricted to the middle.
 *
 * The noise of g has 1 / N of a sample's variance, the new samples M / N. The weight's factor N / M is the inverse.
 * So the least-squares problem remains that of maximum likelihood, and the covariance of the coils, which is for
 * samples of weight 1, does not change. */
#include "crop_readout.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "voxfield/append.h"
#include "voxfield/fft.h"
#include "voxfield/team_size.h"
#include "whole_lines.h"

enum { ALIGNMENT = 64 };

/* One axis to crop. */
typedef struct cut {
    vf_context *ctx;
    int axis;
    int64_t from, to; /* N, M */
    whole_lines lines;
    vf_fft_rows *long_rows, *short_rows;
} cut;

/* Crops a line: from k to voxels, and from the middle voxels back to k. Offsets from the middle voxel are the same
 * in both, so no shift is needed: offset p is at p modulo N and at p modulo M. */
static void cut_line(const cut *c, const int32_t *place, const float complex *in, double complex *room,
                     float complex *out)
{
    const int64_t n = c->from, m = c->to;
    double complex *kept = room + (n + 3) / 4 * 4;
    for (int64_t i = 0; i < n; i++)
        room[place[i]] = in[i];
    vf_fft_rows_execute(c->long_rows, VF_FFT_BACKWARD, room);
    for (int64_t p = -(m / 2); p < m - m / 2; p++)
        kept[p < 0 ? p + m : p] = room[p < 0 ? p + n : p] / (double)n;
    vf_fft_rows_execute(c->short_rows, VF_FFT_FORWARD, kept);
    for (int64_t k = -(m / 2); k < m - m / 2; k++)
        out[k + m / 2] = (float complex)kept[k < 0 ? k + m : k];
}

static vf_status cut_frame(const cut *c, int coils, int64_t samples, const int32_t *place, scan_frame *frame)
{
    const int64_t lines = samples / c->from, size = (c->from + 3) / 4 * 4 + (c->to + 3) / 4 * 4;
    const int threads = vf_context_threads(c->ctx);
    float complex *data = malloc((size_t)(lines * c->to * coils) * sizeof *data);
    double complex *room = aligned_alloc(ALIGNMENT, (size_t)(size * threads) * sizeof *room);
    vf_status status = data && room ? VF_OK : vf_fail(c->ctx, VF_ERR_MEMORY, "no memory to crop readouts");
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(c->ctx, 20 * samples * coils))
    for (int64_t i = 0; i < (status == VF_OK ? lines * coils : 0); i++) {
        const int thread = omp_get_thread_num();
        cut_line(c, place + i % lines * c->from, frame->data + i * c->from, room + thread * size, data + i * c->to);
    }
    free(room);
    if (status != VF_OK) {
        free(data);
        return status;
    }
    free(frame->data);
    frame->data = data;
    return VF_OK;
}

static vf_status cut_trajectory(const cut *c, scan_trajectory *at)
{
    const int64_t lines = at->samples / c->from, n = c->from, m = c->to;
    float *k = malloc((size_t)(lines * m * 3) * sizeof *k), *weights = malloc((size_t)(lines * m) * sizeof *weights);
    if (!k || !weights) {
        free(k);
        free(weights);
        return vf_fail(c->ctx, VF_ERR_MEMORY, "no memory to crop readouts");
    }
    for (int64_t i = 0; i < lines * m; i++) {
        const int64_t first = i / m * n;
        memcpy(k + 3 * i, at->k + 3 * first, 3 * sizeof *k);
        k[3 * i + c->axis] = (float)(i % m - m / 2);
        weights[i] = (float)((at->weights ? (double)at->weights[first] : 1) * (double)n / (double)m);
    }
    for (int64_t i = 0; i <= at->readouts && at->readout; i++) {
        if (at->readout[i] % n != 0) /* readouts that are not whole lines */
            at->readouts = 0;
        at->readout[i] = at->readout[i] / n * m;
    }
    scan_trajectory cropped = {.samples = lines * m, .k = k, .weights = weights, .readouts = at->readouts};
    if (at->readouts > 0) {
        cropped.readout = at->readout;
        at->readout = NULL;
    }
    scan_free_trajectory(at); /* time, too: it is only used with a field map, and then nothing is cropped */
    *at = cropped;
    return VF_OK;
}

/* Cuts the middle out of `count` arrays on the scan's matrix. NULL stays NULL. */
static vf_status cut_array(const cut *c, const int64_t matrix[3], int count, size_t element, void **array)
{
    const int64_t inner = c->axis == 0 ? 1 : c->axis == 1 ? matrix[0] : matrix[0] * matrix[1];
    const int64_t outer = matrix[0] * matrix[1] * matrix[2] / inner / c->from * count;
    const size_t step = (size_t)inner * element, run = (size_t)c->to * step;
    if (!*array)
        return VF_OK;
    char *out = malloc((size_t)outer * run);
    if (!out)
        return vf_fail(c->ctx, VF_ERR_MEMORY, "no memory to crop readouts");
    for (int64_t i = 0; i < outer; i++)
        memcpy(out + (size_t)i * run, (const char *)*array + (size_t)(i * c->from + c->from / 2 - c->to / 2) * step,
               run);
    free(*array);
    *array = out;
    return VF_OK;
}

static vf_status cut_arrays(const cut *c, mri_scan *raw)
{
    void *arrays[3] = {raw->sensitivity, raw->field_map, raw->reference};
    const int counts[3] = {raw->coils * scan_all_map_sets(raw), 1, raw->references};
    const size_t elements[3] = {sizeof *raw->sensitivity, sizeof *raw->field_map, sizeof *raw->reference};
    vf_status status = VF_OK;
    for (int i = 0; i < 3 && status == VF_OK; i++)
        status = cut_array(c, raw->matrix, counts[i], elements[i], &arrays[i]);
    raw->sensitivity = arrays[0];
    raw->field_map = arrays[1];
    raw->reference = arrays[2];
    return status;
}

/* After a failure, the scan can only be freed. */
static vf_status cut_scan(cut *c, mri_scan *raw)
{
    vf_status status = vf_fft_rows_create(c->ctx, VF_C128, c->from, 1, &c->long_rows);
    VF_TRY(status, vf_fft_rows_create(c->ctx, VF_C128, c->to, 1, &c->short_rows));
    for (int f = 0; f < raw->frames + raw->calibrations && status == VF_OK; f++) {
        const int t = raw->frame[f].trajectory;
        status = cut_frame(c, raw->coils, raw->trajectory[t].samples, c->lines.place[t], &raw->frame[f]);
    }
    for (int t = 0; t < raw->trajectories + raw->calibrations && status == VF_OK; t++)
        status = cut_trajectory(c, &raw->trajectory[t]);
    VF_TRY(status, cut_arrays(c, raw));
    if (status != VF_OK)
        return status;
    raw->fov[c->axis] *= (double)c->to / (double)c->from;
    raw->matrix[c->axis] = c->to;
    vf_append(raw->description, sizeof raw->description, "%sreadouts along %c cropped from %lld to %lld voxels",
              raw->description[0] ? "; " : "", "xyz"[c->axis], (long long)c -> from, (long long)c -> to);
    return VF_OK;
}

static vf_status crop_axis(vf_context *ctx, mri_scan *raw, int axis)
{
    cut c = {.ctx = ctx, .axis = axis, .from = raw->matrix[axis], .to = raw->crop[axis]};
    bool whole = false;
    vf_status status = whole_lines_find(ctx, raw, axis, &c.lines, &whole);
    if (status == VF_OK && whole)
        status = cut_scan(&c, raw);
    whole_lines_free(&c.lines);
    vf_fft_rows_destroy(c.long_rows);
    vf_fft_rows_destroy(c.short_rows);
    return status;
}

vf_status crop_readout(vf_context *ctx, mri_scan *raw)
{
    vf_status status = VF_OK;
    for (int a = 0; a < 3 && status == VF_OK; a++)
        if (raw->crop[a] < raw->matrix[a])
            status = crop_axis(ctx, raw, a);
    return status;
}
