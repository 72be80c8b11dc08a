/* Whether the system lets this process start the threads that a run needs. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "voxfield/foreign.h"
#include "voxfield/workpool.h"

static void *wait_for_lock(void *lock)
{
    pthread_mutex_lock(lock);
    pthread_mutex_unlock(lock);
    /* Loads a library, as OpenMP's threads do. If memory is short, that ends the process; so do it now. */
    vf_foreign_enter("the C library");
    pthread_exit(NULL);
}

vf_status vf_check_threads(vf_context *ctx, int teams)
{
    const int wanted = teams * vf_context_threads(ctx) - 1;
    int started = 0, error = 0;
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_t *threads = wanted > 0 ? calloc((size_t)wanted, sizeof *threads) : NULL;
    if (wanted <= 0)
        return VF_OK;
    if (!threads)
        return vf_fail(ctx, VF_ERR_MEMORY, "no memory for %d threads", wanted);
    pthread_mutex_lock(&lock);
    while (started < wanted && !error) {
        error = pthread_create(&threads[started], NULL, wait_for_lock, &lock);
        started += !error;
    }
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    free(threads);
    if (error)
        return vf_fail(ctx, VF_ERR_MEMORY,
                       "cannot start %d threads, only %d: %s; use fewer --threads, or raise the limits on "
                       "processes and memory (ulimit -u, -v)",
                       wanted, started, strerror(error));
    return VF_OK;
}
