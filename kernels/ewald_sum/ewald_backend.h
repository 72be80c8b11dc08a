/* The contents of a plan, and the interface of backends; not installed.
 *
 * The smooth part of Coulomb's law is split once more, into a range up to a few rc and the rest:
 *
 *     Phi(r / rc) / r = [Phi(r / rc) / r - Phi(r / rc') / r] + Phi(r / rc') / r,     rc' = about EWALD_COARSER rc
 *
 * The bracket is 0 beyond rc'. So in free space, the fine mesh needs only a margin of rc' against its images, not twice
 * its length, and its kernel is known in closed form. The rest is on a coarse mesh, in double precision: in single
 * precision, rounding errors of long waves would be multiplied by their 4 pi / k^2. */
#ifndef VOXFIELD_EWALD_INTERNAL_H
#define VOXFIELD_EWALD_INTERNAL_H

#include "ewald_sum.h"
#include "prolate.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { EWALD_LEAST_WIDTH = 4, EWALD_MOST_WIDTH = 20, EWALD_COARSER = 4 };

/* A mesh, and the part of Coulomb's law that it is for. */
typedef struct ewald_layout {
    bool periodic, skewed;    /* in a cell; a triclinic one */
    double bandwidth, cutoff; /* c, rc; c / rc is the largest wave number */
    double sigma;             /* of Gaussian charges, all of whose potential is on this mesh; 0: Phi(r / rc) / r is */
    double background;        /* added to the transform at k = 0 */
    int width;                /* P */
    double window;            /* the window's bandwidth */
    int64_t mesh[3];          /* points along each axis; periodic: once around */
    int64_t length[3];        /* of transforms: mesh, or longer in free space */
    double origin[3];         /* of mesh point 0 */
    double edge[3][3];        /* vectors from a mesh point to its neighbours; triangular: 0 above the diagonal */
    double inverse[3][3];     /* mesh coordinates: u_i = inverse[i] . (r - origin) */
    double step[3];           /* |edge| */
} ewald_layout;

/* What follows from the tolerance, the grid and the charges (ewald_parameters.c). */
typedef struct ewald_shape {
    ewald_layout fine, coarse;
    vf_dtype precision;       /* of the fine mesh */
    vf_dtype arithmetic;      /* of near pairs, and of their sum with the mesh */
    bool interpolates;        /* the fine mesh does not have the map's points */
    bool restricts;           /* on a CPU: the coarse mesh's charges are those of the fine mesh's points */
    double pairs;             /* near pairs, about */
    double correction;        /* the reach of Gaussian charges that differ from points at near pairs only; 0: none */
    double making, executing; /* seconds of one typical thread for the plan, and for the grid */
} ewald_shape;

/* What the choice needs to know of the charges. */
enum { EWALD_DISTANCES = 64, EWALD_SAMPLES = 6 };
typedef struct ewald_summary {
    int64_t count, wrong;            /* wrong: the first that is out of range; -1: none */
    double squares, largest;         /* sum q^2, max |q| */
    double lo[3], hi[3];             /* bounds of the charges and the grid */
    double rms;                      /* of the potential over the grid, without the scale; at EWALD_SAMPLES^3 points */
    double volume;                   /* of the grid, or of the cell */
    int64_t within[EWALD_DISTANCES]; /* charges at most 2^(n - 32) grid spacings outside of the grid */
} ewald_summary;

/* Charges in the memory of a device, and what else of theirs a backend keeps for the time of a creation. */
typedef struct ewald_loaded {
    vf_queue *queue;
    vf_array data; /* x, y, z and charge, each [count] */
} ewald_loaded;

typedef vf_status (*ewald_execute)(const vf_ewald *plan, vf_queue *queue, const vf_box *box, void *out);

/* A backend computes the smooth part. */
typedef struct vf_ewald_backend {
    /* Makes plan->state from the rest of the plan; sets plan->bytes and plan->most_bytes. `loaded`: if it loads; then
     * its work goes into that queue, without waiting. */
    vf_status (*create)(vf_ewald *plan, const vf_coulomb_atoms *charges, ewald_loaded *loaded);
    /* out = the smooth part over a box, with the term of the vacuum boundary; out of plan->shape.arithmetic. */
    ewald_execute execute;
    /* out = the result of `whole`, of doubles, rounded to single precision: slab by slab, in memory of its own. */
    vf_status (*round)(const vf_ewald *plan, vf_queue *queue, const vf_box *box, ewald_execute whole, float *out);
    void (*destroy)(vf_ewald *plan);
    /* For backends with memory of their own, otherwise NULL: *loaded is always to be unloaded. summarise sets wrong,
     * squares, largest, lo, hi, within (each number by itself) and rms, the latter in free space only. */
    vf_status (*load)(vf_device *device, const vf_coulomb_atoms *charges, ewald_loaded *loaded);
    vf_status (*summarise)(ewald_loaded *loaded, const vf_grid *grid, const vf_ewald_options *options,
                           ewald_summary *out);
    vf_status (*unload)(ewald_loaded *loaded); /* waits for the queue */
} vf_ewald_backend;

struct vf_ewald {
    const vf_ewald_backend *backend;
    vf_device *device;
    vf_context *ctx;
    vf_grid grid;
    vf_ewald_options options;
    ewald_shape shape;
    vf_cutoff *near;            /* of points; empty if all is on the mesh */
    vf_cutoff *correction;      /* from points to Gaussian charges; NULL: none */
    double slope[3];            /* of the term of the vacuum boundary */
    uint64_t bytes, most_bytes; /* of the state */
    void *state;                /* the backend's own */
};

extern const vf_ewald_backend vf_ewald_cpu, vf_ewald_cuda, vf_ewald_opencl;

/* The CPU backend's memory while it makes the meshes, without charges. */
uint64_t ewald_cpu_making_bytes(const ewald_shape *shape, int threads);

/* Gaussian charges have no pole; what is subtracted from one should not be larger than needed. */
static inline double ewald_r_min(const vf_ewald_options *o)
{
    return o->sigma > 0 && o->sigma < o->r_min ? o->sigma : o->r_min;
}

/* Planes of a box that are held in double precision at a time: 64 MiB, or one plane. */
static inline int64_t ewald_planes(const vf_box *box)
{
    const int64_t n = ((int64_t)8 << 20) / (vf_box_extent(box, 0) * vf_box_extent(box, 1));
    return n < 1 ? 1 : n < vf_box_extent(box, 2) ? n : vf_box_extent(box, 2);
}

/* Chooses the shape; `loaded` if the backend loads. Errors: VF_ERR_ARGUMENT, VF_ERR_UNSUPPORTED, VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status ewald_choose(vf_device *device, const vf_ewald_backend *backend, const vf_grid *grid,
                                     const vf_coulomb_atoms *charges, ewald_loaded *loaded,
                                     const vf_ewald_options *options, ewald_shape *shape);

/* One mesh, in double precision, for the smooth part at scattered points between lo and hi (which hold the charges,
 * too; in a cell, anywhere). False: none of this spacing suits. s: count, squares, largest, rms and volume. */
typedef struct ewald_points_layout {
    ewald_layout mesh;
    double correction; /* as in ewald_shape */
    double seconds;    /* of one typical thread to make it */
} ewald_points_layout;
bool ewald_layout_for_points(const vf_cell *cell, const double lo[3], const double hi[3], const ewald_summary *s,
                             double tolerance, double sigma, double h, ewald_points_layout *out);

/* Sample n of the potential along an axis. */
static inline double ewald_sample(const vf_grid *grid, int axis, int n)
{
    const double step = grid->spacing[axis] * (double)grid->counts[axis] / EWALD_SAMPLES;
    return grid->origin[axis] + 0.5 * (step - grid->spacing[axis]) + step * n;
}

/* Numbers from a row of a mesh to the next: space for half a spectrum, and for windows that reach beyond the end. */
enum { EWALD_PADDED = 32 };
static inline int64_t ewald_pitch(const ewald_layout *s)
{
    const int64_t spectrum = s->length[0] + 2, windows = s->mesh[0] + EWALD_PADDED;
    return ((spectrum > windows ? spectrum : windows) + 15) / 16 * 16;
}

static inline uint64_t ewald_mesh_bytes(const ewald_layout *s, vf_dtype precision)
{
    return (uint64_t)(s->mesh[2] * s->mesh[1] * ewald_pitch(s)) * vf_dtype_bytes(precision);
}

/* The sizes of the multiplier of a mesh's spectrum: [x 0..length / 2][y][z], y and z up to length / 2 if it is even in
 * each (not skewed), else whole. */
static inline int64_t ewald_kernel_size(const ewald_layout *s, int axis)
{
    return axis > 0 && s->skewed ? s->length[axis] : s->length[axis] / 2 + 1;
}

#ifdef __cplusplus
}
#endif

#endif
