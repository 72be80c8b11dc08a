#include "voxfield/input.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PERIOD = 20 }; /* ms between looks at the context; any thread may have got the signal, so EINTR is not enough */

/* Only opening must not wait. */
static void let_wait(int fd)
{
    const int flags = fcntl(fd, F_GETFL);
    if (flags >= 0)
        (void)fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
}

vf_status vf_input_open(vf_context *ctx, const char *path, int *out)
{
    struct stat about;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    *out = -1;
    if (fd < 0)
        return vf_fail(ctx, VF_ERR_INPUT, "%s: cannot open: %s; check the name and the permissions", path,
                       strerror(errno));
    const bool pipe = fstat(fd, &about) == 0 && S_ISFIFO(about.st_mode);
    struct pollfd wanted = {.fd = fd, .events = POLLIN}; /* a pipe that no one has opened yet has not hung up either */
    while (pipe && poll(&wanted, 1, PERIOD) <= 0)
        if (vf_cancelled(ctx)) {
            close(fd);
            return vf_fail(ctx, VF_ERR_CANCELLED, "interrupted");
        }
    let_wait(fd);
    *out = fd;
    return VF_OK;
}

int vf_open_to_write(const vf_context *ctx, const char *path)
{
    struct stat about;
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK);
    /* A pipe that nobody reads yet has this error; so has a device that is not there. */
    while (fd < 0 && errno == ENXIO && stat(path, &about) == 0 && S_ISFIFO(about.st_mode)) {
        if (vf_cancelled(ctx)) {
            errno = ECANCELED;
            return -1;
        }
        (void)poll(NULL, 0, PERIOD);
        fd = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK);
    }
    if (fd >= 0)
        let_wait(fd);
    return fd;
}
