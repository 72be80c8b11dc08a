/* Where an ISMRMRD image lies: matrix and field of view from the header, directions and positions from the
 * acquisitions. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scan_ismrmrd_reader.h"
#include "voxfield/timer.h"

/* ---- the header's spaces ---- */

static bool matrix_known(const ismrmrd_space *space)
{
    return space->matrix[0] > 0 && space->matrix[1] > 0;
}

static vf_status encoded_matrix(ismrmrd_reader *r)
{
    const ismrmrd_encoding *p = r->e;
    const ismrmrd_space *space = matrix_known(&p->encoded) ? &p->encoded : &p->recon;
    const char *path = r->source->path;
    if (!matrix_known(space))
        return vf_fail(r->ctx, VF_ERR_INPUT, "%s: xml: matrixSize of encodedSpace is missing", path);
    if (space == &p->recon)
        vf_warn(r->ctx, "%s: xml: no matrix in encodedSpace; using that of reconSpace", path);
    for (int a = 0; a < 3; a++) {
        int64_t n = space->matrix[a];
        if (a == 2 && n == 0) {
            vf_warn(r->ctx, "%s: xml: no matrix along z; using 1", path);
            n = 1;
        }
        if (n < 1 || n > SCAN_MOST_MATRIX)
            return vf_fail(r->ctx, VF_ERR_INPUT, "%s: xml: a matrix of %" PRId64 " along %c; expected 1 to %d", path, n,
                           "xyz"[a], SCAN_MOST_MATRIX);
        r->out->matrix[a] = n;
    }
    return VF_OK;
}

/* A missing field of view follows from the image's voxels; if these are unknown too, voxels are 1 mm. */
static void encoded_fov(ismrmrd_reader *r)
{
    const ismrmrd_encoding *p = r->e;
    for (int a = 0; a < 3; a++) {
        double n = (double)r->out->matrix[a], image = p->recon.fov[a];
        double voxel = image > 0 && p->recon.matrix[a] > 0 ? image / (double)p->recon.matrix[a] : 0;
        bool known = p->encoded.fov[a] > 0 && p->encoded.fov[a] < 1e6;
        r->out->fov[a] = known ? p->encoded.fov[a] : voxel > 0 && voxel < 1e3 ? voxel * n : n;
        if (!known)
            vf_warn(r->ctx, "%s: xml: no field of view along %c in encodedSpace; assuming %g mm", r->source->path,
                    "xyz"[a], r -> out -> fov[a]);
    }
    if (r->partition_step > 0) /* the header has the thickness of one of them */
        r->out->fov[2] = r->partition_step * (double)r->out->matrix[2];
}

/* Warns if the image cannot have the matrix or the field of view of reconSpace. The third axis of slices is not
 * checked: in some files it is the number of slices. */
static void check_crop(const ismrmrd_reader *r)
{
    const ismrmrd_space *image = &r->e->recon;
    const mri_scan *s = r->out;
    const int64_t *n = s->matrix, *kept = s->crop, *wanted = image->matrix;
    bool other = false, larger = false, wider = false, smaller = false;
    for (int a = 0; a < 3; a++) {
        if (a == 2 && (n[a] == 1 || r->partitions > 0))
            continue;
        smaller = smaller || (wanted[a] > 0 && wanted[a] < kept[a]);
        other = other || (wanted[a] > 0 && wanted[a] != kept[a]);
        larger = larger || wanted[a] > n[a];
        wider = wider || image->fov[a] > s->fov[a] * (1 + 0.5 / (double)n[a]); /* by half a voxel or more */
    }
    if (!other && !wider)
        return;
    char advice[160] = "";
    if (r->dims == 0 && wanted[0] > 0 && wanted[1] == kept[1] && kept[0] > wanted[0] && kept[0] % wanted[0] == 0)
        snprintf(advice, sizeof advice,
                 "; if only the header's field of view lacks the readout oversampling, give --oversampling %" PRId64,
                 kept[0] / wanted[0]);
    else if (memcmp(kept, n, sizeof s->crop) != 0)
        snprintf(advice, sizeof advice,
                 "; --keep-oversampling keeps all of the encoded %" PRId64 " x %" PRId64 " x %" PRId64, n[0], n[1],
                 n[2]);
    char text[640];
    snprintf(text, sizeof text,
             "xml: reconSpace has %" PRId64 " x %" PRId64 " x %" PRId64 " voxels over %g x %g x %g mm, encodedSpace "
             "%" PRId64 " x %" PRId64 " x %" PRId64 " over %g x %g x %g mm; the image keeps %" PRId64 " x %" PRId64
             " x %" PRId64 " voxels, %s%s",
             wanted[0], wanted[1], wanted[2], image->fov[0], image->fov[1], image->fov[2], n[0], n[1], n[2], s->fov[0],
             s->fov[1], s->fov[2], kept[0], kept[1], kept[2],
             wider    ? "because nothing is known outside the encoded field of view"
             : larger ? "because nothing is interpolated"
                      : "those within the field of view of reconSpace, not its matrix",
             advice);
    if (larger && !wider && !smaller) /* scanners often fill k-space with zeros to a finer grid */
        vf_note(r->ctx, "%s: %s", r->source->path, text);
    else
        vf_warn(r->ctx, "%s: %s", r->source->path, text);
}

/* The voxels of the image: those in the field of view of reconSpace. */
static void image_crop(ismrmrd_reader *r)
{
    const ismrmrd_space *image = &r->e->recon;
    mri_scan *s = r->out;
    bool missing = !matrix_known(image) && !(image->fov[0] > 0);
    if (missing)
        vf_warn(r->ctx, "%s: xml: no reconSpace; the image is the whole encoded space", r->source->path);
    for (int a = 0; a < 3; a++) {
        double part = image->fov[a] > 0 && !(a == 2 && r->partitions > 0) ? image->fov[a] / s->fov[a] : 1;
        int64_t n = part < 1 ? (int64_t)floor(part * (double)s->matrix[a] + 0.5) : s->matrix[a];
        s->crop[a] = n < 1 ? 1 : n;
    }
    if (!missing)
        check_crop(r);
}

static int64_t step_center(ismrmrd_reader *r, const ismrmrd_limit *limit, int axis)
{
    int64_t n = r->out->matrix[axis];
    if (limit->center >= 0 && limit->center <= UINT16_MAX)
        return limit->center;
    r->center_missing[axis - 1] = true;
    return n / 2;
}

/* ---- the acquisitions against the header ---- */

/* Whether the third component of stored trajectories is the same in some acquisitions of the image. */
static vf_status third_is_constant(ismrmrd_reader *r, bool *out)
{
    enum { LOOKED_AT = 32 };
    const int64_t every = r->image_lines / LOOKED_AT + 1;
    int64_t seen = 0;
    float first = NAN;
    *out = true;
    for (int64_t i = 0; *out && i < r->source->acquisitions; i++) {
        const scan_line *line = &r->line[i];
        ismrmrd_body body;
        if (line->frame != LINE_IMAGE || seen++ % every != 0)
            continue;
        const int64_t floats = (int64_t)line->samples * line->dims;
        vf_status status = r->source->bodies(
            r->ctx, r->source->user, i, 1,
            sizeof(float) * (size_t)(2 * (int64_t)line->samples * line->channels + floats) + 64, &body);
        if (status != VF_OK)
            return status;
        for (int64_t m = 2; m < floats && m < body.traj_floats; m += line->dims) {
            const float z = body.traj[m];
            first = isnan(first) ? z : first;
            *out = *out && z == first;
        }
    }
    return VF_OK;
}

/* Whether each of several slices has a kspace_encode_step_2 of its own: its number, to some converters. */
static bool steps_number_slices(const ismrmrd_reader *r)
{
    bool alone = r->slice_count > 1;
    for (int i = 0; i <= UINT16_MAX && alone; i++)
        alone = !r->slice[i].partitions;
    return alone;
}

/* Planes whose header has several voxels along z: Pulseq on Siemens writes 2, others the number of slices. */
static vf_status find_planes(ismrmrd_reader *r)
{
    mri_scan *s = r->out;
    const int64_t z = s->matrix[2];
    const bool varies = r->facts.least[1] != r->facts.most[1];
    bool constant = true;
    if (varies && !steps_number_slices(r) && z == 1 && r->dims > 0) /* Cartesian lines are refused later */
        vf_warn(
            r->ctx,
            "%s: kspace_encode_step_2 is %d to %d, but the header has 1 voxel along z: the image mixes all of them; if "
            "these are partitions, the header's matrix is wrong",
            r->source->path, r->facts.least[1], r->facts.most[1]);
    if (!varies && z == 1) {
        r->plane = true; /* step 2 of a plane may be any number, such as 1 of writers that count from 1 */
        return VF_OK;
    }
    if (varies && !steps_number_slices(r))
        return VF_OK;
    if (r->dims >= 3 && z > 1) {
        vf_status status = third_is_constant(r, &constant);
        if (status != VF_OK || !constant)
            return status;
    }
    r->plane = true;
    s->matrix[2] = 1;
    if (r->e->recon.matrix[2] == 1 && r->e->recon.fov[2] > 0)
        s->fov[2] = r->e->recon.fov[2];
    else if (z == r->slice_count)
        s->fov[2] /= (double)z;
    vf_note(r->ctx,
            "%s: the header has %" PRId64
            " voxel%s along z, but kspace_encode_step_2 and kz never vary%s: these are planes of "
            "%g mm",
            r->source->path, z, vf_plural(z), varies ? " within a slice" : "", s->fov[2]);
    return VF_OK;
}

vf_status ismrmrd_read_space(ismrmrd_reader *r)
{
    vf_status status = encoded_matrix(r);
    if (status != VF_OK)
        return status;
    encoded_fov(r);
    status = find_planes(r);
    if (status != VF_OK)
        return status;
    ismrmrd_fit_readout(r);
    image_crop(r);
    return ismrmrd_find_other_steps(r);
}

/* ---- the patient ---- */

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* Reads unit vectors along x, y, z. False if they are not orthonormal. */
static bool read_directions(const float from[3][3], double direction[3][3])
{
    bool good = true;
    for (int d = 0; d < 3; d++) {
        for (int a = 0; a < 3; a++)
            direction[d][a] = (double)from[d][a];
        double length = sqrt(dot(direction[d], direction[d]));
        good = good && fabs(length - 1) <= 0.01;
        for (int a = 0; good && a < 3; a++)
            direction[d][a] /= length;
    }
    for (int d = 0; good && d < 3; d++)
        good = fabs(dot(direction[d], direction[(d + 1) % 3])) <= 0.01;
    return good;
}

typedef struct place {
    double along; /* position along the normal, mm */
    int slice;
} place;

static int by_place(const void *a, const void *b)
{
    const place *p = a, *q = b;
    return p->along < q->along ? -1 : p->along > q->along ? 1 : (p->slice > q->slice) - (p->slice < q->slice);
}

/* The mean distance between neighbours; 0 if two share a position. `worst`: the largest difference from it. */
static double even_step(const place *places, int n, double *worst)
{
    double step = n > 1 ? (places[n - 1].along - places[0].along) / (n - 1) : 0;
    *worst = 0;
    for (int i = 1; i < n; i++) {
        double gap = places[i].along - places[i - 1].along;
        if (!(gap > 1e-3))
            return 0;
        *worst = fmax(*worst, fabs(gap - step));
    }
    return step;
}

/* Warns if slices are off the normal through the first one. Written positions are on it. */
static void check_shear(ismrmrd_reader *r, const place *places, int n, const scan_geometry *g)
{
    const mri_scan *s = r->out;
    const float *first = r->slice[places[0].slice].position;
    const double voxel = fmin(s->fov[0] / (double)s->matrix[0], s->fov[1] / (double)s->matrix[1]);
    double worst = 0;
    for (int i = 1; i < n; i++) {
        const float *position = r->slice[places[i].slice].position;
        double beside[3];
        for (int a = 0; a < 3; a++)
            beside[a] =
                (double)position[a] - (double)first[a] - (places[i].along - places[0].along) * g->direction[2][a];
        worst = fmax(worst, sqrt(dot(beside, beside)));
    }
    if (worst > 0.01 * voxel)
        vf_warn(r->ctx,
                "%s: slice positions are not along the slices' normal; the written positions are off by "
                "up to %.3g mm",
                r->source->path, worst);
}

/* Warns if positions are not those of an evenly spaced stack, which is what is written. */
static void check_stack(ismrmrd_reader *r, const place *places, int n, const scan_geometry *g, double step,
                        double worst)
{
    const char *path = r->source->path;
    if (worst > 0.01 * step && step > 0)
        vf_warn(r->ctx, "%s: slices are not evenly spaced: the gaps differ from their mean of %g mm by up to %g mm",
                path, step, worst);
    if (step > 0)
        check_shear(r, places, n, g);
    else
        vf_warn(r->ctx,
                "%s: slices share a position; stacking them by number (partitions of a volume must be counted in "
                "kspace_encode_step_2)",
                path);
}

/* Sets the ranks of `n` slices, from `rank` on, by their position along g->direction[2], the step between them, and the
 * centre of the first. */
static void rank_slices(ismrmrd_reader *r, place *places, int n, int rank, scan_geometry *g)
{
    double step = 0, worst;
    for (int i = 0; i < n; i++) {
        const float *p = r->slice[places[i].slice].position;
        const double position[3] = {(double)p[0], (double)p[1], (double)p[2]};
        g->known = g->known && isfinite(position[0]) && isfinite(position[1]) && isfinite(position[2]);
        places[i].along = g->known ? dot(position, g->direction[2]) : 0;
    }
    if (g->known && n > 1) {
        qsort(places, (size_t)n, sizeof *places, by_place);
        step = even_step(places, n, &worst);
        if (!r->slabs)
            check_stack(r, places, n, g, step, worst);
    }
    for (int i = 0; i < n && !(step > 0); i++)
        places[i].along = 0;
    qsort(places, (size_t)n, sizeof *places, by_place);
    for (int i = 0; i < n; i++)
        r->slice[places[i].slice].rank = rank + i;
    for (int a = 0; a < 3; a++)
        g->centre[a] = g->known ? (double)r->slice[places[0].slice].position[a] : 0;
    g->slice_step = r->out->slices > 1 ? (step > 0 ? step : r->out->fov[2]) : 0;
}

/* ---- volumes at several places ---- */

static bool same_place(const scan_geometry *a, const scan_geometry *b)
{
    return memcmp(a->direction, b->direction, sizeof a->direction) == 0 &&
           memcmp(a->centre, b->centre, sizeof a->centre) == 0;
}

/* Takes the geometry of the stacks or slabs for the scan's, or none if some are unknown. */
static void take_stacks(ismrmrd_reader *r)
{
    mri_scan *s = r->out;
    bool known = true, differ = false;
    for (int p = 0; p < scan_stacks(s); p++) {
        known = known && s->place_geometry[p].known;
        differ = differ || !same_place(&s->place_geometry[p], &s->place_geometry[0]);
    }
    if (!known)
        vf_warn(r->ctx, "%s: the position and directions of some %s are unknown; none are written", r->source->path,
                r->slabs ? "slabs" : "slices");
    s->geometry = s->place_geometry[0];
    s->geometry.known = known;
    if (!known || !differ) {
        free(s->place_geometry);
        s->place_geometry = NULL;
    }
}

static vf_status place_slabs(ismrmrd_reader *r, place *places)
{
    mri_scan *s = r->out;
    rank_slices(r, places, s->places, 0, &s->geometry);
    vf_status status = SCAN_NEW(r->ctx, r->source->path, "slabs", scan_stacks(s), s->place_geometry);
    for (int i = 0; status == VF_OK && i < s->places; i++) {
        const scan_slice *slice = &r->slice[places[i].slice];
        scan_geometry *g = &s->place_geometry[slice->rank];
        g->known = s->geometry.known && read_directions(slice->direction, g->direction);
        for (int a = 0; a < 3; a++)
            g->centre[a] = (double)slice->position[a];
    }
    if (status == VF_OK)
        take_stacks(r);
    return status;
}

static bool parallel(const scan_slice *a, const scan_slice *b)
{
    for (int i = 0; i < 9; i++)
        if (!(fabsf(a->direction[i / 3][i % 3] - b->direction[i / 3][i % 3]) <= 1e-3f))
            return false;
    return true;
}

/* Sorts slices by their directions: places[i].along becomes the number of its stack, by the first slice of each.
 * Returns the number of stacks; `size` gets their slices if they have equally many, else 1. */
static int find_stacks(const ismrmrd_reader *r, place *places, int n, int *size)
{
    int stacks = 0, *count = calloc((size_t)n, sizeof *count);
    for (int i = 0; i < n; i++) {
        int before = 0;
        while (before < i && !parallel(&r->slice[places[before].slice], &r->slice[places[i].slice]))
            before++;
        places[i].along = before < i ? places[before].along : stacks++;
        if (count)
            count[(int)places[i].along]++;
    }
    *size = count ? count[0] : 1;
    for (int s = 0; count && s < stacks; s++)
        *size = count[s] == count[0] ? *size : 1;
    free(count);
    qsort(places, (size_t)n, sizeof *places, by_place);
    return *size > 1 ? stacks : n;
}

/* Slices of several orientations, as localizers have: each stack is a volume of its own, or each slice. */
static vf_status place_stacks(ismrmrd_reader *r, place *places)
{
    mri_scan *s = r->out;
    const int stacks = find_stacks(r, places, s->places, &s->slices);
    vf_status status = SCAN_NEW(r->ctx, r->source->path, "stacks", stacks, s->place_geometry);
    for (int i = 0; status == VF_OK && i < stacks; i++) {
        scan_geometry *g = &s->place_geometry[i];
        place *own = places + (size_t)i * (size_t)s->slices;
        g->known = read_directions(r->slice[own->slice].direction, g->direction);
        rank_slices(r, own, s->slices, i * s->slices, g);
    }
    if (status != VF_OK)
        return status;
    vf_note(r->ctx, "%s: slices of several orientations: %d volumes of %d slice%s, each with its own position",
            r->source->path, stacks, s->slices, vf_plural(s->slices));
    take_stacks(r);
    return VF_OK;
}

/* ---- the whole ---- */

/* Whether slices have different directions, each of them one only. */
static bool has_stacks(const ismrmrd_reader *r)
{
    bool known = r->oblique && !r->oblique_slice && !r->slabs;
    for (int i = 0; i <= UINT16_MAX && known; i++) {
        double direction[3][3];
        known = !r->slice[i].seen || read_directions(r->slice[i].direction, direction);
    }
    return known;
}

/* Warns of acquisitions beside the first one of their slice: another station of the table, motion that was followed, or
 * slices with one number. */
static void warn_of_movement(const ismrmrd_reader *r)
{
    const mri_scan *s = r->out;
    const double voxel = fmin(s->fov[0] / (double)s->matrix[0], s->fov[1] / (double)s->matrix[1]);
    if ((double)r->moved > 0.01 * voxel)
        vf_warn(
            r->ctx,
            "%s: acquisitions of slice %d lie up to %.3g mm from its first one, whose place is written; if they are "
            "of several slices or stations, their counters are wrong, and the image mixes them",
            r->source->path, r->moved_slice, (double)r->moved);
}

vf_status ismrmrd_order_slices(ismrmrd_reader *r)
{
    mri_scan *s = r->out;
    scan_geometry *g = &s->geometry;
    place *places;
    int n = 0;
    vf_status status = SCAN_NEW(r->ctx, r->source->path, "slices", r->slice_count, places);
    if (status != VF_OK)
        return status;
    for (int i = 0; i <= UINT16_MAX; i++)
        if (r->slice[i].seen)
            places[n++] = (place){0, i};
    g->known = read_directions(r->slice[r->first.idx.slice].direction, g->direction);
    const bool stacks = has_stacks(r);
    if (r->slabs)
        status = place_slabs(r, places);
    else if (stacks)
        status = place_stacks(r, places);
    else
        rank_slices(r, places, n, 0, g);
    for (int i = 0; i < 9 && !g->known; i++) {
        g->direction[i / 3][i % 3] = i % 4 == 0;
        g->centre[i / 3] = 0;
    }
    free(places);
    if (r->slabs && r->oblique_slice)
        vf_warn(r->ctx, "%s: acquisitions of a slab differ in orientation; using that of the first", r->source->path);
    else if (!r->slabs && !stacks && r->oblique)
        vf_warn(r->ctx, "%s: acquisitions differ in orientation; using that of the first", r->source->path);
    ismrmrd_warn_of_directions(r);
    warn_of_movement(r);
    r->center[0] = step_center(r, &r->e->step_1, 1);
    r->center[1] = r->plane ? r->facts.least[1] : step_center(r, r->partitions > 0 ? &r->e->slice : &r->e->step_2, 2);
    return status;
}
