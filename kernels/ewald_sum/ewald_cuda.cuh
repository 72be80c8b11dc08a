/* The steps of the CUDA backend. They put work into a queue; the caller waits before it frees memory. Not installed. */
#ifndef VOXFIELD_EWALD_CUDA_CUH
#define VOXFIELD_EWALD_CUDA_CUH

#include "backend/bin_order.cuh"
#include "ewald_common.h"

namespace vf_ewald_gpu
{

/* The complex numbers of a precision. */
template <typename T>
struct __align__(2 * sizeof(T)) pair
{
    T re, im;
};

/* A level's mesh as transforms see it: [length z][length y][length x] complex, zeros beyond the mesh. */
struct spectrum {
    const ewald_level *level;
    vf_array data;
};

inline int64_t spectrum_numbers(const ewald_layout &s)
{
    return s.length[0] * s.length[1] * s.length[2];
}

/* data = sum_i scale q_i window(mesh - r_i), 0 beyond the mesh. charges: x, y, z and charge, each [count]. */
vf_status spread(const spectrum &mesh, vf_queue *queue, const vf_array &charges, double scale);

/* Device memory that a step's work needs until it is done. */
struct scratch {
    vf_array arrays[8];
    int used;
};
vf_status take(scratch *s, vf_device *device, vf_dtype type, int64_t count, void **data);
void free_scratch(scratch *s);

/* data *= the multiplier of the job (ewald_common.h), in closed form or truncated (in free space, double precision). */
vf_status multiply(const spectrum &mesh, vf_queue *queue, const ewald_kernel_job &job, bool truncated, scratch *work);

/* level->mesh = the real part of the mesh. */
vf_status take_real(const spectrum &mesh, vf_queue *queue);

/* Where values go: rows and planes of numbers of a precision; x fastest. */
struct output {
    void *values; /* the box's first point */
    vf_dtype precision;
    int64_t row, plane; /* strides */
    bool add;
};

/* The mesh at the targets of a box by the level's window. */
vf_status interpolate(const ewald_level &level, const ewald_targets &targets, vf_queue *queue, const vf_box &box,
                      const output &out);

/* The mesh from point `first` on, where the box's first point is. */
vf_status copy_box(const ewald_level &level, vf_queue *queue, const int64_t first[3], const vf_box &box,
                   const output &out);

/* out += slope . r over a box of the grid. */
vf_status add_slope(const vf_ewald *plan, vf_queue *queue, const vf_box &box, const output &out);

} // namespace vf_ewald_gpu

#endif
