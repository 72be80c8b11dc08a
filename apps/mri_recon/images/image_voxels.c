/* Memory for the voxels of an image to read. */
#include <stdlib.h>

#include "image_files.h"

vf_status image_allocate(vf_context *ctx, const char *path, recon_image *out)
{
    int64_t voxels = out->frames;
    bool valid = voxels >= 1;
    for (int a = 0; a < 3; a++)
        valid = valid && out->counts[a] >= 1 && !__builtin_mul_overflow(voxels, out->counts[a], &voxels);
    if (!valid || voxels > INT64_MAX / (int64_t)sizeof *out->data)
        return vf_fail(ctx, VF_ERR_INPUT, "%s: invalid or too large image of %lld x %lld x %lld x %d voxels", path,
                       (long long)out->counts[0], (long long)out->counts[1], (long long)out->counts[2], out->frames);
    out->data = malloc((size_t)voxels * sizeof *out->data);
    return out->data ? VF_OK
                     : vf_fail(ctx, VF_ERR_MEMORY, "%s: not enough memory for %lld voxels", path, (long long)voxels);
}

/* Starts at the end, because the last values move farthest. */
void image_widen(float complex *data, int64_t count)
{
    const float *real = (const float *)data;
    for (int64_t i = count - 1; i >= 0; i--)
        data[i] = real[i];
}
