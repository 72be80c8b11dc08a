/* ISMRMRD images: a series GROUP/image_0 with the datasets header, data (complex) and attributes, as libismrmrd appends
 * them, in a new file or in a copy of the scan. Every volume is one image, and so is every slice of a stack. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "image_files.h"
#include "ismrmrd/ismrmrd_types.h"
#include "voxfield/format_number.h"
#include "voxfield/hdf5_io.h"

enum { RANK = 5, NAME_SIZE = 300 }; /* [image][channel][z][y][x] */

typedef struct series {
    const recon_image *image;
    int64_t images, depth; /* depth: voxels of an image along z */
    ismrmrd_image_header *headers;
    char **attributes; /* [images] the same text for all */
    char *meta, *protocol;
    char group[NAME_SIZE], path[NAME_SIZE]; /* the scan's group and the new series in it; both end in / */
} series;

/* ---- text ---- */

/* Writes `text` as the content of an XML element. */
static void put_escaped(FILE *to, const char *text)
{
    for (const char *c = text ? text : ""; *c; c++)
        switch (*c) {
        case '<':
            fputs("&lt;", to);
            break;
        case '>':
            fputs("&gt;", to);
            break;
        case '&':
            fputs("&amp;", to);
            break;
        default:
            fputc((unsigned char)*c < 0x20 ? ' ' : *c, to);
        }
}

static void put_meta(FILE *to, const char *name, const char *value)
{
    fprintf(to, "<meta><name>%s</name><value>", name);
    put_escaped(to, value);
    fputs("</value></meta>", to);
}

/* The next functions return text to free(), NULL if memory is not enough. */
static char *make_meta(const recon_image *image)
{
    char *text = NULL;
    size_t bytes;
    FILE *to = open_memstream(&text, &bytes);
    if (!to)
        return NULL;
    fputs("<?xml version=\"1.0\"?><ismrmrdMeta>", to);
    put_meta(to, "program", image->program);
    put_meta(to, "created", image->created);
    put_meta(to, "method", image->method);
    put_meta(to, "input", image->input);
    put_meta(to, "scan_sha256", image->digest);
    put_meta(to, "command", image->command);
    fputs("</ismrmrdMeta>", to);
    if (fclose(to) == 0)
        return text;
    free(text);
    return NULL;
}

static void put_space(FILE *to, const char *name, const recon_image *image, int64_t depth)
{
    char number[3][VF_NUMBER_TEXT];
    for (int a = 0; a < 3; a++)
        vf_format_general(image->voxel[a] * (double)(a == 2 ? depth : image->counts[a]), 9, number[a]);
    fprintf(to,
            "<%s><matrixSize><x>%lld</x><y>%lld</y><z>%lld</z></matrixSize>"
            "<fieldOfView_mm><x>%s</x><y>%s</y><z>%s</z></fieldOfView_mm></%s>",
            name, (long long)image->counts[0], (long long)image->counts[1], (long long)depth, number[0], number[1],
            number[2], name);
}

/* The minimum that the format's schema requires. A resonance frequency of 0: unknown. */
static char *make_protocol(const recon_image *image, int64_t depth)
{
    char *text = NULL;
    size_t bytes;
    FILE *to = open_memstream(&text, &bytes);
    if (!to)
        return NULL;
    fputs("<?xml version=\"1.0\"?><ismrmrdHeader xmlns=\"http://www.ismrm.org/ISMRMRD\"><experimentalConditions>"
          "<H1resonanceFrequency_Hz>0</H1resonanceFrequency_Hz></experimentalConditions><encoding>",
          to);
    put_space(to, "encodedSpace", image, depth);
    put_space(to, "reconSpace", image, depth);
    fputs("<encodingLimits></encodingLimits><trajectory>other</trajectory></encoding></ismrmrdHeader>", to);
    if (fclose(to) == 0)
        return text;
    free(text);
    return NULL;
}

/* ---- headers ---- */

static void set_header(const series *s, int64_t index, ismrmrd_image_header *header)
{
    const recon_image *image = s->image;
    const int64_t slices = s->images / image->frames, slice = index % slices;
    const scan_geometry *g = image_geometry(image, index / slices);
    *header = (ismrmrd_image_header){.version = ISMRMRD_VERSION,
                                     .data_type = ISMRMRD_CXFLOAT,
                                     .channels = 1,
                                     .slice = (uint16_t)slice,
                                     .repetition = (uint16_t)(index / slices),
                                     .image_type = ISMRMRD_IMTYPE_COMPLEX,
                                     .image_index = (uint16_t)(index + 1),
                                     .attribute_string_len = (uint32_t)strlen(s->meta)};
    for (int a = 0; a < 3; a++) {
        const int64_t count = a == 2 ? s->depth : image->counts[a];
        header->matrix_size[a] = (uint16_t)count;
        header->field_of_view[a] = (float)(image->voxel[a] * (double)count);
        header->position[a] = (float)(g->centre[a] + (double)slice * g->slice_step * g->direction[2][a]);
        header->read_dir[a] = (float)g->direction[0][a];
        header->phase_dir[a] = (float)g->direction[1][a];
        header->slice_dir[a] = (float)g->direction[2][a];
    }
}

/* Copies the scan's own counters, which replace a running number of volumes. */
static void take_counters(const series *s, const scan_frame *frame)
{
    const int64_t slices = s->images / s->image->frames;
    for (int64_t i = 0; i < slices; i++) {
        ismrmrd_image_header *header = &s->headers[frame->volume * slices + i];
        header->contrast = (uint16_t)frame->contrast;
        header->phase = (uint16_t)frame->phase;
        header->repetition = (uint16_t)frame->repetition;
        header->set = (uint16_t)frame->set;
        header->slice = (uint16_t)(slices > 1 ? i : frame->place);
    }
}

static vf_status make_series(vf_context *ctx, const recon_image *image, const char *path, series *s)
{
    const bool stack = image->geometry.slice_step != 0;
    *s = (series){.image = image, .depth = stack ? 1 : image->counts[2]};
    s->images = stack ? image->frames * image->counts[2] : image->frames;
    if (image->counts[0] > UINT16_MAX || image->counts[1] > UINT16_MAX || image->counts[2] > UINT16_MAX ||
        s->images > UINT16_MAX)
        return vf_fail(ctx, VF_ERR_UNSUPPORTED,
                       "%s: the image has more voxels along an axis, or more images, than the 65535 that ISMRMRD files "
                       "count to; write .h5 instead",
                       path);
    s->meta = make_meta(image);
    s->protocol = image->protocol ? strdup(image->protocol) : make_protocol(image, s->depth);
    s->headers = malloc((size_t)s->images * sizeof *s->headers);
    s->attributes = malloc((size_t)s->images * sizeof *s->attributes);
    if (!s->meta || !s->protocol || !s->headers || !s->attributes)
        return vf_fail(ctx, VF_ERR_MEMORY, "%s: not enough memory to write the image", path);
    for (int64_t i = 0; i < s->images; i++) {
        set_header(s, i, &s->headers[i]);
        s->attributes[i] = s->meta;
    }
    for (int f = 0; image->sources && f < image->source_count; f++)
        take_counters(s, &image->sources[f]);
    return VF_OK;
}

static void free_series(series *s)
{
    free(s->meta);
    free(s->protocol);
    free(s->headers);
    free(s->attributes);
}

/* ---- datasets ---- */

/* Creates datasets as libismrmrd does: extensible along the first dimension, in chunks of `chunk`. Without times, so
 * that the same images give the same bytes. */
static hid_t creation_properties(int rank, const hsize_t *chunk)
{
    hid_t list = H5Pcreate(H5P_DATASET_CREATE);
    if (list >= 0 && (H5Pset_chunk(list, rank, chunk) < 0 || H5Pset_obj_track_times(list, false) < 0)) {
        H5Pclose(list);
        list = H5I_INVALID_HID;
    }
    return list;
}

/* Creates the dataset `name` in `place` (which ends in /) and writes it. Closes the two types, which may be
 * negative. */
static bool put_dataset(hid_t file, const char *place, const char *name, hid_t stored, hid_t memory, int rank,
                        const hsize_t *dims, const hsize_t *chunk, const void *data)
{
    char path[2 * NAME_SIZE];
    hsize_t most[RANK];
    (void)snprintf(path, sizeof path, "%s%s", place, name);
    memcpy(most, dims, (size_t)rank * sizeof *most);
    most[0] = H5S_UNLIMITED;
    hid_t space = H5Screate_simple(rank, dims, most), list = creation_properties(rank, chunk);
    hid_t link = H5Pcreate(H5P_LINK_CREATE);
    hid_t id = H5I_INVALID_HID;
    if (space >= 0 && list >= 0 && stored >= 0 && memory >= 0 && H5Pset_create_intermediate_group(link, 1) >= 0)
        id = H5Dcreate2(file, path, stored, space, link, list, H5P_DEFAULT);
    const bool written = id >= 0 && H5Dwrite(id, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0;
    const bool closed = id < 0 || H5Dclose(id) >= 0;
    if (link >= 0)
        H5Pclose(link);
    if (list >= 0)
        H5Pclose(list);
    if (space >= 0)
        H5Sclose(space);
    if (memory >= 0)
        H5Tclose(memory);
    if (stored >= 0)
        H5Tclose(stored);
    return written && closed;
}

static bool put_text(hid_t file, const char *place, const char *name, hsize_t count, char *const *texts)
{
    const hsize_t one = 1;
    return put_dataset(file, place, name, ismrmrd_text_type(), ismrmrd_text_type(), 1, &count, &one, texts);
}

/* Called by vf_h5_call. */
static const char *put_series(void *user, int64_t id)
{
    series *s = user;
    hid_t file = (hid_t)id;
    const hsize_t count = (hsize_t)s->images, one = 1;
    const int64_t *counts = s->image->counts;
    const hsize_t dims[RANK] = {count, 1, (hsize_t)s->depth, (hsize_t)counts[1], (hsize_t)counts[0]};
    hsize_t chunk[RANK] = {1, 1, (hsize_t)s->depth, (hsize_t)counts[1], (hsize_t)counts[0]};
    while (chunk[2] > 1 && chunk[2] * chunk[3] * chunk[4] > (hsize_t)1 << 27) /* 1 GiB; HDF5's limit is 4 GiB */
        chunk[2] = (chunk[2] + 1) / 2;
    if (!s->image->copy_of && !put_text(file, s->group, "xml", 1, &s->protocol))
        return "write the ISMRMRD header";
    if (!put_dataset(file, s->path, "header", ismrmrd_image_header_file_type(), ismrmrd_image_header_memory_type(), 1,
                     &count, &one, s->headers))
        return "write the headers of the images";
    if (!put_text(file, s->path, "attributes", count, s->attributes))
        return "write the attributes of the images";
    if (!put_dataset(file, s->path, "data", ismrmrd_complex_float_type(), ismrmrd_complex_float_type(), RANK, dims,
                     chunk, s->image->data))
        return "write the images";
    return NULL;
}

/* ---- the file ---- */

static bool same_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Chooses the place of the series: the scan's group and the first free number. */
static vf_status choose_names(vf_context *ctx, vf_h5 *file, series *s)
{
    const recon_image *image = s->image;
    const char *group = image->copy_of && image->group && image->group[0] ? image->group : "/dataset";
    int length = snprintf(s->group, sizeof s->group, "%s/", group); /* HDF5 treats // as / */
    (void)snprintf(s->path, sizeof s->path, "%.*sxml", NAME_SIZE - 4, s->group);
    if (length < NAME_SIZE && image->copy_of && !vf_h5_exists(file, s->path))
        return vf_fail(ctx, VF_ERR_INPUT, "%s: '%s' is not a group of an ISMRMRD scan; cannot add the images to it",
                       image->copy_of, group);
    for (int n = 0; length < NAME_SIZE; n++) {
        length = snprintf(s->path, sizeof s->path, "%simage_%d/", s->group, n);
        if (length < NAME_SIZE && !vf_h5_exists(file, s->path))
            return VF_OK;
    }
    return vf_fail(ctx, VF_ERR_ARGUMENT, "%s: the name of the group is too long", group);
}

/* Adds the series to a new file, or to a copy of the scan. */
static vf_status add_series(vf_context *ctx, vf_h5 *file, void *user)
{
    series *s = user;
    vf_status status = choose_names(ctx, file, s);
    return status == VF_OK ? vf_h5_call(file, put_series, s) : status;
}

static vf_status write_ismrmrd(vf_context *ctx, const recon_image *image, const char *path)
{
    series s;
    vf_h5 *file = NULL;
    vf_status status = make_series(ctx, image, path, &s);
    if (status == VF_OK && image->copy_of && same_file(image->copy_of, path))
        status = vf_fail(ctx, VF_ERR_ARGUMENT,
                         "%s: this is the scan itself; use another name for the copy with the images", path);
    if (status == VF_OK && image->copy_of) {
        status = vf_h5_extend(ctx, image->copy_of, path, add_series, &s);
    } else if (status == VF_OK) {
        status = vf_h5_create(ctx, path, &file);
        VF_TRY(status, add_series(ctx, file, &s));
        VF_TRY(status, vf_h5_commit(&file));
    }
    vf_h5_close(&file);
    free_series(&s);
    return status;
}

const image_format image_ismrmrd = {".mrd", write_ismrmrd};
