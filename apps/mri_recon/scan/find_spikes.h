/* Samples that stand alone, one trajectory and one coil at a time. */
#ifndef FIND_SPIKES_H
#define FIND_SPIKES_H

#include "mri_scan.h"

enum { SPIKE_PIECE = 1 << 14 }; /* samples in which one thread looks for readouts at a time */

/* k-space in cells, and the readouts of a trajectory. */
typedef struct spike_cells {
    int64_t n[3], cells; /* along the axes; in all */
    int32_t *cell;       /* [sample] */
    int32_t *readout;    /* [sample] its readout */
    int64_t readouts;
} spike_cells;

/* Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status spike_cells_make(vf_context *ctx, const mri_scan *raw, const scan_trajectory *at,
                                         spike_cells *out);
void spike_cells_free(spike_cells *c);

/* Marks a coil's impossible samples in bad [sample]; *ratio becomes at least how many times the strongest of them
 * exceeds the rest. Returns how many there are; -1 if memory runs out. */
int64_t find_spikes(const scan_trajectory *at, const spike_cells *c, const float complex *data, bool *bad,
                    double *ratio);

#endif
