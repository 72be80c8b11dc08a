/* The part of the CPU's scan that is compiled for each instruction set. */
#ifndef VOXFIELD_SCAN_CHUNKS_H
#define VOXFIELD_SCAN_CHUNKS_H

#include <stdbool.h>
#include <stdint.h>

#include "voxfield/scan.h"

/* VF_SCAN_RUN: elements of a run. VF_SCAN_SIDE: runs scanned side by side. VF_SCAN_RUNS and VF_SCAN_CHUNK: runs and
 * elements of a chunk; VF_SCAN_SIDE_COUNT: elements side by side. A chunk of floats fits in the first-level cache; it and the next one fit in the second-level
 * cache. A run is an odd number of cache lines, so that runs side by side use different sets of the first-level
 * cache. */
enum {
    VF_SCAN_RUN = 1040,
    VF_SCAN_SIDE = 8,
    VF_SCAN_RUNS = 8,
    VF_SCAN_CHUNK = VF_SCAN_RUN * VF_SCAN_RUNS,
    VF_SCAN_SIDE_COUNT = VF_SCAN_SIDE * VF_SCAN_RUN
};

/* The sum of a run, or of the elements after its last head, and whether it has a head. Later, the sum before the run.
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
    bool past;         /* use streaming stores to y, which is then aligned to 64 bytes and is not x */
    const void *ahead; /* memory that will be read next, as long as the chunk: prefetched meanwhile */
} vf_scan_piece;

typedef struct vf_scan_chunk {
    void (*sum)(const vf_scan_piece *piece, vf_scan_sum sums[VF_SCAN_RUNS]);
    void (*scan)(const vf_scan_piece *piece, const vf_scan_sum before[VF_SCAN_RUNS]);
} vf_scan_chunk;

/* Sums, by type: one table for each instruction set; all give the same bits. Complex types have no functions. The last
 * row: VF_I32 into VF_I64. */
enum { VF_SCAN_WIDE = VF_U8 + 1 };
typedef vf_scan_chunk vf_scan_chunks[VF_SCAN_WIDE + 1];
extern const vf_scan_chunks vf_scan_chunks_baseline, vf_scan_chunks_avx2, vf_scan_chunks_avx512;

/* The other operators, by operator and type (scan_operators.c). */
extern const vf_scan_chunk vf_scan_operator_chunks[][VF_U8 + 1];

/* The sum of nothing. */
vf_scan_sum vf_scan_identity(vf_scan_operator op, vf_dtype type);

/* Appends a sum to the sum before it. */
typedef void (*vf_scan_append)(vf_scan_sum *carry, const vf_scan_sum *next);
vf_scan_append vf_scan_append_of(vf_scan_operator op, vf_dtype type);

#endif
