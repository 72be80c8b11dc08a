/* Reads ISMRMRD files: finds the group, parses its header, assembles the acquisitions, and reads coil maps and truth
 * from the same group. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scan_ismrmrd.h"
#include "voxfield/append.h"

enum { NAME_SIZE = 256, MOST_NAMED = 8 };

/* ---- the group; these functions run in the process that reads the file ---- */

typedef struct group_question {
    char group[NAME_SIZE]; /* "": the only one */
} group_question;

typedef struct group_answer {
    int32_t found;
    char name[NAME_SIZE]; /* of the first */
    char all[NAME_SIZE];  /* all names, for messages */
} group_answer;

typedef struct search {
    void *file;
    group_answer *answer;
    vf_status status;
    char elsewhere[NAME_SIZE]; /* a link to another file; "": none */
} search;

/* Whether there is a dataset. A link to another file is an error. */
static bool is_dataset(search *s, const char *group, const char *name)
{
    char path[NAME_SIZE + 16];
    const hid_t file = (hid_t)vf_h5_id(s->file);
    snprintf(path, sizeof path, "%s/%s", group, name);
    if (s->status == VF_OK)
        s->status = vf_h5_check_links(s->file, path);
    if (s->status != VF_OK)
        return false;
    hid_t id = H5Lexists(file, path, H5P_DEFAULT) > 0 ? H5Oopen(file, path, H5P_DEFAULT) : H5I_INVALID_HID;
    bool is = id >= 0 && H5Iget_type(id) == H5I_DATASET;
    if (id >= 0)
        H5Oclose(id);
    return is;
}

static void note_group(group_answer *a, const char *group)
{
    char printable[NAME_SIZE];
    if (a->found == 0)
        snprintf(a->name, sizeof a->name, "%s", group);
    if (a->found < MOST_NAMED)
        vf_append(a->all, sizeof a->all, "%s%s", a->found ? ", " : "",
                  scan_printable(group, printable, sizeof printable));
    a->found++;
}

/* Called for each link: is it the `xml` of a group that also has `data`? */
static herr_t look_at_link(hid_t root, const char *name, const H5L_info_t *info, void *user)
{
    search *s = user;
    const char *slash = strrchr(name, '/');
    size_t folder = slash ? (size_t)(slash - name) : 0;
    char group[NAME_SIZE];
    (void)root;
    if (info->type != H5L_TYPE_HARD && info->type != H5L_TYPE_SOFT && !s->elsewhere[0])
        snprintf(s->elsewhere, sizeof s->elsewhere, "%s", name);
    if (strcmp(slash ? slash + 1 : name, "xml") != 0 || folder + 2 > sizeof group)
        return 0;
    snprintf(group, sizeof group, "/%.*s", (int)folder, name);
    if (is_dataset(s, group, "xml") && is_dataset(s, group, "data"))
        note_group(s->answer, group);
    return s->status == VF_OK ? 0 : -1;
}

static vf_status answer_group(void *file, const void *question, vf_reply *reply)
{
    const group_question *q = question;
    group_answer answer = {.found = 0};
    search s = {.file = file, .answer = &answer, .status = VF_OK};
    if (q->group[0]) {
        if (is_dataset(&s, q->group, "xml") && is_dataset(&s, q->group, "data"))
            note_group(&answer, q->group);
    } else if (H5Lvisit((hid_t)vf_h5_id(file), H5_INDEX_NAME, H5_ITER_INC, look_at_link, &s) < 0 && s.status == VF_OK) {
        return vf_h5_refuse(file, "cannot list the file's contents");
    }
    if (s.status == VF_OK && answer.found == 0 && s.elsewhere[0])
        s.status = vf_h5_check_links(file, s.elsewhere);
    if (s.status == VF_OK)
        vf_h5_put(reply, &answer, sizeof answer);
    return s.status;
}

vf_status scan_find_ismrmrd(vf_context *ctx, const char *path, vf_h5 *file, const char *group, char *name,
                            size_t name_size)
{
    group_question q = {.group = ""};
    group_answer answer;
    char printable[NAME_SIZE];
    size_t got = 0;
    name[0] = '\0';
    if (group && strlen(group) + 2 > sizeof q.group)
        return vf_fail(ctx, VF_ERR_INPUT, "%s: the name of the group is too long", path);
    if (group)
        snprintf(q.group, sizeof q.group, "%s%s", group[0] == '/' ? "" : "/", group);
    vf_status status = vf_h5_ask(file, answer_group, &q, sizeof q, &answer, sizeof answer, &got, NULL);
    if (status == VF_OK && got != sizeof answer)
        status = vf_fail(ctx, VF_ERR_INPUT, "%s: the file's contents are damaged", path);
    if (status != VF_OK)
        return status;
    answer.name[NAME_SIZE - 1] = answer.all[NAME_SIZE - 1] = '\0';
    if (group && answer.found < 1)
        return vf_fail(ctx, VF_ERR_INPUT, "%s: no group '%s' with datasets 'xml' and 'data'", path,
                       scan_printable(group, printable, sizeof printable));
    if (answer.found > 1)
        return vf_fail(ctx, VF_ERR_INPUT, "%s: %d groups contain scans (%s); choose one with --group", path,
                       answer.found, scan_printable(answer.all, printable, sizeof printable));
    snprintf(name, name_size, "%s", answer.found == 1 ? answer.name : "");
    return VF_OK;
}

/* ---- the header ---- */

/* Text of fixed or variable length; the first element if there are several. */
static char *read_text(hid_t dataset)
{
    hid_t type = H5Dget_type(dataset), space = H5Dget_space(dataset), memory = ismrmrd_text_type();
    hssize_t count = H5Sget_simple_extent_npoints(space);
    size_t size = H5Tget_size(type);
    char *text = NULL, *given = NULL;
    hsize_t first = 0, one = 1;
    hid_t element = H5Screate_simple(1, &one, NULL);
    if (type < 0 || H5Tget_class(type) != H5T_STRING || count < 1 || H5Sget_simple_extent_ndims(space) > 1)
        goto done;
    if (H5Sget_simple_extent_ndims(space) == 1 &&
        H5Sselect_hyperslab(space, H5S_SELECT_SET, &first, NULL, &one, NULL) < 0)
        goto done;
    if (H5Tis_variable_str(type) > 0) {
        H5Tset_cset(memory, H5Tget_cset(type));
        if (H5Dread(dataset, memory, element, space, H5P_DEFAULT, &given) < 0 || !given)
            goto done;
        text = strdup(given);
        H5free_memory(given);
    } else if (size > 0 && size <= ISMRMRD_XML_MOST) {
        text = calloc(size + 1, 1);
        if (text && H5Dread(dataset, type, element, space, H5P_DEFAULT, text) < 0) {
            free(text);
            text = NULL;
        }
    }
done:
    H5Sclose(element);
    H5Tclose(memory);
    H5Sclose(space);
    H5Tclose(type);
    return text;
}

/* In the process that reads the file. `question`: the group. */
static vf_status answer_header(void *file, const void *question, vf_reply *reply)
{
    char name[NAME_SIZE + 16];
    int64_t dataset;
    snprintf(name, sizeof name, "%s/xml", (const char *)question);
    vf_status status = vf_h5_dataset_open(file, name, &dataset);
    if (status != VF_OK)
        return status;
    char *text = read_text((hid_t)dataset);
    if (!text)
        status = vf_h5_refuse(file, "cannot read 'xml' as text");
    else if (!vf_h5_put(reply, text, strlen(text)))
        status = vf_h5_refuse(file, "'xml' has more than %d bytes of text", ISMRMRD_XML_MOST);
    free(text);
    H5Dclose((hid_t)dataset);
    return status;
}

static vf_status read_header(vf_context *ctx, const char *place, vf_h5 *file, const char *group, mri_scan *out,
                             ismrmrd_protocol *protocol)
{
    size_t bytes = 0;
    char *text = malloc(ISMRMRD_XML_MOST + 1);
    if (!text)
        return vf_fail(ctx, VF_ERR_MEMORY, "%s: not enough memory to read 'xml'", place);
    vf_status status = vf_h5_ask(file, answer_header, group, strlen(group) + 1, text, ISMRMRD_XML_MOST, &bytes, NULL);
    text[bytes] = '\0';
    out->protocol = status == VF_OK ? strdup(text) : NULL;
    free(text);
    if (status == VF_OK && !out->protocol)
        status = vf_fail(ctx, VF_ERR_MEMORY, "%s: not enough memory to read 'xml'", place);
    if (status != VF_OK)
        return status;
    return ismrmrd_parse_xml(ctx, place, out->protocol, strlen(out->protocol), protocol);
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
 * them. docs/phase_sign.md has how that was found. */
static void choose_sign(ismrmrd_reader *r)
{
    static const char *const texts[] = {"", "as --phase-sign says", "as --phase-sign says"};
    const scan_sign asked = r->request->sign;
    const bool siemens = strstr(r->protocol->vendor, "siemens") != NULL;
    r->conjugate = asked == SIGN_PLUS || (asked == SIGN_AUTO && siemens);
    if (r->conjugate)
        snprintf(r->out->sign, sizeof r->out->sign, "phase sign +, %s",
                 asked == SIGN_AUTO ? "because the scanner is Siemens' (--phase-sign)" : texts[asked]);
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
    if (status == VF_OK)
        status = ismrmrd_sort(&r);
    if (status == VF_OK)
        status = ismrmrd_fill(&r);
    if (status == VF_OK && r.dims == 0)
        status = ismrmrd_check_centre(&r);
    if (status == VF_OK)
        status = ismrmrd_leave_out_empty(&r);
    if (status == VF_OK)
        status = ismrmrd_confirm_ramps(&r);
    if (status == VF_OK)
        status = ismrmrd_correct_epi(&r);
    if (status == VF_OK)
        status = r.dims == 0 ? ismrmrd_make_cartesian(&r) : ismrmrd_convert_trajectories(&r);
    if (status == VF_OK)
        describe(&r);
    free_reader(&r);
    return status;
}

static vf_status read_acquisitions(vf_context *ctx, const char *place, vf_h5 *file, const char *group,
                                   const ismrmrd_protocol *protocol, const scan_request *request, mri_scan *out)
{
    ismrmrd_file *acquisitions = NULL;
    ismrmrd_source source;
    vf_status status = ismrmrd_file_open(ctx, place, file, group, &acquisitions);
    if (status == VF_OK) {
        ismrmrd_file_source(acquisitions, &source);
        status = ismrmrd_assemble(ctx, &source, protocol, request, out);
    }
    ismrmrd_file_close(acquisitions);
    return status;
}

vf_status scan_read_ismrmrd(vf_context *ctx, const char *path, vf_h5 *file, const char *group,
                            const scan_request *request, mri_scan *out)
{
    ismrmrd_protocol protocol;
    char place[1024], printable[NAME_SIZE]; /* file and group, for messages */
    snprintf(place, sizeof place, "%.700s:%s", path, scan_printable(group, printable, sizeof printable));
    vf_status status = read_header(ctx, place, file, group, out, &protocol);
    if (status == VF_OK)
        status = read_acquisitions(ctx, place, file, group, &protocol, request, out);
    if (status == VF_OK)
        status = ismrmrd_read_maps(ctx, place, file, group, out);
    if (status == VF_OK)
        status = ismrmrd_read_truth(ctx, place, file, group, out);
    return status;
}
