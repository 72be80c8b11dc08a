/* Reads NIfTI-1 images of any program. Supported: real numbers in this machine's byte order, in one file, with or
 * without gzip. See image_nifti.c. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "image_files.h"

enum { HEADER = 348, PIECE = 1 << 16 };

/* Offsets in the header: nifti1.h. */
enum { AT_DIM = 40, AT_TYPE = 70, AT_VOXELS = 76, AT_OFFSET = 108, AT_SLOPE = 112, AT_INTERCEPT = 116, AT_MAGIC = 344 };

static float number(const char *header, int at)
{
    float value;
    memcpy(&value, header + at, sizeof value);
    return value;
}

static int short_number(const char *header, int at)
{
    int16_t value;
    memcpy(&value, header + at, sizeof value);
    return value;
}

/* Bytes of a voxel of a supported type, else 0. */
static int bytes_of(int type)
{
    static const int known[][2] = {{2, 1}, {4, 2}, {8, 4}, {16, 4}, {64, 8}, {256, 1}, {512, 2}, {768, 4}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i][0] == type)
            return known[i][1];
    return 0;
}

static double value_of(int type, const char *at)
{
    union {
        uint8_t u8;
        int8_t i8;
        int16_t i16;
        uint16_t u16;
        int32_t i32;
        uint32_t u32;
        float f32;
        double f64;
    } v;
    memcpy(&v, at, (size_t)bytes_of(type));
    switch (type) {
    case 2:
        return v.u8;
    case 4:
        return v.i16;
    case 8:
        return v.i32;
    case 16:
        return (double)v.f32;
    case 64:
        return v.f64;
    case 256:
        return v.i8;
    case 512:
        return v.u16;
    default:
        return v.u32;
    }
}

static vf_status take(vf_context *ctx, const char *path, gzFile file, void *to, int64_t bytes)
{
    for (int64_t done = 0; done < bytes;) {
        const int64_t left = bytes - done;
        const int got = gzread(file, (char *)to + done, left < PIECE ? (unsigned)left : PIECE);
        if (got <= 0)
            return vf_fail(ctx, VF_ERR_INPUT,
                           "%s: the file is damaged or incomplete: %lld more bytes of the image expected", path,
                           (long long)left);
        done += got;
    }
    return VF_OK;
}

static vf_status read_header(vf_context *ctx, const char *path, gzFile file, char *header, recon_image *out)
{
    int32_t size;
    int64_t frames = 1;
    vf_status status = take(ctx, path, file, header, HEADER);
    if (status != VF_OK)
        return status;
    memcpy(&size, header, sizeof size);
    if (size != HEADER || memcmp(header + AT_MAGIC, "n+1", 4) != 0)
        return vf_fail(ctx, VF_ERR_INPUT, "%s: not a NIfTI-1 image in a single file and this machine's byte order",
                       path);
    const int rank = short_number(header, AT_DIM), type = short_number(header, AT_TYPE);
    if (rank < 2 || rank > 7)
        return vf_fail(ctx, VF_ERR_INPUT, "%s: %d dimensions; expected 2 to 7", path, rank);
    if (bytes_of(type) == 0)
        return vf_fail(ctx, VF_ERR_INPUT, "%s: unsupported NIfTI data type %d; store real numbers", path, type);
    for (int d = 0; d < rank; d++) {
        const int64_t n = short_number(header, AT_DIM + 2 + 2 * d);
        if (d < 3)
            out->counts[d] = n;
        else if (n < 1 || frames > INT32_MAX / n)
            return vf_fail(ctx, VF_ERR_INPUT, "%s: invalid or too large size %lld along dimension %d", path,
                           (long long)n, d + 1);
        else
            frames *= n;
    }
    out->counts[2] = rank < 3 ? 1 : out->counts[2];
    out->frames = (int)frames;
    for (int a = 0; a < 3; a++)
        out->voxel[a] = (double)number(header, AT_VOXELS + 4 + 4 * a);
    return VF_OK;
}

static vf_status read_voxels(vf_context *ctx, const char *path, gzFile file, const char *header, recon_image *out)
{
    const int type = short_number(header, AT_TYPE), bytes = bytes_of(type);
    const double slope = (double)number(header, AT_SLOPE), intercept = (double)number(header, AT_INTERCEPT);
    const bool scaled = isfinite(slope) && slope != 0 && isfinite(intercept);
    const int64_t voxels = image_volume(out) * out->frames;
    char *piece = malloc(PIECE);
    vf_status status = piece ? VF_OK : vf_fail(ctx, VF_ERR_MEMORY, "%s: not enough memory to read the image", path);
    for (int64_t first = 0; first < voxels && status == VF_OK; first += PIECE / 8) {
        const int64_t count = voxels - first < PIECE / 8 ? voxels - first : PIECE / 8;
        status = take(ctx, path, file, piece, count * bytes);
        for (int64_t i = 0; i < count && status == VF_OK; i++) {
            const double value = value_of(type, piece + i * bytes);
            out->data[first + i] = (float)(scaled ? slope * value + intercept : value);
        }
    }
    free(piece);
    return status;
}

vf_status image_read_nifti(vf_context *ctx, const char *path, recon_image *out)
{
    char header[HEADER];
    errno = 0;
    gzFile file = gzopen(path, "rb");
    if (!file)
        return vf_fail(ctx, VF_ERR_INPUT, "%s: %s", path, errno ? strerror(errno) : "no memory");
    vf_status status = read_header(ctx, path, file, header, out);
    const double offset = status == VF_OK ? (double)number(header, AT_OFFSET) : 0;
    if (status == VF_OK && !(offset >= HEADER && offset < 1e9 && gzseek(file, (z_off_t)offset, SEEK_SET) >= 0))
        status = vf_fail(ctx, VF_ERR_INPUT, "%s: the header places the voxels at byte %g, which is not in the file",
                         path, offset);
    VF_TRY(status, image_allocate(ctx, path, out));
    VF_TRY(status, read_voxels(ctx, path, file, header, out));
    gzclose(file);
    return status;
}
