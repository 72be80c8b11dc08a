/* The steps of the CPU backend; not installed. */
#ifndef VOXFIELD_EWALD_CPU_H
#define VOXFIELD_EWALD_CPU_H

#include "ewald_common.h"
#include "ewald_simd.h"

/* A level with its mesh, to be freed with vf_array_free(&out->mesh), also after an error. */
VF_MUST_CHECK vf_status ewald_level_create(vf_device *device, const ewald_layout *layout, vf_dtype precision,
                                           ewald_level *out);

/* level->mesh = the potential of its part of the law on the mesh. `truncated`: in free space, without `less`. *bytes:
 * the most memory used meanwhile. */
VF_MUST_CHECK vf_status ewald_solve(ewald_level *level, const vf_coulomb_atoms *charges, double scale,
                                    ewald_kernel_job *job, bool truncated, uint64_t *bytes);

/* The same for the charges that are on the mesh. */
VF_MUST_CHECK vf_status ewald_solve_mesh(ewald_level *level, ewald_kernel_job *job, bool truncated, uint64_t *bytes);

/* mesh = sum_i scale q_i window(mesh - r_i). */
VF_MUST_CHECK vf_status ewald_spread(ewald_level *level, const vf_coulomb_atoms *charges, double scale);

/* coarse->mesh = what the charges on the fine mesh spread, window and all. The coarse level has double precision. */
VF_MUST_CHECK vf_status ewald_restrict(const ewald_level *fine, const ewald_level *coarse);
uint64_t ewald_restrict_bytes(const ewald_layout *fine, const ewald_layout *coarse); /* what it takes meanwhile */

/* The multiplier of the mesh's spectrum, of the level's precision and of sizes ewald_kernel_size.
 * ewald_truncated_kernel is for free space without `less`. */
VF_MUST_CHECK vf_status ewald_make_kernel(ewald_kernel_job *job, vf_array *kernel);
VF_MUST_CHECK vf_status ewald_truncated_kernel(ewald_kernel_job *job, vf_array *kernel);

uint64_t ewald_truncated_bytes(const ewald_layout *layout, int threads); /* what it takes meanwhile */

/* mesh = the mesh convolved. *bytes: memory used meanwhile. */
VF_MUST_CHECK vf_status ewald_convolve(ewald_level *level, const vf_array *kernel, uint64_t *bytes);
uint64_t ewald_convolve_bytes(const ewald_layout *layout, vf_dtype precision, int threads);

/* As ewald_targets_place, with windows. ewald_targets_free is always allowed. */
VF_MUST_CHECK vf_status ewald_targets_make(const ewald_level *level, const int64_t counts[3], const double origin[3],
                                           const double edge[3][3], ewald_targets *out);
void ewald_targets_free(ewald_targets *targets);

/* Where interpolated values go: rows and planes of numbers of a precision. */
typedef struct ewald_output {
    void *values; /* the box's first point */
    vf_dtype precision;
    int64_t row, plane; /* strides */
    bool add;
} ewald_output;
VF_MUST_CHECK vf_status ewald_interpolate(const ewald_level *level, const ewald_targets *targets, const vf_box *box,
                                          const ewald_output *out);

/* `n` numbers of a row to where they go. */
void ewald_put_row(const ewald_output *out, vf_dtype precision, int64_t n, const void *row, void *to);

#endif
