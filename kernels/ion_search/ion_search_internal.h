/* Declarations shared by the parts of the search for ions' places; not installed. */
#ifndef VOXFIELD_ION_SEARCH_INTERNAL_H
#define VOXFIELD_ION_SEARCH_INTERNAL_H

#include <math.h>

#include "backend/variants.h"
#include "coulomb_sum_simd.h"
#include "ion_search.h"

#ifdef __CUDACC__
#define ION_HOST_DEVICE __host__ __device__
extern "C" {
#else
#define ION_HOST_DEVICE
#endif

/* Charges, and the distance around each that stays free. The list of ions grows. */
typedef struct ion_sources {
    int64_t count, capacity;
    double *x, *y, *z;
    double *charge;    /* multiplied by C */
    double *magnitude; /* |charge| */
    double *distance;
} ion_sources;

/* The kind of a source. The mask's value of an excluded point is the kind plus one. */
enum { ION_ATOMS = VF_ION_SOLUTE - 1, ION_IONS = VF_ION_ION - 1, ION_SOURCES };

typedef struct vf_ion_search_backend {
    vf_variants variants;
    vf_status (*create)(vf_ion_search *search);
    /* Excludes the points too near to atoms, and subtracts them from search->free; NULL: ion_exclude does it. */
    vf_status (*exclude)(vf_ion_search *search);
    vf_status (*find)(vf_ion_search *search, double charge, vf_ion_place *out);
    /* Called after an ion is added to ION_IONS, before it is in the mask. */
    vf_status (*add)(vf_ion_search *search);
    void (*destroy)(vf_ion_search *search);
} vf_ion_search_backend;

/* The options for backends that support only Coulomb's law. */
typedef struct ion_search_setup {
    vf_coulomb_options potential; /* C, r_min, dielectric; the map's precision */
    bool map_is_exact;
} ion_search_setup;

struct vf_ion_search {
    const vf_ion_search_backend *backend;
    const char *variant;
    vf_device *device;
    vf_context *ctx;
    vf_grid grid;
    ion_search_setup options;
    vf_pair_potential pair; /* as the caller gave it, for backends that support functions */
    const void *map;
    const coulomb_simd *simd; /* sums on the CPU */
    ion_sources sources[ION_SOURCES];
    double least_distance; /* smallest distance of atoms */
    uint8_t *mask;         /* [z][y][x] */
    int64_t free;
    int64_t fail_at;              /* which of the following finds fails in a simulation, counted from 1; -1: none */
    void *state;                  /* the backend's own */
    struct vf_ewald_field *field; /* of all sources, between grid points of a cell; NULL until a place is refined */
    const double *totals; /* [z][y][x] the potential of all sources, if the backend keeps it up to date; else NULL */
};

extern const vf_ion_search_backend vf_ion_search_cells, vf_ion_search_images, vf_ion_search_kept, vf_ion_search_cuda,
    vf_ion_search_ref, vf_ion_search_opencl;

/* Errors relative to C sum |q|/r. MAP_ERROR and POSITION_ERROR: of the map, see ion_search.h. EXACT_ERROR: of energies
 * that are compared exactly. It is many times the rounding error of double precision, so that all points within the
 * tolerance of the lowest energy become candidates. */
#define MAP_ERROR (7 * 0x1p-24)
#define POSITION_ERROR (110 * 0x1p-24)
#define EXACT_ERROR 0x1p-39

/* The error of values from the map. */
static inline double ion_map_error(const vf_ion_search *search)
{
    const vf_coulomb_options *potential = &search->options.potential;
    const double *h = search->grid.spacing, spacing = fmax(h[0], fmax(h[1], h[2]));
    const double distance = fmax(search->least_distance, potential->r_min);
    const double steps = (potential->distance_dielectric ? 2 : 1) * spacing / distance; /* 2: for 1/r^2 */
    return search->options.map_is_exact || potential->precision == VF_F64 ? EXACT_ERROR
                                                                          : MAP_ERROR + POSITION_ERROR * steps;
}

/* ---- ion_search_grid.c: cells of the grid ---- */

/* Small, so that an ion's potential varies little within a cell. Along x, as wide as the widest vector. */
enum { CELL_X = 8, CELL_Y = 4, CELL_Z = 4, CELL_POINTS = CELL_X * CELL_Y * CELL_Z };
extern const int ion_cell_shape[3];

typedef struct ion_cells {
    int64_t along[3], count;
    double radius; /* half a cell's diagonal, from point to point */
} ion_cells;

ion_cells ion_cells_of(const vf_grid *grid);

/* The points of cell `number`, in the order [z][y][x]. */
vf_box ion_cell_box(const vf_grid *grid, const ion_cells *cells, int64_t number);

/* Bounds of C sum |q|/max(r, r_min) over the atoms, for the free points of each cell: *factor times magnitude[cells],
 * VF_SPACE_DEVICE memory of the queue's device. Call it after atoms have excluded their points. Errors: as
 * vf_coulomb_create.
 */
VF_MUST_CHECK vf_status ion_bound_atoms(const vf_ion_search *search, const ion_cells *cells, vf_queue *queue,
                                        float *magnitude, double *factor);

/* ---- ion_search_exclude.c ---- */

/* Marks the free points nearer to sources [first, first + count) of a kind than their distances, and subtracts them
 * from search->free. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status ion_exclude(vf_ion_search *search, int kind, const ion_sources *s, int64_t first,
                                    int64_t count);

/* The images of a place that lie within `distance` of the grid's box; without VF_PAIR_PERIODIC, only itself. */
void ion_images(const vf_ion_search *search, const double position[3], double distance,
                void (*take)(void *user, const double image[3]), void *user);

/* Whether d^2 (from ion_distance_squared) is too near. All code must use this test. */
ION_HOST_DEVICE static inline bool ion_too_near(double squared, double distance)
{
    return squared < distance * distance;
}
ION_HOST_DEVICE static inline double ion_distance_squared(double dx, double dy, double dz)
{
    return dx * dx + (dy * dy + dz * dz);
}

/* The points of an axis that are nearer to `centre` than `reach`: [*lo, *hi), with perhaps one more at each end. */
ION_HOST_DEVICE static inline void ion_axis_range(const vf_grid *grid, int axis, double centre, double reach,
                                                  int64_t *lo, int64_t *hi)
{
    const double most = (double)grid->counts[axis];
    const double first = ceil((centre - reach - grid->origin[axis]) / grid->spacing[axis]) - 1;
    const double last = floor((centre + reach - grid->origin[axis]) / grid->spacing[axis]) + 2;
    *lo = (int64_t)fmin(fmax(first, 0.0), most);
    *hi = (int64_t)fmin(fmax(last, 0.0), most);
}

/* ---- ion_search_exact.c ---- */

/* C sum q g of a kind's sources at a point, in double precision. The bits do not depend on the number of threads.
 * `magnitude`: sum |q g| instead. */
double ion_potential(const vf_ion_search *search, int kind, const double position[3], bool magnitude);

/* The potential of all sources. `index`: the grid point's, or -1. On a grid point of an exact map, the atoms' potential
 * is the map's. */
double ion_total_potential(const vf_ion_search *search, int64_t index, const double position[3]);

/* Energies at a point that differ by at most this are equal: see ion_search.h. */
double ion_tolerance(const vf_ion_search *search, int64_t index, const double position[3], double charge);

/* Adds to *sum what the ions from *ions on may add to C sum |q g| at a free point, which is no nearer to an ion than its distance, and
 * counts them. */
void ion_add_magnitudes(const vf_ion_search *search, int64_t *ions, double *sum);

void ion_point(const vf_grid *grid, int64_t index, double position[3]);
double ion_map_value(const vf_ion_search *search, int64_t index);

/* The free points whose energies are so close to the lowest that exact sums must decide. There are more of them than
 * fit only where a map is flat, as without charges; all points are equal then. */
enum { MOST_CANDIDATES = 1 << 14 };
typedef struct ion_candidates {
    int64_t count, first;           /* first: the lowest index */
    int64_t index[MOST_CANDIDATES]; /* the first min(count, MOST_CANDIDATES) found, in any order */
} ion_candidates;

/* Chooses from at least one candidate the first whose energy is the lowest, to the tolerance of ion_search.h. Errors:
 * VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status ion_choose(const vf_ion_search *search, double charge, const ion_candidates *candidates,
                                   int64_t *chosen);

#ifdef __CUDACC__
}
#endif
#endif
