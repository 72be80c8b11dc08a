/* Stencils on a GPU. All variants compute a point by the same functions (stencil_point.inc), compiled without fused
 * multiply-add; they differ in how x comes to the threads. Coefficients are always read from global memory: each is
 * used by one point, or by two neighbours, which find it in the caches. */
#include <string.h>

#include "backend/cuda_check.cuh"
#include "backend/launch_blocks.h"
#include "stencil_plan.h"

namespace
{

/* WIDE x TALL threads, for points of a plane. DEPTH: planes that a block of tiled and unrolled marches through. */
enum { WIDE = 32, TALL = 8, DEPTH = 32 };

#define NAME(x) x
#define REAL float
#include "stencil_point.inc"
#undef REAL
#define REAL double
#include "stencil_point.inc"
#undef REAL
#undef NAME

template <typename T>
struct grid_view {
    int64_t nx, ny, nz;
    int64_t x_faces, y_faces; /* along x and along y, in their families */
    int64_t across, along;    /* blocks along x and y */
    bool periodic[3];
    const T *__restrict__ x, *__restrict__ b, *__restrict__ reaction, *__restrict__ faces[3];
    T *__restrict__ y;
    T factors[3]; /* weights or the axes' coefficients */
    T centre, diagonal, omega;
};

/* A column of points along z: its place in the plane z = 0, and its neighbours along x and y. */
template <typename T>
struct column {
    int64_t i, j, at;
    vf_stencil_steps x, y; /* in elements */

    __device__ column(const grid_view<T> &g, int64_t i_, int64_t j_) : i(i_), j(j_), at(j_ * g.nx + i_)
    {
        x = vf_stencil_steps_of(i, g.nx, g.periodic[0]);
        y = vf_stencil_steps_of(j, g.ny, g.periodic[1]);
        y.low *= g.nx;
        y.high *= g.nx;
    }
};

template <typename T>
__device__ inline T value_at(const T *__restrict__ x, int64_t at, bool has)
{
    return has ? x[at] : T(0);
}

/* The point of the column in plane k: steps along z in elements. */
template <typename T>
__device__ inline vf_stencil_steps steps_of_plane(const grid_view<T> &g, int64_t k)
{
    vf_stencil_steps z = vf_stencil_steps_of(k, g.nz, g.periodic[2]);
    z.low *= g.nx * g.ny;
    z.high *= g.nx * g.ny;
    return z;
}

/* Computes and stores point (column, k), whose neighbours are given. */
template <typename T, bool VARIABLE, bool SWEEPS>
__device__ inline void finish(const grid_view<T> &g, const column<T> &c, int64_t k, T here, const T low[3],
                              const T high[3])
{
    const int64_t at = k * g.nx * g.ny + c.at;
    const T *w = g.factors;
    T value, diagonal = g.diagonal;
    if (VARIABLE) {
        const int64_t fx = (k * g.ny + c.j) * g.x_faces + c.i, fy = (k * g.y_faces + c.j) * g.nx + c.i;
        const vf_stencil_steps z = steps_of_plane(g, k);
        const T x_low = g.faces[0][fx], x_high = g.faces[0][fx + (c.x.has_high ? c.x.high : 1)];
        const T y_low = g.faces[1][fy], y_high = g.faces[1][fy + (c.y.has_high ? c.y.high : g.nx)];
        const T z_low = g.faces[2][at], z_high = g.faces[2][at + (z.has_high ? z.high : g.nx * g.ny)];
        value = variable_point(variable_axis(w[0], here, low[0], high[0], x_low, x_high),
                               variable_axis(w[1], here, low[1], high[1], y_low, y_high),
                               variable_axis(w[2], here, low[2], high[2], z_low, z_high));
        diagonal = variable_point(diagonal_axis(w[0], x_low, x_high), diagonal_axis(w[1], y_low, y_high),
                                  diagonal_axis(w[2], z_low, z_high));
        if (g.reaction) {
            const T r = g.reaction[at];
            value += r * here;
            diagonal += r;
        }
    } else {
        value = constant_point(g.centre, here, constant_axis(w[0], low[0], high[0]),
                               constant_axis(w[1], low[1], high[1]), constant_axis(w[2], low[2], high[2]));
    }
    g.y[at] = SWEEPS ? swept_point(g.omega, here, g.b[at], value, diagonal) : value;
}

/* The blocks' numbers along x, y and z. */
template <typename T>
__device__ inline void place_of_block(const grid_view<T> &g, int64_t place[3])
{
    const int64_t block = blockIdx.x, row = block / g.across;
    place[0] = block - row * g.across;
    place[2] = row / g.along;
    place[1] = row - place[2] * g.along;
}

/* ---- naive: a thread a point ---- */

template <typename T, bool VARIABLE, bool SWEEPS>
__global__ void __launch_bounds__(WIDE *TALL) naive_kernel(const grid_view<T> g)
{
    int64_t place[3];
    place_of_block(g, place);
    const int64_t i = place[0] * WIDE + threadIdx.x, j = place[1] * TALL + threadIdx.y, k = place[2];
    if (i >= g.nx || j >= g.ny)
        return;
    const column<T> c(g, i, j);
    const vf_stencil_steps z = steps_of_plane(g, k);
    const int64_t at = k * g.nx * g.ny + c.at;
    const T low[3] = {value_at(g.x, at + c.x.low, c.x.has_low), value_at(g.x, at + c.y.low, c.y.has_low),
                      value_at(g.x, at + z.low, z.has_low)},
            high[3] = {value_at(g.x, at + c.x.high, c.x.has_high), value_at(g.x, at + c.y.high, c.y.has_high),
                       value_at(g.x, at + z.high, z.has_high)};
    finish<T, VARIABLE, SWEEPS>(g, c, k, g.x[at], low, high);
}

/* ---- tiled and unrolled: ROWS points a thread, a plane at a time ---- */

template <typename T, bool VARIABLE, bool SWEEPS, int ROWS>
__global__ void __launch_bounds__(WIDE *TALL) tiled_kernel(const grid_view<T> g)
{
    __shared__ T tile[TALL * ROWS + 2][WIDE + 2];
    int64_t place[3];
    place_of_block(g, place);
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int64_t plane = g.nx * g.ny, i = place[0] * WIDE + tx, j = place[1] * TALL * ROWS + ty;
    const int64_t first = place[2] * DEPTH, last = min(first + DEPTH, g.nz);
    const vf_stencil_steps z = steps_of_plane(g, first);
    T below[ROWS], here[ROWS], above[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        const bool in = i < g.nx && j + r * TALL < g.ny;
        const int64_t at = first * plane + (j + r * TALL) * g.nx + i;
        here[r] = value_at(g.x, at, in);
        below[r] = value_at(g.x, at + z.low, in && z.has_low);
    }
    for (int64_t k = first; k < last; k++) {
        const vf_stencil_steps next = steps_of_plane(g, k);
        __syncthreads(); /* the tile of the plane before is not read any more */
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const int row = ty + r * TALL;
            const int64_t jr = j + r * TALL;
            if (i >= g.nx || jr >= g.ny)
                continue;
            const column<T> c(g, i, jr);
            const int64_t at = k * plane + c.at;
            tile[row + 1][tx + 1] = here[r];
            if (tx == 0)
                tile[row + 1][0] = value_at(g.x, at + c.x.low, c.x.has_low);
            if (tx == WIDE - 1 || i == g.nx - 1)
                tile[row + 1][tx + 2] = value_at(g.x, at + c.x.high, c.x.has_high);
            if (row == 0)
                tile[0][tx + 1] = value_at(g.x, at + c.y.low, c.y.has_low);
            if (row == TALL * ROWS - 1 || jr == g.ny - 1)
                tile[row + 2][tx + 1] = value_at(g.x, at + c.y.high, c.y.has_high);
            above[r] = value_at(g.x, at + next.high, next.has_high);
        }
        __syncthreads();
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const int row = ty + r * TALL;
            if (i < g.nx && j + r * TALL < g.ny) {
                const T low[3] = {tile[row + 1][tx], tile[row][tx + 1], below[r]},
                        high[3] = {tile[row + 1][tx + 2], tile[row + 2][tx + 1], above[r]};
                finish<T, VARIABLE, SWEEPS>(g, column<T>(g, i, j + r * TALL), k, here[r], low, high);
            }
            below[r] = here[r];
            here[r] = above[r];
        }
    }
}

/* ---- tuned: PLANES points of a column a thread ----
 *
 * The column is in registers, all of it loaded before the first use; its neighbours along x and y are in the first-level
 * cache, because the block's other threads load them. No barrier. */

template <typename T, bool VARIABLE, bool SWEEPS, int PLANES, bool WHOLE>
__device__ inline void compute_column(const grid_view<T> &g, const column<T> &c, int64_t first)
{
    const int64_t plane = g.nx * g.ny;
    T x[PLANES + 2];
    const vf_stencil_steps lowest = steps_of_plane(g, first);
    const int64_t start = first * plane + c.at;
    x[0] = value_at(g.x, start + lowest.low, lowest.has_low);
#pragma unroll
    for (int p = 0; p < PLANES; p++)
        x[p + 1] = value_at(g.x, start + p * plane, WHOLE || first + p < g.nz);
    const int64_t top = WHOLE ? first + PLANES - 1 : g.nz - 1;
    const vf_stencil_steps highest = steps_of_plane(g, top);
    const T above = value_at(g.x, top * plane + c.at + highest.high, highest.has_high);
    x[PLANES + 1] = above;
#pragma unroll
    for (int p = 0; p < PLANES; p++) {
        const int64_t k = first + p, at = start + p * plane;
        if (!WHOLE && k >= g.nz)
            break;
        const T low[3] = {value_at(g.x, at + c.x.low, c.x.has_low), value_at(g.x, at + c.y.low, c.y.has_low), x[p]},
                high[3] = {value_at(g.x, at + c.x.high, c.x.has_high), value_at(g.x, at + c.y.high, c.y.has_high),
                           WHOLE || k < top ? x[p + 2] : above};
        finish<T, VARIABLE, SWEEPS>(g, c, k, x[p + 1], low, high);
    }
}

template <typename T, bool VARIABLE, bool SWEEPS, int PLANES>
__global__ void __launch_bounds__(WIDE *TALL) column_kernel(const grid_view<T> g)
{
    int64_t place[3];
    place_of_block(g, place);
    const int64_t i = place[0] * WIDE + threadIdx.x, j = place[1] * TALL + threadIdx.y, first = place[2] * PLANES;
    if (i >= g.nx || j >= g.ny)
        return;
    const column<T> c(g, i, j);
    if (first + PLANES <= g.nz)
        compute_column<T, VARIABLE, SWEEPS, PLANES, true>(g, c, first);
    else
        compute_column<T, VARIABLE, SWEEPS, PLANES, false>(g, c, first);
}

/* ---- launches ---- */

template <typename T, bool VARIABLE, bool SWEEPS>
struct variant {
    const char *name;
    void (*kernel)(grid_view<T>);
    int rows, planes; /* of a block: TALL times `rows`, and `planes` */
};

const char *const names[] = {"tuned", "naive", "tiled", "unrolled", "t2", "t8", NULL};

template <typename T, bool VARIABLE, bool SWEEPS>
cudaError_t launch(int chosen, grid_view<T> g, cudaStream_t stream)
{
    static const variant<T, VARIABLE, SWEEPS> variants[] = {
        {names[0], column_kernel<T, VARIABLE, SWEEPS, 4>, 1, 4},
        {names[1], naive_kernel<T, VARIABLE, SWEEPS>, 1, 1},
        {names[2], tiled_kernel<T, VARIABLE, SWEEPS, 1>, 1, DEPTH},
        {names[3], tiled_kernel<T, VARIABLE, SWEEPS, 4>, 4, DEPTH},
        {names[4], column_kernel<T, VARIABLE, SWEEPS, 2>, 1, 2},
        {names[5], column_kernel<T, VARIABLE, SWEEPS, 8>, 1, 8},
    };
    const variant<T, VARIABLE, SWEEPS> &v = variants[chosen];
    const int64_t tall = (int64_t)TALL * v.rows;
    g.across = (g.nx + WIDE - 1) / WIDE;
    g.along = (g.ny + tall - 1) / tall;
    const int64_t blocks = g.across * g.along * ((g.nz + v.planes - 1) / v.planes);
    v.kernel<<<vf_blocks_for(blocks, 1), dim3(WIDE, TALL), 0, stream>>>(g);
    return cudaGetLastError();
}

template <typename T>
cudaError_t run_typed(const vf_stencil *plan, int chosen, const vf_stencil_pass *pass, cudaStream_t stream)
{
    grid_view<T> g = {};
    g.nx = plan->counts[0];
    g.ny = plan->counts[1];
    g.nz = plan->counts[2];
    g.x_faces = vf_stencil_faces(g.nx, plan->periodic[0]);
    g.y_faces = vf_stencil_faces(g.ny, plan->periodic[1]);
    g.x = static_cast<const T *>(pass->x);
    g.b = static_cast<const T *>(pass->b);
    g.y = static_cast<T *>(pass->y);
    g.reaction = static_cast<const T *>(plan->reaction);
    g.centre = (T)plan->centre;
    g.diagonal = (T)plan->diagonal;
    g.omega = (T)pass->omega;
    for (int a = 0; a < 3; a++) {
        g.periodic[a] = plan->periodic[a];
        g.faces[a] = static_cast<const T *>(plan->faces[a]);
        g.factors[a] = (T)(plan->variable ? plan->weights[a] : plan->axis[a]);
    }
    if (plan->variable)
        return pass->b ? launch<T, true, true>(chosen, g, stream) : launch<T, true, false>(chosen, g, stream);
    return pass->b ? launch<T, false, true>(chosen, g, stream) : launch<T, false, false>(chosen, g, stream);
}

/* The state is the variant's name in `names`. */
vf_status create(vf_stencil *plan, const char *variant)
{
    for (int v = 0; names[v]; v++)
        if (strcmp(names[v], variant) == 0)
            plan->state = const_cast<const char **>(&names[v]);
    return VF_OK;
}

void destroy(vf_stencil *)
{
}

vf_status run(const vf_stencil *plan, vf_queue *queue, const vf_stencil_pass *pass)
{
    const cudaStream_t stream = static_cast<cudaStream_t>(vf_queue_native(queue));
    const int chosen = (int)(static_cast<const char *const *>(plan->state) - names);
    vf_status status = VF_CUDA(plan->device, cudaSetDevice(vf_device_ordinal(plan->device)));
    VF_TRY(status, vf_cuda_check(plan->device,
                                 plan->type == VF_F32 ? run_typed<float>(plan, chosen, pass, stream)
                                                      : run_typed<double>(plan, chosen, pass, stream),
                                 "a stencil"));
    return status;
}

} // namespace

extern "C" const vf_stencil_ops vf_stencil_ops_cuda = {{VF_DEVICE_CUDA, names}, create, destroy, run};
