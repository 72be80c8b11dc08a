/* The contents of a NUFFT plan, and the interface of its backends; not installed. */
#ifndef VOXFIELD_GRIDDING_INTERNAL_H
#define VOXFIELD_GRIDDING_INTERNAL_H

#include "gridding.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The first grid point of a kernel is stored in 16 bits. So the grid, twice a matrix and a little more, must stay below
 * 2^15. */
enum { GRIDDING_MAX_WIDTH = 24, GRIDDING_MAX_DEGREE = 16, GRIDDING_MAX_MATRIX = 16000, GRIDDING_MAX_NODES = 160 };

/* The kernel exp(beta (sqrt(1 - (2 x / width)^2) - 1)), |x| <= width / 2, in points of the oversampled grid. Let d in
 * [0, 1) be the distance from the kernel's beginning to the first grid point under it. Point j of the `width` points
 * has the value sum_p coefficient[p][j] z^(degree - p), z = 2 d - 1. The transform is
 * sum_i weight[i] cos(2 pi xi place[i]), places in grid points. */
typedef struct gridding_kernel {
    int width, degree, nodes;
    double beta;
    double coefficient[GRIDDING_MAX_DEGREE + 1][GRIDDING_MAX_WIDTH];
    double place[GRIDDING_MAX_NODES], weight[GRIDDING_MAX_NODES];
} gridding_kernel;

/* Sets width and beta, then the polynomials. The width is the smallest whose aliasing error (root mean square over
 * voxels and positions, for `axes` axes and an oversampling of at least `sigma`) leaves room for the other errors under
 * the tolerance, or is no larger than the errors from rounding by `unit`. Returns false if no width works. */
bool gridding_choose_kernel(double tolerance, double sigma, int axes, double unit, gridding_kernel *kernel);

/* A quick estimate of that width. */
double gridding_estimate_width(double tolerance, double sigma, int axes);

/* Estimates by how much relative rounding errors of the grid's values, which are noise over all frequencies, are
 * amplified in the voxels: the kernel's l2 norm times the root mean square of 1 / transform, to the power of the number
 * of axes. It grows fast as the oversampling gets small. */
double gridding_estimate_rounding(double tolerance, double sigma, int axes);

/* The kernel's transform, integral phi(x) cos(2 pi xi x) dx, at the frequencies 0, step, 2 step, ... in cycles per grid
 * point: out [count]. */
void gridding_kernel_transform(const gridding_kernel *kernel, int count, double step, double *out);

/* One axis of the plan. An axis of one voxel is skipped: grid 1, width 1, a kernel of 1 and no frequency. */
typedef struct gridding_axis {
    int64_t voxels, grid;
    int width;
} gridding_axis;

/* Tiles of the grid: along an axis, a kernel that starts at point s belongs to tile s / size, or to the last. */
typedef struct gridding_tiles {
    int64_t count[3], size[3];
} gridding_tiles;

/* A sorted sample on the CPU: its position and its index in the caller's order. Where its kernel lies is found when it is
 * used, which takes less time than to store and load it. Positions in double precision are in an array of their own, and
 * `k` is unused. */
typedef struct gridding_record {
    float k[3];
    uint32_t index;
} gridding_record;

/* Sorts the samples by tile, x fastest, and by the caller's order within a tile; with `block` > 0, first by blocks of
 * that many points along y and z of the tile, y fastest. `sorted`: [samples]. `first`: [tiles + 1] set to the beginning
 * of each tile. `starts`: [grid z][grid y], set to 1 where a sample's kernel starts; or NULL. `exact`: [samples][3], set
 * to the sorted positions if the samples have them in double precision. Errors: VF_ERR_ARGUMENT (a position that is not
 * finite), VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status gridding_sort(const vf_nufft *plan, const vf_nufft_samples *samples,
                                      const gridding_tiles *tiles, int64_t block, gridding_record *sorted,
                                      int64_t *first, unsigned char *starts, double *exact);

/* VF_ERR_ARGUMENT, with a message about the first position that is not finite along an axis of more than one voxel; else
 * VF_OK. */
VF_MUST_CHECK vf_status gridding_check_positions(vf_context *ctx, const int64_t matrix[3],
                                                 const vf_nufft_samples *samples);

typedef struct gridding_backend {
    /* Makes plan->state from the rest of the plan, and sets plan->bytes. Errors: of vf_nufft_create; it looks for
     * positions that are not finite. */
    vf_status (*create)(vf_nufft *plan, const vf_nufft_samples *samples, const float *field);
    vf_status (*adjoint)(vf_nufft *plan, vf_queue *queue, int batch, const void *c, void *y);
    vf_status (*forward)(vf_nufft *plan, vf_queue *queue, int batch, const void *x, void *c);
    void (*destroy)(vf_nufft *plan);
} gridding_backend;

extern const gridding_backend gridding_cpu, gridding_cuda, gridding_opencl;

struct vf_nufft {
    const gridding_backend *backend;
    vf_device *device;
    vf_context *ctx;
    int axes; /* with more than one voxel */
    gridding_axis axis[3];
    int64_t samples, voxels;
    int most_batch;
    vf_dtype real, complex_type;
    gridding_kernel kernel;
    double *scale[3];     /* [voxels along the axis] 1 / transform of the kernel, first voxel first */
    vf_segments segments; /* count 0 without a field map */
    int64_t bytes;
    void *state;              /* the backend's own */
    bool has_field;           /* a field map is set */
    double segment_tolerance; /* used with a field map */
    bool ready;               /* samples are set */
    vf_status (*set_samples)(vf_nufft *plan, const vf_nufft_samples *samples, const float *field);
};

/* Replaces the samples and keeps the grid and tables: vf_nufft.set_samples of the CPU. It is NULL for devices that make
 * a new state instead. */
VF_MUST_CHECK vf_status gridding_cpu_set_samples(vf_nufft *plan, const vf_nufft_samples *samples, const float *field);

#ifdef __cplusplus
}
#endif
#endif
