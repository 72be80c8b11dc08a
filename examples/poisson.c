/* Poisson's equation with a coefficient that varies, -div(c grad u) = f in the unit cube with u = 0 on its faces: a stencil
 * as an operator, solved by conjugate gradients, and compared with the solution in closed form.
 * usage: poisson [DEVICE]: cpu or cuda. */
#include <math.h>
#include <stdio.h>

#include <voxfield/voxfield.h>

/* N points along each axis, a step of 1 / (N + 1) from each other and from the cube's faces. */
enum { N = 31, POINTS = N * N * N, FACES = (N + 1) * N * N, X = 0, Y, Z, RIGHT, U, ARRAYS };
static double face[3][FACES], right[POINTS], u[POINTS];
static const double pi = 3.14159265358979323846;

/* c = exp(x), u = sin(pi x) sin(pi y) sin(pi z), f = -c (pi cos(pi x) sin(pi y) sin(pi z) - 3 pi^2 u) */
static double exact(double x, double y, double z)
{
    return sin(pi * x) * sin(pi * y) * sin(pi * z);
}

static void make_equation(void)
{
    const double h = 1.0 / (N + 1);
    for (int i = 0; i < FACES; i++) {
        face[X][i] = exp((i % (N + 1) + 0.5) * h); /* [z][y][x], with one face more along their own axis */
        face[Y][i] = face[Z][i] = exp((i % N + 1) * h);
    }
    for (int i = 0; i < POINTS; i++) {
        const double x = (i % N + 1) * h, y = (i / N % N + 1) * h, z = (i / N / N + 1) * h;
        right[i] = exp(x) * (3 * pi * pi * exact(x, y, z) - pi * cos(pi * x) * sin(pi * y) * sin(pi * z));
    }
}

static double largest_error(void)
{
    double error = 0;
    for (int i = 0; i < POINTS; i++)
        error =
            fmax(error,
                 fabs(u[i] - exact((i % N + 1) / (N + 1.0), (i / N % N + 1) / (N + 1.0), (i / N / N + 1) / (N + 1.0))));
    return error;
}

int main(int argc, char **argv)
{
    const void *const host[ARRAYS] = {face[X], face[Y], face[Z], right, u};
    const int64_t counts[ARRAYS] = {FACES, FACES, FACES, POINTS, POINTS};
    const vf_cg_options solver = {.iterations = 500, .tolerance = 1e-10};
    vf_stencil_options options = {.type = VF_F64, .counts = {N, N, N}};
    vf_context *ctx = NULL;
    vf_queue *queue = NULL;
    vf_stencil *stencil = NULL;
    vf_operator *a = NULL;
    vf_cg_result result = {0};
    vf_array v[ARRAYS] = {{0}};
    make_equation();
    vf_status status = vf_context_create(&ctx);
    VF_TRY(status, vf_context_set_devices(ctx, argc > 1 ? argv[1] : "cpu"));
    vf_device *device = status == VF_OK ? vf_context_device(ctx, 0) : NULL;
    VF_TRY(status, vf_queue_create(device, &queue));
    for (int i = 0; i < ARRAYS; i++) {
        VF_TRY(status, vf_array_create(device, VF_SPACE_DEVICE, VF_F64, counts[i], &v[i]));
        VF_TRY(status, vf_queue_copy(queue, v[i].data, host[i], (size_t)counts[i] * sizeof(double)));
    }
    for (int i = 0; i < 3; i++) {
        options.faces[i] = v[i].data;
        options.spacing[i] = 1.0 / (N + 1);
    }
    VF_TRY(status, vf_stencil_create(device, &options, &stencil));
    VF_TRY(status, vf_stencil_operator_create(stencil, &a));
    VF_TRY(status, vf_cg(a, queue, &solver, v[RIGHT].data, v[U].data, &result));
    VF_TRY(status, vf_queue_copy(queue, u, v[U].data, sizeof u));
    VF_TRY(status, vf_queue_sync(queue));
    const double error = status == VF_OK ? largest_error() : INFINITY;
    printf("%d iterations, largest error %.2e %s\n", result.iterations, error, status ? vf_context_message(ctx) : "");
    for (int i = 0; i < ARRAYS; i++)
        vf_array_free(&v[i]);
    vf_operator_free(a), vf_stencil_destroy(stencil), vf_queue_destroy(queue), vf_context_destroy(ctx);
    return !(error < 1e-3); /* pi^2 h^2 / 12 is 8e-4 */
}
