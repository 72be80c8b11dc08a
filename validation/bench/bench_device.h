/* Shared by the benchmarks: a device by name, the report, medians, and the beginning and end of a main. */
#ifndef BENCH_DEVICE_H
#define BENCH_DEVICE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random_fixture.h"
#include "voxfield/copy.h"
#include "voxfield/device.h"
#include "voxfield/report.h"
#include "voxfield/timer.h"

static const char *program; /* "bench_coulomb_sum" */
static vf_context *ctx;
static vf_device *device;
static vf_queue *queue;
static vf_report *report; /* NULL: no report */
static int failures;      /* wrong results */

static inline void need(vf_status status)
{
    if (status == VF_OK)
        return;
    fprintf(stderr, "%s: %s\n", program, vf_context_message(ctx));
    exit(1);
}

static inline void *room(size_t count, size_t size)
{
    void *p = malloc(count * size);
    if (!p) {
        fprintf(stderr, "%s: no memory\n", program);
        exit(1);
    }
    return p;
}

static inline int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline double median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, by_size);
    return values[n / 2];
}

/* Whether this CPU lacks the instruction set of a case's variant. */
static inline bool runs_here(const char *variant)
{
    return !variant || strcmp(variant, "avx2") != 0 || vf_cpu_isa() >= VF_ISA_AVX2;
}

/* Parses a whole number from 1 to `most`; returns 0 if invalid. */
static inline int64_t whole_number(const char *text, int64_t most)
{
    char *end;
    long long value = strtoll(text, &end, 10);
    return end != text && !*end && value >= 1 && value <= most ? value : 0;
}

/* Bytes read and written per second by vf_copy, for more than the caches hold. The source was written before:
 * untouched pages are all one page of zeros, which stays in the cache. */
static inline double copy_speed(void)
{
    enum { DOUBLES = 1 << 25, RUNS = 9 };
    const double value = 0.25;
    double seconds[RUNS];
    vf_array from = {0}, to = {0};
    need(vf_array_create(device, VF_SPACE_DEVICE, VF_F64, DOUBLES, &from));
    need(vf_array_create(device, VF_SPACE_DEVICE, VF_F64, DOUBLES, &to));
    need(vf_fill(queue, VF_F64, DOUBLES, &value, from.data));
    for (int run = -2; run < RUNS; run++) {
        double began = vf_now();
        need(vf_copy(queue, VF_F64, DOUBLES, from.data, to.data));
        need(vf_queue_sync(queue));
        if (run >= 0)
            seconds[run] = vf_now() - began;
    }
    vf_array_free(&from);
    vf_array_free(&to);
    return 2.0 * 8 * DOUBLES / median(seconds, RUNS);
}

/* Opens the device and, unless the path is NULL, the report. Returns main's exit status, 77 if there is no such
 * device, or -1 to continue. */
static inline int begin(const char *name, const char *spec, const char *report_path)
{
    program = name;
    if (vf_context_create(&ctx) != VF_OK)
        return 1;
    if (vf_context_set_devices(ctx, spec) != VF_OK) {
        printf("SKIP: %s\n", vf_context_message(ctx));
        vf_context_destroy(ctx);
        return 77;
    }
    device = vf_context_device(ctx, 0);
    need(vf_queue_create(device, &queue));
    if (report_path)
        need(vf_report_create(ctx, report_path, &report));
    vf_report_run(report, name, 0, NULL); /* no command, because it would contain paths of this machine */
    vf_report_text(report, "device", vf_device_name(device));
    return -1;
}

/* Writes the report; returns main's exit status. */
static inline int end(void)
{
    need(vf_report_commit(&report));
    vf_queue_destroy(queue);
    vf_context_destroy(ctx);
    return failures > 0;
}

#endif
