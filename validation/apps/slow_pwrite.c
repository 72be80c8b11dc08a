/* Preloaded (LD_PRELOAD), makes each pwrite() take VOXFIELD_SLOW_PWRITE milliseconds longer: so a run takes long, and leaves the
 * processor to others. For tests that stop runs in the middle. */
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

ssize_t pwrite(int file, const void *from, size_t bytes, off_t at)
{
    static ssize_t (*next)(int, const void *, size_t, off_t);
    const char *text = getenv("VOXFIELD_SLOW_PWRITE");
    const long wait = text ? atol(text) : 0;
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "pwrite");
    const struct timespec time = {wait / 1000, wait % 1000 * 1000000};
    (void)nanosleep(&time, NULL);
    return next(file, from, bytes, at);
}
