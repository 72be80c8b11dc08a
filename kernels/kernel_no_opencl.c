/* Replaces the kernels' *_opencl.c files in a build without OpenCL: empty tables of backends. */
#include "coulomb_sum_backend.h"
#include "cutoff_sum_backend.h"
#include "ewald_backend.h"
#include "first_differences_backend.h"

const vf_coulomb_backend vf_coulomb_opencl = {0};
const vf_cutoff_backend vf_cutoff_opencl = {0};
const vf_ewald_backend vf_ewald_opencl = {0};
const vf_differences_backend vf_differences_opencl = {0};
