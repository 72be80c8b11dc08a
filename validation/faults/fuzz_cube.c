/* Feeds arbitrary bytes to the reader of Gaussian cube files (fuzz_maps.h). */
#define FUZZED_READER read_map_cube
#define LEAST_BYTES 2
#include "fuzz_maps.h"
