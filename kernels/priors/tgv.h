/* The linear operators of second-order total generalised variation, min over w of sum |D x - w| + 2 sum |E w|; not
 * installed. Their domain has the image series x and the vector field w, [1 + d][frame][z][y][x]. `counts`, `axes`, D and
 * E are those of differences.h, d is the number of axes. Errors of all: as vf_operator_create; VF_ERR_DEVICE_MEMORY. */
#ifndef VOXFIELD_TGV_H
#define VOXFIELD_TGV_H

#include "voxfield/operator.h"

#ifdef __cplusplus
extern "C" {
#endif

/* D x - w, [d][frame][z][y][x]. */
VF_MUST_CHECK vf_status vf_tgv_first_operator(vf_device *device, vf_dtype precision, const int64_t counts[4],
                                              unsigned axes, vf_operator **out);

/* The components of E w, those off the diagonal times sqrt(2): the sum of squares is that of the symmetric matrix. Holds
 * a vector of its codomain, [d (d + 1) / 2][frame][z][y][x]. */
VF_MUST_CHECK vf_status vf_tgv_second_operator(vf_device *device, vf_dtype precision, const int64_t counts[4],
                                               unsigned axes, vf_operator **out);

/* T x for another operator T of the image series, which the caller still owns; NULL: the identity. `fields`: d. */
VF_MUST_CHECK vf_status vf_tgv_image_operator(vf_device *device, vf_vector_space series, int fields, vf_operator *of,
                                              vf_operator **out);

#ifdef __cplusplus
}
#endif
#endif
