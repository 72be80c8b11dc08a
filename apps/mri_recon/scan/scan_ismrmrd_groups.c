/* Finds the groups of an ISMRMRD file that hold acquisitions: the one with the image, and those with noise. Converters of
 * multi-raid files write the measurements of a session to groups of their own. */
#include <stdio.h>
#include <string.h>

#include "scan_ismrmrd_source.h"
#include "scan_text.h"
#include "voxfield/append.h"

enum { NAME_SIZE = ISMRMRD_NAME, MOST_NAMED = 16 };

ismrmrd_group ismrmrd_group_of(vf_context *ctx, const char *path, vf_h5 *file, const char *name,
                               char place[ISMRMRD_PLACE])
{
    char printable[NAME_SIZE];
    snprintf(place, ISMRMRD_PLACE, "%.700s:%s", path, scan_printable(name, printable, sizeof printable));
    return (ismrmrd_group){ctx, file, name, place};
}

/* ---- the group; these functions run in the process that reads the file ---- */

typedef struct group_answer {
    int32_t found;
    char name[MOST_NAMED][NAME_SIZE]; /* of the first */
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
    if (a->found < MOST_NAMED)
        snprintf(a->name[a->found], NAME_SIZE, "%s", group);
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

/* `question`: the group; "": all. */
static vf_status answer_group(void *file, const void *question, vf_reply *reply)
{
    const char *group = question;
    group_answer answer = {.found = 0};
    search s = {.file = file, .answer = &answer, .status = VF_OK};
    if (group[0]) {
        if (is_dataset(&s, group, "xml") && is_dataset(&s, group, "data"))
            note_group(&answer, group);
    } else if (H5Lvisit((hid_t)vf_h5_id(file), H5_INDEX_NAME, H5_ITER_INC, look_at_link, &s) < 0 && s.status == VF_OK) {
        return vf_h5_refuse(file, "cannot list the file's contents");
    }
    if (s.status == VF_OK && answer.found == 0 && s.elsewhere[0])
        s.status = vf_h5_check_links(file, s.elsewhere);
    if (s.status == VF_OK)
        vf_h5_put(reply, &answer, sizeof answer);
    return s.status;
}

/* Lists the groups with acquisitions: `group`, or with NULL all. */
static vf_status list_groups(vf_context *ctx, const char *path, vf_h5 *file, const char *group, group_answer *answer)
{
    char question[NAME_SIZE] = "";
    size_t got = 0;
    if (group && strlen(group) + 2 > sizeof question)
        return vf_fail(ctx, VF_ERR_INPUT, "%s: the name of the group is too long", path);
    if (group)
        snprintf(question, sizeof question, "%s%s", group[0] == '/' ? "" : "/", group);
    vf_status status = vf_h5_ask(file, answer_group, question, sizeof question, answer, sizeof *answer, &got, NULL);
    if (status == VF_OK && got != sizeof *answer)
        status = vf_fail(ctx, VF_ERR_INPUT, "%s: the file's contents are damaged", path);
    for (int i = 0; i < MOST_NAMED; i++)
        answer->name[i][NAME_SIZE - 1] = '\0';
    return status;
}

/* ---- what a group holds ---- */

typedef struct group_contents {
    int64_t noise, others;
} group_contents;

static vf_status count_head(void *user, int64_t index, const ismrmrd_acquisition_header *head)
{
    group_contents *out = user;
    (void)index;
    *((head->flags & ISMRMRD_BIT(ISMRMRD_NOISE)) != 0 ? &out->noise : &out->others) += 1;
    return VF_OK;
}

static vf_status look_at_group(const ismrmrd_group *group, group_contents *out)
{
    ismrmrd_source source;
    *out = (group_contents){0, 0};
    vf_status status = ismrmrd_file_open(group, &source);
    VF_TRY(status, ismrmrd_each_head(group->ctx, &source, count_head, out));
    ismrmrd_file_close(&source);
    return status;
}

/* Of several groups, the only one that holds more than noise. */
static vf_status choose_group(vf_context *ctx, const char *path, vf_h5 *file, const group_answer *groups, int *chosen)
{
    char all[4 * NAME_SIZE] = "", printable[NAME_SIZE];
    int images = 0;
    for (int i = 0; i < groups->found && i < MOST_NAMED; i++) {
        group_contents contents;
        vf_status status = look_at_group(&(ismrmrd_group){ctx, file, groups->name[i], path}, &contents);
        if (status != VF_OK)
            return status;
        if (contents.others == 0)
            continue;
        *chosen = i;
        vf_append(all, sizeof all, "%s%s", images++ ? ", " : "",
                  scan_printable(groups->name[i], printable, sizeof printable));
    }
    if (images == 1 && groups->found <= MOST_NAMED)
        return VF_OK;
    return vf_fail(ctx, VF_ERR_INPUT, "%s: %d groups contain scans (%s); choose one with --group", path,
                   images > 0 ? images : groups->found, all);
}

vf_status scan_find_ismrmrd(vf_context *ctx, const char *path, vf_h5 *file, const char *group, char *name,
                            size_t name_size)
{
    group_answer answer;
    char printable[NAME_SIZE];
    int chosen = 0;
    name[0] = '\0';
    vf_status status = list_groups(ctx, path, file, group, &answer);
    if (status == VF_OK && group && answer.found < 1)
        status = vf_fail(ctx, VF_ERR_INPUT, "%s: no group '%s' with datasets 'xml' and 'data'", path,
                         scan_printable(group, printable, sizeof printable));
    if (status == VF_OK && answer.found > 1)
        status = choose_group(ctx, path, file, &answer, &chosen);
    if (status == VF_OK)
        snprintf(name, name_size, "%s", answer.found >= 1 ? answer.name[chosen] : "");
    return status;
}

vf_status ismrmrd_find_noise(vf_context *ctx, const char *path, vf_h5 *file, const char *image, char *name,
                             size_t name_size)
{
    group_answer answer;
    name[0] = '\0';
    vf_status status = list_groups(ctx, path, file, NULL, &answer);
    for (int i = 0; status == VF_OK && !name[0] && i < answer.found && i < MOST_NAMED; i++) {
        group_contents contents = {0, 0};
        if (strcmp(answer.name[i], image) == 0)
            continue;
        if (look_at_group(&(ismrmrd_group){ctx, file, answer.name[i], path}, &contents) != VF_OK)
            vf_context_clear_error(ctx); /* what is wrong elsewhere does not matter to the image */
        else if (contents.noise > 0)
            snprintf(name, name_size, "%s", answer.name[i]);
    }
    return status;
}
