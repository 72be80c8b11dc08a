#include "voxfield/hdf5_io.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device/arguments.h"
#include "hdf5_internal.h"
#include "voxfield/foreign.h"

enum {
    REASON_SIZE = 256,
    CACHE_SLOTS = 12421, /* a prime, about a hundred times the chunks of a usual row */
    CACHE_LEAST = 16 << 20,
    CACHE_MOST = VF_H5_CACHE_MOST
};

/* ---- the lock, and HDF5's own printing ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

vf_h5_printing vf_h5_enter(void)
{
    vf_h5_printing before;
    pthread_mutex_lock(&lock);
    before.library = vf_foreign_enter("HDF5");
    H5Eget_auto2(H5E_DEFAULT, &before.print, &before.user);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    vf_h5_restrict();
    return before;
}

void vf_h5_for_program(void)
{
    const char *before = vf_foreign_enter("HDF5");
    (void)H5dont_atexit();
    vf_foreign_leave(before);
}

void vf_h5_forked(void)
{
    pthread_mutex_unlock(&lock);
}

static void unlock(vf_h5_printing before)
{
    H5Eset_auto2(H5E_DEFAULT, before.print, before.user);
    vf_foreign_leave(before.library);
    pthread_mutex_unlock(&lock);
}

vf_status vf_h5_leave(const vf_h5 *file, vf_h5_printing before, vf_status status)
{
    unlock(before);
    if (status == VF_OK && file->sink.error != 0)
        status = vf_fail(file->ctx, VF_ERR_OUTPUT, "%s: cannot write: %s", file->path, strerror(file->sink.error));
    return status;
}

typedef struct failure {
    char reason[REASON_SIZE];
    bool memory; /* there was none */
} failure;

/* The innermost entry has the reason. */
static herr_t take_reason(unsigned n, const H5E_error2_t *entry, void *user)
{
    failure *f = user;
    if (n == 0 && entry->desc)
        snprintf(f->reason, sizeof f->reason, "%s", entry->desc);
    f->memory = f->memory || (entry->desc && strstr(entry->desc, "memory alloc")) ||
                (entry->maj_num == H5E_RESOURCE && (entry->min_num == H5E_NOSPACE || entry->min_num == H5E_CANTALLOC));
    return 0;
}

vf_status vf_h5_fail(const vf_h5 *file, vf_status status, const char *format, ...)
{
    char what[REASON_SIZE];
    failure f = {0};
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    if (file->sink.error != 0)
        snprintf(f.reason, sizeof f.reason, "%s", strerror(file->sink.error));
    else
        H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_reason, &f);
    /* Without memory for its reasons, HDF5 gives none. */
    void *room = malloc(REASON_SIZE);
    f.memory = f.memory || !room;
    free(room);
    return vf_fail(file->ctx, f.memory ? VF_ERR_MEMORY : status, "%s: %s%s%s", file->path, what,
                   f.reason[0] ? ": " : "", f.reason);
}

vf_status vf_h5_error(const vf_h5 *file)
{
    return file->output ? VF_ERR_OUTPUT : VF_ERR_INPUT;
}

/* ---- files ---- */

vf_status vf_h5_close_dataset(vf_h5 *file)
{
    vf_status status = VF_OK;
    if (file->current.name && H5Dclose(file->current.id) < 0 && file->output)
        status = vf_h5_fail(file, VF_ERR_OUTPUT, "cannot write the dataset '%s'", file->current.name);
    free(file->current.name);
    file->current = (vf_h5_dataset){0};
    return status;
}

void vf_h5_release(vf_h5 *file)
{
    if (!file)
        return;
    if (file->slot && file->free_slot)
        file->free_slot(file->slot);
    if (file->id >= 0) {
        if (file->sink.error == 0)
            file->sink.error = ECANCELED; /* drop whatever is still in a cache */
        vf_h5_printing before = vf_h5_enter();
        if (file->current.name)
            H5Dclose(file->current.id);
        H5Fclose(file->id);
        unlock(before);
        free(file->current.name);
    }
    vf_sealed_stop(&file->sealed);
    for (vf_h5_shape *shape = file->shapes, *next; shape; shape = next) {
        next = shape->next;
        free(shape->name);
        free(shape);
    }
    if (file->own_descriptor)
        close(file->sink.descriptor);
    vf_output_discard(&file->output);
    free(file->view);
    free(file->path);
    free(file);
}

vf_h5 *vf_h5_allocate(vf_context *ctx, const char *path)
{
    vf_h5 *file = calloc(1, sizeof *file);
    if (file) {
        file->ctx = ctx;
        file->id = H5I_INVALID_HID;
        file->sink.descriptor = -1;
        file->path = strdup(path);
    }
    if (!file || !file->path) {
        vf_h5_release(file);
        file = NULL;
        vf_fail(ctx, VF_ERR_MEMORY, "%s: not enough memory to open the file", path);
    }
    return file;
}

vf_status vf_h5_begin_output(vf_context *ctx, const char *path, vf_h5 **out)
{
    struct stat to;
    *out = NULL;
    vf_h5 *file = vf_h5_allocate(ctx, path);
    if (!file)
        return VF_ERR_MEMORY;
    vf_status status = vf_output_open(ctx, path, &file->output);
    if (status == VF_OK && vf_output_direct(file->output) &&
        (fstat(fileno(vf_output_stream(file->output)), &to) != 0 || !S_ISCHR(to.st_mode))) /* /dev/null works */
        status = vf_fail(ctx, VF_ERR_OUTPUT, "%s: cannot write HDF5 to a pipe or an open descriptor; give a file name",
                         path);
    if (status == VF_OK) {
        file->sink.output = file->output;
        file->sink.descriptor = fileno(vf_output_stream(file->output));
        *out = file;
        file = NULL;
    }
    vf_h5_release(file);
    return status;
}

vf_status vf_h5_create(vf_context *ctx, const char *path, vf_h5 **out)
{
    vf_h5 *file;
    *out = NULL;
    vf_status status = vf_h5_begin_output(ctx, path, &file);
    if (status != VF_OK)
        return status;
    vf_h5_printing before = vf_h5_enter();
    file->id = vf_h5_sink_create(&file->sink);
    /* Flushes, so that a full disk is noticed now, not after the work. */
    if (file->id < 0 || H5Fflush(file->id, H5F_SCOPE_LOCAL) < 0)
        status = vf_h5_fail(file, VF_ERR_OUTPUT, "cannot create the HDF5 file");
    status = vf_h5_leave(file, before, status);
    if (status == VF_OK)
        *out = file;
    else
        vf_h5_release(file);
    return status;
}

vf_status vf_h5_call(vf_h5 *file, vf_h5_use use, void *user)
{
    if (!file->output)
        return vf_fail(file->ctx, VF_ERR_INPUT, "%s: the file is open for reading only", file->path);
    vf_h5_printing before = vf_h5_enter();
    vf_status status = VF_OK;
    const char *failed = use(user, (int64_t)file->id);
    if (failed)
        status = vf_h5_fail(file, vf_h5_error(file), "cannot %s", failed);
    return vf_h5_leave(file, before, status);
}

vf_status vf_h5_commit(vf_h5 **file_pointer)
{
    vf_h5 *file = *file_pointer;
    *file_pointer = NULL;
    vf_h5_printing before = vf_h5_enter();
    vf_status status = vf_h5_close_dataset(file);
    if (H5Fclose(file->id) < 0 && status == VF_OK)
        status = vf_h5_fail(file, VF_ERR_OUTPUT, "cannot finish the HDF5 file");
    file->id = H5I_INVALID_HID;
    status = vf_h5_leave(file, before, status);
    VF_TRY(status, vf_output_commit(&file->output));
    vf_h5_release(file);
    return status;
}

void vf_h5_close(vf_h5 **file)
{
    vf_h5_release(*file);
    *file = NULL;
}

/* ---- datasets ---- */

static bool is_memory_type(hid_t stored, vf_dtype type)
{
    hid_t memory = vf_h5_memory_type(type, stored);
    bool equal = memory >= 0 && H5Tequal(stored, memory) > 0;
    if (memory >= 0)
        H5Tclose(memory);
    return equal;
}

/* Finds out how the dataset is stored. False if HDF5 cannot tell. */
static bool describe_storage(vf_h5_dataset *set)
{
    hid_t list = H5Dget_create_plist(set->id);
    if (list < 0)
        return false;
    set->level = -1;
    if (H5Pget_layout(list) == H5D_CHUNKED && H5Pget_chunk(list, set->rank, set->chunk) == set->rank &&
        H5Pget_nfilters(list) == 2) {
        unsigned flags, level = 0;
        size_t values = 0, one = 1;
        bool shuffled = H5Pget_filter2(list, 0, &flags, &values, NULL, 0, NULL, NULL) == H5Z_FILTER_SHUFFLE;
        bool deflated = H5Pget_filter2(list, 1, &flags, &one, &level, 0, NULL, NULL) == H5Z_FILTER_DEFLATE;
        if (shuffled && deflated)
            set->level = (int)level;
    }
    H5Pclose(list);
    return true;
}

vf_status vf_h5_select(vf_h5 *file, const char *name)
{
    vf_h5_dataset *set = &file->current;
    if (set->name && strcmp(set->name, name) == 0)
        return VF_OK;
    vf_status status = vf_h5_close_dataset(file);
    if (status != VF_OK)
        return status;
    hid_t type = H5I_INVALID_HID, space = H5I_INVALID_HID;
    int64_t id = H5I_INVALID_HID;
    status = vf_h5_dataset_open(file, name, &id);
    if (status != VF_OK)
        return status;
    *set = (vf_h5_dataset){.id = (hid_t)id, .name = strdup(name)};
    if (!set->name) {
        H5Dclose(set->id);
        return vf_fail(file->ctx, VF_ERR_MEMORY, "%s: not enough memory to open the dataset '%s'", file->path, name);
    }
    type = H5Dget_type(set->id);
    space = H5Dget_space(set->id);
    set->rank = space < 0 ? -1 : H5Sget_simple_extent_ndims(space);
    if (type < 0 || set->rank < 0)
        status = vf_h5_fail(file, vf_h5_error(file), "cannot read the type and shape of the dataset '%s'", name);
    else if (!vf_h5_closest_type(type, &set->type))
        status = vf_fail(file->ctx, VF_ERR_INPUT, "%s: the dataset '%s' does not hold numbers", file->path, name);
    else if (set->rank > VF_H5_MAX_RANK)
        status = vf_fail(file->ctx, VF_ERR_INPUT, "%s: the dataset '%s' has %d dimensions; at most %d are supported",
                         file->path, name, set->rank, VF_H5_MAX_RANK);
    else if (H5Sget_simple_extent_dims(space, set->dims, NULL) < 0 || !describe_storage(set))
        status = vf_h5_fail(file, vf_h5_error(file), "cannot read the shape of the dataset '%s'", name);
    set->plain = status == VF_OK && is_memory_type(type, set->type);
    if (space >= 0)
        H5Sclose(space);
    if (type >= 0)
        H5Tclose(type);
    if (status != VF_OK)
        (void)vf_h5_close_dataset(file);
    return status;
}

hid_t vf_h5_access(size_t element, int rank, const hsize_t *dims, const hsize_t *chunk)
{
    const double bytes = vf_h5_row_bytes(element, rank, dims, chunk);
    size_t room = bytes < CACHE_LEAST ? CACHE_LEAST : bytes > CACHE_MOST ? CACHE_MOST : (size_t)bytes;
    hid_t list = H5Pcreate(H5P_DATASET_ACCESS);
    H5Pset_chunk_cache(list, CACHE_SLOTS, room, H5D_CHUNK_CACHE_W0_DEFAULT);
    return list;
}

double vf_h5_row_bytes(size_t element, int rank, const hsize_t *dims, const hsize_t *chunk)
{
    double bytes = (double)element * (double)chunk[0];
    for (int d = 1; d < rank; d++)
        bytes *= ceil((double)dims[d] / (double)chunk[d]) * (double)chunk[d];
    return bytes;
}

vf_status vf_h5_dataset_create(vf_h5 *file, const char *name, vf_dtype type, int rank, const int64_t *dims,
                               const int64_t *chunk, int level)
{
    hsize_t extent[VF_H5_MAX_RANK] = {0}, piece[VF_H5_MAX_RANK] = {0};
    vf_status status = vf_check_type(file->ctx, file->path, type);
    if (status != VF_OK)
        return status;
    bool valid = file->output && rank >= 1 && rank <= VF_H5_MAX_RANK && level >= 0 && level <= (chunk ? 9 : 0);
    for (int d = 0; valid && d < rank; d++) {
        piece[d] = chunk ? (hsize_t)chunk[d] : 0;
        extent[d] = (hsize_t)dims[d];
        valid = dims[d] >= 1 && (!chunk || (chunk[d] >= 1 && chunk[d] <= dims[d]));
    }
    if (!valid)
        return vf_fail(file->ctx, VF_ERR_OUTPUT, "%s: the dataset '%s' cannot have this shape, chunk or level",
                       file->path, name);
    vf_h5_printing before = vf_h5_enter();
    hid_t space = H5Screate_simple(rank, extent, NULL);
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    hid_t access = chunk ? vf_h5_access(vf_dtype_bytes(type), rank, extent, piece) : H5P_DEFAULT;
    hid_t link = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_create_intermediate_group(link, 1);
    H5Pset_obj_track_times(creation, false); /* the same content gives the same bytes */
    bool ready = !chunk || H5Pset_chunk(creation, rank, piece) >= 0;
    if (level > 0)
        ready = ready && H5Pset_shuffle(creation) >= 0 && H5Pset_deflate(creation, (unsigned)level) >= 0;
    hid_t stored = vf_h5_file_type(type);
    hid_t id = ready ? H5Dcreate2(file->id, name, stored, space, link, creation, access) : H5I_INVALID_HID;
    if (id < 0) {
        status = vf_h5_fail(file, VF_ERR_OUTPUT, "cannot create the dataset '%s'", name);
    } else {
        status = vf_h5_close_dataset(file);
        file->current =
            (vf_h5_dataset){.id = id, .name = strdup(name), .type = type, .rank = rank, .level = level ? level : -1};
        file->current.plain = is_memory_type(stored, type);
        memcpy(file->current.dims, extent, sizeof extent);
        memcpy(file->current.chunk, piece, sizeof piece);
        if (!file->current.name) {
            H5Dclose(id);
            status = vf_fail(file->ctx, VF_ERR_MEMORY, "%s: not enough memory for the dataset '%s'", file->path, name);
        }
    }
    if (stored >= 0)
        H5Tclose(stored);
    H5Pclose(link);
    if (chunk)
        H5Pclose(access);
    H5Pclose(creation);
    H5Sclose(space);
    return vf_h5_leave(file, before, status);
}
