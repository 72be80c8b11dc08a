/* Gradient impulse response functions in a file (docs/reconstruction.md). */
#ifndef GIRF_FILE_H
#define GIRF_FILE_H

#include <complex.h>
#include <stdbool.h>
#include <stdint.h>

#include "voxfield/context.h"

typedef struct girf {
    int64_t count;
    double *frequency;        /* [count] Hz, rising */
    bool crossed;             /* with cross terms */
    double complex *transfer; /* [3][count], or [3][3][count] if crossed: of the output axis, the input axis */
} girf;

/* Reads /girf/frequency and /girf/transfer and checks them. `out` is overwritten; free it with girf_free. Errors:
 * VF_ERR_INPUT, VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status girf_read(vf_context *ctx, const char *path, girf *out);
void girf_free(girf *response);

/* The response of axis `to` to a gradient along `from` at a frequency: linear between the file's, constant beyond. If
 * all frequencies are >= 0, negative ones have the complex conjugate. */
double complex girf_at(const girf *response, int to, int from, double hertz);

#endif
