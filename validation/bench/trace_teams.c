/* Preloaded into a program, records what its parallel regions would take with other numbers of threads. predict_threads.py
 * runs it. Times are processor times of threads, so that a machine with fewer cores than threads will do.
 *
 * A loop shared dynamically: its pieces in order, each to the thread that is free first. Anything else: the slowest of the
 * threads; with fewer threads than ran, neighbours do each other's work. Outside of regions: the calling thread's time.
 *
 * VF_TRACE names the file it writes, a line for each function that is a region: "ADDRESS regions=N teams=N before=S 1=S 2=S ...",
 * the seconds of `before` those between the last region of this thread and this one; "end" for what follows. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <link.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SIZES = 6, MOST_THREADS = 64, MOST_PIECES = 1 << 20, MOST_ROWS = 1024 };
static const int sizes[SIZES] = {1, 2, 4, 8, 16, 32};

/* A function that is a region. */
typedef struct row {
    void (*function)(void *);
    long regions, teams;
    double before, seconds[SIZES];
} row;

/* A region that runs, of one calling thread. */
typedef struct region {
    void (*function)(void *);
    void *data;
    int threads;
    double own[MOST_THREADS];   /* a thread's time outside of pieces */
    double whole[MOST_THREADS]; /* all of it */
    atomic_int pieces;
    float *piece; /* [MOST_PIECES] */
} region;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static row rows[MOST_ROWS];
static int row_count;
static pthread_key_t ends;
static _Thread_local double last;     /* when this thread's last region ended */
static _Thread_local bool inside;     /* of a region */
static _Thread_local region *mine;    /* the calling thread's */
static _Thread_local region *current; /* that this thread works for */
static _Thread_local int open_piece = -1;
static _Thread_local double piece_began, in_pieces;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static row *row_of(void (*function)(void *))
{
    for (int i = 0; i < row_count; i++)
        if (rows[i].function == function)
            return &rows[i];
    if (row_count == MOST_ROWS)
        abort();
    rows[row_count].function = function;
    return &rows[row_count++];
}

/* The pieces in order, each to the thread that is free first. */
static double dynamic_seconds(const region *r, int threads)
{
    double busy[MOST_THREADS] = {0}, most = 0;
    threads = threads < r->threads ? threads : r->threads;
    for (int i = 0; i < r->threads; i++)
        busy[i % threads] += r->own[i];
    for (int i = 0; i < r->pieces; i++) {
        int first = 0;
        for (int t = 1; t < threads; t++)
            first = busy[t] < busy[first] ? t : first;
        busy[first] += (double)r->piece[i];
    }
    for (int t = 0; t < threads; t++)
        most = busy[t] > most ? busy[t] : most;
    return most;
}

static double static_seconds(const region *r, int threads)
{
    double busy[MOST_THREADS] = {0}, most = 0;
    for (int i = 0; i < r->threads; i++)
        busy[(int64_t)i * threads / (r->threads > threads ? r->threads : threads)] += r->whole[i];
    for (int t = 0; t < threads; t++)
        most = busy[t] > most ? busy[t] : most;
    return most;
}

static void note(region *r, double before)
{
    pthread_mutex_lock(&lock);
    row *to = row_of(r->function);
    to->regions++;
    to->teams += r->threads > 1;
    to->before += before;
    for (int i = 0; i < SIZES; i++)
        to->seconds[i] += r->threads == 1 ? r->whole[0]
                          : r->pieces     ? dynamic_seconds(r, sizes[i])
                                          : static_seconds(r, sizes[i]);
    pthread_mutex_unlock(&lock);
}

static void end_piece(void)
{
    if (open_piece < 0)
        return;
    const double took = now() - piece_began;
    current->piece[open_piece] = (float)took;
    in_pieces += took;
    open_piece = -1;
}

static void begin_piece(void)
{
    if (!current)
        return;
    open_piece = atomic_fetch_add(&current->pieces, 1);
    if (open_piece >= MOST_PIECES)
        abort();
    piece_began = now();
}

static void run_region(void *data)
{
    region *r = data;
    const int thread = omp_get_thread_num();
    if (thread == 0)
        r->threads = omp_get_num_threads();
    region *const outer = current;
    current = r;
    inside = true;
    in_pieces = 0;
    const double began = now();
    r->function(r->data);
    end_piece();
    r->whole[thread] = now() - began;
    r->own[thread] = r->whole[thread] - in_pieces;
    current = outer;
    inside = false;
}

static void end_thread(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&lock);
    row_of(NULL)->before += now() - last;
    pthread_mutex_unlock(&lock);
    free(mine->piece);
    free(mine);
}

static region *begin_region(void (*function)(void *), void *data)
{
    if (!mine) {
        mine = calloc(1, sizeof *mine);
        if (!mine || !(mine->piece = malloc(MOST_PIECES * sizeof *mine->piece)))
            abort();
        pthread_setspecific(ends, mine);
    }
    for (int i = 0; i < MOST_THREADS; i++)
        mine->own[i] = mine->whole[i] = 0;
    mine->function = function;
    mine->data = data;
    atomic_store(&mine->pieces, 0);
    return mine;
}

static void *next(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

/* What the compiler calls. */
void GOMP_parallel(void (*function)(void *), void *data, unsigned threads, unsigned flags);
void GOMP_parallel_loop_nonmonotonic_dynamic(void (*function)(void *), void *data, unsigned threads, long start,
                                             long end, long step, long chunk, unsigned flags);
bool GOMP_loop_nonmonotonic_dynamic_start(long start, long end, long step, long chunk, long *from, long *to);
bool GOMP_loop_nonmonotonic_dynamic_next(long *from, long *to);

void GOMP_parallel(void (*function)(void *), void *data, unsigned threads, unsigned flags)
{
    void (*real)(void (*)(void *), void *, unsigned, unsigned) = next("GOMP_parallel");
    if (inside) {
        real(function, data, threads, flags);
        return;
    }
    const double before = now() - last;
    region *r = begin_region(function, data);
    real(run_region, r, threads, flags);
    note(r, before);
    last = now();
}

void GOMP_parallel_loop_nonmonotonic_dynamic(void (*function)(void *), void *data, unsigned threads, long start,
                                             long end, long step, long chunk, unsigned flags)
{
    void (*real)(void (*)(void *), void *, unsigned, long, long, long, long, unsigned) =
        next("GOMP_parallel_loop_nonmonotonic_dynamic");
    if (inside) {
        real(function, data, threads, start, end, step, chunk, flags);
        return;
    }
    const double before = now() - last;
    region *r = begin_region(function, data);
    real(run_region, r, threads, start, end, step, chunk, flags);
    note(r, before);
    last = now();
}

bool GOMP_loop_nonmonotonic_dynamic_start(long start, long end, long step, long chunk, long *from, long *to)
{
    bool (*real)(long, long, long, long, long *, long *) = next("GOMP_loop_nonmonotonic_dynamic_start");
    const bool more = real(start, end, step, chunk, from, to);
    if (more)
        begin_piece();
    return more;
}

bool GOMP_loop_nonmonotonic_dynamic_next(long *from, long *to)
{
    bool (*real)(long *, long *) = next("GOMP_loop_nonmonotonic_dynamic_next");
    end_piece();
    const bool more = real(from, to);
    if (more)
        begin_piece();
    return more;
}

/* Programs choose their regions by the cores they find: VF_TRACE_CORES, whatever the machine has. */
int sched_getaffinity(pid_t process, size_t size, cpu_set_t *set)
{
    (void)process;
    memset(set, 0, size);
    const int cores = getenv("VF_TRACE_CORES") ? atoi(getenv("VF_TRACE_CORES")) : 1;
    for (int c = 0; c < cores; c++)
        CPU_SET_S(c, size, set);
    return 0;
}

__attribute__((constructor)) static void begin(void)
{
    pthread_key_create(&ends, end_thread);
}

static int base_of_program(struct dl_phdr_info *info, size_t size, void *base)
{
    (void)size;
    *(uintptr_t *)base = info->dlpi_addr;
    return 1; /* the first is the program */
}

__attribute__((destructor)) static void end(void)
{
    uintptr_t base = 0;
    dl_iterate_phdr(base_of_program, &base);
    FILE *file = getenv("VF_TRACE") ? fopen(getenv("VF_TRACE"), "w") : NULL;
    if (!file || row_count == 0)
        return;
    if (mine)
        row_of(NULL)->before += now() - last;
    for (int i = 0; i < row_count; i++) {
        const row *r = &rows[i];
        if (r->function)
            fprintf(file, "%lx", (unsigned long)((uintptr_t)r->function - base));
        else
            fprintf(file, "end");
        fprintf(file, " regions=%ld teams=%ld before=%.6f", r->regions, r->teams, r->before);
        for (int s = 0; s < SIZES; s++)
            fprintf(file, " %d=%.6f", sizes[s], r->seconds[s]);
        fprintf(file, "\n");
    }
    fclose(file);
}
