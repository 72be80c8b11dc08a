/* The potential of sources at one point: baseline; CMakeLists.txt sets the flags. */
#define ISA ion_point_sum_baseline
#include "ion_search_point.inc"
