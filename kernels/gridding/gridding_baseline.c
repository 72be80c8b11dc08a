/* The NUFFT's inner loops: baseline; CMakeLists.txt sets the flags. */
#define ISA gridding_simd_baseline
#include "gridding_isa.inc"
