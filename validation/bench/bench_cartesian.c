/* How much Cartesian scans gain from the FFT: F^H d and the solver, the whole way from a scan in memory to its
 * image, and F^H W F through the coils' maps alone on the device. The FFT is compared with the NUFFT, which has Q on
 * the doubled grid and keeps the readout's oversampling. F^H d is checked before anything is timed. Bar: 3 times as
 * fast, for the solver with F^H d.
 *
 * usage: bench_cartesian DEVICE [REPORT.json]
 *
 * Each round reconstructs by one operator and then by the other, so both see the same machine. Times are medians
 * over the rounds. Conjugate gradients, 30 iterations (10 of 128^3), 8 coils with maps, single precision, --accuracy
 * 1e-6. */
#include <complex.h>
#include <math.h>

#include "bench_device.h"
#include "scan/crop_readout.h"
#include "schedule/reconstruct.h"
#include "solve/equations.h"
#include "solve/recon_choices.h"
#include "solve/transfer.h"

enum { COILS = 8, MOST_ROUNDS = 9, CENTRE = 24, APPLICATIONS = 20 };
static const double BAR = 3;

typedef struct bench_case {
    const char *name;
    int64_t matrix[3], keep; /* voxels along x that the image keeps */
    int step;                /* distance of lines along y */
    int iterations, rounds;
} bench_case;

static const bench_case cases[] = {
    {"256^2 of 512 x 256, R = 2", {512, 256, 1}, 256, 2, 30, 5},
    {"256^2 of 512 x 256, R = 3", {512, 256, 1}, 256, 3, 30, 5},
    {"256^2 of 512 x 256, R = 4", {512, 256, 1}, 256, 4, 30, 5},
    {"256^2, readout not oversampled, R = 3", {256, 256, 1}, 256, 3, 30, 5},
    {"128^3, R = 3", {128, 128, 128}, 128, 3, 10, 3},
};

static float random_number(void)
{
    return (float)uniform_between(-0.5, 0.5);
}

/* Every `step`-th line along y and the middle CENTRE lines, complete along x and z; random data. */
static mri_scan make_scan(const bench_case *c)
{
    mri_scan s = {
        .path = "benchmark", .coils = COILS, .volumes = 1, .slices = 1, .places = 1, .trajectories = 1, .frames = 1};
    const int64_t *n = c->matrix, voxels = n[0] * n[1] * n[2];
    int64_t count = 0;
    seed_random();
    for (int a = 0; a < 3; a++) {
        s.matrix[a] = s.crop[a] = n[a];
        s.fov[a] = (double)n[a];
    }
    s.crop[0] = c->keep;
    s.trajectory = room(1, sizeof *s.trajectory);
    s.frame = room(1, sizeof *s.frame);
    *s.trajectory = (scan_trajectory){.k = room((size_t)(3 * voxels), sizeof(float))};
    *s.frame = (scan_frame){.data = room((size_t)(COILS * voxels), sizeof(float complex))};
    for (int64_t i = 0; i < voxels; i++) {
        const int64_t k[3] = {i % n[0] - n[0] / 2, i / n[0] % n[1] - n[1] / 2, i / n[0] / n[1] - n[2] / 2};
        if (k[1] % c->step != 0 && llabs(k[1]) >= CENTRE / 2)
            continue;
        for (int a = 0; a < 3; a++)
            s.trajectory->k[3 * count + a] = (float)k[a];
        count++;
    }
    s.trajectory->samples = count;
    for (int64_t i = 0; i < COILS * count; i++)
        s.frame->data[i] = random_number() + random_number() * I;
    s.sensitivity = room((size_t)(COILS * voxels), sizeof *s.sensitivity);
    for (int64_t i = 0; i < COILS * voxels; i++)
        s.sensitivity[i] = random_number() + random_number() * I;
    return s;
}

typedef struct made {
    float complex *image;             /* of the kept voxels */
    double crop, side, q, solve, all; /* s */
    char how[128];
} made;

typedef struct keeping {
    const bench_case *c;
    const mri_scan *s;
    float complex *image;
} keeping;

static void keep_image(void *user, const scan_frame *frame, const float complex *image)
{
    const keeping *k = user;
    const int64_t nx = k->s->matrix[0], rows = k->s->matrix[1] * k->s->matrix[2];
    (void)frame;
    for (int64_t r = 0; r < rows; r++)
        memcpy(k->image + r * k->c->keep, image + r * nx + nx / 2 - k->c->keep / 2, (size_t)k->c->keep * sizeof *image);
}

static double stage(const recon_watch *watch, const char *name)
{
    double seconds = 0;
    for (int i = 0; i < watch->stages.count; i++)
        seconds += strcmp(watch->stages.stage[i].name, name) == 0 ? watch->stages.stage[i].seconds : 0;
    return seconds;
}

static recon_settings settings_of(const bench_case *c, vf_encode_by by, recon_method method)
{
    return (recon_settings){.solve = {.encode_by = by,
                                      .method = method,
                                      .precision = VF_F32,
                                      .iterations = c->iterations,
                                      .lambda = 1e-3,
                                      .accuracy = 1e-6},
                            .quiet = true};
}

static made reconstruct_by(const bench_case *c, vf_encode_by by, recon_method method)
{
    const recon_settings settings = settings_of(c, by, method);
    recon_summary summary = {0};
    recon_watch watch = {.mode = VF_PROGRESS_OFF};
    mri_scan s = make_scan(c);
    made m = {.image = room((size_t)(c->keep * c->matrix[1] * c->matrix[2]), sizeof *m.image)};
    keeping k = {c, &s, m.image};
    const double began = vf_now();
    need(may_crop_readout(&settings.scan, &settings.solve, &s) ? crop_readout(ctx, &s) : VF_OK);
    m.crop = vf_now() - began;
    need(reconstruct(ctx, &settings, &s, &watch, keep_image, NULL, &k, &summary));
    vf_stage_end(&watch.stages);
    m.all = vf_now() - began;
    m.side = stage(&watch, "F^H d");
    m.q = stage(&watch, "Q");
    m.solve = stage(&watch, "solve");
    snprintf(m.how, sizeof m.how, "%s", summary.last.encoding);
    scan_free(&s);
    return m;
}

/* Seconds of one F^H W F of all coils, after a first one. Several are queued at once, as many for each operator, so
 * the time is the device's and not that of waiting for it. */
static double time_normal(const bench_case *c, vf_encode_by by)
{
    const recon_settings settings = settings_of(c, by, RECON_CG);
    mri_scan s = make_scan(c);
    need(may_crop_readout(&settings.scan, &settings.solve, &s) ? crop_readout(ctx, &s) : VF_OK);
    const int64_t voxels = s.matrix[0] * s.matrix[1] * s.matrix[2];
    const int applications = vf_device_is_host(device) ? 1 : APPLICATIONS;
    const device_team alone = {.ctx = ctx, .count = 1, .queue = &queue};
    vf_normal normal;
    vf_array maps = {0}, x = {0}, y = {0};
    need(normal_matrix_create(&alone, &settings.solve, &s, s.trajectory, NULL, 1, &normal));
    need(vf_array_create(device, VF_SPACE_DEVICE, VF_C64, COILS * voxels, &maps));
    need(vf_array_create(device, VF_SPACE_DEVICE, VF_C64, voxels, &x));
    need(vf_array_create(device, VF_SPACE_DEVICE, VF_C64, voxels, &y));
    need(upload(queue, s.sensitivity, COILS * voxels, &maps));
    need(upload(queue, s.sensitivity, voxels, &x));
    double began = 0;
    for (int i = 0; i <= applications; i++) {
        need(vf_normal_apply(&normal, queue, COILS, maps.data, x.data, y.data));
        if (i > 0)
            continue;
        need(vf_queue_sync(queue));
        began = vf_now();
    }
    need(vf_queue_sync(queue));
    const double seconds = (vf_now() - began) / applications;
    vf_array_free(&maps);
    vf_array_free(&x);
    vf_array_free(&y);
    vf_normal_free(&normal);
    scan_free(&s);
    return seconds;
}

/* |a - b| / |b| */
static double difference(const bench_case *c, const float complex *a, const float complex *b)
{
    double wrong = 0, size = 0;
    for (int64_t i = 0; i < c->keep * c->matrix[1] * c->matrix[2]; i++) {
        const double complex off = (double complex)a[i] - (double complex)b[i];
        wrong += creal(off * conj(off));
        size += creal((double complex)b[i] * conj((double complex)b[i]));
    }
    return sqrt(wrong / size);
}

/* The NUFFT is accurate to 1e-6 in the root mean square over positions. All samples of a grid have the same position
 * along an axis, where two aliases may add, over three axes: 4 times that, and as much again for rounding. */
static double check(const bench_case *c)
{
    made fft = reconstruct_by(c, VF_ENCODE_CARTESIAN, RECON_ADJOINT),
         nufft = reconstruct_by(c, VF_ENCODE_NUFFT, RECON_ADJOINT);
    const double error = difference(c, fft.image, nufft.image);
    free(fft.image);
    free(nufft.image);
    return error;
}

static void run_case(const bench_case *c)
{
    enum { FFT, NUFFT, KINDS };
    static const vf_encode_by operators[KINDS] = {VF_ENCODE_CARTESIAN, VF_ENCODE_NUFFT};
    double solver[KINDS][MOST_ROUNDS], all[KINDS][MOST_ROUNDS], took[KINDS], took_all[KINDS];
    double iterations[KINDS][MOST_ROUNDS], took_iterations[KINDS]; /* of the solver alone */
    double normal[KINDS][MOST_ROUNDS], took_normal[KINDS];         /* of F^H W F */
    const double error = check(c);
    const bool wrong = !(error <= 8e-6);
    for (int r = 0; r < c->rounds; r++)
        for (int k = 0; k < KINDS; k++) {
            made m = reconstruct_by(c, operators[k], RECON_CG);
            free(m.image);
            solver[k][r] = m.crop + m.side + m.solve;
            iterations[k][r] = m.solve;
            all[k][r] = m.all;
            normal[k][r] = time_normal(c, operators[k]);
        }
    for (int k = 0; k < KINDS; k++) {
        took[k] = median(solver[k], c->rounds);
        took_all[k] = median(all[k], c->rounds);
        took_iterations[k] = median(iterations[k], c->rounds);
        took_normal[k] = median(normal[k], c->rounds);
    }
    const double ratio = took[NUFFT] / took[FFT], ratio_all = took_all[NUFFT] / took_all[FFT];
    printf("%-40s %8.1f ms, NUFFT %8.1f ms: %4.1f times%s;  %d iterations %8.1f ms, %8.1f ms: %4.1f times;  all %8.1f "
           "ms, %8.1f ms: %4.1f times;  F^H W F %8.3f ms, %8.3f ms: %4.1f times;  F^H d differs by %.1e%s\n",
           c->name, 1e3 * took[FFT], 1e3 * took[NUFFT], ratio, ratio < BAR ? " (BELOW THE BAR)" : "", c->iterations,
           1e3 * took_iterations[FFT], 1e3 * took_iterations[NUFFT], took_iterations[NUFFT] / took_iterations[FFT],
           1e3 * took_all[FFT], 1e3 * took_all[NUFFT], ratio_all, 1e3 * took_normal[FFT], 1e3 * took_normal[NUFFT],
           took_normal[NUFFT] / took_normal[FFT], error, wrong ? "  WRONG" : "");
    fflush(stdout);
    failures += wrong;
    vf_report_begin(report, c->name);
    vf_report_number(report, "seconds", took[FFT]);
    vf_report_number(report, "nufft_seconds", took[NUFFT]);
    vf_report_number(report, "ratio", ratio);
    vf_report_number(report, "iterations", c->iterations);
    vf_report_number(report, "iterations_seconds", took_iterations[FFT]);
    vf_report_number(report, "iterations_nufft_seconds", took_iterations[NUFFT]);
    vf_report_number(report, "all_seconds", took_all[FFT]);
    vf_report_number(report, "all_nufft_seconds", took_all[NUFFT]);
    vf_report_number(report, "all_ratio", ratio_all);
    vf_report_number(report, "normal_seconds", took_normal[FFT]);
    vf_report_number(report, "normal_nufft_seconds", took_normal[NUFFT]);
    vf_report_number(report, "bar", BAR);
    vf_report_number(report, "relative_difference", error);
    vf_report_end(report);
}

int main(int argc, char **argv)
{
    int ended = begin("bench_cartesian", argc > 1 ? argv[1] : "cpu", argc > 2 ? argv[2] : NULL);
    if (ended >= 0)
        return ended;
    printf("%s: %s; crop, F^H d and the solver; and all from the scan in memory to the image, with Q\n",
           vf_device_spec(device), vf_device_name(device));
    vf_report_begin(report, "cases");
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        run_case(&cases[c]);
    return end();
}
