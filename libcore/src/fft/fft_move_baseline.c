/* Moves for the FFT: baseline; CMakeLists.txt sets the flags. */
#define ISA fft_moves_baseline
#include "fft_move_isa.inc"
