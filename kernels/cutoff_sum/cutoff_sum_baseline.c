/* The cutoff sum's inner loops for the baseline instruction set; CMakeLists.txt sets the flags. */
#define ISA cutoff_simd_baseline
#include "cutoff_sum_isa.inc"
