/* Pieces of datasets in HDF5 files. The rest of hdf5_io.h is in hdf5_io.c. */
#include "chunk_pack.h"
#include "device/arguments.h"
#include "hdf5_internal.h"

/* Makes `name` current, and checks that the piece lies inside and that numbers are of the same kind as `type`. */
static vf_status select_piece(vf_h5 *file, const char *name, vf_dtype type, const int64_t *start, const int64_t *count)
{
    vf_status status = vf_check_type(file->ctx, file->path, type);
    if (status == VF_OK)
        status = vf_h5_select(file, name);
    if (status == VF_OK && !vf_h5_same_kind(type, file->current.type))
        status = vf_fail(file->ctx, vf_h5_error(file), "%s: the dataset '%s' holds %s numbers, not %s ones", file->path,
                         name, vf_h5_same_kind(type, VF_F32) ? "complex" : "real",
                         vf_h5_same_kind(type, VF_F32) ? "real" : "complex");
    for (int d = 0; status == VF_OK && d < file->current.rank; d++) {
        int64_t size = (int64_t)file->current.dims[d];
        if (start[d] < 0 || count[d] < 1 || start[d] > size || count[d] > size - start[d])
            status = vf_fail(file->ctx, vf_h5_error(file),
                             "%s: the piece from %lld, %lld long, lies outside dimension %d of the dataset '%s' (%lld)",
                             file->path, (long long)start[d], (long long)count[d], d, name, (long long)size);
    }
    return status;
}

/* H5Dread or H5Dwrite: `in` NULL means read. */
static vf_status transfer(vf_h5 *file, vf_dtype type, const int64_t *start, const int64_t *count, const void *in,
                          void *out)
{
    const vf_h5_dataset *set = &file->current;
    hsize_t from[VF_H5_MAX_RANK], extent[VF_H5_MAX_RANK];
    for (int d = 0; d < set->rank; d++) {
        from[d] = (hsize_t)start[d];
        extent[d] = (hsize_t)count[d];
    }
    vf_status status = VF_OK;
    hid_t stored = H5Dget_type(set->id);
    hid_t element = vf_h5_memory_type(type, stored);
    hid_t where = H5Dget_space(set->id);
    hid_t memory = H5Screate_simple(set->rank, extent, NULL);
    herr_t result = -1;
    if (element >= 0 && where >= 0 && memory >= 0 &&
        (set->rank == 0 || H5Sselect_hyperslab(where, H5S_SELECT_SET, from, NULL, extent, NULL) >= 0))
        result = in ? H5Dwrite(set->id, element, memory, where, H5P_DEFAULT, in)
                    : H5Dread(set->id, element, memory, where, H5P_DEFAULT, out);
    if (result < 0)
        status = vf_h5_fail(file, vf_h5_error(file), "cannot %s the dataset '%s'", in ? "write" : "read", set->name);
    if (memory >= 0)
        H5Sclose(memory);
    if (where >= 0)
        H5Sclose(where);
    if (element >= 0)
        H5Tclose(element);
    if (stored >= 0)
        H5Tclose(stored);
    return status;
}

vf_status vf_h5_read(vf_h5 *file, const char *name, vf_dtype type, const int64_t *start, const int64_t *count,
                     void *data)
{
    vf_h5_printing before = vf_h5_enter();
    vf_status status = select_piece(file, name, type, start, count);
    if (status == VF_OK)
        status = transfer(file, type, start, count, NULL, data);
    return vf_h5_leave(file, before, status);
}

/* ---- whole chunks, compressed by all threads; HDF5 itself uses one ---- */

typedef struct chunk_target {
    vf_h5 *file;
    const int64_t *start; /* of the piece in the dataset */
} chunk_target;

static vf_status store_chunk(void *user, const int64_t *corner, const void *packed, size_t bytes)
{
    const chunk_target *to = user;
    const vf_h5_dataset *set = &to->file->current;
    hsize_t offset[VF_H5_MAX_RANK];
    for (int d = 0; d < set->rank; d++)
        offset[d] = (hsize_t)(to->start[d] + corner[d]);
    if (H5Dwrite_chunk(set->id, H5P_DEFAULT, 0, offset, bytes, packed) < 0)
        return vf_h5_fail(to->file, VF_ERR_OUTPUT, "cannot write the dataset '%s'", set->name);
    return VF_OK;
}

/* Whether the piece consists of whole chunks, of a dataset that is stored as vf_pack_chunks packs them. */
static bool whole_chunks(const vf_h5_dataset *set, vf_dtype type, const int64_t *start, const int64_t *count,
                         const void *data, vf_chunked_piece *piece)
{
    if (set->level < 1 || !set->plain || set->type != type)
        return false;
    *piece = (vf_chunked_piece){.data = data, .element = vf_dtype_bytes(type), .rank = set->rank};
    for (int d = 0; d < set->rank; d++) {
        int64_t chunk = (int64_t)set->chunk[d];
        if (start[d] % chunk != 0 || (count[d] % chunk != 0 && start[d] + count[d] != (int64_t)set->dims[d]))
            return false;
        piece->count[d] = count[d];
        piece->chunk[d] = chunk;
    }
    return true;
}

vf_status vf_h5_write(vf_h5 *file, const char *name, vf_dtype type, const int64_t *start, const int64_t *count,
                      const void *data)
{
    vf_chunked_piece piece;
    chunk_target target = {file, start};
    if (!file->output)
        return vf_fail(file->ctx, VF_ERR_OUTPUT, "%s: the file is open for reading only", file->path);
    vf_h5_printing before = vf_h5_enter();
    vf_status status = select_piece(file, name, type, start, count);
    if (status == VF_OK && whole_chunks(&file->current, type, start, count, data, &piece))
        status = vf_pack_chunks(file->ctx, file->path, &piece, file->current.level, store_chunk, &target);
    else if (status == VF_OK)
        status = transfer(file, type, start, count, data, NULL);
    return vf_h5_leave(file, before, status);
}
