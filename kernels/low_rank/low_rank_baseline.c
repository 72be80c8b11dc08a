/* The inner loops of the singular value thresholds for the baseline instruction set; CMakeLists.txt sets the flags. */
#define ISA low_rank_isa_baseline
#include "low_rank_isa.inc"
