/* The NUFFT's inner loops: avx2; CMakeLists.txt sets the flags. */
#define ISA gridding_simd_avx2
#include "gridding_isa.inc"
