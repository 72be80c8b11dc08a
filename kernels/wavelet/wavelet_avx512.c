/* The inner loops of the wavelet transforms: avx512; CMakeLists.txt sets the flags. */
#define ISA wavelet_simd_avx512
#include "wavelet_isa.inc"
