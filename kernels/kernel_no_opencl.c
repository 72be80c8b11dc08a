/* Replaces the kernels' *_opencl.c files in a build without OpenCL: empty tables of backends. */
#include "first_differences_backend.h"

const vf_differences_backend vf_differences_opencl = {0};
