#include "gzip_input.h"
#include "voxfield/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

vf_status gzip_input_open(vf_context *ctx, const char *path, gzFile *out, size_t *bytes)
{
    struct stat info;
    vf_status status = VF_OK;
    int fd;
    *out = NULL;
    if (strcmp(path, "/dev/stdin") != 0)
        status = vf_input_open(ctx, path, &fd);
    else if ((fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)) < 0) /* not opened again: it may be a socket */
        status = vf_fail(ctx, VF_ERR_INPUT, "%s: cannot open: %s; check the name and the permissions", path,
                         strerror(errno));
    if (status != VF_OK)
        return status;
    if (fstat(fd, &info) != 0 || S_ISDIR(info.st_mode)) {
        close(fd);
        return vf_fail(ctx, VF_ERR_INPUT, "%s: is a directory; give a file in it", path);
    }
    *bytes = S_ISREG(info.st_mode) && (uint64_t)info.st_size < SIZE_MAX ? (size_t)info.st_size : 0;
    *out = gzdopen(fd, "rb");
    if (!*out) {
        close(fd);
        return vf_fail(ctx, VF_ERR_MEMORY, "%s: no memory to read it", path);
    }
    gzbuffer(*out, 1 << 18);
    return VF_OK;
}

vf_status gzip_input_fail(vf_context *ctx, const char *path, gzFile file)
{
    int code;
    const char *text = gzerror(file, &code);
    if (code == Z_ERRNO)
        return vf_fail(ctx, VF_ERR_INPUT, "%s: cannot read: %s", path, strerror(errno));
    if (code == Z_MEM_ERROR)
        return vf_fail(ctx, VF_ERR_MEMORY, "%s: not enough memory to uncompress it", path);
    const char *reason = strstr(text, ": "); /* zlib puts its name for the file in front: <fd:3> */
    return vf_fail(ctx, VF_ERR_INPUT, "%s: the gzip file is damaged or incomplete (%s); copy it again", path,
                   reason ? reason + 2 : text);
}

vf_status gzip_input_read(vf_context *ctx, const char *path, gzFile file, void *to, size_t room, size_t *got)
{
    enum { STEP = 1 << 24 };
    int code;
    *got = 0;
    if (vf_cancelled(ctx))
        return vf_fail(ctx, VF_ERR_CANCELLED, "%s: interrupted while reading", path);
    int n = gzread(file, to, room < STEP ? (unsigned)room : STEP);
    gzerror(file, &code);
    if (n < 0 || (code != Z_OK && code != Z_STREAM_END))
        return gzip_input_fail(ctx, path, file);
    *got = (size_t)n;
    return VF_OK;
}
