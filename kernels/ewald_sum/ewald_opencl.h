/* The steps of the OpenCL backend; not installed. `level`: its mesh is on the device, [z][y][pitch]. */
#ifndef VOXFIELD_EWALD_OPENCL_H
#define VOXFIELD_EWALD_OPENCL_H

#include "backend/opencl_launch.h"
#include "ewald_common.h"

/* A mesh as transforms see it: [length z][length y][length x] complex. spread: sum_i scale q_i window(mesh - r_i), where the mesh is;
 * waits. multiply: by a table of sizes ewald_kernel_size. take_real: level->mesh = the real part. */
VF_MUST_CHECK vf_status opencl_spread(const ewald_level *level, vf_device *device, vf_queue *queue,
                                      const vf_coulomb_atoms *charges, double scale, const vf_array *spectrum);
VF_MUST_CHECK vf_status opencl_multiply(const ewald_level *level, vf_queue *queue, const vf_array *table,
                                        const vf_array *spectrum);
VF_MUST_CHECK vf_status opencl_take_real(const ewald_level *level, vf_queue *queue, const vf_array *spectrum);

/* Targets at origin + n . edge, in two parts: see ewald.cl; and the level's window. opencl_targets_free is always allowed. */
typedef struct opencl_targets {
    int64_t counts[3];
    vf_array whole, parts, window;
} opencl_targets;
VF_MUST_CHECK vf_status opencl_targets_make(const ewald_level *level, vf_device *device, const int64_t counts[3],
                                            const double origin[3], const double edge[3][3], opencl_targets *out);
void opencl_targets_free(opencl_targets *targets);

/* out, of a type: [z][y][x] of a box of targets; of a box of the mesh from the point `first` on; += terms of indices along x, y and
 * z of `counts` points. */
VF_MUST_CHECK vf_status opencl_interpolate(const ewald_level *level, const opencl_targets *targets, vf_queue *queue,
                                           const vf_box *box, vf_dtype type, bool add, void *out);
VF_MUST_CHECK vf_status opencl_copy_box(const ewald_level *level, vf_queue *queue, const int64_t first[3],
                                        const vf_box *box, vf_dtype type, void *out);
VF_MUST_CHECK vf_status opencl_add_slope(const ewald_level *level, vf_queue *queue, const int64_t counts[3],
                                         const vf_box *box, vf_dtype type, const vf_array *terms, void *out);

#endif
