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
#define NUMBER float
#include "stencil_point.inc"
#undef NUMBER
#define NUMBER double
#include "stencil_point.inc"
#undef NUMBER
#undef NAME

/* I: the type of indices, 32 bits if they are enough, because a point has few operations besides those on indices. */
template <typename T, typename I>
struct grid_view {
    I nx, ny, nz, plane;
    I x_faces, x_face_plane, y_face_plane; /* a row and a plane of faces along x, a plane of faces along y */
    unsigned across, along;                /* blocks along x and y */
    bool periodic[3];
    const T *x, *b, *reaction, *faces[3];
    T *y;
    T factors[3]; /* weights or the axes' coefficients */
    T centre, diagonal, omega;
};

/* The way to the neighbours along an axis, in elements, if there are such; and to the upper face. */
template <typename I>
struct way {
    I low, high, up;
    bool has_low, has_high;

    __device__ way(I i, I n, bool periodic, I stride)
    {
        const vf_stencil_steps s = vf_stencil_steps_of(i, n, periodic);
        low = (I)s.low * stride;
        high = (I)s.high * stride;
        up = s.has_high ? high : stride;
        has_low = s.has_low;
        has_high = s.has_high;
    }
};

/* A point of a plane: where it and its low faces along x and y are in the plane, and its neighbours there. */
template <typename T, typename I>
struct place {
    I at, x_face, y_face;
    way<I> x, y;

    __device__ place(const grid_view<T, I> &g, I i, I j)
        : at(j * g.nx + i), x_face(j * g.x_faces + i), y_face(at), x(i, g.nx, g.periodic[0], 1),
          y(j, g.ny, g.periodic[1], g.nx)
    {
    }
};

/* Loads of what the kernel does not write. The compiler may move them before stores. */
template <typename T, typename I>
__device__ inline T load(const T *x, I at)
{
    return __ldg(x + at);
}

template <typename T, typename I>
__device__ inline T load_if(const T *x, I at, bool has)
{
    return has ? load(x, at) : T(0);
}

/* x of a neighbour, 0 outside. Without a branch, so that several loads are under way at a time: the way to a neighbour
 * that does not exist is 0, and the point itself is loaded. */

template <typename T, typename I>
__device__ inline T neighbour(const T *x, I at, I step, bool has)
{
    const T value = load(x, at + step);
    return has ? value : T(0);
}

/* x of a point and of its neighbours, and the coefficients of its low and high face along z, with variable ones. */
template <typename T>
struct star {
    T here, x_low, x_high, y_low, y_high, z_low, z_high, c_low, c_high;
};

/* Computes and stores a point of plane k. */
template <typename T, typename I, bool VARIABLE, bool SWEEPS>
__device__ inline void finish(const grid_view<T, I> &g, const place<T, I> &p, I k, const star<T> &s)
{
    const I at = k * g.plane + p.at;
    const T *w = g.factors;
    T value, diagonal = g.diagonal;
    if (VARIABLE) {
        const I fx = k * g.x_face_plane + p.x_face, fy = k * g.y_face_plane + p.y_face;
        const T x_low = load(g.faces[0], fx), x_high = load(g.faces[0], fx + p.x.up), y_low = load(g.faces[1], fy),
                y_high = load(g.faces[1], fy + p.y.up);
        value = variable_point(variable_axis(w[0], s.here, s.x_low, s.x_high, x_low, x_high),
                               variable_axis(w[1], s.here, s.y_low, s.y_high, y_low, y_high),
                               variable_axis(w[2], s.here, s.z_low, s.z_high, s.c_low, s.c_high));
        diagonal = variable_point(diagonal_axis(w[0], x_low, x_high), diagonal_axis(w[1], y_low, y_high),
                                  diagonal_axis(w[2], s.c_low, s.c_high));
        if (g.reaction) {
            const T r = load(g.reaction, at);
            value += r * s.here;
            diagonal += r;
        }
    } else {
        value = constant_point(g.centre, s.here, constant_axis(w[0], s.x_low, s.x_high),
                               constant_axis(w[1], s.y_low, s.y_high), constant_axis(w[2], s.z_low, s.z_high));
    }
    g.y[at] = SWEEPS ? swept_point(g.omega, s.here, load(g.b, at), value, diagonal) : value;
}

/* The first point of the block's part of the grid, of `wide` x `tall` x `deep` points. */
template <typename T, typename I>
__device__ inline void corner_of_block(const grid_view<T, I> &g, I wide, I tall, I deep, I corner[3])
{
    const unsigned block = blockIdx.x, row = block / g.across, layer = row / g.along;
    corner[0] = (I)(block - row * g.across) * wide;
    corner[1] = (I)(row - layer * g.along) * tall;
    corner[2] = (I)layer * deep;
}

/* ---- naive: a thread a point ---- */

template <typename T, typename I, bool VARIABLE, bool SWEEPS>
__global__ void __launch_bounds__(WIDE *TALL) naive_kernel(const grid_view<T, I> g)
{
    I corner[3];
    corner_of_block<T, I>(g, WIDE, TALL, 1, corner);
    const I i = corner[0] + threadIdx.x, j = corner[1] + threadIdx.y, k = corner[2];
    if (i >= g.nx || j >= g.ny)
        return;
    const place<T, I> p(g, i, j);
    const way<I> z(k, g.nz, g.periodic[2], g.plane);
    const I at = k * g.plane + p.at;
    star<T> s;
    s.here = load(g.x, at);
    s.x_low = neighbour(g.x, at, p.x.low, p.x.has_low);
    s.x_high = neighbour(g.x, at, p.x.high, p.x.has_high);
    s.y_low = neighbour(g.x, at, p.y.low, p.y.has_low);
    s.y_high = neighbour(g.x, at, p.y.high, p.y.has_high);
    s.z_low = neighbour(g.x, at, z.low, z.has_low);
    s.z_high = neighbour(g.x, at, z.high, z.has_high);
    s.c_low = VARIABLE ? load(g.faces[2], at) : T(0);
    s.c_high = VARIABLE ? load(g.faces[2], at + z.up) : T(0);
    finish<T, I, VARIABLE, SWEEPS>(g, p, k, s);
}

/* ---- tiled and unrolled: ROWS points a thread, a plane at a time ---- */

template <typename T, typename I, bool VARIABLE, bool SWEEPS, int ROWS>
__global__ void __launch_bounds__(WIDE *TALL) tiled_kernel(const grid_view<T, I> g)
{
    __shared__ T tile[TALL * ROWS + 2][WIDE + 2];
    I corner[3];
    corner_of_block<T, I>(g, WIDE, TALL * ROWS, DEPTH, corner);
    const int tx = threadIdx.x, ty = threadIdx.y;
    const I i = corner[0] + tx, j = corner[1] + ty, first = corner[2], last = min(first + DEPTH, g.nz);
    const way<I> lowest(first, g.nz, g.periodic[2], g.plane);
    star<T> s[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        const bool in = i < g.nx && j + r * TALL < g.ny;
        const I at = first * g.plane + (j + r * TALL) * g.nx + i;
        s[r].here = load_if(g.x, at, in);
        s[r].z_low = load_if(g.x, at + lowest.low, in && lowest.has_low);
        s[r].c_low = VARIABLE ? load_if(g.faces[2], at, in) : T(0);
    }
    for (I k = first; k < last; k++) {
        const way<I> z(k, g.nz, g.periodic[2], g.plane);
        __syncthreads(); /* the tile of the plane before is not read any more */
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const int row = ty + r * TALL;
            const I jr = j + r * TALL;
            if (i >= g.nx || jr >= g.ny)
                continue;
            const place<T, I> p(g, i, jr);
            const I at = k * g.plane + p.at;
            tile[row + 1][tx + 1] = s[r].here;
            if (tx == 0)
                tile[row + 1][0] = neighbour(g.x, at, p.x.low, p.x.has_low);
            if (tx == WIDE - 1 || i == g.nx - 1)
                tile[row + 1][tx + 2] = neighbour(g.x, at, p.x.high, p.x.has_high);
            if (row == 0)
                tile[0][tx + 1] = neighbour(g.x, at, p.y.low, p.y.has_low);
            if (row == TALL * ROWS - 1 || jr == g.ny - 1)
                tile[row + 2][tx + 1] = neighbour(g.x, at, p.y.high, p.y.has_high);
            s[r].z_high = neighbour(g.x, at, z.high, z.has_high);
            s[r].c_high = VARIABLE ? load(g.faces[2], at + z.up) : T(0);
        }
        __syncthreads();
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const int row = ty + r * TALL;
            if (i < g.nx && j + r * TALL < g.ny) {
                s[r].x_low = tile[row + 1][tx];
                s[r].x_high = tile[row + 1][tx + 2];
                s[r].y_low = tile[row][tx + 1];
                s[r].y_high = tile[row + 2][tx + 1];
                finish<T, I, VARIABLE, SWEEPS>(g, place<T, I>(g, i, j + r * TALL), k, s[r]);
            }
            s[r].z_low = s[r].here;
            s[r].here = s[r].z_high;
            s[r].c_low = s[r].c_high;
        }
    }
}

/* ---- tuned: PLANES points of a column a thread ----
 *
 * The column is in registers, all of it loaded before the first use; its neighbours along x and y are in the first-level
 * cache, because the block's other threads load them. No barrier. The shapes are the best, to 1 %, of five that
 * were measured in one run of an H200, not of a search; BLOCKS: for a multiprocessor, at least. */

enum { COLUMN_WIDE = 64, COLUMN_TALL = 4 };

template <typename T>
struct planes_of;
template <>
struct planes_of<float> {
    enum { PLANES = 8, BLOCKS = 3 };
};
template <>
struct planes_of<double> {
    enum { PLANES = 4, BLOCKS = 4 };
};

template <typename T, typename I, bool VARIABLE, bool SWEEPS, int PLANES, bool WHOLE>
__device__ inline void compute_column(const grid_view<T, I> &g, const place<T, I> &p, I first)
{
    const I planes = WHOLE ? (I)PLANES : g.nz - first, start = first * g.plane + p.at;
    const way<I> lowest(first, g.nz, g.periodic[2], g.plane), highest(first + planes - 1, g.nz, g.periodic[2], g.plane);
    T x[PLANES];
#pragma unroll
    for (int q = 0; q < PLANES; q++)
        x[q] = load_if(g.x, start + q * g.plane, WHOLE || q < planes);
    star<T> s;
    s.z_low = neighbour(g.x, start, lowest.low, lowest.has_low);
    const T above = neighbour(g.x, start + (planes - 1) * g.plane, highest.high, highest.has_high);
    s.c_low = VARIABLE ? load(g.faces[2], start) : T(0);
#pragma unroll
    for (int q = 0; q < PLANES; q++) {
        const I at = start + q * g.plane;
        const bool top = WHOLE ? q == PLANES - 1 : q == planes - 1;
        if (!WHOLE && q >= planes)
            break;
        s.here = x[q];
        s.x_low = neighbour(g.x, at, p.x.low, p.x.has_low);
        s.x_high = neighbour(g.x, at, p.x.high, p.x.has_high);
        s.y_low = neighbour(g.x, at, p.y.low, p.y.has_low);
        s.y_high = neighbour(g.x, at, p.y.high, p.y.has_high);
        s.z_high = top ? above : x[q + 1 < PLANES ? q + 1 : q];
        s.c_high = VARIABLE ? load(g.faces[2], at + (top ? highest.up : g.plane)) : T(0);
        finish<T, I, VARIABLE, SWEEPS>(g, p, first + q, s);
        s.z_low = s.here;
        s.c_low = s.c_high;
    }
}

template <typename T, typename I, bool VARIABLE, bool SWEEPS>
__global__ void __launch_bounds__(COLUMN_WIDE *COLUMN_TALL, planes_of<T>::BLOCKS) column_kernel(const grid_view<T, I> g)
{
    constexpr int PLANES = planes_of<T>::PLANES;
    I corner[3];
    corner_of_block<T, I>(g, COLUMN_WIDE, COLUMN_TALL, PLANES, corner);
    const I i = corner[0] + threadIdx.x, j = corner[1] + threadIdx.y, first = corner[2];
    if (i >= g.nx || j >= g.ny)
        return;
    const place<T, I> p(g, i, j);
    if (first + PLANES <= g.nz)
        compute_column<T, I, VARIABLE, SWEEPS, PLANES, true>(g, p, first);
    else
        compute_column<T, I, VARIABLE, SWEEPS, PLANES, false>(g, p, first);
}

/* ---- launches ---- */

template <typename T, typename I>
struct variant {
    void (*kernel)(grid_view<T, I>);
    int wide, tall; /* threads */
    int rows, deep; /* of a block: `tall` times `rows`, and `deep` planes */
};

const char *const names[] = {"tuned", "naive", "tiled", "unrolled", NULL};

template <typename T, typename I, bool VARIABLE, bool SWEEPS>
cudaError_t launch(int chosen, grid_view<T, I> g, cudaStream_t stream)
{
    static const variant<T, I> variants[] = {
        {column_kernel<T, I, VARIABLE, SWEEPS>, COLUMN_WIDE, COLUMN_TALL, 1, planes_of<T>::PLANES},
        {naive_kernel<T, I, VARIABLE, SWEEPS>, WIDE, TALL, 1, 1},
        {tiled_kernel<T, I, VARIABLE, SWEEPS, 1>, WIDE, TALL, 1, DEPTH},
        {tiled_kernel<T, I, VARIABLE, SWEEPS, 4>, WIDE, TALL, 4, DEPTH},
    };
    const variant<T, I> &v = variants[chosen];
    const int64_t tall = (int64_t)v.tall * v.rows, across = ((int64_t)g.nx + v.wide - 1) / v.wide,
                  along = ((int64_t)g.ny + tall - 1) / tall, deep = ((int64_t)g.nz + v.deep - 1) / v.deep;
    if (across > INT32_MAX || along > INT32_MAX || deep > INT32_MAX / across / along)
        return cudaErrorInvalidConfiguration; /* more than a launch takes */
    g.across = (unsigned)across;
    g.along = (unsigned)along;
    v.kernel<<<vf_blocks_for(across * along * deep, 1), dim3(v.wide, v.tall), 0, stream>>>(g);
    return cudaGetLastError();
}

template <typename T, typename I>
cudaError_t run_typed(const vf_stencil *plan, int chosen, const vf_stencil_pass *pass, cudaStream_t stream)
{
    grid_view<T, I> g = {};
    g.nx = (I)plan->counts[0];
    g.ny = (I)plan->counts[1];
    g.nz = (I)plan->counts[2];
    g.plane = g.nx * g.ny;
    g.x_faces = (I)vf_stencil_faces(g.nx, plan->periodic[0]);
    g.x_face_plane = g.x_faces * g.ny;
    g.y_face_plane = (I)vf_stencil_faces(g.ny, plan->periodic[1]) * g.nx;
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
        return pass->b ? launch<T, I, true, true>(chosen, g, stream) : launch<T, I, true, false>(chosen, g, stream);
    return pass->b ? launch<T, I, false, true>(chosen, g, stream) : launch<T, I, false, false>(chosen, g, stream);
}

/* 32-bit indices, if the largest family of faces and a block beyond each end fit. */
template <typename T>
cudaError_t run_sized(const vf_stencil *plan, int chosen, const vf_stencil_pass *pass, cudaStream_t stream)
{
    const int64_t *n = plan->counts;
    double most = 1;
    for (int a = 0; a < 3; a++)
        most *= (double)n[a] + 64;
    return most < INT32_MAX && !plan->wide ? run_typed<T, int32_t>(plan, chosen, pass, stream)
                                           : run_typed<T, int64_t>(plan, chosen, pass, stream);
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
                                 plan->type == VF_F32 ? run_sized<float>(plan, chosen, pass, stream)
                                                      : run_sized<double>(plan, chosen, pass, stream),
                                 "a stencil"));
    return status;
}

} // namespace

extern "C" const vf_stencil_ops vf_stencil_ops_cuda = {{VF_DEVICE_CUDA, names}, create, destroy, run};
