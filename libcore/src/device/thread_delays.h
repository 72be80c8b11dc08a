/* How long this process's threads have waited for a processor, by the kernel's accounts; not installed. */
#ifndef VOXFIELD_THREAD_DELAYS_H
#define VOXFIELD_THREAD_DELAYS_H

#include <stdint.h>

enum { VF_WATCHED_THREADS = 128 }; /* further ones are not looked at */

/* Zero-initialise it. */
typedef struct vf_thread_delays {
    int count;
    double cost; /* seconds that reading takes */
    struct {
        long id;
        uint64_t nanoseconds;
    } of[VF_WATCHED_THREADS];
} vf_thread_delays;

/* Seconds that the thread which waited longest has been ready to run, but not running, since the call before. 0 in the first
 * call, and where the kernel keeps no accounts (/proc/PID/task/TID/schedstat). */
double vf_thread_delays_most(vf_thread_delays *delays);

#endif
