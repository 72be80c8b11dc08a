/* Moves for the FFT: avx512; CMakeLists.txt sets the flags. */
#define ISA fft_moves_avx512
#include "fft_move_isa.inc"
