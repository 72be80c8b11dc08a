#include "voxfield/output.h"
#include "voxfield/input.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

struct vf_output {
    vf_context *ctx;
    FILE *stream;
    char *path;      /* as given */
    char *target;    /* with symbolic links followed */
    char *temporary; /* NULL: no such name, because writing is direct, or the file has none yet */
    char *buffer;
    bool direct;
    bool stays;     /* `temporary` is not ours to remove */
    size_t waiting; /* bytes written since writing to disk last started */
};

enum { STREAM_BUFFER = 1 << 20, MOST_WAITING = 16 << 20 };

static void release(vf_output **output)
{
    vf_output *o = *output;
    *output = NULL;
    if (!o)
        return;
    if (o->stream)
        fclose(o->stream);
    free(o->path);
    free(o->target);
    free(o->temporary);
    free(o->buffer);
    free(o);
}

/* The directory part of a path, as a new string: "." if it has none. */
static char *directory_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
}

static vf_status cannot_write(const vf_output *o, int error)
{
    if (error == ECANCELED)
        return vf_fail(o->ctx, VF_ERR_CANCELLED, "interrupted");
    const char *advice = error == ENOENT                     ? "; its folder does not exist"
                         : error == EACCES || error == EROFS ? "; write to a folder that is yours"
                                                             : "";
    return vf_fail(o->ctx, error == ENOMEM ? VF_ERR_MEMORY : VF_ERR_OUTPUT, "%s: cannot write: %s%s", o->path,
                   strerror(error), advice);
}

/* The descriptor of this process that /dev/stdout, /dev/fd/N or /proc/self/fd/N means; -1 for any other path. */
static int descriptor_of(const char *path)
{
    char own[64], *directory = directory_of(path), *real = directory ? realpath(directory, NULL) : NULL, *end;
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    snprintf(own, sizeof own, "/proc/%ld/fd", (long)getpid());
    const long number = real && strcmp(real, own) == 0 ? strtol(name, &end, 10) : -1;
    const bool found = number >= 0 && number <= INT_MAX && end != name && *end == '\0';
    free(directory);
    free(real);
    return found ? (int)number : -1;
}

/* The file that a path means: follows symbolic links, even to a target that does not exist yet. If they lead to a
 * descriptor of this process, *descriptor is set to it; else it is -1. A descriptor cannot be replaced by its file: it
 * may be a pipe without a name, or a file that others write to as well. */
static char *follow_links(const char *path, int *descriptor)
{
    enum { MOST_LINKS = 40 }; /* like the kernel */
    char link[PATH_MAX];
    char *target = strdup(path);
    *descriptor = -1;
    for (int i = 0; target && i < MOST_LINKS; i++) {
        *descriptor = descriptor_of(target);
        if (*descriptor >= 0)
            return target;
        ssize_t bytes = readlink(target, link, sizeof link - 1);
        if (bytes < 0)
            break;
        link[bytes] = '\0';
        const char *slash = strrchr(target, '/');
        int directory = slash && link[0] != '/' ? (int)(slash - target) + 1 : 0;
        char *next = NULL;
        if (asprintf(&next, "%.*s%s", directory, target, link) < 0)
            next = NULL;
        free(target);
        target = next;
    }
    char *real = target ? realpath(target, NULL) : NULL;
    if (real) {
        free(target);
        target = real;
    }
    return target;
}

/* The name of an open file among the names of this process's descriptors. */
enum { DESCRIPTOR_NAME = 32 };
static void name_descriptor(int fd, char name[DESCRIPTOR_NAME])
{
    snprintf(name, DESCRIPTOR_NAME, "/proc/self/fd/%d", fd);
}

/* Opens a file without a name in the target's directory: it vanishes with the process, however that ends. -1: not in
 * this file system, or it could not get a name later. */
static int open_unnamed(const vf_output *o, mode_t mode)
{
#ifdef O_TMPFILE
    char *directory = directory_of(o->target), name[DESCRIPTOR_NAME];
    int fd = directory ? open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, mode) : -1;
    free(directory);
    name_descriptor(fd, name);
    if (fd >= 0 && access(name, F_OK) != 0) { /* no /proc */
        close(fd);
        fd = -1;
    }
    return fd;
#else
    (void)o, (void)mode;
    return -1;
#endif
}

/* Makes a file with a name that no one else uses: a new one, or a link to the unnamed file `unnamed` if that is not -1.
 * Another process may have the same number on another host or in another container, and a killed one may have left its
 * file. Sets o->temporary. Returns the new file (0 for a link), or -1 with errno set. */
static int make_temporary(vf_output *o, mode_t mode, int unnamed)
{
    enum { MOST_TRIES = 1000, MOST_OF_NAME = 200 }; /* a name may have 255 bytes */
    const char *slash = strrchr(o->target, '/');
    int directory = slash ? (int)(slash - o->target) + 1 : 0, fd = -1;
    char from[DESCRIPTOR_NAME];
    name_descriptor(unnamed, from);
    for (int i = 0; i < MOST_TRIES; i++) {
        char again[16] = "";
        if (i > 0)
            snprintf(again, sizeof again, "-%d", i);
        if (asprintf(&o->temporary, "%.*s.%.*s.%ld%s.part", directory, o->target, MOST_OF_NAME, o->target + directory,
                     (long)getpid(), again) < 0) {
            o->temporary = NULL;
            errno = ENOMEM;
            return -1;
        }
        fd = unnamed >= 0 ? linkat(AT_FDCWD, from, AT_FDCWD, o->temporary, AT_SYMLINK_FOLLOW)
                          : open(o->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (fd >= 0)
            return fd;
        const int error = errno;
        free(o->temporary); /* not ours to remove */
        o->temporary = NULL;
        errno = error;
        if (error != EEXIST)
            break;
    }
    return -1;
}

/* Gives the whole file its final name. Returns 0 or an error number. */
static int give_name(vf_output *o)
{
    char name[DESCRIPTOR_NAME];
    if (!o->temporary) {
        const int fd = fileno(o->stream);
        name_descriptor(fd, name);
        if (linkat(AT_FDCWD, name, AT_FDCWD, o->target, AT_SYMLINK_FOLLOW) == 0)
            return 0;
        /* A link replaces no file; renaming does. A kill between the two leaves a whole file under a hidden name. */
        if (errno != EEXIST || make_temporary(o, 0, fd) < 0)
            return errno;
    }
    return rename(o->temporary, o->target) == 0 ? 0 : errno;
}

/* `whole`: the file to adopt; NULL: a new one. */
/* Opens what is written to: the file WHOLE, which becomes the output; what there is already, if it is no file; or a new file
 * without the name. `existing`: what has the name, or NULL. -1 with errno on failure. */
static int open_target(vf_output *o, const char *whole, int descriptor, const struct stat *existing)
{
    const bool exists = existing != NULL;
    int fd = -1;
    o->direct = descriptor >= 0 || (exists && !S_ISREG(existing->st_mode));
    if (whole) {
        o->stays = true;
        o->temporary = strdup(whole);
        fd = exists && access(o->target, W_OK) != 0 ? -1 : open(whole, O_RDWR | O_CLOEXEC);
    } else if (o->direct) {
        /* Duplicated: opening it again would write from the beginning of the file. */
        fd = descriptor >= 0 ? fcntl(descriptor, F_DUPFD_CLOEXEC, 0) : vf_open_to_write(o->ctx, o->target);
    } else if (!exists || access(o->target, W_OK) == 0) { /* renaming would bypass write protection */
        const mode_t mode = exists ? 0600 : 0666;
        fd = open_unnamed(o, mode);
        fd = fd >= 0 ? fd : make_temporary(o, mode, -1);
    }
    return fd;
}

static vf_status open_output(vf_context *ctx, const char *path, const char *whole, vf_output **out)
{
    struct stat existing;
    int fd = -1, descriptor = -1;
    vf_status status = VF_OK;
    *out = NULL;
    vf_output *o = calloc(1, sizeof *o);
    if (!o)
        return vf_fail(ctx, VF_ERR_MEMORY, "%s: not enough memory to open the file", path);
    o->ctx = ctx;
    o->path = strdup(path);
    o->target = follow_links(path, &descriptor);
    if (!o->path || !o->target) {
        status = vf_fail(ctx, VF_ERR_MEMORY, "%s: not enough memory to open the file", path);
        goto done;
    }
    bool exists = descriptor >= 0 ? fstat(descriptor, &existing) == 0 : stat(o->target, &existing) == 0;
    if (!exists && errno != ENOENT) { /* for example a name too long: the rename at the end would fail */
        status = cannot_write(o, errno);
        goto done;
    }
    if (path[0] == '\0' || (exists && S_ISDIR(existing.st_mode)) || path[strlen(path) - 1] == '/') {
        status =
            vf_fail(ctx, VF_ERR_OUTPUT, "%s: cannot write: not a file name%s", path, exists ? " but a directory" : "");
        goto done;
    }
    fd = open_target(o, whole, descriptor, exists ? &existing : NULL);
    if (fd < 0) {
        status = cannot_write(o, errno);
        goto done;
    }
    if (whole && (o->direct || !o->temporary)) {
        status = cannot_write(o, o->direct ? EINVAL : ENOMEM);
        goto done;
    }
    if (!o->direct && exists && fchmod(fd, existing.st_mode & 07777) != 0) {
        status = cannot_write(o, errno);
        goto done;
    }
    o->stream = fdopen(fd, "w");
    if (!o->stream) { /* the descriptor is read-only */
        status = cannot_write(o, errno == EINVAL ? EBADF : errno);
        goto done;
    }
    o->buffer = malloc(STREAM_BUFFER);
    if (!o->buffer || setvbuf(o->stream, o->buffer, _IOFBF, STREAM_BUFFER) != 0) {
        status = cannot_write(o, ENOMEM);
        goto done;
    }
    fd = -1;
    *out = o;
    o = NULL;
done:
    if (fd >= 0 && !(o && o->stream))
        close(fd);
    if (o)
        vf_output_discard(&o);
    return status;
}

vf_status vf_output_open(vf_context *ctx, const char *path, vf_output **out)
{
    return open_output(ctx, path, NULL, out);
}

vf_status vf_output_adopt(vf_context *ctx, const char *path, const char *whole, vf_output **out)
{
    return open_output(ctx, path, whole, out);
}

FILE *vf_output_stream(vf_output *output)
{
    return output->stream;
}

const char *vf_output_path(const vf_output *output)
{
    return output->path;
}

vf_status vf_output_write(vf_output *output, const void *data, size_t bytes)
{
    if (fwrite(data, 1, bytes, output->stream) != bytes)
        return cannot_write(output, errno);
    vf_output_written(output, bytes);
    return VF_OK;
}

vf_status vf_output_printf(vf_output *output, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int written = vfprintf(output->stream, format, args);
    va_end(args);
    if (written < 0)
        return cannot_write(output, errno);
    vf_output_written(output, (size_t)written);
    return VF_OK;
}

void vf_output_written(vf_output *output, size_t bytes)
{
    output->waiting += bytes;
    if (output->waiting < MOST_WAITING)
        return;
    output->waiting = 0;
#ifdef SYNC_FILE_RANGE_WRITE /* Linux; fsync reports any error */
    if (!output->direct)
        (void)sync_file_range(fileno(output->stream), 0, 0, SYNC_FILE_RANGE_WRITE);
#endif
}

bool vf_output_direct(const vf_output *output)
{
    return output->direct;
}

uint64_t vf_output_space(const vf_output *output)
{
    struct statvfs fs;
    if (output->direct || fstatvfs(fileno(output->stream), &fs) != 0)
        return UINT64_MAX;
    return (uint64_t)fs.f_bavail * fs.f_frsize;
}

/* Makes the name itself durable. Not every file system supports this; ignore its error. */
static void sync_directory(const char *target)
{
    char *directory = directory_of(target);
    int fd = directory ? open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        (void)fsync(fd);
        close(fd);
    }
    free(directory);
}

vf_status vf_output_commit(vf_output **output)
{
    vf_output *o = *output;
    int error = ferror(o->stream) ? EIO : 0; /* an earlier write failed, unnoticed */
    if (fflush(o->stream) != 0)
        error = errno;
    if (!error && !o->direct && fsync(fileno(o->stream)) != 0)
        error = errno;
    if (!error && !o->direct)
        error = give_name(o);
    if (fclose(o->stream) != 0 && !error && o->direct) /* of other files, all has been on disk since fsync */
        error = errno;
    o->stream = NULL;
    if (error) {
        vf_status status = cannot_write(o, error);
        vf_output_discard(output);
        return status;
    }
    if (!o->direct)
        sync_directory(o->target);
    release(output);
    return VF_OK;
}

void vf_output_discard(vf_output **output)
{
    if (*output && !(*output)->direct && (*output)->temporary && !(*output)->stays)
        (void)unlink((*output)->temporary);
    release(output);
}

bool vf_path_has_extension(const char *path, const char *extensions)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    size_t length = strlen(name);
    while (*extensions) {
        size_t n = strcspn(extensions, " ");
        if (length > n && strncasecmp(name + length - n, extensions, n) == 0)
            return true;
        extensions += n + strspn(extensions + n, " ");
    }
    return false;
}
