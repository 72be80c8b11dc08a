/* A plan of multigrid: its levels, and passes over one; not installed. */
#ifndef VOXFIELD_MULTIGRID_PLAN_H
#define VOXFIELD_MULTIGRID_PLAN_H

#include "multigrid_levels.h"
#include "multigrid_rows.h"
#include "voxfield/multigrid.h"

#ifdef __cplusplus
extern "C" {
#endif

/* LAST_SWEEPS: on the coarsest level, of at most 3^3 points, before and in reverse after: the least eigenvalue of D^-1 A is
 * 1 - cos(pi / 4), so one sweep of Gauss and Seidel leaves cos^2(pi / 4) = 1/2, and all of them 2^-32. */
enum { VF_MULTIGRID_MOST_LEVELS = 32, VF_MULTIGRID_LAST_SWEEPS = 16 };

typedef struct vf_multigrid_level {
    vf_context *ctx;
    const vf_multigrid_kernels *rows;
    vf_stencil_options options; /* faces and reaction: the level's own, or the caller's on the finest */
    int64_t points, bytes;      /* of a number */
    double weight[3];           /* 1 / spacing^2; 0 along a periodic axis of one point, which is its own neighbour */
    bool jacobi;                /* colours are not apart: a periodic axis has an odd number of points */
    vf_levels_pair to_coarse;
    vf_array faces[3], reaction, b, x; /* the finest has none */
    vf_array other;                    /* of a jacobi level on the CPU: a second x */
    const void *zeros;                 /* a row outside */
    double *sums;                      /* of rows: the finest's */
    const void *now_b, *now_x;         /* of the residual that is being restricted */
} vf_multigrid_level;

/* What a backend does with a plan, whose levels the front end makes. Vectors are the finest level's, in the plan's
 * precision; left and sum are double. Numbers that are returned may be NULL, else the call is blocking. */
typedef struct vf_multigrid_ops {
    vf_status (*coarsen)(const vf_multigrid *plan, int n); /* fills the coefficients of level n + 1; blocking */
    /* x = the cycle's approximation of A^-1 b; <b, x>. */
    vf_status (*cycle)(vf_multigrid *plan, vf_queue *queue, const void *b, void *x, double *product);
    vf_status (*apply)(vf_multigrid *plan, vf_queue *queue, const void *x, void *ax,
                       double *product); /* A x; <x, A x> */
    /* left -= A x and sum += x in double precision, r = left rounded; |left|^2. */
    vf_status (*correct)(vf_multigrid *plan, vf_queue *queue, const void *x, double *left, double *sum, void *r,
                         double *squares);
} vf_multigrid_ops;
extern const vf_multigrid_ops vf_multigrid_ops_cpu, vf_multigrid_ops_cuda;

struct vf_multigrid {
    vf_device *device;
    const vf_multigrid_ops *ops;
    vf_array scratch; /* of the finest level's size, on devices where passes are by points (multigrid_point.inc) */
    const vf_multigrid_moves *moves;
    int sweeps, levels;
    vf_multigrid_level level[VF_MULTIGRID_MOST_LEVELS];
    char *rows;
    void *zeros;
    double *sums;
};

/* Of Jacobi's method, whose two steps take the place of a sweep where colours are not apart. What the coarser level cannot show has
 * eigenvalues of D^-1 A from 1/3 to 2 (of three equal axes), of which two steps leave at most (5/7)^2. */
#define VF_MULTIGRID_OMEGA (6.0 / 7)

/* Of the smoother, before the coarser levels and after. */
static inline int vf_multigrid_sweeps_of(const vf_multigrid *plan, int n)
{
    return n == plan->levels - 1 ? VF_MULTIGRID_LAST_SWEEPS : plan->sweeps + (n > 0);
}

/* Passes by points, on devices where a thread takes a point: over points of one colour, up to RESIDUAL; then over all,
 * RESTRICT and COARSEN over those of the coarser level. */
typedef enum vf_multigrid_kind {
    VF_MULTIGRID_START,
    VF_MULTIGRID_RELAX,
    VF_MULTIGRID_RESIDUAL,
    VF_MULTIGRID_JACOBI,
    VF_MULTIGRID_RESTRICT,
    VF_MULTIGRID_ADD,
    VF_MULTIGRID_APPLY,
    VF_MULTIGRID_CORRECT,
    VF_MULTIGRID_COARSEN
} vf_multigrid_kind;

/* SMALL: points of the largest level whose passes one block of threads runs (16^3 and a little more); MOST_SMALL: how
 * many levels, so that they fit in a kernel's arguments. */
enum { VF_MULTIGRID_SMALL = 5000, VF_MULTIGRID_MOST_SMALL = 12 };

#ifdef __cplusplus
}
#endif
#endif
