/* The charges of the coarse mesh as those of the fine mesh's points: what each charge spreads with the fine mesh's window is spread
 * once more, with the coarse mesh's. For many charges that is less work than to spread all of them twice. It is the transpose of
 * the interpolation from the coarse mesh to the fine one. Along x comes last, where the fewest rows are left: points whose windows
 * overlap have to wait for each other there. */
#include <stdlib.h>
#include <string.h>

#include "ewald_cpu.h"
#include "voxfield/team_size.h"

enum { SLAB = 64 }; /* planes of the fine mesh at a time */

typedef struct restriction {
    const ewald_level *fine, *coarse;
    ewald_targets at; /* the fine mesh's points, on the coarse mesh */
    double *planes;   /* [SLAB][y of the coarse mesh][x of the fine one] after the step along y */
    double *columns;  /* [z of the coarse mesh][y of it][x of the fine one] after that along z */
} restriction;

/* Point p of the window of the fine mesh's point i; in cells, mesh points continue periodically. */
static int64_t coarse_point(const restriction *r, int axis, int64_t i, int p)
{
    const int64_t at = r->at.start[axis][i] + p;
    return r->coarse->at.periodic ? ewald_wrapped(at, r->coarse->at.mesh[axis]) : at;
}

static double weight_of(const restriction *r, int axis, int64_t i, int p)
{
    return ((const double *)r->at.weights[axis])[i * r->coarse->at.width + p];
}

/* Along y: plane z of the fine mesh. line: working memory for a row of it. */
static void along_y(const restriction *r, int64_t z, double *line, double *plane)
{
    const ewald_level *fine = r->fine;
    const int64_t n = fine->at.mesh[0];
    memset(plane, 0, (size_t)(n * r->coarse->at.mesh[1]) * sizeof *plane);
    for (int64_t y = 0; y < fine->at.mesh[1]; y++) {
        const void *row =
            (const char *)fine->mesh.data + (size_t)((z * fine->at.mesh[1] + y) * fine->pitch) * fine->element;
        for (int64_t x = 0; fine->precision == VF_F32 && x < n; x++)
            line[x] = (double)((const float *)row)[x];
        for (int p = 0; p < r->coarse->at.width; p++)
            r->coarse->simd->add_row(n, weight_of(r, 1, y, p), fine->precision == VF_F32 ? line : row,
                                     plane + coarse_point(r, 1, y, p) * n);
    }
}

/* Along z: adds to plane z of the coarse mesh what the fine mesh's planes begin <= i < end have for it. */
static void along_z(const restriction *r, int64_t begin, int64_t end, int64_t z)
{
    const int64_t points = r->coarse->at.mesh[1] * r->fine->at.mesh[0];
    double *plane = r->columns + z * points;
    if (begin == 0)
        memset(plane, 0, (size_t)points * sizeof *plane);
    for (int64_t i = begin; i < end; i++)
        for (int p = 0; p < r->coarse->at.width; p++)
            if (coarse_point(r, 2, i, p) == z)
                r->coarse->simd->add_row(points, weight_of(r, 2, i, p), r->planes + (i - begin) * points, plane);
}

/* Along x: rows y of plane z. row [mesh + width]: working memory. */
static void along_x(const restriction *r, int64_t z, double *row)
{
    const ewald_level *coarse = r->coarse;
    const ewald_layout *to = &coarse->at;
    const int64_t n = r->fine->at.mesh[0], columns = to->mesh[0];
    for (int64_t y = 0; y < to->mesh[1]; y++) {
        memset(row, 0, (size_t)(columns + to->width) * sizeof *row);
        coarse->simd->add_windows(n, to->width, r->at.start[0], r->at.weights[0],
                                  r->columns + (z * to->mesh[1] + y) * n, row);
        for (int64_t x = columns; to->periodic && x < columns + to->width; x++)
            row[x % columns] += row[x];
        memcpy((double *)coarse->mesh.data + (z * to->mesh[1] + y) * coarse->pitch, row, (size_t)columns * sizeof *row);
    }
}

/* All planes, by all threads: each plane is computed by one, in one order. */
static vf_status restrict_planes(const restriction *r)
{
    const ewald_layout *from = &r->fine->at, *to = &r->coarse->at;
    const int64_t plane = from->mesh[0] * to->mesh[1];
    const int64_t work = 4 * from->mesh[0] * from->mesh[1] * from->mesh[2];
    int failed = 0;
#pragma omp parallel num_threads(vf_threads_for(r->coarse->ctx, work)) reduction(| : failed)
    {
        double *row = malloc((size_t)(from->mesh[0] + to->mesh[0] + to->width) * sizeof *row);
        failed = !row;
        for (int64_t begin = 0; begin < from->mesh[2]; begin += SLAB) {
            const int64_t end = begin + SLAB < from->mesh[2] ? begin + SLAB : from->mesh[2];
#pragma omp for schedule(dynamic, 1)
            for (int64_t z = begin; z < end; z++)
                if (!failed && !vf_cancelled(r->coarse->ctx))
                    along_y(r, z, row, r->planes + (z - begin) * plane);
#pragma omp for schedule(dynamic, 1)
            for (int64_t z = 0; z < to->mesh[2]; z++)
                along_z(r, begin, end, z);
        }
#pragma omp for schedule(dynamic, 1)
        for (int64_t z = 0; z < to->mesh[2]; z++)
            if (!failed)
                along_x(r, z, row);
        free(row);
    }
    if (failed)
        return vf_fail(r->coarse->ctx, VF_ERR_MEMORY, "Ewald sum: not enough memory for the coarse mesh's charges");
    return vf_cancelled(r->coarse->ctx) ? vf_fail(r->coarse->ctx, VF_ERR_CANCELLED, "interrupted") : VF_OK;
}

uint64_t ewald_restrict_bytes(const ewald_layout *fine, const ewald_layout *coarse)
{
    return (uint64_t)((SLAB + coarse->mesh[2]) * coarse->mesh[1] * fine->mesh[0]) * sizeof(double);
}

vf_status ewald_restrict(const ewald_level *fine, const ewald_level *coarse)
{
    const int64_t plane = fine->at.mesh[0] * coarse->at.mesh[1];
    restriction r = {.fine = fine, .coarse = coarse};
    vf_status status =
        ewald_targets_make(coarse, fine->at.mesh, fine->at.origin, (const double(*)[3])fine->at.edge, &r.at);
    for (int64_t x = 0; x < fine->at.mesh[0] && status == VF_OK && coarse->at.periodic; x++)
        r.at.start[0][x] = coarse_point(&r, 0, x, 0); /* where rows along x begin */
    r.planes = malloc((size_t)(SLAB * plane) * sizeof *r.planes);
    r.columns = malloc((size_t)(coarse->at.mesh[2] * plane) * sizeof *r.columns);
    if (status == VF_OK && (!r.planes || !r.columns))
        status = vf_fail(coarse->ctx, VF_ERR_MEMORY, "Ewald sum: not enough memory for the coarse mesh's charges");
    VF_TRY(status, restrict_planes(&r));
    ewald_targets_free(&r.at);
    free(r.planes);
    free(r.columns);
    return status;
}
