#define CHUNK_TABLE vf_scan_chunks_avx2
#include "scan_chunks.inc"
