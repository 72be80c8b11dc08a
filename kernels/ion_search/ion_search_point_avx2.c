/* The potential of sources at one point: avx2; CMakeLists.txt sets the flags. */
#define ISA ion_point_sum_avx2
#include "ion_search_point.inc"
