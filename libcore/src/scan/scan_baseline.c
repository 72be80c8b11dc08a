#define CHUNK_TABLE vf_scan_chunks_baseline
#include "scan_chunks.inc"
