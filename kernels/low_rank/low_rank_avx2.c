/* The inner loops of the singular value thresholds for x86-64 with avx2; CMakeLists.txt sets the flags. */
#define ISA low_rank_isa_avx2
#include "low_rank_isa.inc"
