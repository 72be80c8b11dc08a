#include "voxfield/machine_speed.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "voxfield/device.h"
#include "voxfield/format_number.h"
#include "voxfield/statistics.h"
#include "voxfield/timer.h"

/* Of n threads, each is slower by n - 1 times this share. Of the programs' work in docs/threads.md, with 2 to 16 threads. */
static const double CROWDING = 0.05;

enum { ROUNDS = 5, NUMBERS = 400, BYTES = 1 << 18, THREADS = 3 };
/* Seconds of a round on the reference. */
static const double REFERENCE = 2.1e-4;
/* What is believed of a measurement. Another program that runs for some milliseconds makes one larger. */
static const double LEAST_CORE = 0.5, MOST_CORE = 4, MOST_THREAD = 5e-4;

/* Drivers of GPUs take as much of their start's time to leave: 0.15 s after 0.4 s, 0.1 s after 0.22 s on two machines with
 * an H200. */
static const double LEAVING = 0.4;

double vf_team_gain(double threads)
{
    return threads / (1 + CROWDING * (threads - 1));
}

/* What the serial parts of runs do: numbers become text, and memory is written and copied that the process did not have
 * before. Seconds; 0: there is no memory. */
static double work_alone(void)
{
    char text[VF_NUMBER_TEXT];
    volatile int length = 0;
    const double begin = vf_now();
    for (int i = 0; i < NUMBERS; i++)
        length += (int)strlen(vf_format_general(1e-3 * i * M_PI, 12, text));
    char *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return 0;
    memset(memory, length, BYTES / 2);
    memcpy(memory + BYTES / 2, memory, BYTES / 2);
    munmap(memory, BYTES);
    return vf_now() - begin;
}

static void *allocate(void *result)
{
    *(void **)result = malloc(64);
    return NULL;
}

static double start_thread(void)
{
    pthread_t thread;
    void *memory = NULL;
    const double begin = vf_now();
    if (pthread_create(&thread, NULL, allocate, &memory) != 0)
        return 0;
    pthread_join(thread, NULL);
    free(memory);
    return vf_now() - begin;
}

vf_machine_speed vf_measure_machine(const vf_context *ctx)
{
    double round[ROUNDS], start[THREADS] = {0};
    for (int i = 0; i < ROUNDS; i++)
        round[i] = work_alone();
    vf_host_sort(ROUNDS, round);
    for (int i = 0; i < THREADS && vf_context_threads(ctx) > 1; i++)
        start[i] = start_thread();
    vf_host_sort(THREADS, start);
    const double core = round[ROUNDS / 2] > 0 ? round[ROUNDS / 2] / REFERENCE : 1;
    return (vf_machine_speed){.core = fmin(fmax(core, LEAST_CORE), MOST_CORE),
                              .thread = fmin(start[THREADS / 2], MOST_THREAD)};
}

double vf_device_leaving_seconds(vf_context *ctx)
{
    const vf_warm_up_state state = vf_device_warm_up_state(ctx);
    return state.started > 0 ? LEAVING * state.seconds : 0;
}
