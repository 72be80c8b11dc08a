#define CHUNK_TABLE vf_scan_chunks_avx512
#include "scan_chunks.inc"
