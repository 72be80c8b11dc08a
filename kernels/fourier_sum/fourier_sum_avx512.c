/* The Fourier sum's inner loops for x86-64 with avx512; CMakeLists.txt sets the flags. */
#define ISA fourier_simd_avx512
#define TILE_ROWS 6
#define FORWARD_ROWS 4
#define FORWARD_VECTORS 2
#include "fourier_sum_isa.inc"
