/* Voxfield - the kernels as linear operators (voxfield/operator.h), and the encoding of an MRI scan made of them.
 *
 * The caller still owns the plans and arrays that an operator uses; they must outlive it.
 */
#ifndef VOXFIELD_KERNEL_OPERATORS_H
#define VOXFIELD_KERNEL_OPERATORS_H

#include "cartesian.h"
#include "circulant.h"
#include "encoding.h"
#include "normal.h"
#include "voxfield/operator.h"
#include "wavelet.h"

#ifdef __cplusplus
extern "C" {
#endif
VF_API_BEGIN

/* ---- the sums: from [batch][z][y][x] to [batch][sample], complex of the plan's precision. Errors of all below: as
 * vf_operator_create. ---- */

typedef struct vf_sum_shape {
    vf_device *device;
    vf_dtype precision; /* of the plan: VF_F32, VF_F64. So are the other members. */
    int64_t voxels, samples;
    int batch; /* 1 to the plan's largest batch */
} vf_sum_shape;

VF_MUST_CHECK vf_status vf_fourier_operator(const vf_sum_shape *shape, vf_fourier *plan, vf_operator **out);
VF_MUST_CHECK vf_status vf_nufft_operator(const vf_sum_shape *shape, vf_nufft *plan, vf_operator **out);
VF_MUST_CHECK vf_status vf_cartesian_operator(const vf_sum_shape *shape, vf_cartesian *plan, vf_operator **out);
VF_MUST_CHECK vf_status vf_encoding_operator(const vf_sum_shape *shape, vf_encoding *plan, vf_operator **out);

/* ---- self-adjoint operators of images [z][y][x] ---- */

/* F^H W F seen through `coils` maps (device memory [coil][z][y][x]; NULL: one coil of s = 1). */
VF_MUST_CHECK vf_status vf_normal_operator(vf_device *device, vf_dtype precision, int64_t voxels,
                                           const vf_normal *normal, int coils, const void *maps, vf_operator **out);

/* The same for images [set][z][y][x] that are seen together, each through maps of its own, device memory
 * [set][coil][z][y][x]: y_s = sum_c conj(s_sc) F^H W F sum_t s_tc x_t. `sets` >= 2; allocates sets + 2 images. */
VF_MUST_CHECK vf_status vf_normal_sets_operator(vf_device *device, vf_dtype precision, int64_t voxels,
                                                const vf_normal *normal, int sets, int coils, const void *maps,
                                                vf_operator **out);

/* Matrix number `which` of a circulant plan. */
VF_MUST_CHECK vf_status vf_circulant_operator(vf_device *device, vf_dtype precision, int64_t voxels, vf_circulant *plan,
                                              int which, vf_operator **out);

/* D^H D of first differences D along each axis (first_differences.h). `weights`: as there; may be NULL. */
VF_MUST_CHECK vf_status vf_first_differences_operator(vf_device *device, vf_dtype precision, const int64_t counts[3],
                                                      const void *weights, vf_operator **out);

/* ---- wavelets ---- */

/* Psi S of a plan for one shift (wavelet.h; NULL: 0), from padded images [z][y][x] to coefficients. Unitary. */
VF_MUST_CHECK vf_status vf_wavelet_operator(vf_device *device, vf_dtype precision, const int64_t shift[3],
                                            vf_wavelet *plan, vf_operator **out);

/* ---- gradients of image series [frame][z][y][x] (differences.h). `counts`, `axes`: as there ---- */

/* From x to D x, one component for each axis. */
VF_MUST_CHECK vf_status vf_differences_operator(vf_device *device, vf_dtype precision, const int64_t counts[4],
                                                unsigned axes, vf_operator **out);

/* From the vector field v to the components of E v. */
VF_MUST_CHECK vf_status vf_symmetric_gradient_operator(vf_device *device, vf_dtype precision, const int64_t counts[4],
                                                       unsigned axes, vf_operator **out);

/* ---- several coils ---- */

/* y_c = s_c x, from [z][y][x] to [coil][z][y][x]. `maps`: [coil][z][y][x], complex, device memory. Adjoint: sum_c
 * conj(s_c) y_c. Allocates one vector of the domain. */
VF_MUST_CHECK vf_status vf_coil_operator(vf_device *device, vf_dtype precision, int64_t voxels, int coils,
                                         const void *maps, vf_operator **out);

/* The encoding of a scan, from the image [z][y][x] to W^(1/2) phi F s_c x, [coil][sample]. F is a plan for batches of
 * at least `coils`. */
typedef struct vf_sense_operator {
    vf_sum_shape shape; /* its batch is ignored */
    vf_encoding *encoding;
    int coils;
    const void *maps;        /* [coil][z][y][x], device memory; NULL: one coil with s = 1 */
    const void *weights;     /* [coil][sample] real: W^(1/2) |phi|; device memory; NULL: 1 */
    const vf_normal *normal; /* F^H W F of the same weights, if there is one: the operator's normal then; or NULL */
} vf_sense_operator;

VF_MUST_CHECK vf_status vf_sense_operator_create(const vf_sense_operator *of, vf_operator **out);

VF_API_END
#ifdef __cplusplus
}
#endif
#endif
