/* The host's end of sums on OpenCL devices (opencl_sums.cl); not installed. */
#ifndef VOXFIELD_OPENCL_SUMS_H
#define VOXFIELD_OPENCL_SUMS_H

#include "backend/opencl_launch.h"

extern const char vf_text_opencl_sums[];

enum { VF_OPENCL_SUM_BYTES = 16 }; /* of a partial_sum */

/* The sum of partial sums number 0, step, 2 step, ... below `count`, in host memory; `real` is the kernel's precision. */
double vf_opencl_total(vf_dtype real, const void *partial_sums, int64_t count, int64_t step);

/* The value of a product that is kept as a partial sum (reduce.cl); its `special` is a number between infinities if it is finite and not 0. */
double vf_opencl_product(vf_dtype real, const void *partial_sum);

#endif
