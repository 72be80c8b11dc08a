/* The plain layout in an HDF5 file: its arrays, and what else is in group /scan. */
#include <hdf5.h>
#include <string.h>

#include "scan_formats.h"
#include "scan_plain.h"
#include "scan_text.h"
#include "voxfield/append.h"

/* ---- the source ---- */

static bool h5_exists(void *user, const char *name)
{
    return vf_h5_exists(user, name);
}

static vf_status h5_shape(void *user, const char *name, vf_dtype *type, int *rank, int64_t *dims)
{
    return vf_h5_dataset_shape(user, name, type, rank, dims);
}

static vf_status h5_read(void *user, const char *name, vf_dtype type, const int64_t *start, const int64_t *count,
                         void *data)
{
    return vf_h5_read(user, name, type, start, count, data);
}

static vf_status h5_integers(void *user, const char *object, const char *name, int64_t *values, int n)
{
    return vf_h5_attribute_get_integers(user, object, name, values, n);
}

static vf_status h5_doubles(void *user, const char *object, const char *name, double *values, int n)
{
    return vf_h5_attribute_get_doubles(user, object, name, values, n);
}

plain_source scan_h5_source(const char *path, vf_h5 *file)
{
    return (plain_source){path, file, h5_exists, h5_shape, h5_read, h5_integers, h5_doubles};
}

/* ---- names that are not read ---- */

enum { NAME_SIZE = 64, LIST_SIZE = 400, MOST_NAMED = 8 };

static const char *const datasets[] = {"trajectory", "data",      "weights", "time",  "phi", "sensitivity",
                                       "field_map",  "reference", "truth",   "noise", NULL};
/* mri_phantom writes the last three. */
static const char *const attributes[] = {"matrix", "fov_mm", "description", "program", "noise_sigma", NULL};

/* Unknown names of one kind. */
typedef struct unread {
    const char *const *known;
    const char *before; /* prefix of names in messages */
    int found;
    char names[LIST_SIZE];
} unread;

typedef struct whole_group {
    unread links, attributes;
} whole_group;

static void note_name(unread *u, const char *name)
{
    char printable[NAME_SIZE];
    for (int i = 0; u->known[i]; i++)
        if (strcmp(name, u->known[i]) == 0)
            return;
    if (u->found < MOST_NAMED)
        vf_append(u->names, sizeof u->names, "%s%s%s", u->found ? ", " : "", u->before,
                  scan_printable(name, printable, sizeof printable));
    else if (u->found == MOST_NAMED)
        vf_append(u->names, sizeof u->names, ", ...");
    u->found++;
}

static herr_t look_at_link(hid_t group, const char *name, const H5L_info_t *info, void *user)
{
    (void)group, (void)info;
    note_name(user, name);
    return 0;
}

static herr_t look_at_attribute(hid_t group, const char *name, const H5A_info_t *info, void *user)
{
    (void)group, (void)info;
    note_name(user, name);
    return 0;
}

/* In the process that reads the file. */
static vf_status answer_unread(void *file, const void *question, vf_reply *reply)
{
    whole_group w = {.links = {.known = datasets, .before = "/scan/"},
                     .attributes = {.known = attributes, .before = ""}};
    (void)question;
    hid_t group = H5Gopen2((hid_t)vf_h5_id(file), "/scan", H5P_DEFAULT);
    if (group < 0)
        return vf_h5_refuse(file, "cannot open the group /scan");
    bool listed = H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, NULL, look_at_link, &w.links) >= 0 &&
                  H5Aiterate2(group, H5_INDEX_NAME, H5_ITER_INC, NULL, look_at_attribute, &w.attributes) >= 0;
    H5Gclose(group);
    if (!listed)
        return vf_h5_refuse(file, "cannot list the group /scan");
    vf_h5_put(reply, &w, sizeof w);
    return VF_OK;
}

/* "matrix, fov_mm" */
static const char *join(const char *const *names, char text[LIST_SIZE])
{
    text[0] = '\0';
    for (int i = 0; names[i]; i++)
        vf_append(text, LIST_SIZE, "%s%s", i ? ", " : "", names[i]);
    return text;
}

/* Warns of unknown datasets in group /scan, and notes unknown attributes: a misspelt one would silently be missing. */
static vf_status warn_of_unread(vf_context *ctx, const char *path, vf_h5 *file)
{
    whole_group w;
    char known[LIST_SIZE], names[LIST_SIZE];
    size_t got = 0;
    vf_status status = vf_h5_ask(file, answer_unread, NULL, 0, &w, sizeof w, &got, NULL);
    if (status == VF_OK && got != sizeof w)
        status = vf_fail(ctx, VF_ERR_INPUT, "%s: the group /scan is damaged", path);
    if (status != VF_OK)
        return status;
    w.links.names[LIST_SIZE - 1] = w.attributes.names[LIST_SIZE - 1] = '\0';
    if (w.links.found > 0)
        vf_warn(ctx, "%s: %s %s unknown and ignored; known names: %s", path,
                scan_printable(w.links.names, names, sizeof names), w.links.found > 1 ? "are" : "is",
                join(datasets, known));
    if (w.attributes.found > 0)
        vf_note(ctx, "note: %s: ignored unknown attributes of /scan: %s; known names: %s", path,
                scan_printable(w.attributes.names, names, sizeof names), join(attributes, known));
    return VF_OK;
}

/* ---- the format ---- */

bool scan_is_plain(const scan_file *f)
{
    return !f->request->group && vf_h5_exists(f->file, "/scan/data") && !vf_h5_exists(f->file, "/scan/xml");
}

vf_status scan_read_plain_file(const scan_file *f, mri_scan *out)
{
    const plain_source source = scan_h5_source(f->path, f->file);
    vf_status status = scan_read_plain(f->ctx, &source, f->request->units, out);
    VF_TRY(status, warn_of_unread(f->ctx, f->path, f->file));
    return status;
}
