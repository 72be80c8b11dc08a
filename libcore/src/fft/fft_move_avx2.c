/* Moves for the FFT: avx2; CMakeLists.txt sets the flags. */
#define ISA fft_moves_avx2
#include "fft_move_isa.inc"
