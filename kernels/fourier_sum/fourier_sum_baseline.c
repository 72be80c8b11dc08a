/* The Fourier sum's inner loops for the baseline instruction set; CMakeLists.txt sets the flags. */
#define ISA fourier_simd_baseline
#define TILE_ROWS 2
#define FORWARD_ROWS 2
#define FORWARD_VECTORS 1
#include "fourier_sum_isa.inc"
