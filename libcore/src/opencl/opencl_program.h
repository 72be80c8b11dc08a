/* Compiled programs; not installed. */
#ifndef VOXFIELD_OPENCL_PROGRAM_H
#define VOXFIELD_OPENCL_PROGRAM_H

#include "backend/opencl_launch.h"
#include "opencl_functions.h"

/* The program of a kernel from the user's cache, built; NULL if it is not there. */
cl_program vf_opencl_cache_find(const vf_opencl_state *s, const vf_opencl_kernel *kernel, const char *options);

/* Puts it there, if possible. */
void vf_opencl_cache_keep(vf_device *device, const vf_opencl_kernel *kernel, const char *options, cl_program program);

#endif
