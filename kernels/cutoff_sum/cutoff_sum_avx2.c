/* The cutoff sum's inner loops for x86-64 with avx2; CMakeLists.txt sets the flags. */
#define ISA cutoff_simd_avx2
#include "cutoff_sum_isa.inc"
