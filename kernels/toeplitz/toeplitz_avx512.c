/* The Toeplitz multiplication's inner loops for x86-64 with avx512; CMakeLists.txt sets the flags. */
#define ISA toeplitz_isa_avx512
#include "toeplitz_isa.inc"
