/* NIfTI-1 images: the magnitude as float32, in one file (.nii) or that file compressed with gzip (.nii.gz). See
 * https://nifti.nimh.nih.gov/nifti-1 (nifti1.h). */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "image_files.h"
#include "voxfield/gzip.h"
#include "voxfield/output.h"
#include "voxfield/workpool.h"

/* The layout of the file: C places every member where the format wants it. In the machine's byte order, which readers
 * detect. */
typedef struct nifti_header {
    int32_t sizeof_hdr;
    char unused1[35], dim_info;
    int16_t dim[8];
    float intent_p[3];
    int16_t intent_code, datatype, bitpix, slice_start;
    float pixdim[8], vox_offset, scl_slope, scl_inter;
    int16_t slice_end;
    char slice_code, xyzt_units;
    float cal_max, cal_min, slice_duration, toffset;
    int32_t unused2[2];
    char descrip[80], aux_file[24];
    int16_t qform_code, sform_code;
    float quatern[3], qoffset[3], srow[3][4];
    char intent_name[16], magic[4];
} nifti_header;
_Static_assert(sizeof(nifti_header) == 348 && offsetof(nifti_header, dim) == 40 &&
                   offsetof(nifti_header, pixdim) == 76 && offsetof(nifti_header, cal_max) == 124 &&
                   offsetof(nifti_header, descrip) == 148 && offsetof(nifti_header, quatern) == 256 &&
                   offsetof(nifti_header, intent_name) == 328,
               "NIfTI-1 header");

enum {
    FLOAT32 = 16,    /* DT_FLOAT32 */
    MILLIMETERS = 2, /* NIFTI_UNITS_MM */
    SCANNER = 1,     /* NIFTI_XFORM_SCANNER_ANAT */
    COMMENT = 6,     /* NIFTI_ECODE_COMMENT */
    EXTENDER = 4,    /* bytes between header and extensions */
    EXTENSION = 8,   /* bytes of an extension before its text */
    MOST_TEXT = 16384,
    LEVEL = 1,      /* of gzip: magnitudes hardly compress at any level */
    BLOCK = 1 << 16 /* voxels that a thread takes at a time */
};

/* ---- orientation ---- */

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* Scales a vector to length 1. False for a zero vector. */
static bool normalize(double v[3])
{
    const double length = sqrt(dot(v, v));
    for (int i = 0; i < 3; i++)
        v[i] /= length;
    return length > 0 && isfinite(length);
}

/* The columns of the affine as a rotation r[column], with the third times -1 if *flip < 0. False if they are not
 * orthogonal to within a milliradian, so that no rotation describes them. */
static bool find_rotation(const double affine[3][4], double r[3][3], double *flip)
{
    const double slack = 1e-3;
    for (int c = 0; c < 3; c++) {
        for (int row = 0; row < 3; row++)
            r[c][row] = affine[row][c];
        if (!normalize(r[c]))
            return false;
        for (int before = 0; before < c; before++) {
            const double along = dot(r[c], r[before]);
            if (!(fabs(along) <= slack))
                return false;
            for (int row = 0; row < 3; row++)
                r[c][row] -= along * r[before][row];
            if (!normalize(r[c]))
                return false;
        }
    }
    const double cross[3] = {r[0][1] * r[1][2] - r[0][2] * r[1][1], r[0][2] * r[1][0] - r[0][0] * r[1][2],
                             r[0][0] * r[1][1] - r[0][1] * r[1][0]};
    *flip = dot(cross, r[2]) < 0 ? -1 : 1;
    for (int row = 0; row < 3; row++)
        r[2][row] *= *flip;
    return true;
}

/* b, c, d of the unit quaternion a + bi + cj + dk, a >= 0, of a rotation given by its columns. Starts from the
 * largest of the four, to avoid dividing by a small number. Readers take a for sqrt(1 - b^2 - c^2 - d^2): in half turns,
 * where a is 0, rounding could leave 1e-4 or more. There, b, c and d are rounded up, so that it is 0. */
static void to_quaternion(const double r[3][3], float out[3])
{
    const double xx = r[0][0], yy = r[1][1], zz = r[2][2];
    const double squares[4] = {1 + xx + yy + zz, 1 + xx - yy - zz, 1 - xx + yy - zz, 1 - xx - yy + zz}; /* 4 q^2 */
    const double products[4][4] = {/* 4 times the product of two of a, b, c, d */
                                   {squares[0], r[1][2] - r[2][1], r[2][0] - r[0][2], r[0][1] - r[1][0]},
                                   {r[1][2] - r[2][1], squares[1], r[0][1] + r[1][0], r[0][2] + r[2][0]},
                                   {r[2][0] - r[0][2], r[0][1] + r[1][0], squares[2], r[1][2] + r[2][1]},
                                   {r[0][1] - r[1][0], r[0][2] + r[2][0], r[1][2] + r[2][1], squares[3]}};
    int largest = 0;
    for (int i = 1; i < 4; i++)
        if (squares[i] > squares[largest])
            largest = i;
    const double scale = (products[largest][0] < 0 ? -0.5 : 0.5) / sqrt(squares[largest]);
    for (int i = 0; i < 3; i++)
        out[i] = (float)(scale * products[largest][i + 1]);
    const double a = scale * products[largest][0];
    for (int i = 0; i < 3 && a * a < 1e-9; i++)
        if (fabs((double)out[i]) < fabs(scale * products[largest][i + 1]))
            out[i] = nextafterf(out[i], out[i] < 0 ? -1.0f : 1.0f);
}

/* Left is positive x in LPS and negative x in NIfTI's RAS; likewise for y. An unknown orientation also gets numbers,
 * but the codes mark it as unknown. */
static void set_orientation(const recon_image *image, nifti_header *header)
{
    double affine[3][4], r[3][3], flip = 1;
    image_affine(image, 0, affine);
    for (int c = 0; c < 4; c++) {
        affine[0][c] = -affine[0][c];
        affine[1][c] = -affine[1][c];
    }
    for (int row = 0; row < 3; row++) {
        header->qoffset[row] = (float)affine[row][3];
        for (int c = 0; c < 4; c++)
            header->srow[row][c] = (float)affine[row][c];
    }
    const bool rotation = find_rotation(affine, r, &flip);
    if (rotation)
        to_quaternion(r, header->quatern);
    header->pixdim[0] = (float)flip;
    header->sform_code = image->geometry.known ? SCANNER : 0;
    header->qform_code = image->geometry.known && rotation ? SCANNER : 0;
}

/* ---- header ---- */

static vf_status check_limits(vf_context *ctx, const recon_image *image, const char *path)
{
    int64_t most = image->frames;
    for (int a = 0; a < 3; a++)
        most = image->counts[a] > most ? image->counts[a] : most;
    if (most > INT16_MAX)
        return vf_fail(
            ctx, VF_ERR_UNSUPPORTED,
            "%s: the image has %lld voxels or frames along an axis, but the limit of NIfTI-1 is 32767; write "
            ".h5 instead",
            path, (long long)most);
    return VF_OK;
}

static vf_status make_header(vf_context *ctx, const recon_image *image, nifti_header *header)
{
    double white;
    vf_status status = image_white(ctx, image, 0, image->frames, &white);
    if (status != VF_OK)
        return status;
    *header = (nifti_header){.sizeof_hdr = sizeof *header,
                             .dim = {image->frames > 1 ? 4 : 3, 1, 1, 1, 1, 1, 1, 1},
                             .datatype = FLOAT32,
                             .bitpix = 32,
                             .pixdim = {1, 1, 1, 1, 1, 1, 1, 1},
                             .scl_slope = 1,
                             .xyzt_units = MILLIMETERS, /* the time between frames is unknown */
                             .cal_max = (float)white,
                             .intent_name = "magnitude",
                             .magic = "n+1"};
    for (int a = 0; a < 3; a++) {
        header->dim[1 + a] = (int16_t)image->counts[a];
        header->pixdim[1 + a] = (float)image->voxel[a];
    }
    header->dim[4] = (int16_t)image->frames;
    if (image->geometry.slice_step != 0)
        header->pixdim[3] = (float)fabs(image->geometry.slice_step);
    set_orientation(image, header);
    (void)snprintf(header->descrip, sizeof header->descrip, "%s; %s", image->program ? image->program : "",
                   image->method ? image->method : "");
    return VF_OK;
}

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

/* The header and an extension with text about the image's origin; free() it. `bytes` gets its length. */
static char *make_head(const recon_image *image, nifti_header *header, size_t *bytes)
{
    char *head = calloc(1, sizeof *header + EXTENDER + MOST_TEXT);
    if (!head)
        return NULL;
    char *extension = head + sizeof *header + EXTENDER, *text = extension + EXTENSION;
    const int room = MOST_TEXT - EXTENSION;
    int length =
        snprintf(text, (size_t)room, "program: %s\ncreated: %s\nmethod: %s\ninput: %s\nscan_sha256: %s\ncommand: %s\n",
                 or_empty(image->program), or_empty(image->created), or_empty(image->method), or_empty(image->input),
                 or_empty(image->digest), or_empty(image->command));
    length = length < room ? length : room - 1;
    const int32_t about[2] = {(EXTENSION + length + 1 + 15) / 16 * 16, COMMENT};
    *bytes = sizeof *header + EXTENDER + (size_t)about[0];
    header->vox_offset = (float)*bytes;
    memcpy(head, header, sizeof *header);
    head[sizeof *header] = 1; /* marks that extensions follow */
    memcpy(extension, about, sizeof about);
    return head;
}

/* ---- voxels ---- */

/* Blocks on their way to the file: threads compute magnitudes and compress, the calling thread writes in order. */
typedef struct nifti_writing {
    const recon_image *image;
    int64_t voxels; /* of all frames */
    bool compress;
    vf_output *output;
    vf_gzip gzip;
    size_t packed_size;    /* of one slot */
    float *values;         /* [slot][BLOCK] */
    char *packed;          /* [slot][packed_size] */
    vf_gzip_block *blocks; /* [slot] */
} nifti_writing;

static int64_t block_voxels(const nifti_writing *w, int64_t block)
{
    const int64_t left = w->voxels - block * BLOCK;
    return left < BLOCK ? left : BLOCK;
}

static vf_status make_block(void *user, int worker, int slot, int64_t block)
{
    const nifti_writing *w = user;
    float *values = w->values + (size_t)slot * BLOCK;
    (void)worker;
    image_magnitude(w->image->data + block * BLOCK, block_voxels(w, block), values);
    if (w->compress)
        w->blocks[slot] = vf_gzip_pack(LEVEL, values, (size_t)block_voxels(w, block) * sizeof *values,
                                       w->packed + (size_t)slot * w->packed_size);
    return VF_OK;
}

static vf_status write_block(void *user, int slot, int64_t block)
{
    nifti_writing *w = user;
    const float *values = w->values + (size_t)slot * BLOCK;
    if (w->compress)
        return vf_gzip_append(&w->gzip, &w->blocks[slot]);
    return vf_output_write(w->output, values, (size_t)block_voxels(w, block) * sizeof *values);
}

static vf_status write_head(vf_context *ctx, nifti_writing *w, const char *head, size_t bytes)
{
    if (!w->compress)
        return vf_output_write(w->output, head, bytes);
    vf_status status = vf_gzip_begin(&w->gzip, ctx, w->output);
    const vf_gzip_block block = vf_gzip_pack(LEVEL, head, bytes, w->packed);
    return status == VF_OK ? vf_gzip_append(&w->gzip, &block) : status;
}

static vf_status write_voxels(vf_context *ctx, nifti_writing *w, int workers)
{
    const vf_workpool pool = {.items = (w->voxels + BLOCK - 1) / BLOCK,
                              .workers = workers,
                              .slots = workers + 1,
                              .user = w,
                              .produce = make_block,
                              .consume = write_block};
    return vf_workpool_run(ctx, &pool);
}

static vf_status write_one(vf_context *ctx, const recon_image *image, const char *path, bool compress)
{
    nifti_header header;
    char *head = NULL;
    size_t head_bytes = 0;
    nifti_writing w = {.image = image, .voxels = image_volume(image) * image->frames, .compress = compress};
    const int64_t blocks = (w.voxels + BLOCK - 1) / BLOCK;
    const int workers = blocks < vf_context_threads(ctx) ? (int)blocks : vf_context_threads(ctx);
    const size_t slots = (size_t)workers + 1;
    vf_status status = check_limits(ctx, image, path);
    VF_TRY(status, make_header(ctx, image, &header));
    if (status != VF_OK)
        return status;
    w.packed_size = compress ? vf_gzip_bound(BLOCK * sizeof *w.values) : 1;
    w.values = malloc(slots * BLOCK * sizeof *w.values);
    w.packed = malloc(slots * w.packed_size);
    w.blocks = malloc(slots * sizeof *w.blocks);
    head = make_head(image, &header, &head_bytes);
    if (!w.values || !w.packed || !w.blocks || !head) {
        status = vf_fail(ctx, VF_ERR_MEMORY, "%s: not enough memory to write the image", path);
        goto done;
    }
    status = vf_output_open(ctx, path, &w.output);
    VF_TRY(status, write_head(ctx, &w, head, head_bytes));
    VF_TRY(status, write_voxels(ctx, &w, workers));
    if (status == VF_OK && compress)
        status = vf_gzip_end(&w.gzip);
    VF_TRY(status, vf_output_commit(&w.output));
done:
    vf_output_discard(&w.output);
    free(head);
    free(w.values);
    free(w.packed);
    free(w.blocks);
    return status;
}

/* NAME_2.nii.gz for the second place. free() it. */
static char *name_of_place(const char *path, int place)
{
    const size_t length = strlen(path), end = vf_path_has_extension(path, ".nii.gz") ? 7 : 4;
    char *out = NULL;
    if (asprintf(&out, "%.*s_%d%s", (int)(length - end), path, place + 1, path + length - end) < 0)
        return NULL;
    return out;
}

/* The volumes of one place. `data` is theirs. */
static recon_image image_of_place(const recon_image *image, int place, float complex *data)
{
    const int64_t voxels = image_volume(image);
    recon_image one = *image;
    one.frames = 0;
    one.geometry = *image_geometry(image, place);
    one.place_geometry = NULL;
    one.places = 1;
    one.data = data;
    for (int f = place; f < image->frames; f += image->places)
        memcpy(data + one.frames++ * voxels, image->data + f * voxels, (size_t)voxels * sizeof *data);
    return one;
}

/* A file has one affine. So volumes at other places go to files of their own. */
static vf_status write_nifti(vf_context *ctx, const recon_image *image, const char *path, bool compress)
{
    if (!image->place_geometry)
        return write_one(ctx, image, path, compress);
    const int64_t most = (image->frames - 1) / image->places + 1;
    float complex *data = malloc((size_t)(most * image_volume(image)) * sizeof *data);
    vf_status status = data ? VF_OK : vf_fail(ctx, VF_ERR_MEMORY, "%s: not enough memory to write the image", path);
    for (int p = image->places - 1; p >= 0 && status == VF_OK; p--) { /* the name that was asked for last */
        const recon_image one = image_of_place(image, p, data);
        char *name = p > 0 ? name_of_place(path, p) : strdup(path);
        status = name ? write_one(ctx, &one, name, compress)
                      : vf_fail(ctx, VF_ERR_MEMORY, "%s: not enough memory to write the image", path);
        free(name);
    }
    free(data);
    if (status == VF_OK) {
        char *name = name_of_place(path, image->places - 1);
        vf_note(ctx, "%s: has the first of %d places; the others are in files of their own, up to %s", path,
                image->places, name ? name : "the last number");
        free(name);
    }
    return status;
}

static vf_status write_plain(vf_context *ctx, const recon_image *image, const char *path)
{
    return write_nifti(ctx, image, path, false);
}

static vf_status write_compressed(vf_context *ctx, const recon_image *image, const char *path)
{
    return write_nifti(ctx, image, path, true);
}

const image_format image_nifti = {".nii", write_plain};
const image_format image_nifti_gz = {".nii.gz", write_compressed};
