/* The Coulomb sum's inner loops for x86-64 with avx2; CMakeLists.txt sets the flags. */
#define ISA coulomb_simd_avx2
#define TILE_VECTORS 2
#define TILE_ROWS 2
#include "coulomb_sum_isa.inc"
