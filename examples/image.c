/* F^H d, and the image by conjugate gradients, for simulated radial samples d. usage: image [DEVICE]: cpu or cuda. */
#include <math.h>
#include <stdio.h>

#include <voxfield/voxfield.h>

enum { N = 48, VOXELS = N * N, SPOKES = 80, SAMPLES = SPOKES * N, BYTES = VOXELS * 8 };

/* F as an operator: its functions. Their state is a plan. */
static vf_status forward(void *plan, vf_queue *queue, const void *x, void *y)
{
    return vf_nufft_forward(plan, queue, 1, x, y);
}

static vf_status adjoint(void *plan, vf_queue *queue, const void *y, void *x)
{
    return vf_nufft_adjoint(plan, queue, 1, y, x);
}

static const vf_operator_methods methods = {.name = "F", .forward = forward, .adjoint = adjoint};

/* d = F object; then F^H d, and the solution of F^H F image = F^H d. The three are in host memory. */
static bool reconstruct(vf_operator *f, vf_queue *queue, const float *object, float *fhd, float *image)
{
    vf_device *device = vf_operator_device(f);
    vf_array x = {0}, y = {0}, d = {0};
    vf_operator *normal = NULL;
    vf_cg_result result = {0};
    const bool fine =
        vf_operator_normal_of(f, &normal) == VF_OK &&
        vf_array_create(device, VF_SPACE_DEVICE, VF_C64, VOXELS, &x) == VF_OK &&
        vf_array_create(device, VF_SPACE_DEVICE, VF_C64, VOXELS, &y) == VF_OK &&
        vf_array_create(device, VF_SPACE_DEVICE, VF_C64, SAMPLES, &d) == VF_OK &&
        vf_queue_copy(queue, x.data, object, BYTES) == VF_OK &&
        vf_operator_forward(f, queue, x.data, d.data) == VF_OK &&
        vf_operator_adjoint(f, queue, d.data, y.data) == VF_OK && vf_queue_copy(queue, fhd, y.data, BYTES) == VF_OK &&
        vf_cg(normal, queue, &(vf_cg_options){.iterations = 100, .tolerance = 1e-4}, y.data, x.data, &result) ==
            VF_OK &&
        vf_queue_copy(queue, image, x.data, BYTES) == VF_OK && vf_queue_sync(queue) == VF_OK;
    printf("%d iterations, residual %.1e\n", result.iterations, result.residual);
    vf_operator_free(normal);
    vf_array_free(&x), vf_array_free(&y), vf_array_free(&d);
    return fine;
}

int main(int argc, char **argv)
{
    static float k[3 * SAMPLES], object[2 * VOXELS], fhd[2 * VOXELS], image[2 * VOXELS];
    const vf_nufft_samples samples = {.count = SAMPLES, .k = k};
    const vf_vector_space voxels = {VF_C64, VOXELS}, data = {VF_C64, SAMPLES};
    const vf_nufft_options options = {.tolerance = 1e-5, .precision = VF_F32};
    double error = 0, norm = 0;
    for (int m = 0; m < SAMPLES; m++) {
        const double angle = 3.14159265358979 * (m / N) / SPOKES;
        k[3 * m] = (float)((m % N - N / 2) * cos(angle)); /* cycles per field of view */
        k[3 * m + 1] = (float)((m % N - N / 2) * sin(angle));
    }
    for (int i = 0; i < VOXELS; i++) /* a smooth hill */
        object[2 * i] = (float)exp(-(pow(i % N - 20, 2) + pow(i / N - 25, 2)) / 30);
    vf_context *ctx = NULL;
    vf_nufft *plan = NULL;
    vf_operator *f = NULL;
    vf_queue *queue = NULL;
    if (vf_context_create(&ctx) != VF_OK)
        return 1;
    const bool fine =
        vf_context_set_devices(ctx, argc > 1 ? argv[1] : "cpu") == VF_OK &&
        vf_queue_create(vf_context_device(ctx, 0), &queue) == VF_OK &&
        vf_nufft_create(vf_queue_device(queue), (int64_t[]){N, N, 1}, &samples, 1, &options, &plan) == VF_OK &&
        vf_operator_create(vf_queue_device(queue), &methods, 0, voxels, data, plan, &f) == VF_OK &&
        reconstruct(f, queue, object, fhd, image);
    for (int i = 0; i < 2 * VOXELS; i++)
        error += pow(image[i] - object[i], 2), norm += pow(object[i], 2);
    printf("F^H d is %.0f at the top; the image is off by %.2g\n", fhd[2 * (25 * N + 20)], sqrt(error / norm));
    if (!fine)
        fprintf(stderr, "image: %s\n", vf_context_message(ctx));
    vf_operator_free(f), vf_nufft_destroy(plan), vf_queue_destroy(queue), vf_context_destroy(ctx);
    return !fine || !(error <= 1e-4 * norm); /* (tolerance x condition number of F^H F, < 100)^2 */
}
