/* Reads ISMRMRD files: finds the group, parses its header, assembles the acquisitions, and reads coil maps and truth
 * from the same group. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scan_ismrmrd.h"
#include "voxfield/append.h"

enum { NAME_SIZE = 256, MOST_NAMED = 8 };

/* ---- the file ---- */

static hid_t open_file(const char *path)
{
    hid_t list = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fclose_degree(list, H5F_CLOSE_STRONG); /* open identifiers must not keep the file open */
#if H5_VERSION_GE(1, 10, 7)
    H5Pset_file_locking(list, true, true);
#endif
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, list);
    H5Pclose(list);
    return file;
}

static bool is_dataset(hid_t file, const char *group, const char *name)
{
    char path[NAME_SIZE + 16];
    snprintf(path, sizeof path, "%s/%s", group, name);
    hid_t id = H5Lexists(file, path, H5P_DEFAULT) > 0 ? H5Oopen(file, path, H5P_DEFAULT) : H5I_INVALID_HID;
    bool is = id >= 0 && H5Iget_type(id) == H5I_DATASET;
    if (id >= 0)
        H5Oclose(id);
    return is;
}

/* ---- the group ---- */

typedef struct search {
    hid_t file;
    int found;
    char name[NAME_SIZE]; /* of the first */
    char all[NAME_SIZE];  /* all names, for messages */
} search;

static void note_group(search *s, const char *group)
{
    char printable[NAME_SIZE];
    if (s->found == 0)
        snprintf(s->name, sizeof s->name, "%s", group);
    if (s->found < MOST_NAMED)
        vf_append(s->all, sizeof s->all, "%s%s", s->found ? ", " : "",
                  scan_printable(group, printable, sizeof printable));
    s->found++;
}

/* Called for each link: is it the `xml` of a group that also has `data`? */
static herr_t look_at_link(hid_t root, const char *name, const H5L_info_t *info, void *user)
{
    search *s = user;
    const char *slash = strrchr(name, '/');
    size_t folder = slash ? (size_t)(slash - name) : 0;
    char group[NAME_SIZE];
    (void)root, (void)info;
    if (strcmp(slash ? slash + 1 : name, "xml") != 0 || folder + 2 > sizeof group)
        return 0;
    snprintf(group, sizeof group, "/%.*s", (int)folder, name);
    if (is_dataset(s->file, group, "xml") && is_dataset(s->file, group, "data"))
        note_group(s, group);
    return 0;
}

static vf_status find_group(vf_context *ctx, const char *path, const char *group, search *s)
{
    char printable[NAME_SIZE];
    if (group && strlen(group) + 2 > sizeof s->name)
        return vf_fail(ctx, VF_ERR_INPUT, "%s: the name of the group is too long", path);
    if (group) {
        snprintf(s->name, sizeof s->name, "%s%s", group[0] == '/' ? "" : "/", group);
        if (is_dataset(s->file, s->name, "xml") && is_dataset(s->file, s->name, "data"))
            return VF_OK;
        return vf_fail(ctx, VF_ERR_INPUT, "%s: no group '%s' with datasets 'xml' and 'data'", path,
                       scan_printable(group, printable, sizeof printable));
    }
    if (H5Lvisit(s->file, H5_INDEX_NAME, H5_ITER_INC, look_at_link, s) < 0)
        return ismrmrd_failure(ctx, path, "cannot list the file's contents");
    if (s->found > 1)
        return vf_fail(ctx, VF_ERR_INPUT, "%s: %d groups contain scans (%s); choose one with --group", path, s->found,
                       s->all);
    return VF_OK;
}

vf_status scan_find_ismrmrd(vf_context *ctx, const char *path, const char *group, char *name, size_t name_size)
{
    search s = {.found = 0};
    vf_status status = VF_OK;
    ismrmrd_printing before = ismrmrd_silence();
    s.file = open_file(path);
    if (s.file < 0)
        status = ismrmrd_failure(ctx, path, "cannot read the HDF5 file");
    else
        status = find_group(ctx, path, group, &s);
    if (s.file >= 0)
        H5Fclose(s.file);
    ismrmrd_restore(before);
    snprintf(name, name_size, "%s", status == VF_OK ? s.name : "");
    return status;
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

static vf_status read_header(vf_context *ctx, const char *path, hid_t group, mri_scan *out, ismrmrd_protocol *protocol)
{
    hid_t dataset = H5Dopen2(group, "xml", H5P_DEFAULT);
    out->protocol = dataset < 0 ? NULL : read_text(dataset);
    if (dataset >= 0)
        H5Dclose(dataset);
    if (!out->protocol)
        return vf_fail(ctx, VF_ERR_INPUT, "%s: cannot read 'xml' as text", path);
    return ismrmrd_parse_xml(ctx, path, out->protocol, strlen(out->protocol), protocol);
}

/* ---- acquisitions ---- */

static void describe(const ismrmrd_reader *r)
{
    mri_scan *s = r->out;
    const char *name = r->protocol->trajectory;
    snprintf(s->description, sizeof s->description, "%.40s, %" PRId64 " readout%s, %d trajector%s",
             name[0] ? name : "trajectory not named", r->image_lines, vf_plural(r->image_lines), s->trajectories,
             s->trajectories == 1 ? "y" : "ies");
    vf_append(s->description, sizeof s->description, ", %s", r->units_text);
}

vf_status ismrmrd_assemble(vf_context *ctx, const ismrmrd_source *source, const ismrmrd_protocol *protocol,
                           k_units units, mri_scan *out)
{
    ismrmrd_reader r = {.ctx = ctx, .source = source, .protocol = protocol, .units = units, .out = out};
    snprintf(out->layout, sizeof out->layout, "ISMRMRD");
    vf_status status = ismrmrd_read_space(&r);
    if (status == VF_OK)
        status = ismrmrd_sort(&r);
    if (status == VF_OK && r.dims != 0 && (r.dims < 2 || r.dims > 4))
        status = vf_fail(ctx, VF_ERR_INPUT, "%s: a trajectory of %d component%s; expected 2, 3 or 4", source->path,
                         r.dims, vf_plural(r.dims));
    if (status == VF_OK && r.dims == 0)
        status = ismrmrd_make_cartesian(&r);
    if (status == VF_OK)
        status = ismrmrd_fill(&r);
    if (status == VF_OK && r.dims > 0)
        status = ismrmrd_convert_trajectories(&r);
    if (status == VF_OK)
        describe(&r);
    free(r.line);
    free(r.slice);
    free(r.order);
    free(r.frame_first);
    free(r.frame_samples);
    return status;
}

static vf_status read_acquisitions(vf_context *ctx, const char *path, hid_t group, const ismrmrd_protocol *protocol,
                                   k_units units, mri_scan *out)
{
    ismrmrd_file *file = NULL;
    ismrmrd_source source;
    hid_t dataset = H5Dopen2(group, "data", H5P_DEFAULT);
    if (dataset < 0)
        return ismrmrd_failure(ctx, path, "cannot open 'data'");
    vf_status status = ismrmrd_file_open(ctx, path, dataset, &file);
    if (status == VF_OK) {
        ismrmrd_file_source(file, &source);
        status = ismrmrd_assemble(ctx, &source, protocol, units, out);
    }
    ismrmrd_file_close(file);
    H5Dclose(dataset);
    return status;
}

vf_status scan_read_ismrmrd(vf_context *ctx, const char *path, const char *group, k_units units, mri_scan *out)
{
    ismrmrd_protocol protocol;
    char place[1024], printable[NAME_SIZE]; /* file and group, for messages */
    vf_status status = VF_OK;
    hid_t id = H5I_INVALID_HID;
    ismrmrd_printing before = ismrmrd_silence();
    snprintf(place, sizeof place, "%.700s:%s", path, scan_printable(group, printable, sizeof printable));
    hid_t file = open_file(path);
    if (file >= 0)
        id = H5Gopen2(file, group, H5P_DEFAULT);
    if (id < 0)
        status = ismrmrd_failure(ctx, place, "cannot open the group");
    if (status == VF_OK)
        status = read_header(ctx, place, id, out, &protocol);
    if (status == VF_OK)
        status = read_acquisitions(ctx, place, id, &protocol, units, out);
    if (status == VF_OK)
        status = ismrmrd_read_maps(ctx, place, id, out);
    if (status == VF_OK)
        status = ismrmrd_read_truth(ctx, place, id, out);
    if (id >= 0)
        H5Gclose(id);
    if (file >= 0)
        H5Fclose(file);
    ismrmrd_restore(before);
    return status;
}
