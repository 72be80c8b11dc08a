/* Reads acquisitions of an HDF5 dataset: headers alone, and contents in batches. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "scan_ismrmrd.h"
#include "voxfield/foreign.h"

enum { REASON_SIZE = 160, ALIGNMENT = 16 };

/* Memory for HDF5's arrays of variable length, limited to the size according to the headers. */
typedef struct arena {
    char *memory;
    size_t size, used, limit;
} arena;

struct ismrmrd_file {
    const char *path;
    hid_t dataset, space, head_type, body_type, transfer;
    int64_t acquisitions;
    bool has_trajectory;
    arena arena;
    hvl_t *lengths; /* [batch][2] traj, data */
    int64_t batch;
};

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

/* ---- types ---- */

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

vf_status ismrmrd_failure(vf_context *ctx, const char *path, const char *what)
{
    char reason[REASON_SIZE];
    return vf_fail(ctx, VF_ERR_INPUT, "%s: %s: %s", path, what, ismrmrd_reason(reason, sizeof reason));
}

static vf_status check_type(vf_context *ctx, ismrmrd_file *file)
{
    hid_t type = H5Dget_type(file->dataset), data = H5I_INVALID_HID, head = H5I_INVALID_HID, base = H5I_INVALID_HID;
    vf_status status = VF_OK;
    if (type < 0 || H5Tget_class(type) != H5T_COMPOUND || !has_member(type, "head", H5T_COMPOUND) ||
        !has_member(type, "data", H5T_VLEN)) {
        status = vf_fail(ctx, VF_ERR_INPUT, "%s: 'data' is not a dataset of acquisitions with members head and data",
                         file->path);
        goto done;
    }
    file->has_trajectory = has_member(type, "traj", H5T_VLEN);
    head = H5Tget_member_type(type, (unsigned)H5Tget_member_index(type, "head"));
    data = H5Tget_member_type(type, (unsigned)H5Tget_member_index(type, "data"));
    base = data >= 0 ? H5Tget_super(data) : H5I_INVALID_HID;
    static const char *const needed[] = {"flags", "number_of_samples", "active_channels", "idx"};
    for (int i = 0; i < 4; i++)
        if (status == VF_OK && H5Tget_member_index(head, needed[i]) < 0)
            status = vf_fail(ctx, VF_ERR_INPUT, "%s: member '%s' is missing in the headers of acquisitions", file->path,
                             needed[i]);
    if (status == VF_OK && H5Tget_class(base) != H5T_FLOAT)
        status = vf_fail(ctx, VF_ERR_INPUT, "%s: the data of acquisitions are not floats", file->path);
done:
    H5Tclose(base);
    H5Tclose(data);
    H5Tclose(head);
    H5Tclose(type);
    return status;
}

/* ---- opening ---- */

vf_status ismrmrd_file_open(vf_context *ctx, const char *path, hid_t dataset, ismrmrd_file **out)
{
    hsize_t count = 0;
    ismrmrd_file *file;
    vf_status status = scan_allocate(ctx, path, "acquisitions", 1, sizeof *file, &file);
    *out = file;
    if (status != VF_OK)
        return status;
    *file = (ismrmrd_file){.path = path, .dataset = dataset, .space = H5Dget_space(dataset)};
    file->transfer = H5Pcreate(H5P_DATASET_XFER);
    status = check_type(ctx, file);
    if (status != VF_OK)
        return status;
    const char *before = vf_foreign_enter("HDF5");
    file->head_type = head_type();
    file->body_type = body_type(file->has_trajectory);
    vf_foreign_leave(before);
    if (H5Sget_simple_extent_ndims(file->space) != 1 || H5Sget_simple_extent_dims(file->space, &count, NULL) != 1)
        return vf_fail(ctx, VF_ERR_INPUT, "%s: 'data' is not a list of acquisitions", path);
    if (file->head_type < 0 || file->body_type < 0 ||
        H5Pset_vlen_mem_manager(file->transfer, arena_allocate, &file->arena, arena_free, NULL) < 0)
        return ismrmrd_failure(ctx, path, "cannot prepare to read acquisitions");
    if (count < 1 || count > INT32_MAX)
        return vf_fail(ctx, VF_ERR_INPUT, "%s: %" PRIu64 " acquisitions; expected 1 to 2^31 - 1", path,
                       (uint64_t)count);
    file->acquisitions = (int64_t)count;
    return VF_OK;
}

void ismrmrd_file_close(ismrmrd_file *file)
{
    if (!file)
        return;
    if (file->head_type > 0)
        H5Tclose(file->head_type);
    if (file->body_type > 0)
        H5Tclose(file->body_type);
    if (file->space > 0)
        H5Sclose(file->space);
    if (file->transfer > 0)
        H5Pclose(file->transfer);
    free(file->arena.memory);
    free(file->lengths);
    free(file);
}

/* ---- reading ---- */

static bool read_range(const ismrmrd_file *file, hid_t type, int64_t first, int64_t count, void *out)
{
    hsize_t start = (hsize_t)first, n = (hsize_t)count;
    const char *before = vf_foreign_enter("HDF5");
    hid_t memory = H5Screate_simple(1, &n, NULL);
    bool good = memory >= 0 && H5Sselect_hyperslab(file->space, H5S_SELECT_SET, &start, NULL, &n, NULL) >= 0 &&
                H5Dread(file->dataset, type, memory, file->space, file->transfer, out) >= 0;
    H5Sclose(memory);
    vf_foreign_leave(before);
    return good;
}

static vf_status range_failure(vf_context *ctx, const ismrmrd_file *file, int64_t first, int64_t count)
{
    char what[120];
    if (count == 1)
        snprintf(what, sizeof what, "cannot read acquisition %" PRId64 ", or it has more data than its header says",
                 first);
    else
        snprintf(what, sizeof what, "cannot read acquisitions %" PRId64 " to %" PRId64, first, first + count - 1);
    return ismrmrd_failure(ctx, file->path, what);
}

static vf_status read_heads(vf_context *ctx, void *user, int64_t first, int64_t count, ismrmrd_acquisition_header *out)
{
    const ismrmrd_file *file = user;
    return read_range(file, file->head_type, first, count, out) ? VF_OK : range_failure(ctx, file, first, count);
}

static vf_status make_room(vf_context *ctx, ismrmrd_file *file, int64_t count, size_t bytes)
{
    vf_status status = VF_OK;
    if (bytes > file->arena.size) {
        free(file->arena.memory);
        file->arena = (arena){0};
        status = scan_allocate(ctx, file->path, "a batch of acquisitions", (int64_t)bytes, 1, &file->arena.memory);
        file->arena.size = status == VF_OK ? bytes : 0;
    }
    if (status == VF_OK && count > file->batch) {
        free(file->lengths);
        status =
            scan_allocate(ctx, file->path, "a batch of acquisitions", 2 * count, sizeof *file->lengths, &file->lengths);
        file->batch = status == VF_OK ? count : 0;
    }
    file->arena.used = 0;
    file->arena.limit = bytes;
    return status;
}

static vf_status read_bodies(vf_context *ctx, void *user, int64_t first, int64_t count, size_t bytes, ismrmrd_body *out)
{
    ismrmrd_file *file = user;
    vf_status status = make_room(ctx, file, count, bytes);
    if (status != VF_OK)
        return status;
    memset(file->lengths, 0, (size_t)count * 2 * sizeof *file->lengths);
    if (!read_range(file, file->body_type, first, count, file->lengths))
        return range_failure(ctx, file, first, count);
    for (int64_t i = 0; i < count; i++) {
        const hvl_t *traj = &file->lengths[2 * i], *data = traj + 1;
        out[i] = (ismrmrd_body){traj->p, data->p, (int64_t)traj->len, (int64_t)data->len};
    }
    return VF_OK;
}

void ismrmrd_file_source(ismrmrd_file *file, ismrmrd_source *source)
{
    *source = (ismrmrd_source){file->path, file, file->acquisitions, read_heads, read_bodies};
}
