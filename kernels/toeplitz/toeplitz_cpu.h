/* What the CPU backend's two parts share: toeplitz_cpu.c (a plan, and its passes over vectors) and
 * toeplitz_cpu_kernel.c (from Q to the kernel); not installed. */
#ifndef VOXFIELD_TOEPLITZ_CPU_H
#define VOXFIELD_TOEPLITZ_CPU_H

#include "toeplitz_backend.h"
#include "toeplitz_simd.h"
#include "voxfield/fft.h"

enum { TILE = 16 }; /* lines that are transformed together */

typedef struct cpu_state {
    const toeplitz_simd *simd;
    vf_dtype type;      /* complex */
    size_t element;     /* bytes of one */
    int64_t n[3];       /* voxels; of a grid that is flat in one axis or two, the others are x and z, or x */
    int halves[3];      /* 2; 1 along an axis of one voxel, and of a circulant matrix */
    bool skipped[3];    /* a circulant matrix' factors do not depend on k along this axis */
    int64_t width;      /* lines along y that are transformed together */
    int64_t chunk;      /* voxels along x in a slab */
    int64_t chunks;     /* that make a row */
    int64_t planes;     /* of the spectrum: [z half][z] */
    int64_t stride;     /* between planes, in elements */
    int64_t group;      /* planes done together */
    int64_t half_plane; /* numbers in a kernel's half plane: [x tile][y half][width][y] */
    int threads;        /* that have working memory */
    size_t work_bytes;
    vf_fft_rows *rows[3];
    vf_fft_rows *doubled[3]; /* of Q: TILE rows, along an axis of more than one voxel */
    vf_array phase[3];       /* [n] exp(-i pi n / N), where there are two halves */
    vf_array spectrum;       /* [planes rounded up to groups] of [y][x] */
    vf_array kernels;        /* real: [segment][plane][x half] half planes */
    vf_array work;           /* [threads] work_bytes */
} cpu_state;

static inline int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Whether lines along z are all there is to transform: then a slab is done in one go. Kernels are then [TILE][z], equal
 * lines. */
static inline bool toeplitz_cpu_lines_alone(const cpu_state *s)
{
    return s->skipped[0] && s->n[1] == 1 && s->n[2] > 1 && !s->skipped[2];
}

/* The thread's working memory, inside a parallel region. */
char *toeplitz_cpu_work(const cpu_state *s);

/* The numbers that half a plane of a segment's spectrum is multiplied by. */
char *toeplitz_cpu_kernel(const vf_toeplitz *plan, int segment, int64_t plane, int half);

/* The backend's `set`. */
vf_status toeplitz_cpu_set(vf_toeplitz *plan, vf_queue *queue, int segment, void *q);

#endif
