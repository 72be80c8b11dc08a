/* The Coulomb sum's inner loops for the baseline instruction set; CMakeLists.txt sets the flags. */
#define ISA coulomb_simd_baseline
#define TILE_VECTORS 2
#define TILE_ROWS 2
#include "coulomb_sum_isa.inc"
