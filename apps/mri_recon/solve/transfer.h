/* Vectors between host and devices (transfer.c). */
#ifndef TRANSFER_H
#define TRANSFER_H

#include <complex.h>

#include "voxfield/device.h"

/* Copy complex numbers between the host, in single precision, and device memory of either precision. Blocking. */
VF_MUST_CHECK vf_status upload(vf_queue *queue, const float complex *from, int64_t n, vf_array *to);
VF_MUST_CHECK vf_status upload_at(vf_queue *queue, const float complex *from, int64_t n, vf_array *to, int64_t at);
VF_MUST_CHECK vf_status download(vf_queue *queue, const vf_array *from, int64_t n, float complex *to);

/* Makes `array` hold at least `count` elements. Its contents are lost if it has to grow. */
VF_MUST_CHECK vf_status grow_array(vf_device *device, vf_space space, vf_dtype type, int64_t count, vf_array *array);

#endif
