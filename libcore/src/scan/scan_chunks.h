/* Inside the CPU's scan: what is compiled for each instruction set. */
#ifndef VOXFIELD_SCAN_CHUNKS_H
#define VOXFIELD_SCAN_CHUNKS_H

#include <stdbool.h>
#include <stdint.h>

#include "voxfield/device.h"

/* Elements of a run; runs that are scanned side by side; runs and elements of a chunk, which stays in the first-level
 * cache if it is of floats, the next one beside it in the second. A run is a whole number of cache lines, an odd one:
 * runs side by side lie in different places of the first-level cache. */
enum { VF_SCAN_RUN = 1040, VF_SCAN_SIDE = 8, VF_SCAN_RUNS = 8, VF_SCAN_CHUNK = VF_SCAN_RUN * VF_SCAN_RUNS };

/* The sum of a run, or of what follows the last head in it, and whether there is one; then what comes before the run.
 */
typedef struct vf_scan_sum {
    union {
        double real;
        uint64_t integer;
    };
    bool flag;
} vf_scan_sum;

/* Chunk [at, at + count) of a scan of x into y. */
typedef struct vf_scan_piece {
    int64_t at, count;
    const void *x;
    const uint8_t *head; /* NULL unless segmented */
    void *y;
    bool exclusive;
    bool past;         /* y is written past the caches: it is aligned to 64 bytes, and is not x */
    const void *ahead; /* what will be read next, as long as the chunk: is fetched meanwhile */
} vf_scan_piece;

typedef struct vf_scan_chunk {
    void (*sum)(const vf_scan_piece *piece, vf_scan_sum sums[VF_SCAN_RUNS]);
    void (*scan)(const vf_scan_piece *piece, const vf_scan_sum before[VF_SCAN_RUNS]);
} vf_scan_chunk;

/* One table for each instruction set; all give the same bits. Complex types have no functions. */
typedef vf_scan_chunk vf_scan_chunks[VF_U8 + 1];
extern const vf_scan_chunks vf_scan_chunks_baseline, vf_scan_chunks_avx2, vf_scan_chunks_avx512;

#endif
