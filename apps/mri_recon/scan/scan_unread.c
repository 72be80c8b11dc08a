/* Finds unknown names in group /scan of the plain layout. Otherwise a misspelt dataset would silently be missing. */
#include <hdf5.h>
#include <stdio.h>
#include <string.h>

#include "scan_internal.h"
#include "voxfield/append.h"

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

vf_status scan_warn_unread(vf_context *ctx, const char *path, vf_h5 *file)
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
