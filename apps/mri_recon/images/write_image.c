#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "image_files.h"
#include "program.h"
#include "result.h"
#include "voxfield/output.h"
#include "voxfield/statistics.h"

static const image_format *const formats[] = {&image_h5, &image_nifti_gz, &image_nifti, &image_ismrmrd, &image_cfl};
enum { FORMATS = sizeof formats / sizeof *formats };

static vf_status format_for(vf_context *ctx, const char *path, const image_format **out)
{
    for (int f = 0; f < FORMATS; f++) {
        *out = formats[f];
        if (vf_path_has_extension(path, formats[f]->extensions))
            return VF_OK;
    }
    return vf_fail(ctx, VF_ERR_ARGUMENT, "%s: unknown file extension; for an image, use one of %s %s %s %s %s", path,
                   formats[0]->extensions, formats[1]->extensions, formats[2]->extensions, formats[3]->extensions,
                   formats[4]->extensions);
}

vf_status image_check_extension(vf_context *ctx, const char *path)
{
    const image_format *format;
    return is_in_memory(path) ? VF_OK : format_for(ctx, path, &format);
}

vf_status image_check_path(vf_context *ctx, const char *path)
{
    const vf_status status = image_check_extension(ctx, path);
    return status == VF_OK ? program_check_place(ctx, path, 0, "") : status;
}

/* ---- the description of the voxels, for all formats ---- */

int64_t image_volume(const recon_image *image)
{
    return image->counts[0] * image->counts[1] * image->counts[2];
}

const scan_geometry *image_geometry(const recon_image *image, int64_t frame)
{
    return image->place_geometry ? &image->place_geometry[frame % image->places] : &image->geometry;
}

void image_affine(const recon_image *image, int64_t frame, double affine[3][4])
{
    const scan_geometry *g = image_geometry(image, frame);
    const bool stack = g->slice_step != 0;
    for (int row = 0; row < 3; row++) {
        affine[row][3] = g->centre[row];
        for (int a = 0; a < 3; a++) {
            affine[row][a] = g->direction[a][row] * (a == 2 && stack ? g->slice_step : image->voxel[a]);
            if (!(a == 2 && stack)) /* the centre of a stack is that of its first slice */
                affine[row][3] -= affine[row][a] * (double)(image->counts[a] / 2);
        }
    }
}

void image_magnitude(const float complex *data, int64_t count, float *out)
{
    for (int64_t i = 0; i < count; i++) {
        const double re = (double)crealf(data[i]), im = (double)cimagf(data[i]);
        out[i] = (float)sqrt(re * re + im * im);
    }
}

/* ---- the window (black to white) ---- */

/* Every `step`-th magnitude of `voxels`, starting at `from`. */
static int64_t sample_magnitudes(const float complex *from, int64_t voxels, int64_t step, float *out)
{
    int64_t n = 0;
    for (int64_t i = 0; i < voxels; i += step)
        image_magnitude(from + i, 1, &out[n++]);
    return n;
}

/* Over all voxels: a sample might miss the only bright one. */
static double largest_magnitude(const float complex *from, int64_t voxels)
{
    double largest = 0;
    for (int64_t i = 0; i < voxels; i++) {
        const double re = (double)crealf(from[i]), im = (double)cimagf(from[i]);
        largest = fmax(largest, re * re + im * im);
    }
    return sqrt(largest);
}

/* Moves voxels above the background to the front. */
static int64_t remove_background(float *values, int64_t n, double background)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i++)
        if ((double)values[i] >= background)
            values[kept++] = values[i];
    return kept;
}

/* Samples at least a million voxels, or takes all. If w of them are above the background, the share below the
 * percentile has an uncertainty of sqrt(0.005 / w): 0.02 % for a tenth of a million. The step is odd, so the samples
 * do not stay in the same columns. */
vf_status image_white(vf_context *ctx, const recon_image *image, int first, int count, double *white)
{
    enum { ENOUGH = 1 << 20 };
    const int64_t voxels = image_volume(image) * count, step = voxels < 3 * ENOUGH ? 1 : (voxels / ENOUGH - 1) | 1;
    const float complex *from = image->data + image_volume(image) * first;
    float high, bright = 0, *values = malloc((size_t)(voxels / step + 1) * sizeof *values);
    if (!values)
        return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for the picture's window");
    int64_t n = sample_magnitudes(from, voxels, step, values);
    const double largest = largest_magnitude(from, voxels);
    vf_status status = vf_host_quantile(ctx, n, values, 0.999, &high);
    if (status == VF_OK) {
        n = remove_background(values, n, fmax(0.1 * (double)high, 1e-3 * largest));
        status = vf_host_quantile(ctx, n, values, 0.995, &bright);
    }
    *white = n > 0 ? (double)bright : largest;
    if (!(*white > 0))
        *white = 1;
    free(values);
    return status;
}

/* ---- writing ---- */

vf_status image_check_values(vf_context *ctx, const recon_image *image, const char *path)
{
    int64_t voxels = image->frames;
    bool valid = image->frames >= 1 && image->data;
    for (int a = 0; a < 3; a++)
        valid = valid && image->counts[a] >= 1 && isfinite(image->voxel[a]) && image->voxel[a] > 0 &&
                !__builtin_mul_overflow(voxels, image->counts[a], &voxels);
    if (!valid)
        return vf_fail(ctx, VF_ERR_INTERNAL, "%s: the image to write has an invalid shape", path);
    vf_reduced sum; /* not finite if any value is not finite */
    vf_status status = vf_host_reduce(ctx, VF_REDUCE_SUM, VF_C64, voxels, image->data, NULL, &sum);
    if (status != VF_OK || (isfinite(sum.re) && isfinite(sum.im)))
        return status;
    const float *parts = (const float *)image->data;
    for (int64_t i = 0; i < 2 * voxels; i++)
        if (!(fabsf(parts[i]) <= FLT_MAX)) {
            const int64_t at = i / 2, nx = image->counts[0], ny = image->counts[1], nz = image->counts[2];
            return vf_fail(ctx, VF_ERR_OUTPUT,
                           "%s: voxel (%lld, %lld, %lld) of frame %lld is NaN or infinite; the reconstruction "
                           "failed; try a larger --lambda, or check the samples for wrong values",
                           path, (long long)(at % nx), (long long)(at / nx % ny), (long long)(at / nx / ny % nz),
                           (long long)(at / nx / ny / nz));
        }
    return VF_OK;
}

vf_status write_image(vf_context *ctx, const recon_image *image, const char *path)
{
    const image_format *format;
    vf_status status = format_for(ctx, path, &format);
    VF_TRY(status, image_check_values(ctx, image, path));
    VF_TRY(status, format->write(ctx, image, path));
    return status;
}

void recon_image_free(recon_image *image)
{
    free(image->data);
    image->data = NULL;
}
