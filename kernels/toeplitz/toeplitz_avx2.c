/* The Toeplitz multiplication's inner loops for x86-64 with avx2; CMakeLists.txt sets the flags. */
#define ISA toeplitz_isa_avx2
#include "toeplitz_isa.inc"
