/* The Coulomb sum at single points: avx512; CMakeLists.txt sets the flags. */
#define ISA(name) name##_avx512
#include "coulomb_points.inc"
