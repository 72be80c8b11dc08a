/* The Coulomb sum at one point: avx2; CMakeLists.txt sets the flags. */
#define ISA coulomb_point_avx2
#include "coulomb_points.inc"
