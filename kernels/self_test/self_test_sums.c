/* Checks of the sums between samples and voxels. That of the NUFFT is the direct sum, to a tolerance. */
#include "fourier_sum.h"
#include "gridding.h"
#include "self_test_checks.h"
#include "toeplitz.h"

#include <math.h>

/* Batches of 5 for the direct sum: on OpenCL devices four vectors at a time, then one. */
enum { SAMPLES = 13, BATCH = 5, NX = 6, NY = 5, NZ = 4, VOXELS = NX * NY * NZ };

/* A scan with off-resonance. The first sample is at the edge of k-space. */
typedef struct small_scan {
    float k[3 * SAMPLES], time[SAMPLES], field[VOXELS];
} small_scan;

static void make_scan(small_scan *scan)
{
    for (int i = 0; i < 3 * SAMPLES; i++)
        scan->k[i] = (float)(4 * self_test_number(11, i));
    scan->k[0] = -NX / 2.0f;
    for (int i = 0; i < SAMPLES; i++)
        scan->time[i] = (float)(0.01 * (1 + self_test_number(12, i)));
    for (int i = 0; i < VOXELS; i++)
        scan->field[i] = (float)(50 * self_test_number(13, i));
}

static vf_status direct_sum(self_test_run *run, int batch, bool forward)
{
    const vf_grid grid = {.origin = {-(NX / 2) / (double)NX, -(NY / 2) / (double)NY, -(NZ / 2) / (double)NZ},
                          .spacing = {1.0 / NX, 1.0 / NY, 1.0 / NZ},
                          .counts = {NX, NY, NZ}};
    const vf_fourier_options options = {.precision = run->real, .variant = run->reference ? "ref" : NULL};
    const int from_count = batch * (forward ? VOXELS : SAMPLES), to_count = batch * (forward ? SAMPLES : VOXELS);
    small_scan scan;
    make_scan(&scan);
    const vf_fourier_samples samples = {SAMPLES, scan.k, scan.time};
    const vf_fourier_voxels voxels = {.grid = &grid, .field = scan.field};
    vf_fourier *plan = NULL;
    void *from, *to;
    vf_status status = self_test_put(run, run->complex, from_count, 1, &from);
    VF_TRY(status, self_test_put(run, run->complex, to_count, 2, &to));
    VF_TRY(status, vf_fourier_create(run->device, &samples, &voxels, batch, &options, &plan));
    VF_TRY(status, forward ? vf_fourier_forward(plan, run->queue, batch, from, to)
                           : vf_fourier_adjoint(plan, run->queue, batch, from, 0, VOXELS, to));
    VF_TRY(status, self_test_take(run, run->complex, to_count, to));
    vf_fourier_destroy(plan);
    return status;
}

vf_status self_test_fourier_adjoint(self_test_run *run)
{
    return direct_sum(run, BATCH, false);
}

vf_status self_test_fourier_forward(self_test_run *run)
{
    return direct_sum(run, BATCH, true);
}

static vf_status nufft(self_test_run *run, bool forward)
{
    const int64_t matrix[] = {NX, NY, NZ};
    const int from_count = forward ? VOXELS : SAMPLES, to_count = forward ? SAMPLES : VOXELS;
    small_scan scan;
    make_scan(&scan);
    const vf_nufft_samples samples = {.count = SAMPLES, .k = scan.k, .time = scan.time};
    const vf_nufft_options options = {
        .tolerance = run->real == VF_F64 ? 1e-9 : 1e-4, .precision = run->real, .field = scan.field};
    vf_nufft *plan = NULL;
    void *from, *to;
    if (run->reference)
        return direct_sum(run, 1, forward);
    vf_status status = self_test_put(run, run->complex, from_count, 1, &from);
    VF_TRY(status, self_test_put(run, run->complex, to_count, 2, &to));
    VF_TRY(status, vf_nufft_create(run->device, matrix, &samples, 1, &options, &plan));
    VF_TRY(status,
           forward ? vf_nufft_forward(plan, run->queue, 1, from, to) : vf_nufft_adjoint(plan, run->queue, 1, from, to));
    VF_TRY(status, self_test_take(run, run->complex, to_count, to));
    vf_nufft_destroy(plan);
    return status;
}

vf_status self_test_nufft_adjoint(self_test_run *run)
{
    return nufft(run, false);
}

vf_status self_test_nufft_forward(self_test_run *run)
{
    return nufft(run, true);
}

/* Q_l(r) = sum_m exp(i 2 pi k_m.r) of a few samples, other ones for each segment, in the plan's precision. */
static void make_q(vf_dtype real, int segment, void *q)
{
    const int counts[] = {2 * NX, 2 * NY, 2 * NZ};
    for (int n = 0; n < 8 * VOXELS; n++) {
        const int at[] = {n % counts[0], n / counts[0] % counts[1], n / counts[0] / counts[1]};
        double sum[2] = {0};
        for (int m = 0; m < 3; m++) {
            double turns = 0;
            for (int a = 0; a < 3; a++)
                turns +=
                    counts[a] / 2 * self_test_number(20 + segment, 3 * m + a) * 2 * (at[a] - counts[a] / 2) / counts[a];
            sum[0] += cos(2 * 3.14159265358979323846 * turns);
            sum[1] += sin(2 * 3.14159265358979323846 * turns);
        }
        for (int part = 0; part < 2; part++)
            if (real == VF_F64)
                ((double *)q)[2 * n + part] = sum[part];
            else
                ((float *)q)[2 * n + part] = (float)sum[part];
    }
}

vf_status self_test_toeplitz(self_test_run *run)
{
    enum { SEGMENTS = 2, COILS = 2 };
    const int64_t matrix[] = {NX, NY, NZ};
    const double time[SEGMENTS] = {0.002, 0.011};
    double q[2 * 8 * VOXELS];
    small_scan scan;
    make_scan(&scan);
    const vf_toeplitz_options options = {.precision = run->real,
                                         .segments = SEGMENTS,
                                         .time = time,
                                         .field = scan.field,
                                         .variant = run->reference ? "ref" : NULL};
    vf_toeplitz *plan = NULL;
    void *there, *maps, *x, *y;
    vf_status status = self_test_put(run, run->complex, COILS * VOXELS, 1, &maps);
    VF_TRY(status, self_test_put(run, run->complex, VOXELS, 2, &x));
    VF_TRY(status, self_test_put(run, run->complex, VOXELS, 3, &y));
    VF_TRY(status, vf_toeplitz_create(run->device, matrix, &options, &plan));
    for (int l = 0; status == VF_OK && l < SEGMENTS; l++) {
        make_q(run->real, l, q);
        status = self_test_upload(run, run->complex, 8 * VOXELS, q, &there);
        VF_TRY(status, vf_toeplitz_set(plan, run->queue, l, there));
    }
    VF_TRY(status, vf_toeplitz_apply(plan, run->queue, COILS, maps, x, y));
    VF_TRY(status, self_test_take(run, run->complex, VOXELS, y));
    vf_toeplitz_destroy(plan);
    return status;
}
