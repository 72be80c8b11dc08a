/* Shared by the two parts of the CPU backend, toeplitz_cpu.c (plans, and passes over vectors) and toeplitz_cpu_kernel.c
 * (from Q to the kernel); not installed. */
#ifndef VOXFIELD_TOEPLITZ_CPU_H
#define VOXFIELD_TOEPLITZ_CPU_H

#include "backend/fft_lanes.h"
#include "toeplitz_backend.h"
#include "toeplitz_simd.h"

/* Which lines along x are side by side, and what is left out. */
typedef enum toeplitz_order {
    ORDER_SHEETS,  /* three axes: those of neighbouring frequencies along y */
    ORDER_PLANES,  /* two axes, x and z, or one: those of neighbouring planes */
    ORDER_COLUMNS, /* a circulant matrix, three axes, no transform along x: there are none */
    ORDER_LINES    /* a circulant matrix, two axes, only lines along z are transformed */
} toeplitz_order;

typedef struct cpu_state {
    const toeplitz_simd *simd;
    vf_dtype type;   /* complex */
    size_t element;  /* bytes of a complex number */
    int64_t n[3];    /* voxels; with two axes longer than 1 they are x and z, with one axis x */
    int halves[3];   /* 2; 1 along an axis of one voxel, and for a circulant matrix */
    bool skipped[3]; /* the factors of a circulant matrix do not depend on k along this axis */
    toeplitz_order order;
    int64_t lanes;  /* lines side by side */
    int64_t blocks; /* of lanes, in a row along x */
    int64_t planes; /* of the spectrum: [z half][z] */
    int64_t stride; /* between planes, in elements */
    int64_t room;   /* elements of a turn's spectrum: the planes, rounded up */
    int batch;      /* turns that there is room for */
    int64_t column; /* elements of a sheet's block: [y, rounded up][lanes] */
    int threads;    /* number with working memory */
    size_t work_bytes;
    fft_lanes *fft[3];
    vf_array phase[3]; /* [n] exp(-i pi n / N), along axes with two halves */
    vf_array spectrum; /* [batch][planes, rounded up] of [block][y][re, im][lanes] */
    vf_array kernels;  /* real: see toeplitz_cpu_kernel_at */
    vf_array work;     /* [threads] work_bytes */
} cpu_state;

static inline int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline int64_t round_up(int64_t n, int64_t multiple)
{
    return (n + multiple - 1) / multiple * multiple;
}

/* The number in the kernels of a segment's factor: of a plane, and of frequencies along y and x, each a half and a place in the
 * order of fft_lanes. A plane is z half * n_z + place.
 *     ORDER_SHEETS     [segment][plane][y half][y / lanes][x half][x][y % lanes]
 *     ORDER_PLANES     [segment][plane / lanes][x half][x][plane % lanes]
 *     ORDER_COLUMNS    [plane][y]
 *     ORDER_LINES      [plane] */
int64_t toeplitz_cpu_kernel_at(const cpu_state *s, int segment, int64_t plane, const int half[2], const int64_t at[2]);
/* Numbers in all kernels, whatever the order. */
int64_t toeplitz_cpu_kernel_count(const cpu_state *s, int segments);

/* The `set` function of the backend. */
vf_status toeplitz_cpu_set(vf_toeplitz *plan, vf_queue *queue, int segment, void *q);

#endif
