/* The inner loops of the singular value thresholds for x86-64 with avx512; CMakeLists.txt sets the flags. */
#define ISA low_rank_isa_avx512
#include "low_rank_isa.inc"
