/* The inner loops of the wavelet transforms: avx2; CMakeLists.txt sets the flags. */
#define ISA wavelet_simd_avx2
#include "wavelet_isa.inc"
