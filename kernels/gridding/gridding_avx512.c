/* The NUFFT's inner loops: avx512; CMakeLists.txt sets the flags. */
#define ISA gridding_simd_avx512
#include "gridding_isa.inc"
