/* Bounds of the ions' potential: baseline; CMakeLists.txt sets the flags. */
#define ISA ion_bound_ions_baseline
#include "ion_search_bounds.inc"
