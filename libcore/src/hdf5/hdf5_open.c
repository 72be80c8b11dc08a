/* Opens HDF5 files to read or to extend, in a process without rights where there is one, and asks it questions. The
 * rest of hdf5_io.h is in hdf5_io.c. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hdf5_internal.h"

/* A cache of chunks (VF_H5_CACHE_MOST), and more than the rest of HDF5 needs. */
static const uint64_t USUAL_MEMORY = (uint64_t)640 << 20;
/* Of processor time: far more than the slowest file needs, compressed or in small pieces. */
enum { LEAST_SECONDS = 3, BYTES_PER_SECOND = 1 << 18 };

/* ---- questions ---- */

vf_status vf_h5_ask(vf_h5 *file, vf_h5_answer answer, const void *question, size_t bytes, void *reply, size_t most,
                    size_t *got, const void **view)
{
    vf_status status = VF_OK;
    *got = 0;
    vf_h5_printing before = vf_h5_enter();
    if (file->sealed) {
        status = vf_sealed_ask(file->sealed, answer, question, bytes, reply, most, got, view);
    } else {
        if (!reply && most > 0 && !file->view)
            file->view = malloc(VF_H5_PIECE);
        if (!reply && most > 0)
            *view = file->view;
        vf_reply here = {.memory = reply ? reply : file->view, .most = most};
        if (here.memory || most == 0)
            status = answer(file, question, &here);
        else
            status = vf_fail(file->ctx, VF_ERR_MEMORY, "%s: not enough memory to read the file", file->path);
        *got = here.used;
    }
    return vf_h5_leave(file, before, status);
}

void vf_h5_ahead(vf_h5 *file, vf_h5_answer answer, const void *question, size_t bytes, size_t most)
{
    if (file->sealed)
        vf_sealed_ahead(file->sealed, answer, question, bytes, most);
}

void *vf_h5_room(vf_reply *reply, size_t bytes)
{
    return vf_reply_room(reply, bytes);
}

void vf_h5_sent(vf_reply *reply, size_t bytes)
{
    vf_reply_sent(reply, bytes);
}

bool vf_h5_put(vf_reply *reply, const void *data, size_t bytes)
{
    return vf_reply_put(reply, data, bytes);
}

int64_t vf_h5_id(void *file)
{
    return (int64_t)((vf_h5 *)file)->id;
}

void **vf_h5_slot(void *file, void (*release)(void *kept))
{
    vf_h5 *f = file;
    f->free_slot = release;
    return &f->slot;
}

bool vf_h5_more_memory(uint64_t bytes)
{
    return vf_sealed_more_memory(bytes);
}

int64_t vf_h5_bytes(const vf_h5 *file)
{
    return (int64_t)file->sink.size;
}

bool vf_h5_name(char *to, size_t size, const char *name)
{
    const size_t length = strlen(name);
    if (length < size)
        memcpy(to, name, length + 1);
    return length < size;
}

/* ---- files to read ---- */

/* HDF5's signature may be at 0, 512, 1024, 2048, ... */
static bool has_signature(int descriptor, off_t bytes)
{
    static const char signature[] = "\211HDF\r\n\032\n";
    char found[sizeof signature - 1];
    for (off_t at = 0; at + (off_t)sizeof found <= bytes; at = at ? 2 * at : 512)
        if (pread(descriptor, found, sizeof found, at) == (ssize_t)sizeof found &&
            memcmp(found, signature, sizeof found) == 0)
            return true;
    return false;
}

/* Opens the file's descriptor, without HDF5. */
static vf_status open_descriptor(vf_h5 *file)
{
    struct stat about;
    const int descriptor = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* never waits for a pipe's writer */
    if (descriptor < 0 || fstat(descriptor, &about) != 0) {
        const int error = errno;
        if (descriptor >= 0)
            close(descriptor);
        return vf_fail(file->ctx, VF_ERR_INPUT, "%s: cannot open: %s; check the name and the permissions", file->path,
                       strerror(error));
    }
    file->sink.descriptor = descriptor;
    file->own_descriptor = true;
    if (S_ISDIR(about.st_mode))
        return vf_fail(file->ctx, VF_ERR_INPUT, "%s: a directory, not an HDF5 file", file->path);
    if (!S_ISREG(about.st_mode))
        return vf_fail(file->ctx, VF_ERR_INPUT, "%s: a pipe or device, not an HDF5 file; copy it to a file first",
                       file->path);
    file->sink.size = (uint64_t)about.st_size;
    if (!has_signature(descriptor, about.st_size))
        return vf_fail(file->ctx, VF_ERR_INPUT, "%s: not an HDF5 file", file->path);
    return VF_OK;
}

/* In the process that reads. */
static void begin(void *state, vf_context *ctx, int descriptor)
{
    vf_h5 *file = state;
    vf_h5_forked();
    file->ctx = ctx;
    file->sink.descriptor = descriptor;
    file->inside = true;
}

/* Called between enter and leave, so that no other thread is within HDF5 when the process is made. */
static vf_status start_reader(vf_h5 *file)
{
    uint64_t available, total;
    vf_host_memory(&available, &total);
    const vf_sealed_work work = {.name = file->path,
                                 .reads = file->output ? -1 : file->sink.descriptor,
                                 .writes = file->output ? file->sink.descriptor : -1,
                                 .memory = USUAL_MEMORY,
                                 .most_memory = available > USUAL_MEMORY ? available : USUAL_MEMORY,
                                 .seconds = LEAST_SECONDS + (int64_t)(file->sink.size / BYTES_PER_SECOND),
                                 .state = file,
                                 .begin = begin};
    return vf_sealed_possible() ? vf_sealed_start(file->ctx, &work, &file->sealed) : VF_OK;
}

static vf_status answer_open(void *state, const void *question, vf_reply *reply)
{
    vf_h5 *file = state;
    (void)question, (void)reply;
    file->id = vf_h5_source_open(&file->sink);
    return file->id < 0
               ? vf_h5_fail(file, VF_ERR_INPUT, "cannot read the HDF5 file: it is damaged, or not all of it is there")
               : VF_OK;
}

void vf_h5_read_here(bool here)
{
    vf_sealed_forbid(here);
}

vf_status vf_h5_open(vf_context *ctx, const char *path, vf_h5 **out)
{
    size_t none;
    *out = NULL;
    vf_h5 *file = vf_h5_allocate(ctx, path);
    if (!file)
        return VF_ERR_MEMORY;
    vf_status status = open_descriptor(file);
    if (status == VF_OK) {
        vf_h5_printing before = vf_h5_enter();
        status = start_reader(file);
        status = vf_h5_leave(file, before, status);
    }
    VF_TRY(status, vf_h5_ask(file, answer_open, NULL, 0, NULL, 0, &none, NULL));
    if (status == VF_OK)
        *out = file;
    else
        vf_h5_release(file);
    return status;
}

/* ---- files to extend ---- */

/* Copies the file `source`, which the caller has open, into the output. */
static vf_status copy_content(vf_h5 *file, const vf_h5 *source)
{
    enum { BLOCK = 1 << 20 };
    vf_status status = VF_OK;
    char *block = malloc(BLOCK);
    off_t at = 0;
    if (!block)
        return vf_fail(file->ctx, VF_ERR_MEMORY, "%s: not enough memory to copy the file", source->path);
    while (status == VF_OK) {
        const ssize_t bytes = pread(source->sink.descriptor, block, BLOCK, at);
        if (bytes < 0 && errno == EINTR)
            continue;
        if (bytes < 0)
            status = vf_fail(file->ctx, VF_ERR_INPUT, "%s: cannot read: %s", source->path, strerror(errno));
        if (bytes <= 0)
            break;
        status = vf_output_write(file->output, block, (size_t)bytes);
        at += bytes;
    }
    if (status == VF_OK && fflush(vf_output_stream(file->output)) != 0)
        status = vf_fail(file->ctx, VF_ERR_OUTPUT, "%s: cannot write: %s", file->path, strerror(errno));
    file->sink.size = (uint64_t)at;
    free(block);
    return status;
}

/* What to add; known to the process by the copy of this one's memory. */
typedef struct extension {
    vf_h5_add add;
    void *user;
} extension;

static vf_status extend(vf_h5 *file, const extension *e)
{
    vf_h5_printing before = vf_h5_enter();
    vf_status status = VF_OK;
    file->id = vf_h5_sink_open(&file->sink);
    if (file->id < 0 || H5Fflush(file->id, H5F_SCOPE_LOCAL) < 0)
        status = vf_h5_fail(file, VF_ERR_OUTPUT, "cannot add to a copy of the HDF5 file");
    status = vf_h5_leave(file, before, status);
    VF_TRY(status, e->add(file->ctx, file, e->user));
    before = vf_h5_enter();
    VF_TRY(status, vf_h5_close_dataset(file));
    if (file->id >= 0 && H5Fclose(file->id) < 0 && status == VF_OK)
        status = vf_h5_fail(file, VF_ERR_OUTPUT, "cannot finish the HDF5 file");
    file->id = H5I_INVALID_HID;
    return vf_h5_leave(file, before, status);
}

static vf_status answer_extend(void *state, const void *question, vf_reply *reply)
{
    vf_h5 *file = state;
    (void)question, (void)reply;
    return extend(file, file->slot);
}

vf_status vf_h5_extend(vf_context *ctx, const char *source, const char *path, vf_h5_add add, void *user)
{
    extension e = {add, user};
    size_t none;
    vf_h5 *from, *file = NULL;
    vf_status status = vf_h5_open(ctx, source, &from);
    if (status != VF_OK)
        return status;
    status = vf_h5_begin_output(ctx, path, &file);
    VF_TRY(status, copy_content(file, from));
    vf_h5_close(&from);
    if (status == VF_OK) {
        file->slot = &e;
        vf_h5_printing before = vf_h5_enter();
        status = start_reader(file);
        status = vf_h5_leave(file, before, status);
    }
    if (status == VF_OK && file->sealed)
        status = vf_sealed_ask(file->sealed, answer_extend, NULL, 0, NULL, 0, &none, NULL);
    else if (status == VF_OK)
        status = extend(file, &e);
    VF_TRY(status, vf_output_commit(&file->output));
    vf_h5_release(file);
    return status;
}
