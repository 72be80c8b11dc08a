#define CHUNK_TABLE vf_reduce_chunks_baseline
#include "reduce_chunks.inc"
