#define CHUNK_TABLE vf_reduce_chunks_avx512
#include "reduce_chunks.inc"
