/* The Coulomb sum at single points: avx2; CMakeLists.txt sets the flags. */
#define ISA(name) name##_avx2
#include "coulomb_points.inc"
