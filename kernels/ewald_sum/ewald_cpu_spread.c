/* Charges onto the mesh. OpenMP threads spread tiles of charges; a tile is a range of rows and planes of the mesh, and
 * tiles of one colour touch no common row. If there are few tiles, several threads share one, each with some of the
 * planes: the order of a point's terms stays. */
#include <stdlib.h>
#include <string.h>

#include "backend/count_places.h"
#include "ewald_cpu.h"
#include "voxfield/team_size.h"

enum { PORTION = 2 << 20 }; /* charges that are sorted at a time: sorted copies of all would take as much as a mesh */

/* Tiles along y and z: a whole number, even or one, so that two colours suffice along each. */
typedef struct tiles {
    int64_t count[2]; /* y, z */
    int64_t *first;   /* [count + 1] charges */
    void *charges;
} tiles;

static int64_t tiles_along(int64_t mesh, int width)
{
    const int64_t most = mesh / (width > 8 ? width : 8);
    return most < 2 ? 1 : most / 2 * 2;
}

static int64_t tile_of(const ewald_level *level, const tiles *t, const int64_t start[3])
{
    const int64_t y = start[1] * t->count[0] / level->at.mesh[1], z = start[2] * t->count[1] / level->at.mesh[2];
    return z * t->count[0] + y;
}

static void locate(const ewald_level *level, const vf_coulomb_atoms *charges, int64_t i, int64_t start[3],
                   double offset[3])
{
    ewald_locate(&level->at, (const double[3]){charges->x[i], charges->y[i], charges->z[i]}, start, offset);
}

static void put_charge(const ewald_level *level, const tiles *t, int64_t place, const int64_t start[3],
                       const double offset[3], double charge)
{
    if (level->precision == VF_F64) {
        ewald_charge_f64 *c = (ewald_charge_f64 *)t->charges + place;
        for (int a = 0; a < 3; a++) {
            c->start[a] = (int32_t)start[a];
            c->offset[a] = offset[a];
        }
        c->charge = charge;
    } else {
        ewald_charge_f32 *c = (ewald_charge_f32 *)t->charges + place;
        for (int a = 0; a < 3; a++) {
            c->start[a] = (int32_t)start[a];
            c->offset[a] = (float)offset[a];
        }
        c->charge = (float)charge;
    }
}

static size_t charge_bytes(const ewald_level *level)
{
    return level->precision == VF_F64 ? sizeof(ewald_charge_f64) : sizeof(ewald_charge_f32);
}

/* places [tiles]: counts charges begin <= i < end of each tile, or puts them into their places. */
static void count_charges(const ewald_level *level, const vf_coulomb_atoms *charges, const tiles *t, int64_t begin,
                          int64_t end, int64_t *places)
{
    int64_t start[3];
    double offset[3];
    for (int64_t i = begin; i < end; i++) {
        locate(level, charges, i, start, offset);
        places[tile_of(level, t, start)]++;
    }
}

static void put_charges(const ewald_level *level, const vf_coulomb_atoms *charges, double scale, const tiles *t,
                        int64_t begin, int64_t end, int64_t *places)
{
    int64_t start[3];
    double offset[3];
    for (int64_t i = begin; i < end; i++) {
        locate(level, charges, i, start, offset);
        put_charge(level, t, places[tile_of(level, t, start)]++, start, offset, charges->charge[i] * scale);
    }
}

/* By tile; the caller's order within one. */
static vf_status sort(const ewald_level *level, const vf_coulomb_atoms *charges, double scale, tiles *t)
{
    const int64_t n = charges->count;
    const int threads = vf_threads_for(level->ctx, 2 * n);
    const int parts = (int)(n / 10000 < threads ? n / 10000 + 1 : threads); /* each with its own counts */
    for (int a = 0; a < 2; a++)
        t->count[a] = tiles_along(level->at.mesh[a + 1], level->at.width);
    const int64_t count = t->count[0] * t->count[1];
    int64_t *places = calloc((size_t)(parts * count), sizeof *places);
    t->first = malloc((size_t)(count + 1) * sizeof *t->first);
    t->charges = malloc((size_t)(n + 1) * charge_bytes(level));
    if (!places || !t->first || !t->charges) {
        free(places);
        return vf_fail(level->ctx, VF_ERR_MEMORY, "not enough memory to sort %lld charges", (long long)n);
    }
#pragma omp parallel for schedule(static, 1) num_threads(threads)
    for (int r = 0; r < parts; r++)
        count_charges(level, charges, t, vf_range_begin(n, parts, r), vf_range_begin(n, parts, r + 1),
                      places + r * count);
    vf_counts_to_places(parts, count, places, t->first);
#pragma omp parallel for schedule(static, 1) num_threads(threads)
    for (int r = 0; r < parts; r++)
        put_charges(level, charges, scale, t, vf_range_begin(n, parts, r), vf_range_begin(n, parts, r + 1),
                    places + r * count);
    free(places);
    return VF_OK;
}

static void spread_tile(const ewald_level *level, const tiles *t, int64_t tile, int64_t share, int64_t shares)
{
    const ewald_spread_job job = {.charges = (const char *)t->charges + (size_t)t->first[tile] * charge_bytes(level),
                                  .count = t->first[tile + 1] - t->first[tile],
                                  .width = level->at.width,
                                  .window = &level->window_powers,
                                  .mesh = level->mesh.data,
                                  .pitch = level->pitch,
                                  .mesh_y = level->at.mesh[1],
                                  .mesh_z = level->at.mesh[2],
                                  .share = share,
                                  .shares = shares};
    level->simd->spread(&job);
}

/* Adds what lies beyond the end of periodic rows to their beginning. */
static void wrap_rows(const ewald_level *level)
{
    const int64_t n = level->at.mesh[0], rows = level->at.mesh[1] * level->at.mesh[2];
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(level->ctx, rows * level->at.width))
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < level->at.width; i++)
            if (level->precision == VF_F64)
                ((double *)level->mesh.data)[r * level->pitch + i] +=
                    ((double *)level->mesh.data)[r * level->pitch + n + i];
            else
                ((float *)level->mesh.data)[r * level->pitch + i] +=
                    ((float *)level->mesh.data)[r * level->pitch + n + i];
}

static void clear_mesh(const ewald_level *level)
{
    const int64_t planes = level->at.mesh[2];
    const size_t plane_bytes = (size_t)(level->at.mesh[1] * level->pitch) * level->element;
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(level->ctx, planes *(int64_t)plane_bytes / 8))
    for (int64_t z = 0; z < planes; z++)
        memset((char *)level->mesh.data + (size_t)z * plane_bytes, 0, plane_bytes);
}

/* Of a tile. Each finds the windows of all its charges, which is little work beside some planes. */
static int64_t shares_of_tile(int threads, int64_t count, int64_t width)
{
    const int64_t wanted = count > 0 ? (2 * threads + count - 1) / count : 1;
    return threads == 1 ? 1 : wanted < width ? wanted : width;
}

static vf_status spread_portion(const ewald_level *level, const vf_coulomb_atoms *charges, double scale)
{
    tiles t = {0};
    const int64_t width = level->at.width, work = charges->count * width * width * width / 4; /* of a colour */
    vf_status status = sort(level, charges, scale, &t);
    for (int colour = 0; status == VF_OK && colour < 4; colour++) {
        const int64_t across = (t.count[0] + 1 - colour % 2) / 2, along = (t.count[1] + 1 - colour / 2) / 2;
        const int threads = vf_threads_for(level->ctx, work);
        const int64_t shares = shares_of_tile(threads, across * along, width);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
        for (int64_t n = 0; n < across * along * shares; n++) {
            const int64_t i = n / shares;
            if (!vf_cancelled(level->ctx))
                spread_tile(level, &t, (i / across * 2 + colour / 2) * t.count[0] + i % across * 2 + colour % 2,
                            n % shares, shares);
        }
    }
    free(t.first);
    free(t.charges);
    return status;
}

vf_status ewald_spread(ewald_level *level, const vf_coulomb_atoms *charges, double scale)
{
    vf_status status = VF_OK;
    clear_mesh(level);
    for (int64_t first = 0; status == VF_OK && first < charges->count; first += PORTION) {
        const int64_t left = charges->count - first;
        const vf_coulomb_atoms some = {.count = left < PORTION ? left : PORTION,
                                       .x = charges->x + first,
                                       .y = charges->y + first,
                                       .z = charges->z + first,
                                       .charge = charges->charge + first};
        status = spread_portion(level, &some, scale);
    }
    if (status == VF_OK && level->at.periodic)
        wrap_rows(level);
    if (status == VF_OK && vf_cancelled(level->ctx))
        status = vf_fail(level->ctx, VF_ERR_CANCELLED, "interrupted");
    return status;
}
