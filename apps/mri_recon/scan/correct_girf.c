/* Predicts the actual trajectory from the nominal one and the gradients' impulse response (Vannesjo et al., Magn.
 * Reson. Med. 69 (2013) 583). Differences of k between samples, which are proportional to the gradients, are filtered
 * and summed up again. The gradient is 0 before and after a readout, and its first k is exact. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "correct_internal.h"
#include "find_readouts.h"
#include "girf_file.h"
#include "voxfield/fft.h"

enum { PADDING = 1024, AXES = 3 }; /* samples: responses that ring longer wrap around */
static const double EVEN = 0.01;   /* share by which sampling intervals may differ */

/* The time between samples. */
static vf_status find_dwell(vf_context *ctx, const char *path, const mri_scan *raw, const scan_trajectory *t,
                            double *dwell)
{
    *dwell = raw->dwell;
    if (!t->time || t->readout[1] < 2)
        return *dwell > 0 ? VF_OK
                          : vf_fail(ctx, VF_ERR_INPUT,
                                    "%s: --girf needs the time between samples; add the time of each sample since the "
                                    "beginning of its readout (/scan/time)",
                                    path);
    *dwell = ((double)t->time[t->readout[1] - 1] - t->time[0]) / (double)(t->readout[1] - 1);
    for (int64_t i = 0; i < t->readouts; i++)
        for (int64_t m = t->readout[i] + 1; m < t->readout[i + 1]; m++) {
            const double step = (double)t->time[m] - t->time[m - 1];
            if (!(fabs(step - *dwell) <= EVEN * *dwell + 4e-7 * fabs((double)t->time[m])))
                return vf_fail(ctx, VF_ERR_INPUT,
                               "%s: --girf needs even times of samples; those before and at sample %" PRId64
                               " differ by %g s instead of %g s",
                               path, m, step, *dwell);
        }
    return VF_OK;
}

/* The response at each frequency of the transform, [to][from][n]. */
static void sample_response(const girf *g, int64_t n, double dwell, double complex *out)
{
    for (int to = 0; to < AXES; to++)
        for (int from = 0; from < AXES; from++)
            for (int64_t i = 0; i < n; i++) {
                const double cycles = (double)(i <= n / 2 ? i : i - n);
                out[(AXES * to + from) * n + i] = girf_at(g, to, from, cycles / ((double)n * dwell)) / (double)n;
            }
}

/* Filters one readout: k [length][3]. `in` and `out` are [3][n]. */
static void filter(const vf_fft_rows *plan, int64_t n, const double complex *response, const double fov[3],
                   int64_t length, float *k, double complex *in, double complex *out)
{
    memset(in, 0, (size_t)(AXES * n) * sizeof *in);
    for (int a = 0; a < AXES; a++)
        for (int64_t j = 0; j + 1 < length; j++)
            in[a * n + j] = ((double)k[3 * (j + 1) + a] - k[3 * j + a]) / fov[a];
    vf_fft_rows_execute(plan, VF_FFT_FORWARD, in);
    for (int a = 0; a < AXES; a++)
        for (int64_t i = 0; i < n; i++) {
            out[a * n + i] = 0;
            for (int b = 0; b < AXES; b++)
                out[a * n + i] += response[(AXES * a + b) * n + i] * in[b * n + i];
        }
    vf_fft_rows_execute(plan, VF_FFT_BACKWARD, out);
    for (int a = 0; a < AXES; a++) {
        double now = k[a];
        for (int64_t j = 0; j + 1 < length; j++) {
            now += creal(out[a * n + j]) * fov[a];
            k[3 * (j + 1) + a] = (float)now;
        }
    }
}

static int64_t longest_readout(const scan_trajectory *t)
{
    int64_t longest = 0;
    for (int64_t i = 0; i < t->readouts; i++) {
        const int64_t length = t->readout[i + 1] - t->readout[i];
        longest = length > longest ? length : longest;
    }
    return longest;
}

static vf_status filter_trajectory(vf_context *ctx, const char *path, const mri_scan *raw, const girf *g,
                                   scan_trajectory *t)
{
    const int64_t n = vf_fft_good_length(2 * longest_readout(t) + PADDING);
    const int64_t half = (AXES * n + 3) / 4 * 4; /* 64-byte aligned */
    double dwell = 0;
    double complex *work = NULL, *response = NULL;
    vf_fft_rows *plan = NULL;
    vf_status status = find_dwell(ctx, path, raw, t, &dwell);
    VF_TRY(status, SCAN_NEW(ctx, path, "the response", AXES * AXES * n, response));
    if (status == VF_OK) {
        work = aligned_alloc(64, (size_t)(2 * half) * sizeof *work);
        status = work ? vf_fft_rows_create(ctx, VF_C128, n, AXES, &plan)
                      : vf_fail(ctx, VF_ERR_MEMORY, "%s: no memory to filter readouts", path);
    }
    if (status == VF_OK)
        sample_response(g, n, dwell, response);
    for (int64_t i = 0; status == VF_OK && i < t->readouts; i++)
        filter(plan, n, response, raw->fov, t->readout[i + 1] - t->readout[i], t->k + 3 * t->readout[i], work,
               work + half);
    vf_fft_rows_destroy(plan);
    free(work);
    free(response);
    return status;
}

vf_status correct_girf(vf_context *ctx, const scan_settings *settings, mri_scan *raw)
{
    girf g = {0};
    vf_status status = find_readouts(ctx, settings, "--girf", raw);
    VF_TRY(status, girf_read(ctx, settings->girf, &g));
    for (int i = 0; status == VF_OK && i < raw->trajectories; i++) {
        status = filter_trajectory(ctx, settings->input, raw, &g, &raw->trajectory[i]);
        VF_TRY(status, scan_check_cancelled(ctx));
    }
    if (status == VF_OK)
        note_correction(raw, "gradient response of %s", settings->girf);
    girf_free(&g);
    return status;
}
