/* Both types of a non-uniform FFT, and new points for the same plan. usage: nufft [DEVICE]: cpu or cuda. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <voxfield/voxfield.h>

enum { N = 64, VOXELS = N * N, SAMPLES = 3000 };

static void fill(int count, float scale, float *values)
{
    for (int i = 0; i < count; i++)
        values[i] = scale * (float)(2.0 * rand() / (RAND_MAX + 1.0) - 1);
}

/* {re, im} of sum_i conj(a_i) b_i */
static void inner(int count, const float *a, const float *b, double sum[2])
{
    sum[0] = sum[1] = 0;
    for (int i = 0; i < 2 * count; i += 2) {
        sum[0] += (double)a[i] * b[i] + (double)a[i + 1] * b[i + 1];
        sum[1] += (double)a[i] * b[i + 1] - (double)a[i + 1] * b[i];
    }
}

/* out = F in (type 2: voxels to samples) or F^H in (type 1: samples to voxels); both in host memory. */
static vf_status transform(vf_nufft *plan, vf_device *device, bool adjoint, float *in, float *out)
{
    vf_array host_in = {.data = in, .count = adjoint ? SAMPLES : VOXELS, .type = VF_C64}, device_in = {0};
    vf_array host_out = {.data = out, .count = adjoint ? VOXELS : SAMPLES, .type = VF_C64}, device_out = {0};
    vf_queue *queue = NULL;
    bool fine = vf_queue_create(device, &queue) == VF_OK &&
                vf_array_create(device, VF_SPACE_DEVICE, VF_C64, host_in.count, &device_in) == VF_OK &&
                vf_array_create(device, VF_SPACE_DEVICE, VF_C64, host_out.count, &device_out) == VF_OK &&
                vf_array_copy(queue, &device_in, &host_in, host_in.count) == VF_OK &&
                (adjoint ? vf_nufft_adjoint(plan, queue, 1, device_in.data, device_out.data)
                         : vf_nufft_forward(plan, queue, 1, device_in.data, device_out.data)) == VF_OK &&
                vf_array_copy(queue, &host_out, &device_out, host_out.count) == VF_OK && vf_queue_sync(queue) == VF_OK;
    vf_array_free(&device_in), vf_array_free(&device_out);
    vf_queue_destroy(queue);
    return fine ? VF_OK : vf_context_status(vf_device_context(device)); /* the first error */
}

int main(int argc, char **argv)
{
    static float k[3 * SAMPLES], x[2 * VOXELS], c[2 * SAMPLES], fx[2 * SAMPLES], fhc[2 * VOXELS];
    double left[2], right[2], fx_squared[2], c_squared[2];
    const int64_t matrix[3] = {N, N, 1}; /* two dimensions: kz is ignored */
    const vf_nufft_samples samples = {.count = SAMPLES, .k = k};
    const vf_nufft_options options = {.tolerance = 1e-5, .precision = VF_F32};
    vf_context *ctx = NULL;
    vf_nufft *plan = NULL;
    if (vf_context_create(&ctx) != VF_OK)
        return 1;
    vf_status status = vf_context_set_devices(ctx, argc > 1 ? argv[1] : "cpu");
    vf_device *device = vf_context_device(ctx, 0);
    fill(2 * VOXELS, 1, x), fill(2 * SAMPLES, 1, c);
    for (int round = 0; round < 2 && status == VF_OK; round++) {
        fill(3 * SAMPLES, N / 2, k); /* cycles per field of view */
        status = round == 0 ? vf_nufft_create(device, matrix, &samples, 1, &options, &plan)
                            : vf_nufft_set_samples(plan, &samples, NULL);
        if (status == VF_OK)
            status = transform(plan, device, false, x, fx);
        if (status == VF_OK)
            status = transform(plan, device, true, c, fhc);
        inner(SAMPLES, fx, c, left), inner(VOXELS, x, fhc, right);
        inner(SAMPLES, fx, fx, fx_squared), inner(SAMPLES, c, c, c_squared);
        printf("<F x, c> = %.3f%+.3fi, <x, F^H c> = %.3f%+.3fi\n", left[0], left[1], right[0], right[1]);
        const double bound = options.tolerance * sqrt(fx_squared[0] * c_squared[0]);
        if (status == VF_OK && !(hypot(left[0] - right[0], left[1] - right[1]) <= bound))
            status = VF_ERR_INTERNAL;
    }
    if (status != VF_OK)
        fprintf(stderr, "nufft: %s: %s\n", vf_status_text(status), vf_context_message(ctx));
    vf_nufft_destroy(plan);
    vf_context_destroy(ctx);
    return vf_status_exit_code(status);
}
