/* Lists what is in the root of an HDF5 file, to recognise its layout. */
#include <hdf5.h>
#include <stdio.h>
#include <string.h>

#include "list_datasets.h"

/* ---- in the process that reads the file ---- */

typedef struct search {
    void *file;
    listing *list;
    vf_status status;
} search;

static bool is_number(hid_t type)
{
    const H5T_class_t class = H5Tget_class(type);
    return class == H5T_FLOAT || class == H5T_INTEGER || class == H5T_ENUM;
}

static listed_kind kind_of(hid_t type)
{
    if (H5Tget_class(type) != H5T_COMPOUND)
        return is_number(type) ? LISTED_REAL : LISTED_OTHER;
    if (H5Tget_nmembers(type) != 2)
        return LISTED_OTHER;
    if (H5Tget_member_index(type, "real") >= 0 && H5Tget_member_index(type, "imag") >= 0)
        return LISTED_MATLAB;
    const bool short_names = H5Tget_member_index(type, "r") >= 0 && H5Tget_member_index(type, "i") >= 0;
    const bool names = H5Tget_member_index(type, "re") >= 0 && H5Tget_member_index(type, "im") >= 0;
    return short_names || names ? LISTED_COMPLEX : LISTED_OTHER;
}

static void describe_dataset(hid_t dataset, listed_set *set)
{
    hid_t type = H5Dget_type(dataset), space = H5Dget_space(dataset);
    hsize_t dims[H5S_MAX_RANK];
    const int rank = space >= 0 ? H5Sget_simple_extent_dims(space, dims, NULL) : -1;
    set->kind = type >= 0 && rank >= 0 && rank <= VF_H5_MAX_RANK ? (int32_t)kind_of(type) : LISTED_OTHER;
    set->rank = rank;
    for (int d = 0; d < rank && d < VF_H5_MAX_RANK; d++)
        set->dims[d] = (int64_t)dims[d];
    H5Sclose(space);
    H5Tclose(type);
}

static herr_t look_at_link(hid_t root, const char *name, const H5L_info_t *info, void *user)
{
    search *s = user;
    if (s->list->count == LISTED_MOST || strlen(name) >= LISTED_NAME ||
        (info->type != H5L_TYPE_HARD && info->type != H5L_TYPE_SOFT))
        return 0;
    if (info->type == H5L_TYPE_SOFT) {
        s->status = vf_h5_check_links(s->file, name);
        if (s->status != VF_OK)
            return -1;
    }
    hid_t object = H5Oopen(root, name, H5P_DEFAULT);
    const H5I_type_t type = object >= 0 ? H5Iget_type(object) : H5I_BADID;
    if (type == H5I_DATASET || type == H5I_GROUP) {
        listed_set *set = &s->list->set[s->list->count++];
        *set = (listed_set){.kind = LISTED_GROUP, .rank = -1};
        snprintf(set->name, sizeof set->name, "%s", name);
        if (type == H5I_DATASET)
            describe_dataset(object, set);
    }
    if (object >= 0)
        H5Oclose(object);
    return 0;
}

static vf_status answer_list(void *file, const void *question, vf_reply *reply)
{
    listing list;
    search s = {.file = file, .list = &list, .status = VF_OK};
    (void)question;
    memset(&list, 0, sizeof list); /* the bytes between members, too, because they are sent */
    if (H5Literate((hid_t)vf_h5_id(file), H5_INDEX_NAME, H5_ITER_INC, NULL, look_at_link, &s) < 0)
        return s.status != VF_OK ? s.status : vf_h5_refuse(file, "cannot list the file's contents");
    vf_h5_put(reply, &list, sizeof list);
    return VF_OK;
}

/* ---- in this process ---- */

vf_status list_datasets(vf_context *ctx, const char *path, vf_h5 *file, listing *out)
{
    size_t got = 0;
    vf_status status = vf_h5_ask(file, answer_list, NULL, 0, out, sizeof *out, &got, NULL);
    if (status != VF_OK)
        return status;
    if (got != sizeof *out || out->count < 0 || out->count > LISTED_MOST)
        return vf_fail(ctx, VF_ERR_INPUT, "%s: the file's contents are damaged", path);
    for (int i = 0; i < out->count; i++) {
        out->set[i].name[LISTED_NAME - 1] = '\0';
        if (out->set[i].rank > VF_H5_MAX_RANK)
            out->set[i].rank = -1;
    }
    return VF_OK;
}

const listed_set *listing_find(const listing *list, const char *name)
{
    for (int i = 0; i < list->count; i++)
        if (strcmp(list->set[i].name, name) == 0)
            return &list->set[i];
    return NULL;
}

bool listed_complex(const listed_set *set)
{
    return set && (set->kind == LISTED_COMPLEX || set->kind == LISTED_MATLAB);
}
