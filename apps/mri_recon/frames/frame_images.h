/* The images of a frame: F^H d (frame_adjoint.c), and one of several (combine_sets.c). */
#ifndef FRAME_IMAGES_H
#define FRAME_IMAGES_H

#include "crew.h"

/* Voxel n of images in host memory. */
static inline double complex image_value(const recon_job *j, const char *image, int64_t n)
{
    return j->type == VF_C128 ? ((const double complex *)(const void *)image)[n]
                              : ((const float complex *)(const void *)image)[n];
}
/* The number of a frame's images that are solved for together: the sets of its place's maps. */
int frame_sets(const recon_job *job, const scan_frame *frame);
/* The maps of the frame's place, which must have been made. */
host_maps frame_maps(const recon_job *job, const scan_frame *frame);

/* F^H d of a frame, [channel][voxel] or [set][voxel] in host memory. `even`: with maps, divided by the sum of |s|^2.
 * Errors: those of the stage. */
VF_MUST_CHECK vf_status crew_adjoint(crew *c, right_side *side, const scan_frame *frame, bool even, char *image);

/* memcpy by all threads, for images. */
void copy_images(const recon_job *job, void *to, const void *from, size_t bytes);

/* ---- combine_sets.c ---- */

/* Combines a frame's images x_s, [set][voxel], into one, in place. The squared magnitude is sum_c |sum_s s_sc x_s|^2
 * for weighted maps, else sum_s |x_s|^2. The phase is from the stronger image. A single image stays as it is if its
 * maps are not weighted; so do the images of --method adjoint. */
void combine_sets(const recon_job *job, const scan_frame *frame, float complex *images);

#endif
