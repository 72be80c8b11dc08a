/* The Ewald sum's inner loops for x86-64 with avx512; CMakeLists.txt sets the flags. */
#define ISA ewald_isa_avx512
#include "ewald_isa.inc"
