#define CHUNK_TABLE vf_reduce_chunks_avx2
#include "reduce_chunks.inc"
