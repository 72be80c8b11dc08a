/* Feeds arbitrary bytes to the reader of OpenDX maps (fuzz_maps.h). */
#define FUZZED_READER read_map_dx
#define LEAST_BYTES 2
#include "fuzz_maps.h"
