/* In place of kernel_backends_cuda.c where the library is built without CUDA. */
#include "kernel_backends.h"

const vf_backend vf_kernel_backends_cuda[] = {{0}};
