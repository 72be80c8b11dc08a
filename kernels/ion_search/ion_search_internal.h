/* What the parts of the search for ions' places share; not installed. */
#ifndef VOXFIELD_ION_SEARCH_INTERNAL_H
#define VOXFIELD_ION_SEARCH_INTERNAL_H

#include "backend/variants.h"
#include "coulomb_sum_simd.h"
#include "ion_search.h"

/* Charges, and the distance that each keeps free around it. They grow for ions. */
typedef struct ion_sources {
    int64_t count, capacity;
    double *x, *y, *z;
    double *charge;    /* times C */
    double *magnitude; /* |charge| */
    double *distance;
} ion_sources;

/* Which of the two an energy or a distance is about; what excludes a point is the mask's value less one. */
enum { ION_ATOMS = VF_ION_SOLUTE - 1, ION_IONS = VF_ION_ION - 1, ION_SOURCES };

typedef struct vf_ion_search_backend {
    vf_variants variants; /* first: variants.h chooses by it */
    vf_status (*create)(vf_ion_search *search);
    vf_status (*find)(vf_ion_search *search, double charge, vf_ion_place *out);
    /* After the last of ION_IONS was added. */
    vf_status (*add)(vf_ion_search *search);
    void (*destroy)(vf_ion_search *search);
} vf_ion_search_backend;

struct vf_ion_search {
    const vf_ion_search_backend *backend;
    const char *variant;
    vf_device *device;
    vf_context *ctx;
    vf_grid grid;
    vf_ion_search_options options;
    const void *map;
    const coulomb_simd *simd; /* sums on the CPU */
    ion_sources sources[ION_SOURCES];
    double least_distance; /* of the atoms' */
    uint8_t *mask;         /* [z][y][x] */
    int64_t free;
    void *state; /* the backend's own */
};

extern const vf_ion_search_backend vf_ion_search_cells, vf_ion_search_cells_cuda, vf_ion_search_ref;

/* ---- ion_search_exclude.c ---- */

/* Marks the points nearer to sources [first, first + count) than their distances that nothing excludes yet, and counts
 * them off search->free. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status ion_exclude(vf_ion_search *search, int kind, int64_t first, int64_t count);

/* Whether d^2 (as ion_distance_squared has it) is too near: the one rule of all who ask. */
static inline bool ion_too_near(double squared, double distance)
{
    return squared < distance * distance;
}
static inline double ion_distance_squared(double dx, double dy, double dz)
{
    return dx * dx + (dy * dy + dz * dz);
}

/* ---- ion_search_exact.c ---- */

/* C sum q/max(r, r_min) of a kind's sources at a point, in double precision: the same bits whatever the number of
 * threads. `magnitude`: sum |q| instead. */
double ion_potential(const vf_ion_search *search, int kind, const double position[3], bool magnitude);

/* The potential of all sources. On a grid point of a map that is exact, the atoms' is the map's. `index`: of the grid
 * point, or -1. */
double ion_total_potential(const vf_ion_search *search, int64_t index, const double position[3]);

/* What energies of equal ions may differ by at a point: see ion_search.h. */
double ion_tolerance(const vf_ion_search *search, int64_t index, const double position[3], double charge);

void ion_point(const vf_grid *grid, int64_t index, double position[3]);
double ion_map_value(const vf_ion_search *search, int64_t index);

#endif
