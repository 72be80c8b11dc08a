/* Reads images: to compare with, or as a reference. */
#include "bart/cfl_names.h"
#include "image_files.h"
#include "voxfield/output.h"

vf_status read_image(vf_context *ctx, const char *path, recon_image *out)
{
    vf_status status;
    *out = (recon_image){.voxel = {1, 1, 1}, .geometry.direction = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
    if (vf_path_has_extension(path, ".nii .nii.gz") || image_is_nifti_pair(path))
        status = image_read_nifti(ctx, path, out);
    else if (cfl_is_name(path))
        status = image_read_cfl(ctx, path, out);
    else if (vf_path_has_extension(path, ".mrd .ismrmrd"))
        status = vf_fail(ctx, VF_ERR_INPUT,
                         "%s: reading ISMRMRD images is not supported; use a .h5, .cfl, .nii or .nii.gz file", path);
    else
        status = image_read_h5(ctx, path, out);
    if (status != VF_OK)
        recon_image_free(out);
    return status;
}
