/* The inner loops of sums at scattered points: avx2; CMakeLists.txt sets the flags. */
#define ISA point_simd_avx2
#include "point_sum.inc"
