/* The Ewald sum's inner loops for the baseline instruction set; CMakeLists.txt sets the flags. */
#define ISA ewald_isa_baseline
#include "ewald_isa.inc"
