/* The cutoff sum's inner loops for x86-64 with avx512; CMakeLists.txt sets the flags. */
#define ISA cutoff_simd_avx512
#include "cutoff_sum_isa.inc"
