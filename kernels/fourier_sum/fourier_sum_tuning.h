/* The launch shapes of the Fourier sum's steps "tuned-structs" and "bank-4", by compute capability. Only
 * fourier_sum_tuning.c includes this.
 *
 * A row is one line, {{major, minor}, {tuned-structs, bank-4}}. Each step has {accurate trigonometry, hardware
 * trigonometry}, of {threads, chunk, unroll}. tune_fourier_sum (validation/bench) measures a row and writes it here. It
 * measures a grid in single precision; other plans use the row too. The first row is for GPUs without a row: for
 * "tuned-structs" it is near the best of the only GPU that was searched; for "bank-4" a chunk is 2 KiB, which fits in the
 * innermost constant cache of every GPU, so warps may drift apart.
 */
#ifndef VOXFIELD_FOURIER_SUM_TUNING_H
#define VOXFIELD_FOURIER_SUM_TUNING_H

#include "fourier_sum_backend.h"

/* clang-format off */
static const vf_fourier_tuning_row vf_fourier_tunings[] = {
    {{0, 0}, {{{128, 1024, 16}, {1024, 512, 16}}, {{256, 64, 8}, {256, 64, 8}}}}, /* any other */
    {{9, 0}, {{{128, 1536, 16}, {1024, 768, 16}}, {{1024, 2000, 8}, {1024, 2000, 8}}}}, /* NVIDIA H200 */
};
/* clang-format on */

#endif
