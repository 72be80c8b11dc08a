/* Products of waves for Ewald sums at points: avx512; CMakeLists.txt sets the flags. */
#define ISA ewald_products_avx512
#include "ewald_points.inc"
