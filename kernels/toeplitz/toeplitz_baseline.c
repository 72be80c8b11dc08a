/* The Toeplitz multiplication's inner loops for the baseline instruction set; CMakeLists.txt sets the flags. */
#define ISA toeplitz_isa_baseline
#include "toeplitz_isa.inc"
