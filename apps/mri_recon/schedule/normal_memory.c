/* The memory of F^H W F, as kernels/toeplitz takes it. */
#include <math.h>

#include "forecast.h"
#include "plan_device.h"

/* Lengths of toeplitz_tiles.cuh; its others only make an axis shorter. In double precision they end at 512. */
static const int padded[] = {16, 32, 48, 64, 80, 96, 128, 160, 192, 240, 256, 320, 400, 512, 640, 768, 896, 1024};
enum { PADDED = sizeof padded / sizeof *padded, MOST_LENGTH = 4096 };
/* The arrays of a batch on a GPU, and the numbers that they may have together. */
static const double MOST_ARRAYS = 32, BATCH = 1 << 22;

/* The numbers of as many arrays as a batch takes, at most, if each has `numbers` and `counted` of them count. */
static double batch_of(double numbers, double counted)
{
    return numbers * fmax(1, fmin(MOST_ARRAYS, BATCH / counted));
}

/* The same for padded axes, of which up to four share a batch of four times the numbers (vf_flow_arrays). */
static double padded_batch(double numbers, double counted)
{
    return fmax(batch_of(numbers, counted), numbers * fmin(4, 4 * BATCH / counted));
}

/* At least the length to which a GPU pads an axis; 0: it does not. */
static double padded_length(const solve_settings *s, int64_t twice, bool last)
{
    const int longest = s->precision == VF_F64 ? 512 : 1024;
    for (int i = 0; i < PADDED && padded[i] <= longest; i++)
        if (twice <= padded[i])
            return padded[i] > (last ? 4.0 : 1.25) * (double)twice ? 0 : padded[i];
    return 0;
}

/* By padded axes: the rows and planes of a batch, or Q on the padded grid, and the kernels. 0: axes are not padded. */
static double by_padded_axes(const solve_settings *s, const mri_scan *raw, double segments)
{
    enum { WIDTH = 16 }; /* of a tile */
    double length[3], rows = 1;
    const int last = raw->matrix[2] > 1 ? 2 : 1;
    for (int a = 0; a < 3; a++) {
        const int64_t n = raw->matrix[a];
        length[a] = n > 1 ? padded_length(s, 2 * n, a == last) : a == 2;
        rows *= a == 0 ? length[a] : (double)n;
    }
    const double tiles = length[0] + WIDTH - 1, wider = tiles / fmax(1, length[0]);
    const double planes = last == 2 ? tiles * length[1] * (double)raw->matrix[2] : 0;
    if (length[0] * length[1] * length[2] == 0)
        return 0;
    return fmax(padded_batch(rows * wider + planes, rows), length[0] * length[1] * length[2]) +
           0.5 * segments * tiles * length[1] * length[2];
}

/* By axes, where lengths allow, else by cuFFT, which needs room of its own. */
static double on_cuda(const solve_settings *s, const mri_scan *raw, double points, double segments)
{
    const bool on_grid = forecast_on_grid(s, raw);
    const double by_padding = on_grid ? 0 : by_padded_axes(s, raw, segments);
    bool by_axes = true;
    for (int a = 0; a < 3; a++) {
        int64_t length = raw->matrix[a] > 1 && !on_grid ? 2 * raw->matrix[a] : raw->matrix[a];
        by_axes = by_axes && length <= MOST_LENGTH;
        for (int factor = 2; factor <= 7; factor++)
            while (length % factor == 0)
                length /= factor;
        by_axes = by_axes && length == 1;
    }
    return by_padding > 0 ? by_padding : batch_of(by_axes ? points : 2 * points, points) + 0.5 * segments * points;
}

/* Lines side by side fill up the lanes of a vector, 16 at most (toeplitz_cpu.c). */
static double lanes_of(int64_t lines)
{
    return (double)((lines + 15) / 16 * 16);
}

/* A batch of spectra, and the kernels; rows and planes are filled up. With two axes longer than one voxel they are x and z. */
static double on_cpu(const solve_settings *s, const mri_scan *raw, double segments)
{
    const double most = (double)(1 << 23) / (s->precision == VF_F64 ? 16 : 8), most_batch = 16;
    const int halves = forecast_on_grid(s, raw) ? 1 : 2;
    int64_t n[3] = {1, 1, 1};
    int used = 0;
    for (int a = 0; a < 3; a++)
        if (raw->matrix[a] > 1)
            n[used++] = raw->matrix[a];
    const int64_t y = used > 2 ? n[1] : 1, z = used > 2 ? n[2] : n[1], planes = z > 1 ? halves * z : 1;
    const double rows = y > 1 ? (double)(planes * halves) * lanes_of(y) : lanes_of(planes);
    const double spectrum = (y > 1 ? (double)(planes * y) : lanes_of(planes)) * lanes_of(n[0]);
    return fmax(spectrum, fmin(most_batch * spectrum, most)) + 0.5 * segments * rows * (double)(halves * n[0]);
}

double normal_numbers(vf_device_kind kind, const solve_settings *s, const mri_scan *raw)
{
    const double points = forecast_transform_points(s, raw), segments = forecast_segments(s, raw);
    const double voxels = (double)raw->matrix[0] * (double)raw->matrix[1] * (double)raw->matrix[2];
    if (s->method != RECON_CG)
        return 0;
    if (kind == VF_DEVICE_CUDA)
        return on_cuda(s, raw, points, segments);
    if (kind == VF_DEVICE_CPU)
        return on_cpu(s, raw, segments);
    /* OpenCL: a grid, room for its transform, and the phases of time segments. */
    return (2 + 0.5 * segments) * points + (segments > 1 ? segments * voxels : 0);
}
