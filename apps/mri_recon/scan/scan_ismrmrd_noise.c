/* Noise that was acquired apart from the image: in another group, or in another file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scan_ismrmrd.h"

enum { NAME_SIZE = 256 };

/* Keeps the noise among all acquisitions. */
static vf_status keep_noise(ismrmrd_reader *r)
{
    enum { BATCH = 1024 };
    const ismrmrd_source *source = r->source;
    ismrmrd_acquisition_header *heads = NULL;
    vf_status status =
        scan_allocate(r->ctx, source->path, "acquisitions", source->acquisitions, sizeof *r->line, &r->line);
    VF_TRY(status, scan_allocate(r->ctx, source->path, "headers", BATCH, sizeof *heads, &heads));
    for (int64_t first = 0; status == VF_OK && first < source->acquisitions; first += BATCH) {
        const int64_t count = source->acquisitions - first < BATCH ? source->acquisitions - first : BATCH;
        memset(heads, 0, BATCH * sizeof *heads);
        status = source->heads(r->ctx, source->user, first, count, heads);
        for (int64_t i = 0; status == VF_OK && i < count; i++) {
            const ismrmrd_acquisition_header *head = &heads[i];
            const bool noise = (head->flags & ISMRMRD_BIT(ISMRMRD_NOISE)) != 0;
            r->line[first + i] = (scan_line){.samples = head->number_of_samples,
                                             .channels = head->active_channels,
                                             .pre = head->discard_pre,
                                             .post = head->discard_post,
                                             .dims = head->trajectory_dimensions,
                                             .sample_time_us = head->sample_time_us,
                                             .frame = noise ? LINE_NOISE : LINE_LEFT_OUT};
            r->noise_lines += noise;
        }
    }
    free(heads);
    return status;
}

static vf_status read_group(vf_context *ctx, const char *path, vf_h5 *file, const char *group, bool conjugate,
                            mri_scan *s)
{
    char place[1024], printable[NAME_SIZE];
    ismrmrd_file *acquisitions = NULL;
    ismrmrd_protocol protocol;
    ismrmrd_source source;
    snprintf(place, sizeof place, "%.700s:%s", path, scan_printable(group, printable, sizeof printable));
    vf_status status = ismrmrd_read_header(ctx, place, file, group, NULL, &protocol);
    VF_TRY(status, ismrmrd_file_open(ctx, place, file, group, &acquisitions));
    if (status != VF_OK)
        return status;
    ismrmrd_file_source(acquisitions, &source);
    ismrmrd_reader r = {.ctx = ctx, .source = &source, .protocol = &protocol, .out = s, .conjugate = conjugate};
    r.first.sample_time_us = (float)(1e6 * s->dwell);
    status = keep_noise(&r);
    if (status == VF_OK && r.noise_lines == 0)
        status = vf_fail(ctx, VF_ERR_INPUT, "%s: no noise (flag 19) among its acquisitions", place);
    VF_TRY(status, ismrmrd_fill_noise(&r));
    if (status == VF_OK && s->noise)
        vf_note(ctx, "note: the noise of the channels comes from %s", place);
    free(r.line);
    ismrmrd_file_close(acquisitions);
    return status;
}

/* FILE, or FILE:GROUP if there is no such file. */
static vf_status read_other_file(vf_context *ctx, const char *name, bool conjugate, mri_scan *s)
{
    char path[1024], group[NAME_SIZE] = "";
    const char *colon = strrchr(name, ':');
    vf_h5 *file = NULL;
    FILE *there = fopen(name, "rb");
    const bool has_group = !there && colon;
    if (there)
        fclose(there);
    snprintf(path, sizeof path, "%.*s", has_group ? (int)(colon - name) : (int)strlen(name), name);
    vf_status status = vf_h5_open(ctx, path, &file);
    if (status == VF_OK && has_group)
        status = scan_find_ismrmrd(ctx, path, file, colon + 1, group, sizeof group);
    else if (status == VF_OK)
        status = ismrmrd_find_noise(ctx, path, file, "", group, sizeof group);
    if (status == VF_OK && !group[0])
        status =
            vf_fail(ctx, VF_ERR_INPUT, "%s: --noise: no group of this file has noise acquisitions (flag 19)", path);
    VF_TRY(status, read_group(ctx, path, file, group, conjugate, s));
    vf_h5_close(&file);
    return status;
}

vf_status ismrmrd_read_noise(vf_context *ctx, const char *path, vf_h5 *file, const char *image, const char *asked,
                             mri_scan *s)
{
    char group[NAME_SIZE] = "";
    const bool conjugate = s->sign[0] != '\0';
    if (asked) {
        free(s->noise);
        s->noise = NULL;
        return read_other_file(ctx, asked, conjugate, s);
    }
    if (s->noise)
        return VF_OK;
    vf_status status = ismrmrd_find_noise(ctx, path, file, image, group, sizeof group);
    return status == VF_OK && group[0] ? read_group(ctx, path, file, group, conjugate, s) : status;
}
