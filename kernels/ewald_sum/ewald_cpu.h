/* The steps of the CPU backend; not installed. */
#ifndef VOXFIELD_EWALD_CPU_H
#define VOXFIELD_EWALD_CPU_H

#include "ewald_backend.h"
#include "ewald_simd.h"

/* A layout with its mesh. */
typedef struct ewald_level {
    ewald_layout at;
    vf_context *ctx;
    vf_dtype precision;
    size_t element; /* bytes of a number */
    const ewald_simd *simd;
    vf_prolate psi, window;
    vf_prolate_powers window_powers;
    int64_t pitch; /* numbers from a row of the mesh to the next */
    vf_array mesh; /* [mesh z][mesh y][pitch]: charges, their spectrum, then the potential */
} ewald_level;

/* A lattice of points to interpolate at. */
typedef struct ewald_targets {
    int64_t counts[3];
    double first[3], step[3][3]; /* mesh coordinate i of point n: first[i] + sum_a step[i][a] n_a */
    bool skewed;                 /* coordinates depend on other axes */
    int64_t *start[3];           /* [counts] the first mesh point of each window; NULL if it depends on other axes */
    void *weights[3];            /* [counts][width] */
} ewald_targets;

/* A level without values; ewald_level_free is always allowed. */
VF_MUST_CHECK vf_status ewald_level_make(vf_device *device, const ewald_layout *layout, vf_dtype precision,
                                         ewald_level *out);
void ewald_level_free(ewald_level *level);

/* mesh = sum_i scale q_i window(mesh - r_i). */
VF_MUST_CHECK vf_status ewald_spread(ewald_level *level, const vf_coulomb_atoms *charges, double scale);

/* What a kernel is made of: the transform of Phi(r / rc) / r of its level, less that of another one, divided by those
 * of windows. */
typedef struct ewald_kernel_job {
    const ewald_level *level;
    const ewald_level *less; /* NULL: nothing */
    int divisions;           /* by the level's own window's transform, in 1 to 2 */
    const ewald_level *more; /* also divided by this level's window's, once; NULL: not */
    double volume;           /* of the cell; 0: in free space */
    uint64_t work_bytes;     /* set: memory used meanwhile */
} ewald_kernel_job;

/* The multiplier of the mesh's spectrum, of the level's precision and of sizes ewald_kernel_size.
 * ewald_truncated_kernel is for free space without `less`. */
VF_MUST_CHECK vf_status ewald_make_kernel(ewald_kernel_job *job, vf_array *kernel);
VF_MUST_CHECK vf_status ewald_truncated_kernel(ewald_kernel_job *job, vf_array *kernel);

/* The level's own part of the transform at k^2, without windows: psi(k rc / c), or exp(-sigma^2 k^2 / 2). */
typedef struct ewald_radial {
    vf_prolate_powers psi;
    double most; /* c / rc: beyond, it is 0 */
    double sigma;
} ewald_radial;
void ewald_radial_make(const ewald_level *level, ewald_radial *out);
double ewald_radial_value(const ewald_radial *radial, double k2);

/* 1 / the window's transform at the wave number 2 pi j / n of the mesh, in mesh points. */
double ewald_window_inverse(const ewald_level *level, double angle);

/* mesh = the mesh convolved. *bytes: memory used meanwhile. */
VF_MUST_CHECK vf_status ewald_convolve(ewald_level *level, const vf_array *kernel, uint64_t *bytes);

/* Targets at origin + n . edge. ewald_targets_free is always allowed. */
VF_MUST_CHECK vf_status ewald_targets_make(const ewald_level *level, const int64_t counts[3], const double origin[3],
                                           const double edge[3][3], ewald_targets *out);
void ewald_targets_free(ewald_targets *targets);

/* Where interpolated values go: rows and planes of numbers of a precision. */
typedef struct ewald_output {
    void *values; /* the box's first point */
    vf_dtype precision;
    int64_t row, plane; /* strides */
    bool add;
} ewald_output;
VF_MUST_CHECK vf_status ewald_interpolate(const ewald_level *level, const ewald_targets *targets, const vf_box *box,
                                          const ewald_output *out);

/* `n` numbers of a row to where they go. */
void ewald_put_row(const ewald_output *out, vf_dtype precision, int64_t n, const void *row, void *to);

/* The first mesh point of the window around mesh coordinate u. Point p of it lies p - width / 2 + *offset from u. */
int64_t ewald_start(int width, double u, double *offset);

/* window(p - width / 2 + offset) for the points of a window. */
void ewald_weights(const ewald_level *level, double offset, double *weights);

/* Threads for a loop over this many pieces, each worth starting a thread for. */
static inline int ewald_threads(const vf_context *ctx, int64_t pieces)
{
    const int threads = vf_context_threads(ctx);
    return pieces < threads ? (int)pieces : threads;
}

#endif
