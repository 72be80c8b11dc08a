/* The inner loops of the wavelet transforms: baseline; CMakeLists.txt sets the flags. */
#define ISA wavelet_simd_baseline
#include "wavelet_isa.inc"
