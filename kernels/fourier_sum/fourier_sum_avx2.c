/* The Fourier sum's inner loops for x86-64 with avx2; CMakeLists.txt sets the flags. */
#define ISA fourier_simd_avx2
#define TILE_ROWS 2
#define FORWARD_ROWS 2
#define FORWARD_VECTORS 1
#include "fourier_sum_isa.inc"
