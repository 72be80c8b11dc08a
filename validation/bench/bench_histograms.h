/* The histograms of bench_primitives: their data, plans, and true counts.
 *
 * Bytes are random, all equal, or those of an image; numbers are uniform. Peers are CUB's histograms. All but the first,
 * of random bytes, are measured at the largest size only. */
#ifndef BENCH_HISTOGRAMS_H
#define BENCH_HISTOGRAMS_H

#include "bench_device.h"
#include "bench_peers.h"
#include "bench_truth.h"
#include "voxfield/histogram.h"

enum { EVEN_BINS = 256, UNEVEN_BINS = 1000, MOST_HISTOGRAM_BINS = 1024, FLAT_BYTE = 0x77 };

typedef enum histogram_data { RANDOM_BYTES, FLAT_BYTES, IMAGE_BYTES, UNIFORM_NUMBERS, HISTOGRAM_DATA } histogram_data;

/* A case: which data, counted how. */
typedef struct histogram_case {
    histogram_data data;
    const char *variant;
    int edges; /* how many bins by edges: EVEN_BINS or UNEVEN_BINS; 0: bytes */
    vf_histogram *plan;
    uint64_t expected[MOST_HISTOGRAM_BINS];
} histogram_case;

static vf_array histogram_input[HISTOGRAM_DATA]; /* the first one is the caller's */
static vf_array histogram_edges[2];              /* on the device, for the peer: even, uneven */
static double even_edges[EVEN_BINS + 1], uneven_edges[UNEVEN_BINS + 1];

static inline uint8_t image_byte(int64_t i)
{
    enum { WIDTH = 4096 };
    const int64_t x = i % WIDTH, y = i / WIDTH % WIDTH,
                  from = (x - WIDTH / 2) * (x - WIDTH / 2) + (y - WIDTH / 2) * (y - WIDTH / 2);
    const uint64_t noise = (uint64_t)i * UINT64_C(0x9e3779b97f4a7c15) >> 60;
    return from > WIDTH * WIDTH / 5 ? 0 : (uint8_t)(40 + x / 32 + y / 64 + (int64_t)noise);
}

/* From the bits of the random bytes: [0, 256), all multiples of 2^-16. */
static inline float uniform_number(uint32_t bits)
{
    return (float)(bits >> 8) * 0x1p-16f;
}

static inline void make_edges(void)
{
    for (int b = 0; b <= EVEN_BINS; b++)
        even_edges[b] = b;
    for (int b = 1; b <= UNEVEN_BINS; b++) /* widths from 0.05 to 0.45, 256 in all */
        uneven_edges[b] = uneven_edges[b - 1] + 0.05 + 0.4 * uniform();
    for (int b = 1; b <= UNEVEN_BINS; b++)
        uneven_edges[b] *= 256 / uneven_edges[UNEVEN_BINS];
}

/* Sends `bytes` made of a host buffer of as many. */
static inline void make_input(histogram_data kind, int64_t elements, const uint32_t *random, void *buffer)
{
    uint8_t *bytes = buffer;
    float *numbers = buffer;
    need(vf_array_create(device, VF_SPACE_DEVICE, VF_F32, elements, &histogram_input[kind]));
    if (kind == FLAT_BYTES) {
        memset(bytes, FLAT_BYTE, (size_t)elements * 4);
    } else if (kind == IMAGE_BYTES) {
#pragma omp parallel for schedule(static)
        for (int64_t i = 0; i < 4 * elements; i++)
            bytes[i] = image_byte(i);
    } else {
#pragma omp parallel for schedule(static)
        for (int64_t i = 0; i < elements; i++)
            numbers[i] = uniform_number(random[i]);
    }
    need(vf_queue_copy(queue, histogram_input[kind].data, buffer, (size_t)elements * 4));
    need(vf_queue_sync(queue));
}

/* All inputs of `elements` words of 4 bytes; `random` [elements] is already in `random_input`. */
static inline void make_histogram_inputs(int64_t elements, const uint32_t *random, vf_array random_input)
{
    void *buffer = room((size_t)elements, 4);
    make_edges();
    histogram_input[RANDOM_BYTES] = random_input;
    for (int kind = FLAT_BYTES; kind < HISTOGRAM_DATA; kind++)
        make_input((histogram_data)kind, elements, random, buffer);
    free(buffer);
    for (int i = 0; i < 2; i++) {
        float edges[MOST_HISTOGRAM_BINS + 1];
        const int bins = i ? UNEVEN_BINS : EVEN_BINS;
        for (int b = 0; b <= bins; b++)
            edges[b] = (float)(i ? uneven_edges : even_edges)[b];
        need(vf_array_create(device, VF_SPACE_DEVICE, VF_F32, bins + 1, &histogram_edges[i]));
        need(vf_queue_copy(queue, histogram_edges[i].data, edges, (size_t)(bins + 1) * sizeof *edges));
        need(vf_queue_sync(queue));
    }
}

static inline void free_histogram_inputs(void)
{
    for (int kind = FLAT_BYTES; kind < HISTOGRAM_DATA; kind++)
        vf_array_free(&histogram_input[kind]);
    for (int i = 0; i < 2; i++)
        vf_array_free(&histogram_edges[i]);
}

/* The last edge is rounded for the peer, so bins of the uneven edges are compared in single precision by both. */
static inline const double *case_edges(const histogram_case *c)
{
    static double rounded[UNEVEN_BINS + 1];
    for (int b = 0; b <= UNEVEN_BINS; b++)
        rounded[b] = (double)(float)uneven_edges[b];
    return c->edges == 0 ? NULL : c->edges == EVEN_BINS ? even_edges : rounded;
}

static inline void count_expected(histogram_case *c, int64_t elements, const uint32_t *random)
{
    const double *edges = case_edges(c);
    uint64_t is[MOST_HISTOGRAM_BINS] = {0};
#pragma omp parallel for schedule(static) reduction(+ : is)
    for (int64_t i = 0; i < elements; i++) {
        const double v = (double)uniform_number(random[i]);
        int bin = 0, end = c->edges;
        while (c->edges && end - bin > 1)
            *(v >= edges[(bin + end) / 2] ? &bin : &end) = (bin + end) / 2;
        if (c->edges)
            is[bin]++;
        else
            for (int b = 0; b < 4; b++)
                is[c->data == FLAT_BYTES    ? FLAT_BYTE
                   : c->data == IMAGE_BYTES ? image_byte(4 * i + b)
                                            : (uint8_t)(random[i] >> 8 * b)]++;
    }
    memcpy(c->expected, is, sizeof is);
}

static inline void plan_histogram(histogram_case *c, int64_t elements, const uint32_t *random)
{
    const vf_histogram_options options = {
        .type = c->edges ? VF_F32 : VF_U8, .bins = c->edges, .edges = case_edges(c), .variant = c->variant};
    need(vf_histogram_create(device, &options, c->edges ? elements : 4 * elements, &c->plan));
    count_expected(c, elements, random);
}

static inline void count_histogram(const histogram_case *c, int64_t elements, uint64_t *counts)
{
    need(vf_histogram_execute(c->plan, queue, c->edges ? elements : 4 * elements, histogram_input[c->data].data,
                              counts));
}

/* The peer's input: what it counts, in words, and its edges. */
static inline bench_peer_input peer_histogram(const histogram_case *c)
{
    const int uneven = c->edges == UNEVEN_BINS;
    return (bench_peer_input){.data = histogram_input[c->data].data,
                              .bins = c->edges,
                              .edges = c->edges ? histogram_edges[uneven].data : NULL};
}

#endif
