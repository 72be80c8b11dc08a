/* The Coulomb sum at single points: baseline; CMakeLists.txt sets the flags. */
#define ISA(name) name##_baseline
#include "coulomb_points.inc"
