/* Products of waves for Ewald sums at points: baseline; CMakeLists.txt sets the flags. */
#define ISA ewald_products_baseline
#include "ewald_points.inc"
