/* The launch shapes of the Fourier sum's step "published", by compute capability. Only fourier_sum_tuning.c includes
 * this.
 *
 * A row is one line, {{major, minor}, accurate trigonometry, hardware trigonometry}; the latter two are {threads,
 * chunk, unroll}. tune_fourier_sum (validation/bench) measures a row and writes it here. It measures a grid in single
 * precision; other plans use the row too. The first row is for GPUs without a row: a chunk of 64 samples is 2 KiB,
 * which fits in the innermost constant cache of every GPU, so warps may drift apart.
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
