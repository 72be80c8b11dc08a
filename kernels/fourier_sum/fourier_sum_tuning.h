/* The launch shapes of the Fourier sum's step "published", by compute capability: data, apart from the algorithm.
 * Included by fourier_sum_tuning.c alone.
 *
 * A row is {{major, minor}, accurate trigonometry, hardware trigonometry}, the latter two {threads, chunk, unroll}, and
 * is one line. tune_fourier_sum (validation/bench) measures a row and writes it here; it is for a grid in single
 * precision, and other plans use it too. The first row is for all GPUs that have none: a chunk of 64 samples is 2 KiB,
 * which the constant cache nearest to a multiprocessor's cores holds on all of them, so that warps may drift apart.
 */
#ifndef VOXFIELD_FOURIER_SUM_TUNING_H
#define VOXFIELD_FOURIER_SUM_TUNING_H

#include "fourier_sum_backend.h"

/* clang-format off */
static const vf_fourier_tuning_row vf_fourier_tunings[] = {
    {{0, 0}, {256, 64, 8}, {256, 64, 8}}, /* any other */
    {{9, 0}, {1024, 2000, 8}, {1024, 2000, 8}}, /* NVIDIA H200 */
};
/* clang-format on */

#endif
