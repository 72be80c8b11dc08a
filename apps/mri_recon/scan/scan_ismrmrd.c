/* Reads ISMRMRD files: parses the header of a group, assembles the acquisitions, and reads coil maps and truth
 * from the same group. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scan_ismrmrd.h"
#include "voxfield/append.h"

enum { NAME_SIZE = 256 };

/* ---- the header ---- */

vf_status ismrmrd_read_header(vf_context *ctx, const char *place, vf_h5 *file, const char *group, char **text,
                              ismrmrd_protocol *protocol)
{
    char name[NAME_SIZE + 16], *own = NULL;
    snprintf(name, sizeof name, "%s/xml", group);
    vf_status status = ismrmrd_read_text(ctx, place, file, name, &own);
    VF_TRY(status, ismrmrd_parse_xml(ctx, place, own, strlen(own), protocol));
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
    if (status == VF_OK) {
        ismrmrd_find_ramps(&r);
        status = ismrmrd_read_space(&r);
    }
    VF_TRY(status, ismrmrd_sort(&r));
    VF_TRY(status, ismrmrd_fill(&r));
    if (status == VF_OK && r.dims == 0)
        status = ismrmrd_check_centre(&r);
    VF_TRY(status, ismrmrd_leave_out_empty(&r));
    VF_TRY(status, ismrmrd_confirm_ramps(&r));
    VF_TRY(status, ismrmrd_correct_epi(&r));
    out->stored_trajectory = r.dims > 0;
    VF_TRY(status, r.dims == 0 ? ismrmrd_make_cartesian(&r) : ismrmrd_convert_trajectories(&r));
    if (status == VF_OK)
        describe(&r);
    free_reader(&r);
    return status;
}

static vf_status read_acquisitions(vf_context *ctx, const char *place, vf_h5 *file, const char *group,
                                   const ismrmrd_protocol *protocol, const scan_request *request, mri_scan *out)
{
    ismrmrd_file *acquisitions = NULL;
    ismrmrd_source source, sized;
    vf_status status = ismrmrd_file_open(ctx, place, file, group, &acquisitions);
    if (status == VF_OK) {
        ismrmrd_file_source(acquisitions, &source);
        status = ismrmrd_check_sizes(ctx, &source, &sized);
    }
    VF_TRY(status, ismrmrd_assemble(ctx, &sized, protocol, request, out));
    ismrmrd_file_close(acquisitions);
    return status;
}

vf_status scan_read_ismrmrd(vf_context *ctx, const char *path, vf_h5 *file, const char *group,
                            const scan_request *request, mri_scan *out)
{
    ismrmrd_protocol protocol;
    char place[1024], printable[NAME_SIZE]; /* file and group, for messages */
    snprintf(place, sizeof place, "%.700s:%s", path, scan_printable(group, printable, sizeof printable));
    vf_status status = ismrmrd_read_header(ctx, place, file, group, &out->protocol, &protocol);
    VF_TRY(status, read_acquisitions(ctx, place, file, group, &protocol, request, out));
    VF_TRY(status, ismrmrd_read_noise(ctx, path, file, group, request->noise, out));
    VF_TRY(status, ismrmrd_read_maps(ctx, place, file, group, out));
    VF_TRY(status, ismrmrd_read_truth(ctx, place, file, group, out));
    return status;
}
