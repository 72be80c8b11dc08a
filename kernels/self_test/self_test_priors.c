/* Checks of the priors' kernels. Where there is no reference of its own, it is the host's device. */
#include "differences.h"
#include "first_differences.h"
#include "low_rank.h"
#include "self_test_checks.h"
#include "wavelet.h"

vf_status self_test_wavelet(self_test_run *run)
{
    enum { MOST = 12 * 10 * 4 };
    static const int64_t shift[] = {3, 1, 2};
    const vf_wavelet_options options = {.counts = {11, 10, 3},
                                        .precision = run->real,
                                        .moments = 2,
                                        .levels = 2,
                                        .variant = run->reference ? "ref" : NULL};
    vf_wavelet *plan = NULL;
    int64_t padded[3] = {0}, count = 0;
    double norm = 0, rms = 0;
    void *x, *v, *c;
    vf_status status = self_test_put(run, run->complex, 11 * 10 * 3, 1, &x);
    VF_TRY(status, self_test_put(run, run->complex, MOST, 2, &v));
    VF_TRY(status, self_test_put(run, run->complex, MOST, 3, &c));
    VF_TRY(status, vf_wavelet_create(run->device, &options, &plan));
    if (status != VF_OK)
        return status;
    vf_wavelet_padded(plan, padded);
    const int64_t numbers = padded[0] * padded[1] * padded[2];
    if (numbers > MOST)
        status = vf_fail(vf_device_context(run->device), VF_ERR_INTERNAL, "self-test: %lld padded voxels",
                         (long long)numbers);
    VF_TRY(status, vf_wavelet_pad(plan, run->queue, x, v));
    VF_TRY(status, vf_wavelet_forward(plan, run->queue, shift, v, c));
    VF_TRY(status, self_test_take(run, run->complex, (int)numbers, c));
    VF_TRY(status, vf_wavelet_norm(plan, run->queue, shift, v, &norm));
    VF_TRY(status, vf_wavelet_finest_rms(plan, run->queue, shift, v, NULL, &rms, &count));
    VF_TRY(status, vf_wavelet_threshold(plan, run->queue, shift, 0.2, v, c));
    VF_TRY(status, self_test_take(run, run->complex, (int)numbers, c));
    vf_wavelet_destroy(plan);
    self_test_value(run, norm);
    self_test_value(run, rms);
    self_test_value(run, (double)count);
    return status;
}

vf_status self_test_differences(self_test_run *run)
{
    enum { COMPONENTS = 4, N = 5 * 4 * 3 * 2 };
    static const int64_t counts[] = {5, 4, 3, 2};
    static const double weights[COMPONENTS] = {1, 1, 2, 0.5};
    const unsigned axes = VF_ALONG_X | VF_ALONG_Y | VF_ALONG_Z | VF_ALONG_FRAMES;
    const vf_dtype type = run->complex;
    double norm = 0;
    void *x, *y;
    vf_status status = self_test_put(run, type, N, 1, &x);
    VF_TRY(status, self_test_put(run, type, COMPONENTS * N, 2, &y));
    VF_TRY(status, vf_differences_forward(run->queue, type, counts, axes, x, y));
    VF_TRY(status, vf_group_norm(run->queue, type, COMPONENTS, N, weights, y, &norm));
    VF_TRY(status, vf_group_soft(run->queue, type, COMPONENTS, N, weights, 0.4, y, y));
    VF_TRY(status, vf_differences_adjoint(run->queue, type, counts, axes, y, x));
    VF_TRY(status, self_test_take(run, type, COMPONENTS * N, y));
    VF_TRY(status, self_test_take(run, type, N, x));
    self_test_value(run, norm);
    return status;
}

vf_status self_test_first_differences(self_test_run *run)
{
    enum { N = 5 * 4 * 3 };
    static const int64_t counts[] = {5, 4, 3};
    void *x, *y, *weights;
    vf_status status = self_test_put(run, run->complex, N, 1, &x);
    VF_TRY(status, self_test_put(run, run->complex, N, 2, &y));
    VF_TRY(status, self_test_put(run, run->real, 3 * N, 3, &weights));
    VF_TRY(status, vf_first_differences_add(run->queue, run->complex, counts, 0.75, weights, x, y));
    VF_TRY(status, self_test_take(run, run->complex, N, y));
    return status;
}

/* Blocks whose shorter side is that of voxels, and that of frames. */
vf_status self_test_low_rank(self_test_run *run)
{
    enum { N = 5 * 4 * 2 * 6 };
    static const int64_t counts[] = {5, 4, 2, 6}, block[] = {3, 3, 2}, shift[] = {1, 0, 1};
    vf_low_rank *plan = NULL;
    double norm = 0;
    void *v, *z;
    vf_status status = self_test_put(run, run->complex, N, 1, &v);
    VF_TRY(status, self_test_put(run, run->complex, N, 2, &z));
    VF_TRY(status, vf_low_rank_create(run->device, run->complex, counts, block, run->reference ? "ref" : NULL, &plan));
    VF_TRY(status, vf_low_rank_threshold(plan, run->queue, shift, 0.5, v, z));
    VF_TRY(status, vf_low_rank_norm(plan, run->queue, shift, v, &norm));
    VF_TRY(status, self_test_take(run, run->complex, N, z));
    vf_low_rank_destroy(plan);
    self_test_value(run, norm);
    return status;
}
