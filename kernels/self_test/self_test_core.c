/* Checks of libcore's kernels: copies, reductions, vectors, transforms. The reference is the host's device. */
#include "self_test_checks.h"
#include "voxfield/copy.h"
#include "voxfield/fft.h"
#include "voxfield/reduce.h"
#include "voxfield/vector.h"

enum { N = 99 };

vf_status self_test_copies(self_test_run *run)
{
    static const double value[] = {1.5, -2.25};
    static const float once[] = {1.5f, -2.25f};
    const vf_dtype type = run->complex;
    uint32_t index[N];
    void *x, *y, *z, *there;
    for (int i = 0; i < N; i++)
        index[i] = (uint32_t)(i * 10 % N); /* a permutation: 10 and 99 have no common factor */
    vf_status status = self_test_put(run, type, N, 1, &x);
    VF_TRY(status, self_test_put(run, type, N, 2, &y));
    VF_TRY(status, self_test_put(run, type, N, 3, &z));
    VF_TRY(status, self_test_upload(run, VF_I32, N, index, &there));
    VF_TRY(status, vf_gather(run->queue, type, N, there, x, y));
    VF_TRY(status, self_test_take(run, type, N, y));
    VF_TRY(status, vf_scatter(run->queue, type, N, there, x, y));
    VF_TRY(status, self_test_take(run, type, N, y));
    VF_TRY(status,
           vf_copy_box(run->queue, type, (const int64_t[]){3, 2, 4}, x, (vf_pitch){5, 20}, z, (vf_pitch){4, 9}));
    VF_TRY(status, self_test_take(run, type, N, z));
    VF_TRY(status, vf_transpose(run->queue, type, 1, 19, 5, x, (vf_pitch){5, N}, y, (vf_pitch){19, N}));
    VF_TRY(status, self_test_take(run, type, N, y));
    VF_TRY(status, vf_fill(run->queue, type, N, run->real == VF_F64 ? (const void *)value : once, z));
    VF_TRY(status, self_test_take(run, type, N, z));
    return status;
}

static vf_status reduce(self_test_run *run, vf_reduction reduction, vf_dtype type, const void *x)
{
    vf_reduce *plan = NULL;
    vf_reduced result = {0};
    vf_status status = vf_reduce_create(run->device, reduction, type, N, &plan);
    VF_TRY(status, vf_reduce_now(plan, run->queue, N, x, NULL, &result));
    vf_reduce_destroy(plan);
    self_test_value(run, result.re);
    self_test_value(run, result.im);
    self_test_value(run, (double)result.integer);
    self_test_value(run, (double)result.index);
    return status;
}

vf_status self_test_reductions(self_test_run *run)
{
    void *x, *integers;
    vf_status status = self_test_put(run, run->complex, N, 1, &x);
    VF_TRY(status, self_test_put(run, VF_I32, N, 2, &integers));
    VF_TRY(status, reduce(run, VF_REDUCE_SUM, run->complex, x));
    VF_TRY(status, reduce(run, VF_REDUCE_MAX, run->real, x));
    VF_TRY(status, reduce(run, VF_REDUCE_SUM, VF_I32, integers));
    return status;
}

vf_status self_test_vectors(self_test_run *run)
{
    const vf_dtype type = run->complex;
    void *x, *y, *z, *r, *w;
    double dot[2] = {0}, squares = 0;
    vf_status status = self_test_put(run, type, N, 1, &x);
    VF_TRY(status, self_test_put(run, type, N, 2, &y));
    VF_TRY(status, self_test_put(run, type, N, 3, &z));
    VF_TRY(status, self_test_put(run, type, N, 4, &r));
    VF_TRY(status, self_test_put(run, run->real, N, 5, &w));
    VF_TRY(status, vf_vector_axpby(run->queue, type, N, 0.75, x, -1.5, y));
    VF_TRY(status, vf_vector_multiply_add(run->queue, type, N, x, y, z));
    VF_TRY(status, vf_vector_scale_by(run->queue, type, N, w, z, z));
    VF_TRY(status, vf_vector_dot(run->queue, type, N, x, y, dot));
    VF_TRY(status, vf_vector_cg_step(run->queue, type, N, 0.25, x, z, y, r, &squares));
    VF_TRY(status, self_test_take(run, type, N, y));
    VF_TRY(status, self_test_take(run, type, N, z));
    VF_TRY(status, self_test_take(run, type, N, r));
    self_test_value(run, dot[0]);
    self_test_value(run, dot[1]);
    self_test_value(run, squares);
    return status;
}

/* All radices: 8, 5, 3, and 7 as any prime; 4, 3 and 8, 2 along two axes. */
vf_status self_test_fft(self_test_run *run)
{
    static const int64_t dims[][2] = {{1, 840}, {12, 16}};
    vf_status status = VF_OK;
    for (int i = 0; status == VF_OK && i < 2; i++) {
        const int count = (int)(dims[i][0] * dims[i][1]);
        vf_fft *plan = NULL;
        void *x;
        status = self_test_put(run, run->complex, count, 1, &x);
        VF_TRY(status, vf_fft_create(run->device, run->complex, 2, dims[i], 1, &plan));
        VF_TRY(status, vf_fft_execute(plan, run->queue, i == 0 ? VF_FFT_FORWARD : VF_FFT_BACKWARD, x));
        VF_TRY(status, self_test_take(run, run->complex, count, x));
        vf_fft_destroy(plan);
    }
    return status;
}
