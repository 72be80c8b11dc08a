/* Which point of a pass a thread takes; plain C, so that a test needs no GPU. Not installed. */
#ifndef VOXFIELD_MULTIGRID_BLOCKS_H
#define VOXFIELD_MULTIGRID_BLOCKS_H

#include "stencil_plan.h"

/* WIDE x TALL threads of a block take points of a plane, or pairs along x. */
enum { VF_PASS_WIDE = 32, VF_PASS_TALL = 8 };

/* The blocks of a pass over n points along each axis; `count` is beyond what a launch takes if they are too many. */
typedef struct vf_pass_blocks {
    int64_t n[3], count;
    unsigned across, along;
} vf_pass_blocks;

static inline vf_pass_blocks vf_pass_blocks_of(const int64_t n[3])
{
    const int64_t wide = (n[0] + VF_PASS_WIDE - 1) / VF_PASS_WIDE, tall = (n[1] + VF_PASS_TALL - 1) / VF_PASS_TALL;
    const bool fits = wide <= INT32_MAX && tall <= INT32_MAX && n[2] <= INT32_MAX / wide / tall;
    vf_pass_blocks b;
    for (int a = 0; a < 3; a++)
        b.n[a] = n[a];
    b.across = (unsigned)wide;
    b.along = (unsigned)tall;
    b.count = fits ? wide * tall * n[2] : INT64_MAX;
    return b;
}

/* The point of thread (x, y) of a block. Returns whether the pass has it. */
VF_STENCIL_FUNCTION bool vf_pass_place(const vf_pass_blocks *b, unsigned block, unsigned x, unsigned y, int64_t p[3])
{
    const unsigned row = block / b->across, layer = row / b->along;
    p[0] = (int64_t)(block - row * b->across) * VF_PASS_WIDE + x;
    p[1] = (int64_t)(row - layer * b->along) * VF_PASS_TALL + y;
    p[2] = layer;
    return p[0] < b->n[0] && p[1] < b->n[1];
}

/* Point `at` of a small pass, which one block runs. */
VF_STENCIL_FUNCTION void vf_pass_small_place(const int64_t n[3], int at, int64_t p[3])
{
    const int nx = (int)n[0], ny = (int)n[1], row = at / nx;
    p[0] = at - row * nx;
    p[1] = row % ny;
    p[2] = row / ny;
}

#endif
