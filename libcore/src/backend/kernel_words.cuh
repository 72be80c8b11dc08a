/* Words for texts *.cuh that CUDA and OpenCL (opencl_words.cl) both compile: functions of REAL, a precision, and REAL2, a pair of
 * numbers x and y. For .cu files; not installed. */
#ifndef VOXFIELD_KERNEL_WORDS_CUH
#define VOXFIELD_KERNEL_WORDS_CUH

#define GLOBAL
#define LONG int64_t
#define DEVICE_FUNCTION                                                                                                \
    template <typename REAL, typename REAL2>                                                                           \
    __device__ __forceinline__

#endif
