/* The Coulomb sum's inner loops for x86-64 with avx512; CMakeLists.txt sets the flags. */
#define ISA coulomb_simd_avx512
#define TILE_VECTORS 2
#define TILE_ROWS 8
#include "coulomb_sum_isa.inc"
