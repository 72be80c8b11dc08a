/* Host memory of gigabytes in which only some places are kept: all other pages are the same few, again and again, so that
 * nobody waits until the system has found and cleared them. What is written to a place that is kept stays there; what is
 * written elsewhere is overwritten by later writes. A write to a wrong place, with an offset that lost its upper bits, is
 * missing at the right one. */
#ifndef SPARSE_MEMORY_H
#define SPARSE_MEMORY_H

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Bytes of a page, or more. */
enum { SPARSE_PAGE = 4096 };

/* `bytes` of memory that repeats after `period` bytes, a multiple of SPARSE_PAGE; NULL if there is none. Content: zeros. */
static inline void *sparse_memory(int64_t bytes, int64_t period)
{
    const int file = memfd_create("sparse", MFD_CLOEXEC);
    unsigned char *all = mmap(NULL, (size_t)bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    int made =
        file >= 0 && all != MAP_FAILED && SPARSE_PAGE % sysconf(_SC_PAGESIZE) == 0 && ftruncate(file, period) == 0;
    for (int64_t at = 0; made && at < bytes; at += period)
        made = mmap(all + at, (size_t)(bytes - at < period ? bytes - at : period), PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_FIXED | MAP_POPULATE, file, 0) != MAP_FAILED;
    if (file >= 0)
        close(file);
    if (made)
        return all;
    if (all != MAP_FAILED)
        munmap(all, (size_t)bytes);
    return NULL;
}

/* From now on bytes [first, first + count) are kept, and are 0. */
static inline int sparse_keep(void *all, int64_t first, int64_t count)
{
    const int64_t begin = first / SPARSE_PAGE * SPARSE_PAGE;
    return mmap((unsigned char *)all + begin, (size_t)(first + count - begin), PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
}

static inline void sparse_free(void *all, int64_t bytes)
{
    munmap(all, (size_t)bytes);
}

#endif
