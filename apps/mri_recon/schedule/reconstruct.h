/* mri_recon: from a scan to its images. Arrays are in host memory, x fastest. */
#ifndef RECONSTRUCT_H
#define RECONSTRUCT_H

#include "frames/recon_results.h"
#include "settings.h"
#include "watch.h"

/* Reconstructs the scan's frames, all or those of settings->schedule.wanted, on the context's devices. The images do not depend on
 * which are wanted. `put` gets each frame once, in any order, on the caller's thread; summary->effort of the frame is
 * complete by then. Then, with settings->noise.map, `put_noise` gets the noise of all places. If a team's device fails,
 * the other teams make its frames; the last team's failure ends the run. */
VF_MUST_CHECK vf_status reconstruct(vf_context *ctx, const recon_settings *settings, const mri_scan *raw,
                                    recon_watch *watch, recon_put put, recon_put_noise put_noise, void *user,
                                    recon_summary *summary);

#endif
