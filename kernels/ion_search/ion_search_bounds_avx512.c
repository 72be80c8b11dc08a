/* Bounds of the ions' potential: avx512; CMakeLists.txt sets the flags. */
#define ISA ion_bound_ions_avx512
#include "ion_search_bounds.inc"
