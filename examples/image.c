/* A simulated scan of two coils: (E^H E + lambda P) image = E^H d by conjugate gradients. usage: image [cpu or cuda] */
#include <math.h>
#include <stdio.h>

#include <voxfield/voxfield.h>

enum { N = 48, VOXELS = N * N, SPOKES = 60, SAMPLES = SPOKES * N, COILS = 2, BYTES = VOXELS * 8 };
static float k[3 * SAMPLES], object[2 * VOXELS], image[2 * VOXELS], maps[COILS * 2 * VOXELS];

/* Spokes through the centre, in cycles per field of view; a smooth hill; coils that see one side better than the other. */
static void simulate(void)
{
    for (int m = 0; m < SAMPLES; m++) {
        const double angle = 3.14159265358979 * (m / N) / SPOKES;
        k[3 * m] = (float)((m % N - N / 2) * cos(angle));
        k[3 * m + 1] = (float)((m % N - N / 2) * sin(angle));
    }
    for (int i = 0; i < VOXELS; i++) {
        object[2 * i] = (float)exp(-(pow(i % N - 20, 2) + pow(i / N - 25, 2)) / 30);
        maps[2 * i] = (float)(i % N + 1) / N;
        maps[2 * (VOXELS + i)] = 1 - maps[2 * i];
    }
}

/* E: coil maps, then F. Its own fast E^H E is by F^H F, which is made once. */
static vf_status reconstruct(vf_device *device, vf_queue *queue)
{
    enum { X, B, D, MAPS, ARRAYS };
    static const int64_t counts[ARRAYS] = {VOXELS, VOXELS, COILS * SAMPLES, COILS * VOXELS};
    const vf_encoding_options options = {.precision = VF_F32, .accuracy = 1e-5, .most_batch = COILS};
    const vf_normal_task task = {.matrix = {N, N, 1}, .samples = SAMPLES, .k = k, .encoding = options};
    const vf_encoding_samples samples = {.count = SAMPLES, .k = k};
    const vf_prior_options identity = {.kind = VF_PRIOR_IDENTITY, .precision = VF_F32, .counts = {N, N, 1}};
    vf_sense_operator scan = {.shape = {device, VF_F32, VOXELS, SAMPLES, COILS}, .coils = COILS};
    vf_normal normal = {0};
    vf_prior prior = {0};
    vf_array v[ARRAYS] = {{0}};
    vf_operator *e = NULL, *ehe = NULL, *system = NULL;
    vf_status status = vf_encoding_create(device, task.matrix, &samples, &options, &scan.encoding);
    VF_TRY(status, vf_normal_create(device, &task, &normal));
    VF_TRY(status, vf_prior_create(queue, &identity, &prior));
    for (int i = 0; i < ARRAYS; i++)
        VF_TRY(status, vf_array_create(device, VF_SPACE_DEVICE, VF_C64, counts[i], &v[i]));
    VF_TRY(status, vf_queue_copy(queue, v[MAPS].data, maps, sizeof maps));
    VF_TRY(status, vf_queue_copy(queue, v[X].data, object, BYTES));
    prior.lambda = 1e-6 * normal.diagonal, scan.maps = v[MAPS].data, scan.normal = &normal;
    VF_TRY(status, vf_sense_operator_create(&scan, &e));
    VF_TRY(status, vf_operator_forward(e, queue, v[X].data, v[D].data));
    VF_TRY(status, vf_operator_adjoint(e, queue, v[D].data, v[B].data));
    VF_TRY(status, vf_operator_normal_of(e, &ehe));
    VF_TRY(status, vf_regularized_operator(ehe, &prior, &system));
    const vf_cg_options until = {.iterations = 100, .tolerance = 1e-4};
    VF_TRY(status, vf_cg(system, queue, &until, v[B].data, v[X].data, &(vf_cg_result){0}));
    VF_TRY(status, vf_queue_copy(queue, image, v[X].data, BYTES));
    VF_TRY(status, vf_queue_sync(queue));
    vf_operator_free(system), vf_operator_free(ehe), vf_operator_free(e);
    vf_prior_free(&prior), vf_normal_free(&normal), vf_encoding_destroy(scan.encoding);
    for (int i = 0; i < ARRAYS; i++)
        vf_array_free(&v[i]);
    return status;
}

int main(int argc, char **argv)
{
    vf_context *ctx = NULL;
    vf_queue *queue = NULL;
    double error = 0, norm = 0;
    if (vf_context_create(&ctx) != VF_OK)
        return 1;
    simulate();
    vf_status status = vf_context_set_devices(ctx, argc > 1 ? argv[1] : "cpu");
    VF_TRY(status, vf_queue_create(vf_context_device(ctx, 0), &queue));
    VF_TRY(status, reconstruct(vf_context_device(ctx, 0), queue));
    for (int i = 0; i < 2 * VOXELS; i++)
        error += pow(image[i] - object[i], 2), norm += pow(object[i], 2);
    printf("the image is off by %.2g%s\n", sqrt(error / norm), status == VF_OK ? "" : vf_context_message(ctx));
    vf_queue_destroy(queue), vf_context_destroy(ctx);
    return status != VF_OK || !(error <= 1e-4 * norm); /* (tolerance x condition number of the system, < 100)^2 */
}
