/* Voxfield - the electrostatic potential of point charges on a regular grid, by one of several methods.
 *
 *     V(r) = C sum_i q_i g(r - r_i)        g: the potential of a unit charge, vf_pair_potential
 *
 * A method is a table (vf_potential_method): its abilities, its costs and its functions. Programs choose a method by
 * name or by cost, and call the vf_potential_* functions below, which check every request against the table. To add a
 * method, add a table to the list in potential.c; the tests then run it.
 *
 * A plan is made once for a device, a problem and a set of charges. Work that depends only on the charges (sorting, a
 * mesh) is done then, and shared by all boxes. A point's value does not depend on the box in which it is computed.
 *
 * Boundary: a grid without a cell (vf_grid.cell) means charges in free space. A grid with a cell means charges and all
 * their periodic images; a net charge is neutralised by a uniform background.
 *
 * Lengths are in the grid's unit, charges in any unit, potentials in the unit that C defines.
 */
#ifndef VOXFIELD_POTENTIAL_H
#define VOXFIELD_POTENTIAL_H

#include "coulomb_sum.h"
#include "cutoff_sum.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the potential of one charge ---- */

/* A problem's law is one of the first two: its grid's cell says whether charges have images. */
typedef enum vf_pair_law {
    VF_PAIR_COULOMB,             /* g(d) = 1 / max(|d|, r_min) */
    VF_PAIR_DISTANCE_DIELECTRIC, /* g(d) = 1 / max(|d|, r_min)^2 */
    VF_PAIR_FUNCTION,            /* g(d) = value(state, d) */
    VF_PAIR_PERIODIC,            /* g(d): a charge, its images in `cell` and a neutralising background, mean 0; if
                                  * there is a function, g(d) = value(state, d), which has the images */
    VF_PAIR_SCREENED, /* g(d) = exp(-kappa r) / r, r = max(|d|, r_min): in a solvent with salt (Debye and Hueckel,
                                  * Phys. Z. 24 (1923) 185), for ions alone: no method has it */
    VF_PAIR_LAWS
} vf_pair_law;

typedef struct vf_pair_potential {
    vf_pair_law law;
    double scale; /* C: finite */
    double r_min; /* >= VF_COULOMB_MIN_R_MIN; of a function: the smallest nonzero distance for which it is called */
    /* For VF_PAIR_FUNCTION; NULL or, in a cell, for VF_PAIR_PERIODIC. Called by several threads at a time; must be
     * finite. `state` must outlive all users. */
    double (*value)(const void *state, const double d[3]);
    const void *state;
    double kappa; /* for VF_PAIR_SCREENED: >= 0, 1 over the Debye length */
    vf_cell cell; /* for VF_PAIR_PERIODIC: its first vector along x, its second in the plane of x and y */
} vf_pair_potential;

/* C g(d). */
double vf_pair_value(const vf_pair_potential *pair, const double d[3]);

/* ---- problems ---- */

typedef struct vf_potential_problem {
    vf_grid grid;
    vf_pair_potential pair;
    vf_dtype precision;  /* VF_F32 or VF_F64: of the arithmetic and the results */
    double tolerance;    /* rms error over the grid / rms potential, at most; 0: as exact as the precision allows */
    const char *variant; /* of the method; NULL: the device's default; must outlive the problem */
    double sigma;        /* > 0: of Gaussian charges, g(d) = erf(|d| / (sqrt(2) sigma)) / |d|; 0: points */
    bool vacuum;         /* with a cell: the crystal is a sphere in vacuum, not in a conductor; see ewald_sum.h */
    /* > 0: g ends there, by a law other than a split (cutoff_sum.h), for the methods that cut off, which keep no other
     * tolerance; in a cell, without a background or a condition at infinity. 0: g does not end. */
    double cutoff;
    vf_cutoff_law cutoff_law;
    double switch_from;
} vf_potential_problem;

/* The costs of a plan. Memory excludes the results. */
typedef struct vf_potential_estimate {
    char variant[32];      /* the actual variant */
    double evaluations;    /* of g over the whole grid, approximately */
    double seconds;        /* for the whole grid, on this device alone */
    double preparing;      /* part of `seconds`, 0 to 1, before the first value: sorting, meshes */
    uint64_t host_bytes;   /* on the host */
    uint64_t device_bytes; /* on the device, if it has its own memory */
} vf_potential_estimate;

/* ---- methods ---- */

typedef enum vf_potential_extent {
    VF_POTENTIAL_BOXES, /* any box of the grid, in any order */
    VF_POTENTIAL_WHOLE, /* only the whole grid at once */
} vf_potential_extent;

typedef struct vf_potential_method {
    const char *name;  /* "exact": for users to choose */
    const char *title; /* "direct sum": for reports */
    unsigned devices;  /* set of 1u << vf_device_kind */
    unsigned cells;    /* set of 1u << vf_cell_kind: supported boundaries; VF_CELL_NONE is free space */
    unsigned laws;     /* set of 1u << vf_pair_law: supported pair potentials */
    bool costly_plans; /* making a plan takes about as long as computing all boxes: better few large ones */
    bool gaussians;    /* whether charges may be Gaussians; on the CPU only */
    bool cuts_off;     /* for problems with a cutoff, and no others */
    vf_potential_extent extent;
    double tolerance[2]; /* the smallest supported, indexed by vf_dtype (VF_F32, VF_F64); 0: exact */

    /* The names of variants on a kind of device, the default first; NULL beyond the last. */
    const char *(*variant_name)(vf_device_kind kind, int index);

    /* Expected seconds on a typical device of a kind, computed without a device: for a choice before any device is
     * started. Ignores the problem's grid and variant. */
    double (*expected_seconds)(const vf_potential_problem *problem, vf_device_kind kind, int threads, double charges,
                               double points);

    /* The costs on this device, measured by running a small part of the work. `maps`: the number of such maps that the
     * device will compute; it bounds the time worth spending here. 0: nothing is measured. */
    vf_status (*estimate)(vf_device *device, const vf_potential_problem *problem, const vf_coulomb_atoms *charges,
                          double maps, vf_potential_estimate *out);

    /* Makes a plan's state; NULL after an error. The charges may be freed afterwards. */
    vf_status (*create)(vf_device *device, const vf_potential_problem *problem, const vf_coulomb_atoms *charges,
                        void **state);
    vf_status (*compute)(const void *state, vf_queue *queue, const vf_box *box, void *out);
    void (*destroy)(void *state); /* never called with NULL */

    /* The potential that this method gives to one more charge of the problem, such as an ion placed on the map. The
     * problem must outlive it. */
    void (*pair)(const vf_potential_problem *problem, vf_pair_potential *out);
} vf_potential_method;

/* The list of methods; NULL beyond the last. */
const vf_potential_method *vf_potential_method_at(int index);

/* Finds a method by name. NULL for "auto": use vf_potential_choose. `where` starts the message, for example "--method".
 * Errors: VF_ERR_ARGUMENT (the message lists all names). */
VF_MUST_CHECK vf_status vf_potential_method_named(vf_context *ctx, const char *where, const char *name,
                                                  const vf_potential_method **out);

/* Checks whether the method can solve the problem on a kind of device. Errors: VF_ERR_UNSUPPORTED (device, boundary,
 * pair potential or tolerance: the message says which), VF_ERR_ARGUMENT (NaN; out of range). */
VF_MUST_CHECK vf_status vf_potential_check(vf_context *ctx, const vf_potential_method *method,
                                           const vf_potential_problem *problem, vf_device_kind kind);

/* Chooses the method with the smallest expected time for this number of charges, among those that can solve the problem
 * on a kind of device. Errors: if none can, those of vf_potential_check for the first method. */
VF_MUST_CHECK vf_status vf_potential_choose(vf_context *ctx, const vf_potential_problem *problem, vf_device_kind kind,
                                            int64_t charges, const vf_potential_method **out);

/* ---- plans ---- */

typedef struct vf_potential vf_potential;

/* Makes a plan. Blocking. Errors: those of vf_potential_check; VF_ERR_ARGUMENT (charges out of range, unknown variant
 * with a list of the known ones), VF_ERR_UNSUPPORTED, VF_ERR_MEMORY, VF_ERR_DEVICE, VF_ERR_DEVICE_MEMORY. *out is NULL
 * then. */
VF_MUST_CHECK vf_status vf_potential_create(vf_device *device, const vf_potential_method *method,
                                            const vf_potential_problem *problem, const vf_coulomb_atoms *charges,
                                            vf_potential **out);

/* Puts the potential over a box into the queue. `out`: memory of the queue's device (VF_SPACE_DEVICE),
 * vf_box_points(box) elements of the problem's precision, [z][y][x] of the box without padding, overwritten. Do not
 * read it until the queue is synchronised. Asynchronous on a GPU, blocking on the CPU. Several queues of the plan's
 * device may use a plan at the same time. Errors: VF_ERR_ARGUMENT (the box is not inside the grid, or not the whole
 * grid if the method requires that; a queue of another device), VF_ERR_DEVICE, VF_ERR_CANCELLED (CPU only). */
VF_MUST_CHECK vf_status vf_potential_compute(const vf_potential *plan, vf_queue *queue, const vf_box *box, void *out);

/* NULL is allowed. Work in the queues must be done. */
void vf_potential_destroy(vf_potential *plan);

#ifdef __cplusplus
}
#endif
#endif
