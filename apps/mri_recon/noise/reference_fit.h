/* Whether references fit an image (reference_fit.c). */
#ifndef REFERENCE_FIT_H
#define REFERENCE_FIT_H

#include "frames/recon_job.h"

/* The agreement of a place's references with images [count][voxels] in host memory, of the job's type, that were made without
 * them: 1 - U_w / U, where U is the mean of the images' squared differences, and U_w that with the weights of the references. 1:
 * the images change only where the references do; 0: the images' differences have nothing to do with the references' edges. The
 * same for references mirrored along every choice of axes about the centre voxel. Errors: as vf_first_differences_weights. */
VF_MUST_CHECK vf_status reference_fit_measure(const recon_job *j, int place, const char *images, int64_t count,
                                              reference_fit *out);

/* Warns if references do not fit, or fit better if they are mirrored. */
void reference_fit_warn(vf_context *ctx, const char *name, const reference_fit *fit);

#endif
