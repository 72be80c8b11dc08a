/* Operators composed by hand: two coils with real maps, E = (F M_0, F M_1), and (E^H E + lambda I) image = E^H d by conjugate
 * gradients. examples/image.c has the same equation with operators made for it, which are faster. usage: compose [cpu or cuda] */
#include <math.h>
#include <stdio.h>
#include <voxfield/voxfield.h>

enum { N = 32, VOXELS = N * N, SPOKES = 48, SAMPLES = SPOKES * N, COILS = 2, X = 0, B, D, MAP, ARRAYS };
static float k[3 * SAMPLES], object[2 * VOXELS], image[2 * VOXELS], map[COILS * VOXELS];

/* As in image.c. */
static void simulate(void)
{
    for (int m = 0; m < SAMPLES; m++) {
        k[3 * m] = (float)((m % N - N / 2) * cos(3.14159265358979 * (m / N) / SPOKES));
        k[3 * m + 1] = (float)((m % N - N / 2) * sin(3.14159265358979 * (m / N) / SPOKES));
    }
    for (int i = 0; i < VOXELS; i++) {
        object[2 * i] = (float)exp(-(pow(i % N - 13, 2) + pow(i / N - 17, 2)) / 20);
        map[VOXELS + i] = 1 - (map[i] = (float)(i % N + 1) / N);
    }
}

static vf_status reconstruct(vf_device *device, vf_queue *queue, vf_encoding *encoding, const vf_array v[ARRAYS])
{
    enum { F, M, COIL = M + COILS, E = COIL + COILS, EH, EHE, I, LAMBDA, SYSTEM, OPERATORS };
    const vf_sum_shape shape = {device, VF_F32, VOXELS, SAMPLES, 1};
    vf_operator *a[OPERATORS] = {NULL};
    vf_status status = vf_encoding_operator(&shape, encoding, &a[F]);
    for (int c = 0; c < COILS; c++) {
        VF_TRY(status,
               vf_operator_weights(device, vf_operator_domain(a[F]), (float *)v[MAP].data + c * VOXELS, &a[M + c]));
        VF_TRY(status, vf_operator_chain(2, (vf_operator *[]){a[M + c], a[F]}, &a[COIL + c]));
    }
    VF_TRY(status, vf_operator_stack(COILS, a + COIL, &a[E]));
    VF_TRY(status, vf_operator_adjoint_of(a[E], &a[EH]));
    VF_TRY(status, vf_operator_chain(2, (vf_operator *[]){a[E], a[EH]}, &a[EHE]));
    VF_TRY(status, vf_operator_identity(device, vf_operator_domain(a[E]), &a[I]));
    VF_TRY(status, vf_operator_scale(1e-3, a[I], &a[LAMBDA]));
    VF_TRY(status, vf_operator_sum(2, (vf_operator *[]){a[EHE], a[LAMBDA]}, &a[SYSTEM]));
    VF_TRY(status, vf_operator_forward(a[E], queue, v[X].data, v[D].data));
    VF_TRY(status, vf_operator_forward(a[EH], queue, v[D].data, v[B].data));
    VF_TRY(status, vf_cg(a[SYSTEM], queue, &(vf_cg_options){.iterations = 100, .tolerance = 1e-4}, v[B].data, v[X].data,
                         &(vf_cg_result){0}));
    for (int i = 0; i < OPERATORS; i++)
        vf_operator_free(a[i]); /* an operator keeps those that it is made of until it is freed */
    return status;
}

int main(int argc, char **argv)
{
    static const int64_t matrix[3] = {N, N, 1}, counts[ARRAYS] = {VOXELS, VOXELS, COILS * SAMPLES, VOXELS};
    vf_context *ctx = NULL;
    vf_queue *queue = NULL;
    vf_encoding *encoding = NULL;
    vf_array v[ARRAYS] = {{0}};
    double error = 0, norm = 0;
    simulate();
    vf_status status = vf_context_create(&ctx);
    VF_TRY(status, vf_context_set_devices(ctx, argc > 1 ? argv[1] : "cpu"));
    vf_device *device = status == VF_OK ? vf_context_device(ctx, 0) : NULL;
    VF_TRY(status, vf_queue_create(device, &queue));
    VF_TRY(status, vf_encoding_create(device, matrix, &(vf_encoding_samples){.count = SAMPLES, .k = k},
                                      &(vf_encoding_options){.precision = VF_F32, .accuracy = 1e-5, .most_batch = 1},
                                      &encoding));
    for (int i = 0; i < ARRAYS; i++)
        VF_TRY(status, vf_array_create(device, VF_SPACE_DEVICE, VF_C64, counts[i], &v[i]));
    VF_TRY(status, vf_queue_copy(queue, v[MAP].data, map, sizeof map));
    VF_TRY(status, vf_queue_copy(queue, v[X].data, object, sizeof object));
    VF_TRY(status, reconstruct(device, queue, encoding, v));
    VF_TRY(status, vf_queue_copy(queue, image, v[X].data, sizeof image));
    VF_TRY(status, vf_queue_sync(queue));
    for (int i = 0; i < 2 * VOXELS; i++)
        error += pow(image[i] - object[i], 2), norm += pow(object[i], 2);
    printf("the image is off by %.2g%s\n", sqrt(error / norm), status == VF_OK ? "" : vf_context_message(ctx));
    for (int i = 0; i < ARRAYS; i++)
        vf_array_free(&v[i]);
    vf_encoding_destroy(encoding), vf_queue_destroy(queue), vf_context_destroy(ctx);
    return status != VF_OK || !(error <= 1e-4 * norm); /* (tolerance x condition number of the system, < 100)^2 */
}
