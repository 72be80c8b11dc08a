/* Shared by the two parts of the CPU backend, toeplitz_cpu.c (plans, and passes over vectors) and toeplitz_cpu_kernel.c
 * (from Q to the kernel); not installed. */
#ifndef VOXFIELD_TOEPLITZ_CPU_H
#define VOXFIELD_TOEPLITZ_CPU_H

#include "toeplitz_backend.h"
#include "toeplitz_simd.h"
#include "voxfield/fft.h"

enum { TILE = 16 }; /* lines that are transformed together, at most */

typedef struct cpu_state {
    const toeplitz_simd *simd;
    vf_dtype type;      /* complex */
    size_t element;     /* bytes of a complex number */
    int64_t n[3];       /* voxels; with two axes longer than 1 they are x and z, with one axis x */
    int halves[3];      /* 2; 1 along an axis of one voxel, and for a circulant matrix */
    bool skipped[3];    /* the factors of a circulant matrix do not depend on k along this axis */
    int64_t width;      /* lines along y that are transformed together */
    int64_t chunk;      /* voxels along x in a slab */
    int64_t chunks;     /* chunks per row */
    int64_t planes;     /* of the spectrum: [z half][z] */
    int64_t stride;     /* between planes, in elements */
    int64_t group;      /* planes processed together */
    int64_t half_plane; /* numbers in a kernel's half plane: [x tile][y half][width][y] */
    int threads;        /* number with working memory */
    size_t work_bytes;
    vf_fft_rows *rows[3];
    vf_fft_rows *doubled[3]; /* for Q: TILE rows, along axes with two halves */
    vf_array phase[3];       /* [n] exp(-i pi n / N), along axes with two halves */
    vf_array spectrum;       /* [planes rounded up to groups] of [y][x] */
    vf_array kernels;        /* real: [segment][plane][x half] half planes */
    vf_array work;           /* [threads] work_bytes */
} cpu_state;

static inline int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Whether only lines along z are transformed. Then a slab is processed in one pass, and the kernels are [TILE][z],
 * equal lines. */
static inline bool toeplitz_cpu_lines_alone(const cpu_state *s)
{
    return s->skipped[0] && s->n[1] == 1 && s->n[2] > 1 && !s->skipped[2];
}

/* The calling thread's working memory, in a parallel region. */
char *toeplitz_cpu_work(const cpu_state *s);

/* The factors of half a plane of a segment's spectrum. */
char *toeplitz_cpu_kernel(const vf_toeplitz *plan, int segment, int64_t plane, int half);

/* The `set` function of the backend. */
vf_status toeplitz_cpu_set(vf_toeplitz *plan, vf_queue *queue, int segment, void *q);

#endif
