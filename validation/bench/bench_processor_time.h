/* Of processor time: seconds of this process and of those that it waited for. */
#ifndef BENCH_PROCESSOR_TIME_H
#define BENCH_PROCESSOR_TIME_H

#include <sys/resource.h>

static inline double processor_time(void)
{
    double sum = 0;
    for (int i = 0; i < 2; i++) {
        struct rusage usage;
        if (getrusage(i ? RUSAGE_CHILDREN : RUSAGE_SELF, &usage) == 0)
            sum += (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                   1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    }
    return sum;
}

#endif
