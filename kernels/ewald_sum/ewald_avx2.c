/* The Ewald sum's inner loops for x86-64 with avx2; CMakeLists.txt sets the flags. */
#define ISA ewald_isa_avx2
#include "ewald_isa.inc"
