/* The inner loops of sums at scattered points: avx512; CMakeLists.txt sets the flags. */
#define ISA point_simd_avx512
#include "point_sum.inc"
