/* What is compiled for each instruction set (coil_sums_isa.inc). */
#ifndef COIL_SUMS_CHUNK_H
#define COIL_SUMS_CHUNK_H

#include "coil_sums.h"

enum { COIL_SUMS_ROWS = 4 }; /* coils whose products are summed together; not fewer than half the lanes of a vector */

typedef struct coil_sums_chunk {
    void (*moments)(const vf_wiener_samples *samples, const unsigned char *ring, int64_t first, int64_t end,
                    vf_coil_moments *out);
    /* The squares of |k| in cycles/mm, with the bits of vf_wiener_radius before its root. */
    void (*squares)(const vf_wiener_space *space, const float *k, int64_t count, double *out);
    void (*products)(const vf_wiener_samples *samples, const double *share, int64_t first, int64_t end, double *room,
                     bool *acquired, double *sum);
    /* The bins of radii, of `squares`: whole parts of sqrt(square) / most times `bins`. */
    void (*radius_bins)(const double *squares, int64_t count, double most, double bins, int32_t *bin);
} coil_sums_chunk;
const coil_sums_chunk *coil_sums_chunk_of_cpu(void);
extern const coil_sums_chunk coil_sums_chunk_baseline, coil_sums_chunk_avx2, coil_sums_chunk_avx512;

#endif
