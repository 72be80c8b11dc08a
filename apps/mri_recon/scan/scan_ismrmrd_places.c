/* Slices that their counters do not tell apart. Some writers leave idx.slice at 0, or count slices in repetition or set, but
 * state where each acquisition lies. If several places along the normal, or several orientations, have the same lines each, they are
 * slices: an object that moves, or a table, is not at one place for a whole image and then half a slice further for another whole
 * one. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scan_ismrmrd_reader.h"
#include "voxfield/timer.h"

enum { MOST_PLACES = 4096, COUNTERS = 4, NOWHERE = UINT16_MAX };

/* What the acquisitions at one position have. */
typedef struct place {
    float position[3], direction[3][3];
    int stack;                  /* places of one orientation */
    double along;               /* mm along the normal, from the first place */
    int64_t lines;              /* of the image */
    uint64_t steps;             /* sums of hashes: equal for the same encoding steps in any order */
    uint64_t values[COUNTERS];  /* the same of repetition, phase, set and contrast */
    uint16_t counter[COUNTERS]; /* of the first line */
    bool several[COUNTERS];     /* lines have others */
    bool several_averages;
    uint16_t average;
} place;

typedef struct finder {
    ismrmrd_reader *r;
    place *place;       /* [MOST_PLACES] */
    uint16_t *place_of; /* [acquisitions] */
    int places, last;
    int first; /* the place of the first image acquisition */
    bool too_many;
} finder;

static uint64_t hash(uint64_t value)
{
    value = (value + 1) * UINT64_C(0x9e3779b97f4a7c15);
    value ^= value >> 29;
    value *= UINT64_C(0xbf58476d1ce4e5b9);
    return value ^ value >> 32;
}

static bool close_to(const float *a, const float *b, int count, float most)
{
    for (int i = 0; i < count; i++)
        if (!(fabsf(a[i] - b[i]) <= most))
            return false;
    return true;
}

static bool is_at(const place *a, const place *b)
{
    const float same = 1e-3F; /* mm; and of unit vectors */
    return close_to(a->position, b->position, 3, same) && close_to(a->direction[0], b->direction[0], 9, same);
}

/* The place of an acquisition; slices follow each other in the same order, so the one after the last is likely. */
static int find_place(finder *f, const place *own)
{
    for (int i = 0; i < f->places; i++) {
        const int at = (f->last + 1 + i) % f->places;
        if (is_at(&f->place[at], own))
            return at;
    }
    if (f->places == MOST_PLACES) {
        f->too_many = true;
        return 0;
    }
    f->place[f->places] = *own;
    return f->places++;
}

static vf_status look(void *user, int64_t index, const ismrmrd_acquisition_header *head)
{
    finder *f = user;
    const scan_line *line = &f->r->line[index];
    const uint16_t counter[COUNTERS] = {line->repetition, line->phase, line->set, line->contrast};
    f->place_of[index] = NOWHERE;
    if (f->too_many || line->frame == LINE_NOISE)
        return VF_OK;
    ismrmrd_acquisition_header mended = *head;
    ismrmrd_directions count = {0};
    place here = {.lines = 0};
    ismrmrd_mend_directions(&count, &mended);
    memcpy(here.position, head->position, sizeof here.position);
    memcpy(here.direction[0], mended.read_dir, sizeof here.direction[0]);
    memcpy(here.direction[1], mended.phase_dir, sizeof here.direction[1]);
    memcpy(here.direction[2], mended.slice_dir, sizeof here.direction[2]);
    f->last = find_place(f, &here);
    f->place_of[index] = (uint16_t)f->last;
    if (line->frame != LINE_IMAGE)
        return VF_OK;
    f->too_many = f->too_many || here.direction[2][0] * here.direction[2][0] +
                                         here.direction[2][1] * here.direction[2][1] +
                                         here.direction[2][2] * here.direction[2][2] <
                                     0.5F; /* the normal is not known */
    place *own = &f->place[f->last];
    f->first = f->first < 0 ? f->last : f->first;
    for (int c = 0; c < COUNTERS; c++) {
        own->counter[c] = own->lines == 0 ? counter[c] : own->counter[c];
        own->several[c] = own->several[c] || counter[c] != own->counter[c];
        own->values[c] += hash(counter[c]);
    }
    own->average = own->lines == 0 ? line->average : own->average;
    own->several_averages = own->several_averages || line->average != own->average;
    own->steps += hash((uint64_t)(uint32_t)line->step_1 << 32 | (uint32_t)line->step_2);
    own->lines++;
    return VF_OK;
}

/* Sets the stack of each place that has image lines, and where it lies along the normal. False if some lie beside the normal of
 * their stack, or orientations are nearly the same. */
static bool place_in_stacks(finder *f)
{
    const float turned = 0.1F; /* of unit vectors: 6 degrees; less is motion that was followed */
    int stacks = 0;
    for (int i = 0; i < f->places; i++) {
        place *own = &f->place[i];
        const place *first = own;
        double size = 0;
        own->stack = own->lines > 0 ? stacks : -1;
        own->along = 0;
        for (int j = 0; j < i && own->lines > 0 && first == own; j++) {
            const place *other = &f->place[j];
            if (other->lines > 0 && close_to(other->direction[0], own->direction[0], 9, turned)) {
                if (!close_to(other->direction[0], own->direction[0], 9, 1e-3F))
                    return false;
                first = other;
                own->stack = other->stack;
            }
        }
        stacks += own->stack == stacks;
        for (int a = 0; a < 3 && first != own; a++) {
            const double off = (double)own->position[a] - (double)first->position[a];
            own->along += off * (double)own->direction[2][a];
            size += off * off;
        }
        if (!(size - own->along * own->along <= 1e-4 * size + 1e-4))
            return false;
        own->along += first == own ? 0 : first->along;
    }
    return true;
}

/* Lists places that have image lines, stack after stack, in the order along the normal. */
static int sort_places(const finder *f, uint16_t *rank, int *order)
{
    int n = 0;
    for (int i = 0; i < f->places; i++) {
        const place *own = &f->place[i];
        rank[i] = NOWHERE;
        if (own->lines == 0)
            continue;
        int at = n++;
        for (; at > 0; at--) {
            const place *other = &f->place[order[at - 1]];
            if (other->stack < own->stack || (other->stack == own->stack && other->along <= own->along))
                break;
            order[at] = order[at - 1];
        }
        order[at] = i;
    }
    for (int i = 0; i < n; i++)
        rank[order[i]] = (uint16_t)i;
    return n;
}

/* mm; unknown: 1. */
static double thickness(const ismrmrd_reader *r)
{
    const ismrmrd_space *space = &r->e->encoded;
    const bool planes = r->facts.least[1] == r->facts.most[1] && space->matrix[2] > 1;
    return space->fov[2] > 0 ? space->fov[2] / (planes ? (double)space->matrix[2] : 1) : 1;
}

/* Whether places have the same lines each, and the same values of each counter unless each place has one: `numbers`, for
 * counters whose values are of places. */
static bool alike(const finder *f, const int *order, int n, bool numbers[COUNTERS], bool *counted)
{
    const place *first = &f->place[order[0]];
    *counted = false;
    for (int c = 0; c < COUNTERS; c++) {
        bool same = true, one = true;
        for (int i = 0; i < n; i++) {
            same = same && f->place[order[i]].values[c] == first->values[c];
            one = one && !f->place[order[i]].several[c];
        }
        if (!same && !one)
            return false;
        numbers[c] = !same;
        *counted = *counted || !same;
    }
    for (int i = 0; i < n; i++) {
        const place *own = &f->place[order[i]];
        *counted = *counted || (own->average != first->average && !own->several_averages);
        if (own->lines != first->lines || (f->r->dims == 0 && own->steps != first->steps))
            return false;
    }
    return true;
}

/* Gives each acquisition the number of its place for a slice. */
static void number_slices(finder *f, const uint16_t *rank, const int *order, int n, const bool numbers[COUNTERS])
{
    ismrmrd_reader *r = f->r;
    const scan_slice like = r->slice[r->first.idx.slice];
    for (int64_t i = 0; i < r->source->acquisitions; i++) {
        scan_line *line = &r->line[i];
        uint16_t *const counter[COUNTERS] = {&line->repetition, &line->phase, &line->set, &line->contrast};
        line->slice = f->place_of[i] == NOWHERE ? NOWHERE : rank[f->place_of[i]];
        for (int c = 0; c < COUNTERS; c++)
            *counter[c] = numbers[c] ? 0 : *counter[c];
    }
    memset(r->slice, 0, (UINT16_MAX + 1) * sizeof *r->slice);
    for (int i = 0; i < n; i++) {
        r->slice[i] = like;
        memcpy(r->slice[i].position, f->place[order[i]].position, sizeof like.position);
        memcpy(r->slice[i].direction, f->place[order[i]].direction, sizeof like.direction);
    }
    r->first.idx.slice = rank[f->first];
    r->slice_count = n;
    r->moved = 0;
    r->oblique = f->place[order[n - 1]].stack > 0;
    r->oblique_slice = false;
}

/* Whether the places are slices: 0.1 of a slice apart, or half of one if a counter tells them apart, because motion may have been
 * followed between the repetitions or averages of one slice. */
static bool are_slices(const finder *f, const int *order, int n, bool numbers[COUNTERS])
{
    const double part = 0.1, part_counted = 0.5;
    bool counted;
    if (n < 2 || !alike(f, order, n, numbers, &counted))
        return false;
    for (int i = 1; i < n; i++)
        if (f->place[order[i]].stack == f->place[order[i - 1]].stack &&
            f->place[order[i]].along - f->place[order[i - 1]].along < (counted ? part_counted : part) * thickness(f->r))
            return false;
    return true;
}

vf_status ismrmrd_separate_places(ismrmrd_reader *r)
{
    const int before = r->slice_count;
    finder f = {.r = r, .first = -1};
    uint16_t *rank = NULL;
    int *order = NULL, n = 0;
    bool numbers[COUNTERS];
    if (!(r->moved > 1e-2F) && !r->oblique_slice)
        return VF_OK;
    vf_status status = SCAN_NEW(r->ctx, r->source->path, "places", MOST_PLACES, f.place);
    VF_TRY(status, SCAN_NEW(r->ctx, r->source->path, "places", MOST_PLACES, rank));
    VF_TRY(status, SCAN_NEW(r->ctx, r->source->path, "places", MOST_PLACES, order));
    VF_TRY(status, SCAN_NEW(r->ctx, r->source->path, "acquisitions", r->source->acquisitions, f.place_of));
    VF_TRY(status, ismrmrd_each_head(r->ctx, r->source, look, &f));
    if (status == VF_OK && !f.too_many && place_in_stacks(&f))
        n = sort_places(&f, rank, order);
    /* Each slice number then stands for equally many slices. */
    if (n > before && n % before == 0 && are_slices(&f, order, n, numbers)) {
        number_slices(&f, rank, order, n, numbers);
        vf_note(
            r->ctx,
            "%s: the counters have %d slice%s, but acquisitions lie at %d places%s, with the same lines at each: these "
            "are the slices",
            r->source->path, before, vf_plural(before), n,
            r->oblique ? " of several orientations" : " along the normal");
    }
    free(f.place);
    free(f.place_of);
    free(rank);
    free(order);
    return status;
}

/* ---- partitions that are counted as slices ----
 *
 * GE's converter counts the partitions of a 3D scan in idx.slice, each with the place of a slice. If the header calls the scan
 * 3D, they are counted in step 2, and make a volume. Otherwise they cannot be told from slices by their headers, but their
 * energy gives them away: nearly all of it is in the middle one. */

/* The header's voxels along z, if idx.slice can count partitions, because most of them have a number and no other has. Else 0. */
static int64_t partitions_by_header(const ismrmrd_reader *r)
{
    const int64_t nz = r->e->encoded.matrix[2];
    int most = 0;
    for (int i = 0; i <= UINT16_MAX; i++)
        most = r->slice[i].seen ? i : most;
    return most < nz && 2 * r->slice_count > nz ? nz : 0;
}

/* mm from partition to partition along the normal; 0 if they do not lie at even distances. */
static double distance_of_partitions(const ismrmrd_reader *r)
{
    const scan_slice *first = NULL;
    double step = 0;
    int from = 0;
    for (int i = 0; i <= UINT16_MAX; i++) {
        const scan_slice *own = &r->slice[i];
        double along = 0;
        if (!own->seen)
            continue;
        for (int a = 0; first && a < 3; a++)
            along += (double)(own->position[a] - first->position[a]) * (double)own->direction[2][a];
        if (first && step == 0)
            step = along / (i - from);
        if (first && !(fabs(along - step * (i - from)) <= 0.01 * fabs(step) + 1e-3))
            return 0;
        from = first ? from : i;
        first = first ? first : own;
    }
    return fabs(step) > 1e-3 ? step : 0;
}

void ismrmrd_count_partitions(ismrmrd_reader *r)
{
    const int64_t nz = partitions_by_header(r);
    if (strcmp(r->protocol->acquisition_type, "3d") != 0 || r->slice_count < 2 || r->e->encoded.matrix[2] < 2 ||
        r->facts.least[1] != r->facts.most[1])
        return;
    if (nz == 0 || r->dims > 2 || r->oblique) {
        vf_warn(
            r->ctx,
            "%s: the header's mrAcquisitionType is 3D, but kspace_encode_step_2 never varies, and the %d numbers in "
            "idx.slice are not those of its %" PRId64 " partitions: if they count partitions, the image is wrong",
            r->source->path, r->slice_count, r->e->encoded.matrix[2]);
        return;
    }
    const double step = distance_of_partitions(r);
    int first = 0;
    while (!r->slice[first].seen)
        first++;
    /* Voxel nz / 2 lies at the centre of the field of view. */
    scan_slice whole = r->slice[first];
    for (int a = 0; a < 3; a++)
        whole.position[a] += (float)(step * (double)(nz / 2 - first)) * whole.direction[2][a];
    for (int a = 0; a < 3 && step < 0; a++) /* z points from the first partition to the last */
        whole.direction[2][a] = -whole.direction[2][a];
    whole.step_2 = (uint16_t)first;
    whole.partitions = true;
    r->facts.least[1] = first;
    for (int i = 0; i <= UINT16_MAX; i++)
        r->facts.most[1] = r->slice[i].seen ? i : r->facts.most[1];
    for (int64_t i = 0; i < r->source->acquisitions; i++) {
        r->line[i].step_2 = r->line[i].slice;
        r->line[i].slice = 0;
    }
    memset(r->slice, 0, (UINT16_MAX + 1) * sizeof *r->slice);
    r->slice[0] = whole;
    r->first.idx.kspace_encode_step_2 = r->first.idx.slice;
    r->first.idx.slice = 0;
    r->moved = 0;
    r->partitions = r->slice_count;
    r->partition_step = fabs(step);
    r->slice_count = 1;
    vf_note(r->ctx,
            "%s: the header's mrAcquisitionType is 3D, and kspace_encode_step_2 never varies: idx.slice counts the %d "
            "partitions of a volume",
            r->source->path, r->partitions);
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The energy of one slice over what half of the slices exceed, if it lies in the middle; else 0. */
static double prominence(const double *energy, double *sorted, int n)
{
    int most = 0;
    for (int i = 0; i < n; i++) {
        sorted[i] = energy[i];
        most = energy[i] > energy[most] ? i : most;
    }
    qsort(sorted, (size_t)n, sizeof *sorted, by_size);
    return abs(most - n / 2) <= n / 8 && sorted[n / 2] > 0 ? energy[most] / sorted[n / 2] : 0;
}

vf_status ismrmrd_warn_of_partitions(const ismrmrd_reader *r)
{
    enum { FEW = 8 };
    const double clear = 50; /* the slices of an object have similar energies */
    const int n = r->out->slices;
    double *energy = NULL;
    if (!r->plane || n < FEW || r->slice_count != n || r->e->encoded.matrix[2] != n)
        return VF_OK;
    vf_status status = SCAN_NEW(r->ctx, r->source->path, "slices", 2 * n, energy);
    for (int64_t i = 0; status == VF_OK && i < r->source->acquisitions; i++) {
        const scan_line *line = &r->line[i];
        if (line->frame >= 0 && line->frame < r->out->frames)
            energy[r->slice[line->slice].rank] += line->energy;
    }
    const double times = status == VF_OK ? prominence(energy, energy + n, n) : 0;
    if (times > clear)
        vf_warn(r->ctx,
                "%s: one slice in the middle has %.0f times the energy of half of the slices: they seem to be "
                "partitions of a volume, which must be counted in kspace_encode_step_2, not in idx.slice",
                r->source->path, times);
    free(energy);
    return status;
}
