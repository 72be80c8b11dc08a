/* Reads acquisitions of an HDF5 dataset: headers alone, and contents in batches. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scan_ismrmrd_source.h"

enum { ALIGNMENT = 16, MOST_AXES = 4 };

/* ---- in the process that reads the file ---- */

/* Memory for HDF5's arrays of variable length, limited to the size according to the headers. */
typedef struct arena {
    char *memory;
    size_t used, limit;
} arena;

/* The open dataset, kept between questions. */
typedef struct acquisitions {
    hid_t dataset, space, head_type, body_type, transfer;
    int axes; /* of the dataset */
    arena arena;
    hvl_t *lengths; /* [batch][2] traj, data */
    int64_t batch;
} acquisitions;

typedef struct acquisitions_answer {
    uint64_t count;
    int32_t has_trajectory;
} acquisitions_answer;

typedef struct range_question {
    int64_t first, count;
    uint64_t bytes; /* of the bodies according to their headers */
} range_question;

/* Where a body is in the reply, in bytes from its beginning, and its numbers of floats. The arrays follow after the
 * places of all bodies. */
typedef struct body_place {
    int64_t traj, traj_floats, data, data_floats;
} body_place;

static void *arena_allocate(size_t size, void *user)
{
    arena *a = user;
    size_t rounded = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (rounded < size || rounded > a->limit - a->used)
        return NULL;
    void *memory = a->memory + a->used;
    a->used += rounded;
    return memory;
}

static void arena_free(void *memory, void *user)
{
    (void)memory, (void)user; /* freed all at once with the next batch */
}

static bool has_member(hid_t type, const char *name, H5T_class_t kind)
{
    int index = H5Tget_member_index(type, name);
    return index >= 0 && H5Tget_member_class(type, (unsigned)index) == kind;
}

static hid_t head_type(void)
{
    hid_t head = ismrmrd_acquisition_header_memory_type();
    hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(ismrmrd_acquisition_header));
    if (head < 0 || type < 0 || H5Tinsert(type, "head", 0, head) < 0) {
        H5Tclose(type);
        type = H5I_INVALID_HID;
    }
    H5Tclose(head);
    return type;
}

static hid_t body_type(bool has_trajectory)
{
    hid_t floats = H5Tvlen_create(H5T_NATIVE_FLOAT);
    hid_t type = H5Tcreate(H5T_COMPOUND, 2 * sizeof(hvl_t));
    bool good = floats >= 0 && type >= 0 && H5Tinsert(type, "data", sizeof(hvl_t), floats) >= 0 &&
                (!has_trajectory || H5Tinsert(type, "traj", 0, floats) >= 0);
    if (!good) {
        H5Tclose(type);
        type = H5I_INVALID_HID;
    }
    H5Tclose(floats);
    return type;
}

static vf_status check_type(void *file, hid_t dataset, bool *has_trajectory)
{
    hid_t type = H5Dget_type(dataset), data = H5I_INVALID_HID, head = H5I_INVALID_HID, base = H5I_INVALID_HID;
    vf_status status = VF_OK;
    if (type < 0 || H5Tget_class(type) != H5T_COMPOUND || !has_member(type, "head", H5T_COMPOUND) ||
        !has_member(type, "data", H5T_VLEN)) {
        status = vf_h5_refuse(file, "'data' is not a dataset of acquisitions with members head and data");
        goto done;
    }
    *has_trajectory = has_member(type, "traj", H5T_VLEN);
    head = H5Tget_member_type(type, (unsigned)H5Tget_member_index(type, "head"));
    data = H5Tget_member_type(type, (unsigned)H5Tget_member_index(type, "data"));
    base = data >= 0 ? H5Tget_super(data) : H5I_INVALID_HID;
    static const char *const needed[] = {"flags", "number_of_samples", "active_channels", "idx"};
    for (int i = 0; i < 4; i++)
        if (status == VF_OK && H5Tget_member_index(head, needed[i]) < 0)
            status = vf_h5_refuse(file, "member '%s' is missing in the headers of acquisitions", needed[i]);
    if (status == VF_OK && H5Tget_class(base) != H5T_FLOAT)
        status = vf_h5_refuse(file, "the data of acquisitions are not floats");
done:
    H5Tclose(base);
    H5Tclose(data);
    H5Tclose(head);
    H5Tclose(type);
    return status;
}

static void close_acquisitions(void *kept)
{
    acquisitions *a = kept;
    if (a->head_type > 0)
        H5Tclose(a->head_type);
    if (a->body_type > 0)
        H5Tclose(a->body_type);
    if (a->space > 0)
        H5Sclose(a->space);
    if (a->transfer > 0)
        H5Pclose(a->transfer);
    if (a->dataset > 0)
        H5Dclose(a->dataset);
    free(a->lengths);
    free(a);
}

/* Whether the dataset is a list. Before version 1.0, the library of ISMRMRD wrote lists with a second axis of length 1. */
static bool is_list(acquisitions *a, hsize_t *count)
{
    hsize_t counts[MOST_AXES];
    const int axes = H5Sget_simple_extent_ndims(a->space);
    bool list = axes >= 1 && axes <= MOST_AXES && H5Sget_simple_extent_dims(a->space, counts, NULL) == axes;
    for (int i = 1; list && i < axes; i++)
        list = counts[i] == 1;
    a->axes = axes;
    *count = list ? counts[0] : 0;
    return list;
}

/* `question`: the group. */
static vf_status answer_open(void *file, const void *question, vf_reply *reply)
{
    char name[ISMRMRD_NAME + 8];
    int64_t dataset;
    hsize_t count = 0;
    bool has_trajectory = false;
    void **slot = vf_h5_slot(file, close_acquisitions);
    snprintf(name, sizeof name, "%s/data", (const char *)question);
    vf_status status = vf_h5_dataset_open(file, name, &dataset);
    if (status != VF_OK)
        return status;
    acquisitions *a = calloc(1, sizeof *a);
    if (!a) {
        H5Dclose((hid_t)dataset);
        return vf_h5_refuse(file, "not enough memory to read acquisitions");
    }
    *slot = a;
    a->dataset = (hid_t)dataset;
    a->space = H5Dget_space(a->dataset);
    a->transfer = H5Pcreate(H5P_DATASET_XFER);
    status = check_type(file, a->dataset, &has_trajectory);
    if (status != VF_OK)
        return status;
    a->head_type = head_type();
    a->body_type = body_type(has_trajectory);
    if (!is_list(a, &count))
        return vf_h5_refuse(file, "'data' is not a list of acquisitions");
    if (a->head_type < 0 || a->body_type < 0 ||
        H5Pset_vlen_mem_manager(a->transfer, arena_allocate, &a->arena, arena_free, NULL) < 0)
        return vf_h5_refuse(file, "cannot prepare to read acquisitions");
    const acquisitions_answer answer = {count, has_trajectory};
    vf_h5_put(reply, &answer, sizeof answer);
    return VF_OK;
}

static bool read_range(const acquisitions *a, hid_t type, int64_t first, int64_t count, void *out)
{
    const hsize_t start[MOST_AXES] = {(hsize_t)first}, n[MOST_AXES] = {(hsize_t)count, 1, 1, 1};
    hid_t memory = H5Screate_simple(a->axes, n, NULL);
    bool good = memory >= 0 && H5Sselect_hyperslab(a->space, H5S_SELECT_SET, start, NULL, n, NULL) >= 0 &&
                H5Dread(a->dataset, type, memory, a->space, a->transfer, out) >= 0;
    H5Sclose(memory);
    return good;
}

static vf_status range_failure(void *file, const range_question *q)
{
    if (q->count == 1)
        return vf_h5_refuse(file, "cannot read acquisition %" PRId64 ", or it has more data than its header says",
                            q->first);
    return vf_h5_refuse(file, "cannot read acquisitions %" PRId64 " to %" PRId64, q->first, q->first + q->count - 1);
}

static vf_status answer_heads(void *file, const void *question, vf_reply *reply)
{
    const range_question *q = question;
    const acquisitions *a = *vf_h5_slot(file, close_acquisitions);
    const size_t bytes = (size_t)q->count * sizeof(ismrmrd_acquisition_header);
    void *heads = vf_h5_room(reply, bytes);
    if (heads)
        memset(heads, 0, bytes); /* members missing in the file are 0 */
    if (!heads || !read_range(a, a->head_type, q->first, q->count, heads))
        return range_failure(file, q);
    vf_h5_sent(reply, bytes);
    return VF_OK;
}

static bool make_lengths(acquisitions *a, int64_t count)
{
    if (count > a->batch) {
        free(a->lengths);
        a->lengths = malloc((size_t)count * 2 * sizeof *a->lengths);
        a->batch = a->lengths ? count : 0;
    }
    if (a->lengths)
        memset(a->lengths, 0, (size_t)count * 2 * sizeof *a->lengths);
    return a->lengths;
}

/* HDF5 puts the arrays where the reply goes, at once if it is one piece. */
static vf_status answer_bodies(void *file, const void *question, vf_reply *reply)
{
    const range_question *q = question;
    acquisitions *a = *vf_h5_slot(file, close_acquisitions);
    const size_t places = (size_t)q->count * sizeof(body_place), bytes = places + q->bytes;
    const bool small = bytes <= VF_H5_PIECE;
    char *large = small || !vf_h5_more_memory(2 * (uint64_t)bytes) ? NULL : malloc(bytes);
    char *whole = small ? vf_h5_room(reply, bytes) : large;
    if (!whole || !make_lengths(a, q->count)) {
        free(large);
        return vf_h5_refuse(file, "not enough memory to read acquisitions");
    }
    a->arena = (arena){.memory = whole + places, .limit = q->bytes};
    const bool read = read_range(a, a->body_type, q->first, q->count, a->lengths);
    for (int64_t i = 0; read && i < q->count; i++) {
        const hvl_t *traj = &a->lengths[2 * i], *data = traj + 1;
        ((body_place *)whole)[i] = (body_place){.traj = traj->len ? (char *)traj->p - whole : 0,
                                                .traj_floats = (int64_t)traj->len,
                                                .data = data->len ? (char *)data->p - whole : 0,
                                                .data_floats = (int64_t)data->len};
    }
    bool sent = read;
    if (read && small)
        vf_h5_sent(reply, places + a->arena.used);
    else if (read)
        sent = vf_h5_put(reply, large, places + a->arena.used);
    free(large);
    return sent ? VF_OK : range_failure(file, q);
}

/* ---- in this process ---- */

typedef struct open_file {
    const char *path;
    vf_h5 *h5;
    char *memory; /* for a reply that is more than a piece */
    size_t size;
} open_file;

static vf_status damaged(vf_context *ctx, const open_file *file, int64_t acquisition)
{
    return vf_fail(ctx, VF_ERR_INPUT, "%s: acquisition %" PRId64 " is damaged", file->path, acquisition);
}

static vf_status read_heads(vf_context *ctx, void *user, int64_t first, int64_t count, ismrmrd_acquisition_header *out)
{
    const open_file *file = user;
    const range_question q = {.first = first, .count = count};
    size_t got = 0;
    const size_t bytes = (size_t)count * sizeof *out;
    vf_status status = vf_h5_ask(file->h5, answer_heads, &q, sizeof q, out, bytes, &got, NULL);
    return status == VF_OK && got != bytes ? damaged(ctx, file, first) : status;
}

/* Takes an array from the reply. The other process may be broken, so nothing it says about places is believed. */
static bool take(const char *reply, size_t bytes, int64_t at, int64_t floats, const float **out)
{
    *out = NULL;
    if (floats == 0)
        return true;
    if (at < 0 || floats < 0 || at % (int64_t)sizeof(float) != 0 || (size_t)at > bytes ||
        (size_t)floats > (bytes - (size_t)at) / sizeof(float))
        return false;
    *out = (const float *)(const void *)(reply + at);
    return true;
}

static vf_status make_room(vf_context *ctx, open_file *file, size_t bytes)
{
    if (bytes <= file->size)
        return VF_OK;
    free(file->memory);
    file->memory = NULL;
    vf_status status = scan_allocate(ctx, file->path, "a batch of acquisitions", (int64_t)bytes, 1, &file->memory);
    file->size = status == VF_OK ? bytes : 0;
    return status;
}

/* No array is longer than the file, whose floats may have half the size: a header that says more is damaged. */
static range_question bodies_question(const open_file *file, int64_t first, int64_t count, size_t bytes)
{
    const size_t stored = 2 * (size_t)vf_h5_bytes(file->h5) + 2 * (size_t)count * ALIGNMENT;
    return (range_question){.first = first, .count = count, .bytes = bytes < stored ? bytes : stored};
}

static size_t most_of_reply(const range_question *q)
{
    return q->bytes + (size_t)q->count * sizeof(body_place);
}

static void read_bodies_ahead(void *user, int64_t first, int64_t count, size_t bytes)
{
    const open_file *file = user;
    const range_question q = bodies_question(file, first, count, bytes);
    vf_h5_ahead(file->h5, answer_bodies, &q, sizeof q, most_of_reply(&q));
}

static vf_status read_bodies(vf_context *ctx, void *user, int64_t first, int64_t count, size_t bytes, ismrmrd_body *out)
{
    open_file *file = user;
    const range_question q = bodies_question(file, first, count, bytes);
    const size_t most = most_of_reply(&q);
    const void *reply = NULL;
    size_t got = 0;
    vf_status status = most <= VF_H5_PIECE ? VF_OK : make_room(ctx, file, most);
    VF_TRY(status, vf_h5_ask(file->h5, answer_bodies, &q, sizeof q, most <= VF_H5_PIECE ? NULL : file->memory, most,
                             &got, &reply));
    if (status != VF_OK)
        return status;
    if (most > VF_H5_PIECE)
        reply = file->memory;
    if (got < (size_t)count * sizeof(body_place))
        return damaged(ctx, file, first);
    for (int64_t i = 0; i < count; i++) {
        body_place place;
        memcpy(&place, (const char *)reply + (size_t)i * sizeof place, sizeof place);
        out[i] = (ismrmrd_body){.traj_floats = place.traj_floats, .data_floats = place.data_floats};
        if (!take(reply, got, place.traj, place.traj_floats, &out[i].traj) ||
            !take(reply, got, place.data, place.data_floats, &out[i].data))
            return damaged(ctx, file, first + i);
    }
    return VF_OK;
}

vf_status ismrmrd_file_open(const ismrmrd_group *group, ismrmrd_source *out)
{
    acquisitions_answer answer = {0};
    size_t got = 0;
    open_file *file;
    *out = (ismrmrd_source){.path = group->place};
    vf_status status =
        vf_h5_ask(group->file, answer_open, group->name, strlen(group->name) + 1, &answer, sizeof answer, &got, NULL);
    if (status == VF_OK && (got != sizeof answer || answer.count < 1 || answer.count > INT32_MAX))
        status = vf_fail(group->ctx, VF_ERR_INPUT, "%s: %" PRIu64 " acquisitions; expected 1 to 2^31 - 1", out->path,
                         answer.count);
    VF_TRY(status, SCAN_NEW(group->ctx, out->path, "acquisitions", 1, file));
    if (status != VF_OK)
        return status;
    *file = (open_file){.path = out->path, .h5 = group->file};
    *out = (ismrmrd_source){.path = out->path,
                            .user = file,
                            .acquisitions = (int64_t)answer.count,
                            .stored = vf_h5_bytes(file->h5),
                            .heads = read_heads,
                            .bodies = read_bodies,
                            .ahead = read_bodies_ahead};
    return VF_OK;
}

void ismrmrd_file_close(ismrmrd_source *source)
{
    open_file *file = source->user;
    if (file)
        free(file->memory);
    free(file);
}
