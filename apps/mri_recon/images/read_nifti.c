/* Reads NIfTI-1 images of any program. Supported: real numbers in this machine's byte order, in one file or a pair of .hdr
 * and .img, with or without gzip. See image_nifti.c. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "image_files.h"
#include "voxfield/output.h"

enum { HEADER = 348, PIECE = 1 << 16 };

/* Offsets in the header: nifti1.h. */
enum {
    AT_DIM = 40,
    AT_TYPE = 70,
    AT_VOXELS = 76,
    AT_OFFSET = 108,
    AT_SLOPE = 112,
    AT_INTERCEPT = 116,
    AT_UNITS = 123,
    AT_QFORM = 252,
    AT_SFORM = 254,
    AT_QUATERNION = 256, /* b, c, d, and the offsets along x, y, z */
    AT_ROWS = 280,       /* of the affine, [3][4] */
    AT_MAGIC = 344
};

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

/* ---- position ---- */

/* The affine of a quaternion, as nifti1.h has it. */
static void from_quaternion(const char *header, double affine[3][4])
{
    double q[6];
    for (int i = 0; i < 6; i++)
        q[i] = (double)number(header, AT_QUATERNION + 4 * i);
    const double b = q[0], c = q[1], d = q[2], a = sqrt(fmax(0, 1 - b * b - c * c - d * d));
    const double flip = (double)number(header, AT_VOXELS) < 0 ? -1 : 1;
    const double r[3][3] = {{a * a + b * b - c * c - d * d, 2 * (b * c - a * d), 2 * (b * d + a * c)},
                            {2 * (b * c + a * d), a * a + c * c - b * b - d * d, 2 * (c * d - a * b)},
                            {2 * (b * d - a * c), 2 * (c * d + a * b), a * a + d * d - c * c - b * b}};
    for (int row = 0; row < 3; row++) {
        for (int k = 0; k < 3; k++)
            affine[row][k] = r[row][k] * (double)number(header, AT_VOXELS + 4 + 4 * k) * (k == 2 ? flip : 1);
        affine[row][3] = q[3 + row];
    }
}

/* Sets voxel sizes, and directions and centre if the header has them: the affine of the sform, else that of the qform. A
 * header without either says only how large a voxel is. RAS becomes LPS. */
static void read_position(const char *header, recon_image *out)
{
    double affine[3][4], unit = 1; /* mm */
    const int length = header[AT_UNITS] & 7;
    if (length == 1 || length == 3)
        unit = length == 1 ? 1e3 : 1e-3;
    out->sized = true;
    for (int a = 0; a < 3; a++) {
        out->voxel[a] = unit * fabs((double)number(header, AT_VOXELS + 4 + 4 * a));
        out->sized = out->sized && isfinite(out->voxel[a]) && out->voxel[a] > 0;
    }
    if (short_number(header, AT_SFORM) > 0)
        for (int i = 0; i < 12; i++)
            affine[i / 4][i % 4] = (double)number(header, AT_ROWS + 4 * i);
    else if (short_number(header, AT_QFORM) > 0)
        from_quaternion(header, affine);
    else
        return;
    scan_geometry *g = &out->geometry;
    bool valid = true;
    for (int row = 0; row < 3; row++)
        for (int k = 0; k < 4; k++) {
            affine[row][k] *= row < 2 ? -unit : unit;
            valid = valid && isfinite(affine[row][k]);
        }
    for (int a = 0; a < 3; a++) {
        const double step =
            sqrt(affine[0][a] * affine[0][a] + affine[1][a] * affine[1][a] + affine[2][a] * affine[2][a]);
        valid = valid && step > 0;
        out->voxel[a] = step;
        for (int row = 0; row < 3; row++)
            g->direction[a][row] = affine[row][a] / step;
    }
    for (int row = 0; row < 3; row++) {
        g->centre[row] = affine[row][3];
        for (int a = 0; a < 3; a++)
            g->centre[row] += affine[row][a] * (double)(out->counts[a] / 2);
    }
    g->known = valid;
    out->sized = valid;
}

static vf_status read_header(vf_context *ctx, const char *path, gzFile file, char *header, recon_image *out)
{
    int32_t size;
    int64_t frames = 1;
    vf_status status = take(ctx, path, file, header, HEADER);
    if (status != VF_OK)
        return status;
    memcpy(&size, header, sizeof size);
    if (size != HEADER || (memcmp(header + AT_MAGIC, "n+1", 4) != 0 && memcmp(header + AT_MAGIC, "ni1", 4) != 0))
        return vf_fail(ctx, VF_ERR_INPUT, "%s: not a NIfTI-1 image in this machine's byte order", path);
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
    read_position(header, out);
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

/* ---- files ---- */

/* Opens a file, or the same name with .gz. */
static vf_status open_file(vf_context *ctx, const char *path, gzFile *out)
{
    char *packed = NULL;
    errno = 0;
    *out = gzopen(path, "rb");
    const int reason = errno;
    if (!*out && asprintf(&packed, "%s.gz", path) >= 0)
        *out = gzopen(packed, "rb");
    free(packed);
    return *out ? VF_OK : vf_fail(ctx, VF_ERR_INPUT, "%s: %s", path, reason ? strerror(reason) : "no memory");
}

/* NAME.hdr or NAME.img of a pair, whose other file may be named, with or without .gz. free() it; NULL: no memory. */
static char *name_of_pair(const char *path, const char *extension)
{
    const size_t packed = vf_path_has_extension(path, ".gz") ? strlen(".gz") : 0;
    char *name = NULL;
    return asprintf(&name, "%.*s%s", (int)(strlen(path) - packed - strlen(extension)), path, extension) < 0 ? NULL
                                                                                                            : name;
}

bool image_is_nifti_pair(const char *path)
{
    char header[HEADER];
    bool pair = vf_path_has_extension(path, ".img .img.gz .hdr.gz");
    if (!vf_path_has_extension(path, ".hdr"))
        return pair;
    gzFile file = gzopen(path, "rb"); /* BART's pairs are of .hdr and .cfl, and the header is text */
    if (file) {
        pair = gzread(file, header, HEADER) == HEADER && memcmp(header + AT_MAGIC, "ni1", 4) == 0;
        gzclose(file);
    }
    return pair;
}

/* Reads the header, and moves to the voxels, which may be in another file. */
static vf_status open_voxels(vf_context *ctx, const char *path, gzFile *file, char *header, recon_image *out)
{
    const bool pair = image_is_nifti_pair(path);
    char *first = pair ? name_of_pair(path, ".hdr") : strdup(path), *second = pair ? name_of_pair(path, ".img") : NULL;
    vf_status status = first && (second || !pair) ? VF_OK : vf_fail(ctx, VF_ERR_MEMORY, "no memory");
    VF_TRY(status, open_file(ctx, first, file));
    VF_TRY(status, read_header(ctx, first, *file, header, out));
    if (status == VF_OK && pair) {
        gzclose(*file);
        *file = NULL;
        status = open_file(ctx, second, file);
    }
    const double offset = status == VF_OK ? (double)number(header, AT_OFFSET) : 0;
    if (status == VF_OK &&
        !(offset >= (pair ? 0 : HEADER) && offset < 1e9 && gzseek(*file, (z_off_t)offset, SEEK_SET) >= 0))
        status = vf_fail(ctx, VF_ERR_INPUT, "%s: the header places the voxels at byte %g, which is not in the file",
                         path, offset);
    free(first);
    free(second);
    return status;
}

vf_status image_read_nifti(vf_context *ctx, const char *path, recon_image *out)
{
    char header[HEADER];
    gzFile file = NULL;
    vf_status status = open_voxels(ctx, path, &file, header, out);
    VF_TRY(status, image_allocate(ctx, path, out));
    VF_TRY(status, read_voxels(ctx, path, file, header, out));
    if (file)
        gzclose(file);
    return status;
}
