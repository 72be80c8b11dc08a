/* BART images: [x][y][z], slices stacked along z, volumes in dimension 10 (TIME). The format cannot store the patient's
 * position. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bart/cfl.h"
#include "image_files.h"
#include "voxfield/append.h"

/* Sections "# Title\n text\n", as BART writes its command and program. No line of a text starts a section. */
static char *make_sections(const recon_image *image)
{
    const struct {
        const char *title, *text;
    } sections[] = {{"Command", image->command},
                    {"Files", image->input},
                    {"Creator", image->program},
                    {"Method", image->method},
                    {"Created", image->created}};
    const size_t count = sizeof sections / sizeof *sections;
    size_t size = 1;
    for (size_t i = 0; i < count; i++)
        size += sections[i].text ? strlen(sections[i].title) + strlen(sections[i].text) + 8 : 0;
    char *out = calloc(1, size);
    for (size_t i = 0; out && i < count; i++) {
        if (!sections[i].text)
            continue;
        char *text = out + vf_append(out, size, "# %s\n ", sections[i].title);
        vf_append(out, size, "%s", sections[i].text);
        for (char *c = text; *c; c++)
            *c = (char)((unsigned char)*c < ' ' ? ' ' : *c);
        vf_append(out, size, "\n");
    }
    return out;
}

static vf_status write_cfl(vf_context *ctx, const recon_image *image, const char *path)
{
    int64_t dims[CFL_DIMS] = {image->counts[0], image->counts[1], image->counts[2]};
    cfl_output *output = NULL;
    char *sections = make_sections(image);
    if (!sections)
        return vf_fail(ctx, VF_ERR_MEMORY, "%s: not enough memory for the header", path);
    for (int d = CFL_COIL; d < CFL_DIMS; d++)
        dims[d] = d == CFL_TIME ? image->frames : 1;
    vf_status status = cfl_create(ctx, path, dims, sections, &output);
    VF_TRY(status, cfl_append(output, image->data, image->frames * image_volume(image)));
    VF_TRY(status, cfl_commit(&output));
    cfl_discard(&output);
    free(sections);
    return status;
}

const image_format image_cfl = {".cfl .hdr", write_cfl};

/* ---- reading ---- */

/* Volumes may be in any dimension except coils and maps. If there are only slices, they are stacked. */
static vf_status read_cfl_shape(vf_context *ctx, const char *path, const int64_t *dims, recon_image *out)
{
    int64_t frames = 1;
    char shape[CFL_SHAPE_TEXT];
    for (int d = CFL_COIL; d < CFL_DIMS; d++) {
        if ((d == CFL_COIL || d == CFL_MAPS) && dims[d] > 1)
            return vf_fail(ctx, VF_ERR_INPUT, "%s: %s is %lld images in dimension %s; combine them first (bart rss %d)",
                           path, cfl_shape(dims, shape), (long long)dims[d], cfl_dim_name(d), 1 << d);
        if (__builtin_mul_overflow(frames, dims[d], &frames) || frames > INT32_MAX)
            return vf_fail(ctx, VF_ERR_INPUT, "%s: %s is too many images", path, cfl_shape(dims, shape));
    }
    for (int a = 0; a < 3; a++)
        out->counts[a] = dims[a];
    const bool stack = dims[2] == 1 && frames == dims[CFL_SLICE];
    out->counts[2] = stack ? frames : dims[2];
    out->frames = stack ? 1 : (int)frames;
    return VF_OK;
}

vf_status image_read_cfl(vf_context *ctx, const char *path, recon_image *out)
{
    cfl_file *file = NULL;
    vf_status status = cfl_open(ctx, path, &file);
    VF_TRY(status, read_cfl_shape(ctx, path, cfl_dims(file), out));
    VF_TRY(status, image_allocate(ctx, path, out));
    VF_TRY(status, cfl_read(file, 0, cfl_count(file), out->data));
    cfl_close(&file);
    return status;
}
