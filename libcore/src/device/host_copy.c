#include "host_copy.h"

#include <string.h>

void vf_host_copy(int threads, void *to, const void *from, size_t bytes)
{
    const size_t share = bytes / (size_t)threads + 1;
#pragma omp parallel for num_threads(threads) if (threads > 1)
    for (int t = 0; t < threads; t++) {
        const size_t begin = (size_t)t * share, end = begin + share < bytes ? begin + share : bytes;
        if (begin < end)
            memcpy((char *)to + begin, (const char *)from + begin, end - begin);
    }
}
