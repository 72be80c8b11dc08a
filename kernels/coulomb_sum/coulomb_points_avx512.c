/* The Coulomb sum at one point: avx512; CMakeLists.txt sets the flags. */
#define ISA coulomb_point_avx512
#include "coulomb_points.inc"
