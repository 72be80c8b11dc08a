/* The inner loops of sums at scattered points: baseline; CMakeLists.txt sets the flags. */
#define ISA point_simd_baseline
#include "point_sum.inc"
