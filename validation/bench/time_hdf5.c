/* What it costs that HDF5 files are read in a process of their own (docs/security.md).
 *
 *   time_hdf5 FILE [ROUNDS]        a scan, or a map named *potential*.h5; 15 rounds
 *
 * Each round reads the file both ways, in turn, by the programs' own readers, each time in a program that was just
 * started: memory that was used before is faster in one way, and slower in the other. Prints the medians of the times, and that
 * of the rounds' differences, also in processor time of both processes, which other programs on the machine disturb
 * less. Exits with 1 if the difference is more than 5 % of the time and more than 20 ms. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench_processor_time.h"
#include "maps/read_map.h"
#include "scan/mri_scan.h"
#include "voxfield/hdf5_io.h"
#include "voxfield/timer.h"

enum { MOST_ROUNDS = 1000 };

typedef struct duration {
    double wall, processor;
} duration;

/* Reads the file, and prints the two times. */
static int read_once(const char *path, bool here)
{
    vf_context *ctx;
    if (vf_context_create(&ctx) != VF_OK)
        return 5;
    vf_status status;
    vf_h5_read_here(here);
    const double began = vf_now(), used = processor_time();
    if (strstr(path, "potential")) {
        loaded_map map;
        status = read_map(ctx, path, NULL, &map);
        if (status == VF_OK)
            map_free(&map);
    } else {
        mri_scan scan;
        status = read_scan(ctx, path, &(scan_request){.group = NULL}, &scan);
        if (status == VF_OK)
            scan_free(&scan);
    }
    const duration took = {vf_now() - began, processor_time() - used};
    if (status != VF_OK) {
        fprintf(stderr, "time_hdf5: %s\n", vf_context_message(ctx));
    } else {
        printf("%.9f %.9f\n", took.wall, took.processor);
    }
    vf_context_destroy(ctx);
    return vf_status_exit_code(status);
}

/* Runs this program again for one reading. */
static duration run_once(const char *program, const char *path, bool here)
{
    duration took = {0, 0};
    char line[80] = "", *rest = line;
    int ends[2], status = 0;
    if (pipe(ends) != 0)
        exit(5);
    const pid_t process = fork();
    if (process == 0) {
        dup2(ends[1], 1);
        close(ends[0]);
        close(ends[1]);
        execl(program, program, here ? "--here" : "--apart", path, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    FILE *answer = fdopen(ends[0], "r");
    const bool answered = process > 0 && answer && fgets(line, sizeof line, answer);
    took.wall = strtod(line, &rest);
    took.processor = strtod(rest, NULL);
    if (!answered || waitpid(process, &status, 0) != process || status != 0)
        exit(1);
    fclose(answer);
    return took;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, by_value);
    return count % 2 ? values[count / 2] : 0.5 * (values[count / 2 - 1] + values[count / 2]);
}

int main(int argc, char **argv)
{
    static double here[MOST_ROUNDS], apart[MOST_ROUNDS], more[MOST_ROUNDS], work[MOST_ROUNDS], extra[MOST_ROUNDS];
    if (argc == 3 && argv[1][0] == '-')
        return read_once(argv[2], strcmp(argv[1], "--here") == 0);
    const long rounds = argc > 2 ? strtol(argv[2], NULL, 10) : 15;
    if (argc < 2 || rounds < 1 || rounds > MOST_ROUNDS) {
        fprintf(stderr, "usage: time_hdf5 FILE [ROUNDS]\n");
        return 2;
    }
    (void)run_once(argv[0], argv[1], true); /* into the cache of files */
    for (long n = 0; n < rounds; n++) {
        duration took[2]; /* apart, here */
        for (int i = 0; i < 2; i++) {
            const bool in = (n + i) % 2 != 0;
            took[in] = run_once(argv[0], argv[1], in);
        }
        apart[n] = took[0].wall;
        here[n] = took[1].wall;
        more[n] = apart[n] - here[n];
        work[n] = took[1].processor;
        extra[n] = took[0].processor - took[1].processor;
    }
    const int count = (int)rounds;
    const double in = median(here, count), cost = median(more, count), in_work = median(work, count);
    printf("%s: %.1f ms in this process, %.1f ms in its own; %.1f ms more (%.1f %%); of processor time %.1f ms, "
           "%.1f ms more (%.1f %%)\n",
           argv[1], 1e3 * in, 1e3 * median(apart, count), 1e3 * cost, 100 * cost / in, 1e3 * in_work,
           1e3 * median(extra, count), 100 * median(extra, count) / in_work);
    return cost > 0.05 * in && cost > 0.020;
}
