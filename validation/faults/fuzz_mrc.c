/* Feeds arbitrary bytes to the reader of MRC and CCP4 maps (fuzz_maps.h). */
#define FUZZED_READER read_map_mrc
#define LEAST_BYTES 1
#include "fuzz_maps.h"
