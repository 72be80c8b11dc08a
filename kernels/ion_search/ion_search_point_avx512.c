/* The potential of sources at one point: avx512; CMakeLists.txt sets the flags. */
#define ISA ion_point_sum_avx512
#include "ion_search_point.inc"
