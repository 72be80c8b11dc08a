/* What is compiled for each instruction set (coil_sums_isa.inc). */
#ifndef COIL_SUMS_CHUNK_H
#define COIL_SUMS_CHUNK_H

#include "coil_sums.h"

enum { COIL_SUMS_ROWS = 4 }; /* coils whose products are summed together; not fewer than half the lanes of a vector */

typedef struct coil_sums_chunk {
    void (*moments)(const vf_wiener_samples *samples, const unsigned char *ring, int64_t first, int64_t end,
                    vf_coil_moments *out);
    void (*products)(const vf_wiener_samples *samples, const double *share, int64_t first, int64_t end, double *room,
                     bool *acquired, double *sum);
} coil_sums_chunk;
extern const coil_sums_chunk coil_sums_chunk_baseline, coil_sums_chunk_avx2, coil_sums_chunk_avx512;

#endif
