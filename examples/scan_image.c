/* An image from an undersampled radial scan in memory, by all that mri_recon decides. usage: scan_image [image file] */
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <voxfield/mri_recon.h>
#include <voxfield/voxfield.h>

enum { N = 64, SPOKES = 40, SAMPLES = SPOKES * N, COILS = 4 };
static float k[SAMPLES][3];
static float complex data[COILS][SAMPLES];

/* Golden-angle spokes in cycles per field of view, and the transform of two Gaussian blobs that each coil sees differently. */
static void simulate(void)
{
    const double pi = 3.14159265358979, golden = pi * (sqrt(5) - 1) / 2;
    for (int m = 0; m < SAMPLES; m++) {
        const double r = m % N - N / 2, angle = golden * (m / N), kx = r * cos(angle), ky = r * sin(angle);
        k[m][0] = (float)kx, k[m][1] = (float)ky;
        for (int c = 0; c < COILS; c++)
            for (int blob = 0; blob < 2; blob++) {
                const double x = blob ? 0.15 : -0.2, y = blob ? 0.1 : -0.05, width = blob ? 0.05 : 0.08;
                const double near = exp(-4 * (pow(x - 0.4 * cos(pi * c / 2), 2) + pow(y - 0.4 * sin(pi * c / 2), 2)));
                const double size = near * exp(-2 * pi * pi * width * width * (kx * kx + ky * ky)),
                             turn = 2 * pi * (kx * x + ky * y);
                data[c][m] += (float)(size * cos(turn)) - (float)(size * sin(turn)) * I;
            }
    }
}

static void print(void *user, vf_log_level level, const char *text)
{
    (void)user;
    fprintf(level == VF_LOG_WARNING ? stderr : stdout, "%s%s\n", level == VF_LOG_WARNING ? "warning: " : "", text);
}

int main(int argc, char **argv)
{
    const vf_mri_scan scan = {.data = {data, VF_C64, 2, {COILS, SAMPLES}},
                              .trajectory = {k, VF_F32, 2, {SAMPLES, 3}},
                              .matrix = {N, N, 1},
                              .fov_mm = {200, 200, 5}};
    const vf_option options[] = {{"prior", "wavelet"}, {"coils", "espirit"}, {"save-coils", "memory"}, {NULL, NULL}};
    vf_context *ctx;
    vf_result *result = NULL;
    if (vf_context_create(&ctx) != VF_OK)
        return EXIT_FAILURE;
    simulate();
    vf_context_set_log(ctx, print, NULL);
    vf_status status = vf_mri_reconstruct(ctx, &scan, options, &result);
    if (status == VF_OK && argc > 1)
        status = vf_mri_write_result(ctx, result, argv[1]);
    double brightest = 0;
    int at = 0;
    if (status == VF_OK) {
        const vf_view image = vf_result_view(result, "image"), maps = vf_result_view(result, "maps");
        const float complex *x = image.data;
        for (int i = 0; i < N * N; i++)
            if (cabsf(x[i]) > brightest)
                brightest = cabsf(x[at = i]);
        printf("image [%d][%d][%d][%d], maps of %d coils, brightest at (%d, %d)\n", (int)image.dims[0],
               (int)image.dims[1], (int)image.dims[2], (int)image.dims[3], (int)maps.dims[2], at % N, at / N);
        if (!strstr(vf_result_text(result, "report"), "\"iterations\""))
            status = VF_ERR_INTERNAL;
    }
    if (vf_context_message(ctx)[0])
        fprintf(stderr, "error: %s\n", vf_context_message(ctx));
    vf_result_free(result);
    vf_context_destroy(ctx);
    /* A blob lies where x N + N/2 says: (19, 29) or (42, 38), to a voxel. */
    const int dx = at % N - 19, dy = at / N - 29, ex = at % N - 42, ey = at / N - 38;
    return status == VF_OK && (abs(dx) + abs(dy) <= 2 || abs(ex) + abs(ey) <= 2) ? EXIT_SUCCESS : EXIT_FAILURE;
}
