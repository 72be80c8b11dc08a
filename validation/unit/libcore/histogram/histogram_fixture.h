/* Histograms of all variants, against counts that are known; for tests of histograms. */
#ifndef HISTOGRAM_FIXTURE_H
#define HISTOGRAM_FIXTURE_H

#include "libcore/copy/copy_fixture.h"
#include "voxfield/histogram.h"

/* Lengths near a warp, near the data blocks of all kernels, near the start of another CPU thread. */
static const int64_t lengths[] = {0,     1,     2,     3,     4,      7,      31,           32,   33,
                                  255,   1000,  4097,  7935,  7937,   8191,   8192,         8193, 16389,
                                  24577, 32767, 32768, 65537, 131072, 300007, (1 << 20) + 3};
enum { LENGTHS = sizeof lengths / sizeof *lengths, GUARD = 64 };

static inline const char *variant_name(int v)
{
    return vf_histogram_variant_name(vf_device_get_kind(device), v);
}

/* Counts `values` [n] and compares with `expected` [bins]. Arrays begin at any element. */
static inline void check_plan(const vf_histogram *plan, int bins, int64_t n, const void *values, size_t size,
                              const uint64_t *expected, const char *what)
{
    const int64_t x_at = (int64_t)size * integer_between(0, 15), counts_at = 8 * integer_between(1, 8);
    memory x = make_memory(x_at + n * (int64_t)size), counts = make_memory(counts_at + 8 * (int64_t)bins + GUARD);
    memcpy(x.host + x_at, values, (size_t)n * size);
    upload(&x);
    for (int repeat = 0; repeat < 2; repeat++)
        assert_int_equal(vf_histogram_execute(plan, queue, n, at(&x, x_at), at(&counts, counts_at)), VF_OK);
    memcpy(counts.host + counts_at, expected, (size_t)bins * sizeof *expected);
    check_memory(&counts, what);
    free_memory(&x);
    free_memory(&counts);
}

/* The same for all variants that count this type. */
static inline void check_counts(vf_histogram_options options, int64_t n, const void *values, const uint64_t *expected,
                                const char *what)
{
    const int bins = options.type == VF_U8 ? 256 : options.bins;
    for (int v = 0; (options.variant = variant_name(v)); v++) {
        char name[160];
        vf_histogram *plan;
        if (options.type != VF_U8 && strcmp(options.variant, "trish") == 0)
            continue;
        snprintf(name, sizeof name, "%s: %s", options.variant, what);
        assert_int_equal(vf_histogram_create(device, &options, n + integer_between(0, 5), &plan), VF_OK);
        check_plan(plan, bins, n, values, vf_dtype_bytes(options.type), expected, name);
        vf_histogram_destroy(plan);
    }
}

#endif
