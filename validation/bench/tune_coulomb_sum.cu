/* Searches the shape in which the tuned kernel of the Coulomb sum is fastest on this GPU, in single precision: points a
 * thread, unrolling, thread blocks on a multiprocessor, and rows whose roots are made from their neighbours': the table
 * of kernels/coulomb_sum/coulomb_sum_tiles.cuh, whose rows it prints.
 *
 * usage: tune_coulomb_sum        (exit 77 without a GPU)
 *
 * All shapes that are compiled are tried REPEATS times each, in an order that is shuffled for every repeat, so that
 * what drifts (clock, temperature) falls on all alike; the least median is chosen for each width. A shape counts only
 * if its result is right: every point is compared with a sum in double precision, relative to sum |q|/r, of which
 * rounding takes less than 1e-6 (test_coulomb_sum.c derives it) and one atom missing would be some 1e-4.
 */
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "coulomb_sum_tiles.cuh"
#include "random_fixture.h"

using namespace vf_coulomb_gpu;

namespace
{

enum { ATOMS = 16384, REPEATS = 7 };
const vf_grid grid = {{-3, -4, -5}, {0.5, 0.5, 0.5}, {512, 512, 32}};
const float r_min = 0.1f;

device_atom *atoms;
float *result;

void need(cudaError_t error)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "tune_coulomb_sum: %s\n", cudaGetErrorString(error));
    exit(1);
}

template <typename T, typename Shapes>
cudaError_t launch(const device_atom *of, T *out)
{
    const vf_box box = vf_grid_box(&grid);
    tile_kernel<T, false, Shapes><<<(unsigned)count_tiles<Shapes::here::COLUMNS>(box), TILE_THREADS>>>(
        {grid, box}, of, ATOMS, (T)r_min * (T)r_min, (T)far_squared(grid, (double)r_min), out);
    return cudaGetLastError();
}

struct trial {
    int columns, unroll, blocks;
    unsigned newton;
    cudaError_t (*launch)(const device_atom *, float *);
    std::vector<float> milliseconds;
    double error;
};
std::vector<trial> trials;

template <int COLUMNS, int UNROLL, int BLOCKS, unsigned NEWTON>
void add()
{
    trials.push_back({COLUMNS,
                      UNROLL,
                      BLOCKS,
                      NEWTON,
                      launch<float, given_shape<tile_shape<COLUMNS, UNROLL, BLOCKS, NEWTON>>>,
                      {},
                      0});
}

template <unsigned NEWTON>
void add_all()
{
    add<1, 2, 6, NEWTON>();
    add<1, 4, 4, NEWTON>();
    add<1, 4, 5, NEWTON>();
    add<1, 4, 6, NEWTON>();
    add<1, 8, 5, NEWTON>();
    add<1, 8, 8, NEWTON>();
    add<2, 1, 4, NEWTON>();
    add<2, 2, 3, NEWTON>();
    add<2, 2, 4, NEWTON>();
    add<2, 4, 3, NEWTON>();
    add<2, 4, 4, NEWTON>();
}

/* The largest deviation from the sum in double precision. */
double error_of(const std::vector<double> &want, const std::vector<double> &size)
{
    std::vector<float> got(want.size());
    need(cudaMemcpy(got.data(), result, got.size() * sizeof(float), cudaMemcpyDeviceToHost));
    double largest = 0;
    for (size_t i = 0; i < got.size(); i++) {
        const double error = std::fabs((double)got[i] - want[i]) / size[i];
        if (!(error <= largest))
            largest = error;
    }
    return largest;
}

float run(const trial &t)
{
    cudaEvent_t began, ended;
    float milliseconds = 0;
    need(cudaEventCreate(&began));
    need(cudaEventCreate(&ended));
    need(cudaEventRecord(began));
    need(t.launch(atoms, result));
    need(cudaEventRecord(ended));
    need(cudaEventSynchronize(ended));
    need(cudaEventElapsedTime(&milliseconds, began, ended));
    need(cudaEventDestroy(began));
    need(cudaEventDestroy(ended));
    return milliseconds;
}

void upload(bool absolute)
{
    std::vector<device_atom> host(ATOMS);
    seed_random();
    for (device_atom &a : host) {
        double u[4];
        for (double &v : u)
            v = uniform();
        a = {grid.origin[0] + u[0] * 256, grid.origin[1] + u[1] * 256, grid.origin[2] + u[2] * 16, 2 * u[3] - 1};
        a.charge = absolute ? std::fabs(a.charge) : a.charge;
    }
    need(cudaMemcpy(atoms, host.data(), ATOMS * sizeof(device_atom), cudaMemcpyHostToDevice));
}

} // namespace

int main()
{
    cudaDeviceProp device;
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
        printf("SKIP: no GPU\n");
        return 77;
    }
    need(cudaGetDeviceProperties(&device, 0));
    const size_t points = (size_t)vf_grid_points(&grid);
    std::vector<double> want(points), size(points);
    double *exact_sum;
    need(cudaMalloc(&atoms, ATOMS * sizeof(device_atom)));
    need(cudaMalloc(&result, points * sizeof(float)));
    need(cudaMalloc(&exact_sum, points * sizeof(double)));
    for (int absolute = 1; absolute >= 0; absolute--) {
        upload(absolute);
        need(launch<double, table_shape<double, true, 1>>(atoms, exact_sum));
        need(cudaMemcpy(absolute ? size.data() : want.data(), exact_sum, points * sizeof(double),
                        cudaMemcpyDeviceToHost));
    }
    add_all<0>();
    add_all<0x24>();
    add_all<0x22>();
    add_all<0x2a>();
    for (trial &t : trials) {
        need(cudaMemset(result, 0xff, points * sizeof(float))); /* NaN */
        run(t);
        t.error = error_of(want, size);
    }
    std::vector<int> order(trials.size());
    for (size_t i = 0; i < order.size(); i++)
        order[i] = (int)i;
    for (int r = 0; r < REPEATS; r++) {
        for (size_t i = order.size() - 1; i > 0; i--)
            std::swap(order[i], order[(size_t)integer_below((int64_t)i + 1)]);
        for (int i : order)
            trials[(size_t)i].milliseconds.push_back(run(trials[(size_t)i]));
    }
    for (trial &t : trials)
        std::sort(t.milliseconds.begin(), t.milliseconds.end());
    std::sort(trials.begin(), trials.end(),
              [](const trial &a, const trial &b) { return a.milliseconds[REPEATS / 2] < b.milliseconds[REPEATS / 2]; });
    printf("%s, compute capability %d.%d\ncolumns unroll blocks newton  G pairs/s  largest error\n", device.name,
           device.major, device.minor);
    int wrong = 0;
    for (const trial &t : trials) {
        const bool is_wrong = !(t.error <= 1e-6);
        wrong += is_wrong;
        printf("%7d %6d %6d   0x%02x %10.1f  %.1e%s\n", t.columns, t.unroll, t.blocks, t.newton,
               1e-6 * ATOMS * (double)points / (double)t.milliseconds[REPEATS / 2], t.error, is_wrong ? "  WRONG" : "");
    }
    need(cudaFree(atoms));
    need(cudaFree(result));
    need(cudaFree(exact_sum));
    return wrong > 0;
}
