/* Reads ISMRMRD files: parses the header of a group, assembles the acquisitions, and reads what else is in the group. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scan_formats.h"
#include "scan_ismrmrd_epi.h"
#include "scan_ismrmrd_text.h"
#include "voxfield/append.h"
#include "voxfield/timer.h"

/* ---- the header ---- */

vf_status ismrmrd_read_header(const ismrmrd_group *group, char **text, ismrmrd_protocol *protocol)
{
    char name[ISMRMRD_NAME + 16], *own = NULL;
    snprintf(name, sizeof name, "%s/xml", group->name);
    vf_status status = ismrmrd_read_text(group->ctx, group->place, group->file, name, &own);
    VF_TRY(status, ismrmrd_parse_xml(group->ctx, group->place, own, strlen(own), protocol));
    if (text)
        *text = own;
    else
        free(own);
    return status;
}

/* ---- acquisitions ---- */

static void describe(const ismrmrd_reader *r)
{
    mri_scan *s = r->out;
    const char *name = r->e->trajectory;
    snprintf(s->description, sizeof s->description, "%.40s, %" PRId64 " readout%s, %d trajector%s",
             name[0] ? name : "trajectory not named", r->image_lines, vf_plural(r->image_lines), s->trajectories,
             s->trajectories == 1 ? "y" : "ies");
    vf_append(s->description, sizeof s->description, ", %s", r->units_text);
}

/* Whether the file's Fourier transform has the other sign than docs/scans.md: Siemens' data, as Siemens' converter writes
 * them. docs/phase_sign.md has what that rests on. */
static void choose_sign(ismrmrd_reader *r)
{
    const scan_sign asked = r->request->sign;
    const bool siemens = strstr(r->protocol->vendor, "siemens") != NULL;
    r->conjugate = asked == SIGN_PLUS || (asked == SIGN_AUTO && siemens);
    if (r->conjugate)
        snprintf(r->out->sign, sizeof r->out->sign, "phase sign +, %s",
                 asked == SIGN_AUTO ? "because the scanner is Siemens' (--phase-sign)" : "as --phase-sign says");
}

static void free_reader(ismrmrd_reader *r)
{
    free(r->line);
    free(r->slice);
    free(r->order);
    free(r->frame_first);
    free(r->frame_samples);
    free(r->resample.kernel);
    free(r->resample.stored);
    free(r->readout[0].sum);
    free(r->readout[1].sum);
    ismrmrd_epi_free(&r->epi);
}

vf_status ismrmrd_assemble(vf_context *ctx, const ismrmrd_source *source, const ismrmrd_protocol *protocol,
                           const scan_request *request, mri_scan *out)
{
    ismrmrd_reader r = {.ctx = ctx, .source = source, .protocol = protocol, .request = request, .out = out};
    snprintf(out->layout, sizeof out->layout, "ISMRMRD");
    choose_sign(&r);
    vf_status status = ismrmrd_read_heads(&r);
    if (status == VF_OK && r.dims != 0 && (r.dims < 2 || r.dims > 4))
        status = vf_fail(ctx, VF_ERR_INPUT, "%s: a trajectory of %d component%s; expected 2, 3 or 4", source->path,
                         r.dims, vf_plural(r.dims));
    VF_TRY(status, ismrmrd_leave_out_trajectories(&r));
    if (status == VF_OK) {
        ismrmrd_find_ramps(&r);
        status = ismrmrd_read_space(&r);
    }
    VF_TRY(status, ismrmrd_sort(&r));
    VF_TRY(status, ismrmrd_fill(&r));
    if (status == VF_OK && r.dims == 0)
        status = ismrmrd_check_centre(&r);
    VF_TRY(status, ismrmrd_leave_out_empty(&r));
    VF_TRY(status, ismrmrd_check_repeats(&r));
    VF_TRY(status, ismrmrd_warn_of_partitions(&r));
    VF_TRY(status, ismrmrd_confirm_ramps(&r));
    VF_TRY(status, ismrmrd_correct_epi(&r));
    out->stored_trajectory = r.dims > 0;
    VF_TRY(status, r.dims == 0 ? ismrmrd_make_cartesian(&r) : ismrmrd_convert_trajectories(&r));
    if (status == VF_OK)
        describe(&r);
    free_reader(&r);
    return status;
}

/* ---- the format ---- */

bool scan_is_ismrmrd(const scan_file *f)
{
    return f->found[0] != '\0';
}

static vf_status read_acquisitions(const ismrmrd_group *group, const ismrmrd_protocol *protocol,
                                   const scan_request *request, mri_scan *out)
{
    ismrmrd_source source;
    vf_status status = ismrmrd_file_open(group, &source);
    VF_TRY(status, ismrmrd_check_sizes(group->ctx, &source));
    VF_TRY(status, ismrmrd_assemble(group->ctx, &source, protocol, request, out));
    ismrmrd_file_close(&source);
    return status;
}

vf_status scan_read_ismrmrd(const scan_file *f, mri_scan *out)
{
    ismrmrd_protocol protocol;
    char place[ISMRMRD_PLACE];
    const ismrmrd_group group = ismrmrd_group_of(f->ctx, f->path, f->file, f->found, place);
    vf_status status = ismrmrd_read_header(&group, &out->protocol, &protocol);
    VF_TRY(status, read_acquisitions(&group, &protocol, f->request, out));
    VF_TRY(status, ismrmrd_read_noise(&group, f->path, f->request->noise, out));
    VF_TRY(status, ismrmrd_read_arrays(&group, out));
    return status;
}
