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

static const char *look(void *user, int64_t file)
{
    whole_group *w = user;
    hid_t group = H5Gopen2((hid_t)file, "/scan", H5P_DEFAULT);
    const char *failed = NULL;
    if (group < 0)
        return "open the group /scan";
    if (H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, NULL, look_at_link, &w->links) < 0 ||
        H5Aiterate2(group, H5_INDEX_NAME, H5_ITER_INC, NULL, look_at_attribute, &w->attributes) < 0)
        failed = "list the group /scan";
    H5Gclose(group);
    return failed;
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
    whole_group w = {.links = {.known = datasets, .before = "/scan/"},
                     .attributes = {.known = attributes, .before = ""}};
    char known[LIST_SIZE];
    vf_status status = vf_h5_call(file, look, &w);
    if (status != VF_OK)
        return status;
    if (w.links.found > 0)
        vf_warn(ctx, "%s: %s %s unknown and ignored; known names: %s", path, w.links.names,
                w.links.found > 1 ? "are" : "is", join(datasets, known));
    if (w.attributes.found > 0)
        vf_note(ctx, "note: %s: ignored unknown attributes of /scan: %s; known names: %s", path, w.attributes.names,
                join(attributes, known));
    return VF_OK;
}
