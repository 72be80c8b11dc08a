/* BART's images: [x][y][z], slices stacked along z, volumes in dimension 10 (TIME). Where the patient lies has no place
 * in the format. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bart/cfl.h"
#include "image_files.h"

/* "# Title\ntext\n", as BART itself heads the command and the program; no line of a text begins a section. */
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
    char *out = calloc(1, size), *at = out;
    for (size_t i = 0; out && i < count; i++) {
        if (!sections[i].text)
            continue;
        char *text = at + sprintf(at, "# %s\n ", sections[i].title);
        at = text + sprintf(text, "%s", sections[i].text);
        for (char *c = text; c < at; c++)
            *c = (char)((unsigned char)*c < ' ' ? ' ' : *c);
        at += sprintf(at, "\n");
    }
    return out;
}

static vf_status write_cfl(vf_context *ctx, const recon_image *image, const char *path)
{
    int64_t dims[CFL_DIMS] = {image->counts[0], image->counts[1], image->counts[2]};
    cfl_output *output = NULL;
    char *sections = make_sections(image);
    if (!sections)
        return vf_fail(ctx, VF_ERR_MEMORY, "%s: no memory for the header", path);
    for (int d = CFL_COIL; d < CFL_DIMS; d++)
        dims[d] = d == CFL_TIME ? image->frames : 1;
    vf_status status = cfl_create(ctx, path, dims, sections, &output);
    if (status == VF_OK)
        status = cfl_append(output, image->data, image->frames * image_volume(image));
    if (status == VF_OK)
        status = cfl_commit(&output);
    cfl_discard(&output);
    free(sections);
    return status;
}

const image_format image_cfl = {".cfl .hdr", write_cfl};
