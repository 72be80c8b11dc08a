/* Noise that was acquired apart from the image: in another group, or in another file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scan_ismrmrd_reader.h"

/* Of all acquisitions, the noise is what is kept. */
static vf_status keep_noise(void *user, int64_t index, const ismrmrd_acquisition_header *head)
{
    ismrmrd_reader *r = user;
    const bool noise = (head->flags & ISMRMRD_BIT(ISMRMRD_NOISE)) != 0;
    r->line[index] = ismrmrd_line_of(head);
    if (noise)
        r->line[index].frame = LINE_NOISE;
    r->noise_lines += noise;
    return VF_OK;
}

static vf_status read_group(vf_context *ctx, const char *path, vf_h5 *file, const char *name, mri_scan *s)
{
    char place[ISMRMRD_PLACE];
    const ismrmrd_group group = ismrmrd_group_of(ctx, path, file, name, place);
    ismrmrd_protocol protocol;
    ismrmrd_source source;
    ismrmrd_reader r = {
        .ctx = ctx, .source = &source, .protocol = &protocol, .out = s, .conjugate = s->sign[0] != '\0'};
    r.first.sample_time_us = (float)(1e6 * s->dwell);
    vf_status status = ismrmrd_read_header(&group, NULL, &protocol);
    VF_TRY(status, ismrmrd_file_open(&group, &source));
    if (status != VF_OK)
        return status;
    status = SCAN_NEW(ctx, place, "acquisitions", source.acquisitions, r.line);
    VF_TRY(status, ismrmrd_each_head(ctx, &source, keep_noise, &r));
    if (status == VF_OK && r.noise_lines == 0)
        status = vf_fail(ctx, VF_ERR_INPUT, "%s: no noise (flag 19) among its acquisitions", place);
    VF_TRY(status, ismrmrd_fill_noise(&r));
    if (status == VF_OK && s->noise)
        vf_note(ctx, "note: the noise of the channels comes from %s", place);
    free(r.line);
    ismrmrd_file_close(&source);
    return status;
}

/* FILE, or FILE:GROUP if there is no such file. */
static vf_status read_other_file(vf_context *ctx, const char *name, mri_scan *s)
{
    char path[1024], group[ISMRMRD_NAME] = "";
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
    VF_TRY(status, read_group(ctx, path, file, group, s));
    vf_h5_close(&file);
    return status;
}

vf_status ismrmrd_read_noise(const ismrmrd_group *image, const char *path, const char *asked, mri_scan *s)
{
    char group[ISMRMRD_NAME] = "";
    if (asked) {
        free(s->noise);
        s->noise = NULL;
        return read_other_file(image->ctx, asked, s);
    }
    if (s->noise)
        return VF_OK;
    vf_status status = ismrmrd_find_noise(image->ctx, path, image->file, image->name, group, sizeof group);
    return status == VF_OK && group[0] ? read_group(image->ctx, path, image->file, group, s) : status;
}
