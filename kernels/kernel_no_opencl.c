/* Replaces the kernels' *_opencl.c files in a build without OpenCL: empty tables of backends. */
#include "first_differences_backend.h"
#include "fourier_sum_backend.h"
#include "gridding_internal.h"

const vf_differences_backend vf_differences_opencl = {0};
const vf_fourier_backend vf_fourier_opencl = {0};
const gridding_backend gridding_opencl = {0};
