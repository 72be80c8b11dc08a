/* Products of waves for Ewald sums at points: avx2; CMakeLists.txt sets the flags. */
#define ISA ewald_products_avx2
#include "ewald_points.inc"
