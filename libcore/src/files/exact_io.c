#include "exact_io.h"

#include <errno.h>
#include <unistd.h>

bool read_at(int fd, off_t at, void *data, size_t bytes)
{
    char *to = data;
    while (bytes > 0) {
        const ssize_t got = pread(fd, to, bytes, at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            errno = got < 0 ? errno : 0;
            return false;
        }
        to += got;
        at += got;
        bytes -= (size_t)got;
    }
    return true;
}

bool write_at(int fd, off_t at, const void *data, size_t bytes)
{
    const char *from = data;
    while (bytes > 0) {
        const ssize_t put = pwrite(fd, from, bytes, at);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0) {
            errno = put < 0 ? errno : ENOSPC;
            return false;
        }
        from += put;
        at += put;
        bytes -= (size_t)put;
    }
    return true;
}
