/* Cuts the readouts of a scan into other frames, and selects frames. */
#ifndef REGROUP_H
#define REGROUP_H

#include "mri_scan.h"

/* With settings->spokes_per_frame: the readouts of a place that differ only in repetition, in the order of acquisition,
 * become frames of that many readouts, a new one every settings->frame_step readouts. The new frames count in
 * `repetition`, and replace the scan's. They share samples and trajectories with a spare frame, which has all readouts
 * of the place, so that coil maps can use them.
 *
 * Then settings->frames selects volumes (slabs of one number count as one). Frames that are not selected become spare.
 *
 * A truth goes with the volumes: that of a new frame is the truth of the volume that its middle readout was in. It is
 * dropped unless `truth` says that it is needed. The digest becomes that of the new trajectories. Without these settings
 * nothing happens. After a failure, the scan can only be freed. Errors: as find_readouts; VF_ERR_ARGUMENT (fewer
 * readouts than a frame needs, frames that there are not), VF_ERR_INPUT (a frame without positive weights),
 * VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status regroup_frames(vf_context *ctx, const scan_settings *settings, bool truth, mri_scan *raw);

#endif
