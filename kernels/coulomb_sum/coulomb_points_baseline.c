/* The Coulomb sum at one point: baseline; CMakeLists.txt sets the flags. */
#define ISA coulomb_point_baseline
#include "coulomb_points.inc"
