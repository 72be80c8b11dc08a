/* Bounds of the ions' potential: avx2; CMakeLists.txt sets the flags. */
#define ISA ion_bound_ions_avx2
#include "ion_search_bounds.inc"
