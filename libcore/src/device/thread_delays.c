#include "thread_delays.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "voxfield/timer.h"

/* The second number of "102340 4711 12": nanoseconds on a processor, waiting for one, and how often. 0: unknown. */
static uint64_t read_delay(int folder, const char *thread)
{
    char name[300], text[96];
    snprintf(name, sizeof name, "%s/schedstat", thread);
    const int file = openat(folder, name, O_RDONLY | O_CLOEXEC);
    const ssize_t bytes = file >= 0 ? read(file, text, sizeof text - 1) : 0;
    if (file >= 0)
        (void)close(file);
    if (bytes <= 0)
        return 0;
    text[bytes] = '\0';
    char *second = text;
    (void)strtoull(text, &second, 10);
    return strtoull(second, NULL, 10);
}

double vf_thread_delays_most(vf_thread_delays *delays)
{
    const double begin = vf_now();
    uint64_t most = 0;
    int n = 0;
    DIR *folder = opendir("/proc/self/task");
    for (struct dirent *entry; folder && n < VF_WATCHED_THREADS && (entry = readdir(folder));) {
        const long id = strtol(entry->d_name, NULL, 10);
        if (id <= 0)
            continue;
        const uint64_t now = read_delay(dirfd(folder), entry->d_name);
        /* Threads keep their order, unless some begin or end: then those have no figure this time. */
        if (n < delays->count && delays->of[n].id == id && now > delays->of[n].nanoseconds &&
            now - delays->of[n].nanoseconds > most)
            most = now - delays->of[n].nanoseconds;
        delays->of[n].id = id;
        delays->of[n++].nanoseconds = now;
    }
    if (folder)
        (void)closedir(folder);
    delays->count = n;
    delays->cost = vf_now() - begin;
    return 1e-9 * (double)most;
}
