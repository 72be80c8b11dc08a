/* Pieces of datasets in HDF5 files. The rest of hdf5_io.h is in hdf5_io.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "chunk_pack.h"
#include "device/arguments.h"
#include "hdf5_internal.h"
#include "voxfield/team_size.h"

/* Makes `name` current, and checks that the piece lies inside and that numbers are of the same kind as `type`. */
static vf_status select_piece(vf_h5 *file, const char *name, vf_dtype type, const int64_t *start, const int64_t *count)
{
    vf_status status = vf_check_type(file->ctx, file->path, type);
    VF_TRY(status, vf_h5_select(file, name));
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

/* ---- reading ---- */

typedef struct piece_question {
    char name[1024];
    vf_dtype type;
    int64_t start[VF_H5_MAX_RANK], count[VF_H5_MAX_RANK];
} piece_question;

typedef struct shape_answer {
    int32_t type, rank;
    int64_t dims[VF_H5_MAX_RANK];
    int64_t at; /* where its numbers lie in the file as in memory; -1: they do not */
} shape_answer;

static size_t piece_bytes(vf_dtype type, int rank, const int64_t *count)
{
    size_t bytes = vf_dtype_bytes(type);
    for (int d = 0; d < rank; d++)
        if (count[d] < 0 || __builtin_mul_overflow(bytes, (size_t)count[d], &bytes))
            return SIZE_MAX;
    return bytes;
}

static vf_status no_room(const vf_h5 *file)
{
    return vf_fail(file->ctx, VF_ERR_MEMORY, "%s: not enough memory to read the dataset '%s'", file->path,
                   file->current.name);
}

/* Cuts a piece along its slowest axes into some that can be handed over at once. */
static vf_status send_piece(vf_h5 *file, vf_dtype type, const int64_t *start, const int64_t *count, vf_reply *reply)
{
    const int rank = file->current.rank;
    const size_t bytes = piece_bytes(type, rank, count);
    int64_t part_start[VF_H5_MAX_RANK] = {0}, part_count[VF_H5_MAX_RANK] = {0};
    int axis = 0;
    if (bytes <= VF_H5_PIECE || !reply->child) {
        void *to = vf_h5_room(reply, bytes);
        vf_status status = to ? transfer(file, type, start, count, NULL, to) : no_room(file);
        if (status == VF_OK)
            vf_h5_sent(reply, bytes);
        return status;
    }
    memcpy(part_start, start, (size_t)rank * sizeof *start);
    memcpy(part_count, count, (size_t)rank * sizeof *count);
    while (count[axis] == 1)
        axis++;
    int64_t step = count[axis] / (int64_t)(bytes / VF_H5_PIECE + 1);
    step = step < 1 ? 1 : step;
    vf_status status = VF_OK;
    for (int64_t at = 0; status == VF_OK && at < count[axis]; at += step) {
        part_start[axis] = start[axis] + at;
        part_count[axis] = count[axis] - at < step ? count[axis] - at : step;
        status = send_piece(file, type, part_start, part_count, reply);
    }
    return status;
}

/* A row of chunks that no cache holds would be decompressed for each part of it: reads the whole piece at once. */
static vf_status send_whole(vf_h5 *file, vf_dtype type, const int64_t *start, const int64_t *count, vf_reply *reply)
{
    const size_t bytes = piece_bytes(type, file->current.rank, count);
    void *whole = vf_h5_more_memory(2 * (uint64_t)bytes) ? malloc(bytes) : NULL;
    vf_status status = whole ? transfer(file, type, start, count, NULL, whole) : no_room(file);
    if (status == VF_OK && !vf_h5_put(reply, whole, bytes))
        status = no_room(file);
    free(whole);
    return status;
}

static vf_status answer_piece(void *state, const void *question, vf_reply *reply)
{
    vf_h5 *file = state;
    const piece_question *q = question;
    vf_status status = select_piece(file, q->name, q->type, q->start, q->count);
    if (status != VF_OK)
        return status;
    const vf_h5_dataset *set = &file->current;
    const bool large = reply->child && set->chunk[0] > 0 &&
                       vf_h5_row_bytes(vf_dtype_bytes(set->type), set->rank, set->dims, set->chunk) > VF_H5_CACHE_MOST;
    return large ? send_whole(file, q->type, q->start, q->count, reply)
                 : send_piece(file, q->type, q->start, q->count, reply);
}

static int64_t place_in_file(const vf_h5_dataset *set)
{
    int64_t at = -1;
    hsize_t bytes = vf_dtype_bytes(set->type);
    hid_t list = set->plain ? H5Dget_create_plist(set->id) : H5I_INVALID_HID;
    for (int d = 0; d < set->rank; d++)
        bytes *= set->dims[d];
    if (list >= 0 && H5Pget_layout(list) == H5D_CONTIGUOUS && H5Dget_storage_size(set->id) == bytes) {
        const haddr_t offset = H5Dget_offset(set->id);
        at = offset == HADDR_UNDEF || offset > INT64_MAX ? -1 : (int64_t)offset;
    }
    if (list >= 0)
        H5Pclose(list);
    return at;
}

static vf_status answer_shape(void *state, const void *question, vf_reply *reply)
{
    vf_h5 *file = state;
    shape_answer shape = {0};
    vf_status status = vf_h5_select(file, question);
    if (status != VF_OK)
        return status;
    shape.type = (int32_t)file->current.type;
    shape.rank = file->current.rank;
    shape.at = place_in_file(&file->current);
    for (int d = 0; d < file->current.rank; d++)
        shape.dims[d] = (int64_t)file->current.dims[d];
    vf_h5_put(reply, &shape, sizeof shape);
    return VF_OK;
}

static bool is_valid(const shape_answer *shape)
{
    bool valid = (shape->type == VF_F32 || shape->type == VF_F64 || shape->type == VF_C64 || shape->type == VF_C128) &&
                 shape->rank >= 0 && shape->rank <= VF_H5_MAX_RANK;
    for (int d = 0; valid && d < shape->rank; d++)
        valid = shape->dims[d] >= 0;
    return valid;
}

/* Asks for the shape of a dataset, once. */
static vf_status find_shape(vf_h5 *file, const char *name, const vf_h5_shape **out)
{
    char asked[1024];
    shape_answer shape;
    size_t got = 0;
    for (vf_h5_shape *known = file->shapes; known; known = known->next)
        if (strcmp(known->name, name) == 0) {
            *out = known;
            return VF_OK;
        }
    if (!vf_h5_name(asked, sizeof asked, name))
        return vf_fail(file->ctx, VF_ERR_ARGUMENT, "%s: the name of a dataset is too long", file->path);
    vf_status status = vf_h5_ask(file, answer_shape, asked, strlen(asked) + 1, &shape, sizeof shape, &got, NULL);
    if (status == VF_OK && (got != sizeof shape || !is_valid(&shape)))
        status = vf_fail(file->ctx, VF_ERR_INPUT, "%s: the shape of the dataset '%s' is damaged", file->path, name);
    if (status != VF_OK)
        return status;
    vf_h5_shape *known = calloc(1, sizeof *known);
    if (!known || !(known->name = strdup(name))) {
        free(known);
        return vf_fail(file->ctx, VF_ERR_MEMORY, "%s: not enough memory for the dataset '%s'", file->path, name);
    }
    known->type = (vf_dtype)shape.type;
    known->rank = shape.rank;
    known->at = shape.at;
    memcpy(known->dims, shape.dims, sizeof known->dims);
    known->next = file->shapes;
    file->shapes = known;
    *out = known;
    return VF_OK;
}

vf_status vf_h5_dataset_shape(vf_h5 *file, const char *name, vf_dtype *type, int *rank, int64_t *dims)
{
    const vf_h5_shape *shape;
    vf_status status = find_shape(file, name, &shape);
    if (status != VF_OK)
        return status;
    *type = shape->type;
    *rank = shape->rank;
    memcpy(dims, shape->dims, (size_t)shape->rank * sizeof *dims);
    return VF_OK;
}

static bool read_share(int descriptor, int64_t at, size_t bytes, char *to)
{
    while (bytes > 0) {
        const ssize_t n = pread(descriptor, to, bytes, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        to += n;
        at += n;
        bytes -= (size_t)n;
    }
    return true;
}

/* Threads share a large piece: most of the time goes into memory that is used for the first time. */
static bool read_bytes(const vf_h5 *file, int64_t at, size_t bytes, char *to)
{
    const int64_t shares = (int64_t)(bytes / VF_H5_PIECE) + 1;
    int failed = 0;
#pragma omp parallel for schedule(dynamic, 1)                                                                          \
    num_threads(vf_threads_for(file->ctx, shares < 4 ? 0 : (int64_t)(bytes / 8))) reduction(|                          \
                                                                                            : failed)
    for (int64_t i = 0; i < shares; i++) {
        const size_t from = (size_t)i * VF_H5_PIECE, rest = bytes - from;
        failed |= vf_cancelled(file->ctx) || !read_share(file->sink.descriptor, at + (int64_t)from,
                                                         rest < VF_H5_PIECE ? rest : VF_H5_PIECE, to + from);
    }
    return failed == 0;
}

/* Reads numbers that lie in the file as in memory, without HDF5: that needs no other process, which would only copy
 * them. False if the piece is not of that kind. */
static bool read_plain(const vf_h5 *file, const vf_h5_shape *shape, vf_dtype type, const int64_t *start,
                       const int64_t *count, size_t bytes, char *to)
{
    int64_t at = 0, first = 0;
    int axis = 0;
    if (!file->sealed || shape->at < 0 || type != shape->type)
        return false;
    while (axis < shape->rank && count[axis] == 1)
        axis++;
    for (int d = 0; d < shape->rank; d++) {
        if (start[d] < 0 || count[d] < 1 || start[d] > shape->dims[d] || count[d] > shape->dims[d] - start[d] ||
            (d > axis && count[d] != shape->dims[d]) || __builtin_mul_overflow(at, shape->dims[d], &at) ||
            __builtin_add_overflow(at, start[d], &at))
            return false;
    }
    if (__builtin_mul_overflow(at, (int64_t)vf_dtype_bytes(type), &first) ||
        __builtin_add_overflow(first, shape->at, &first) || (uint64_t)first > file->sink.size ||
        bytes > file->sink.size - (uint64_t)first)
        return false;
    /* If that fails, the other process fails to read it, too, and says why; or the run was interrupted. */
    return read_bytes(file, first, bytes, to);
}

/* The kernel clears each page when it is first written to. The one thread that copies the other process's answers would
 * take longer for that than for copying. */
static void touch_by_all(const vf_h5 *file, char *to, size_t bytes)
{
    enum { PAGE = 4096, LARGE = 1 << 26 }; /* less is not worth several threads */
    if (bytes < LARGE || bytes == SIZE_MAX || file->inside)
        return;
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(file->ctx, (int64_t)(bytes / 8)))
    for (size_t i = 0; i < bytes; i += PAGE)
        *(volatile char *)(to + i) = 0;
}

vf_status vf_h5_read(vf_h5 *file, const char *name, vf_dtype type, const int64_t *start, const int64_t *count,
                     void *data)
{
    piece_question q = {.type = type};
    const vf_h5_shape *shape;
    size_t got = 0;
    vf_status status = vf_check_type(file->ctx, file->path, type);
    VF_TRY(status, find_shape(file, name, &shape));
    if (status != VF_OK)
        return status;
    const size_t bytes = piece_bytes(type, shape->rank, count);
    if (read_plain(file, shape, type, start, count, bytes, data))
        return VF_OK;
    touch_by_all(file, data, bytes);
    (void)vf_h5_name(q.name, sizeof q.name, name);
    memcpy(q.start, start, (size_t)shape->rank * sizeof *start);
    memcpy(q.count, count, (size_t)shape->rank * sizeof *count);
    status = vf_h5_ask(file, answer_piece, &q, sizeof q, data, bytes, &got, NULL);
    if (status == VF_OK && got != bytes)
        status = vf_fail(file->ctx, VF_ERR_INPUT, "%s: the dataset '%s' is damaged", file->path, name);
    return status;
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
    if (status == VF_OK && !file->inside && whole_chunks(&file->current, type, start, count, data, &piece))
        status = vf_pack_chunks(file->ctx, file->path, &piece, file->current.level, store_chunk, &target);
    else if (status == VF_OK)
        status = transfer(file, type, start, count, data, NULL);
    return vf_h5_leave(file, before, status);
}
