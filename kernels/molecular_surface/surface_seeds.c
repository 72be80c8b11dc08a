/* Points of the edges of a union of spheres: arcs where two meet, and their ends, where three do. Only those that no sphere hides. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "surface_parts.h"
#include "voxfield/team_size.h"

#define PI 3.14159265358979323846

typedef struct seed_list {
    int64_t count, room;
    surface_place *of;
    bool failed;
} seed_list;

static void add(seed_list *list, const double at[3])
{
    if (list->count == list->room && !list->failed) {
        const int64_t room = list->room ? 2 * list->room : 64;
        surface_place *more = realloc(list->of, (size_t)room * sizeof *more);
        list->failed = !more;
        if (more) {
            list->of = more;
            list->room = room;
        }
    }
    if (!list->failed)
        memcpy(list->of[list->count++].at, at, sizeof list->of->at);
}

/* The spheres that meet sphere `self`, and their numbers. `last`: the one that hid a point before, which is likely to hide the next. */
typedef struct ball {
    double at[3], radius;
    int64_t number;
} ball;
typedef struct neighbours {
    ball self;
    int64_t count, room, last;
    ball *of;
    double (*hidden)[2]; /* [room + 1]: the angles of a circle that are hidden, first and last */
} neighbours;

static bool add_neighbour(neighbours *n, ball added)
{
    if (n->count == n->room) {
        const int64_t room = n->room ? 2 * n->room : 64;
        ball *of = realloc(n->of, (size_t)room * sizeof *of);
        if (!of)
            return false;
        n->of = of;
        double(*hidden)[2] =
            realloc(n->hidden, (size_t)(room + 1) * 2 * sizeof *hidden); /* an interval may be cut in two */
        if (!hidden)
            return false;
        n->hidden = hidden;
        n->room = room;
    }
    n->of[n->count++] = added;
    return true;
}

static ball ball_of(const surface_bins *s, int64_t number)
{
    const double *at = s->place[number].at;
    return (ball){{at[0], at[1], at[2]}, s->radius[number], number};
}

static bool find_neighbours(const surface_bins *s, int64_t self, double largest, neighbours *n)
{
    int64_t lo[3], hi[3];
    n->self = ball_of(s, self);
    n->count = n->last = 0;
    surface_bins_range(s, n->self.at, n->self.radius + largest, lo, hi);
    for (int64_t z = lo[2]; z < hi[2]; z++)
        for (int64_t y = lo[1]; y < hi[1]; y++) {
            const int64_t row = (z * s->along[1] + y) * s->along[0];
            for (int64_t j = s->first[row + lo[0]]; j < s->first[row + hi[0]]; j++) {
                const double sum = n->self.radius + s->radius[j];
                if (j != self && surface_square(n->self.at, s->place[j].at) < sum * sum &&
                    !add_neighbour(n, ball_of(s, j)))
                    return false;
            }
        }
    return true;
}

/* Sphere k hides the points of a circle at the angles where `inside` + `across` cos(angle - middle) > 0, for
 * R_k^2 - |r - c_k|^2 is that. */
typedef struct shade {
    double inside, across, along_u, along_v;
} shade;

static shade shade_of(const surface_circle *circle, const ball *k)
{
    shade s = {.inside = k->radius * k->radius - circle->radius * circle->radius};
    for (int a = 0; a < 3; a++) {
        const double d = k->at[a] - circle->centre[a];
        s.along_u += d * circle->u[a];
        s.along_v += d * circle->v[a];
        s.inside -= d * d;
    }
    s.across = 2 * circle->radius * sqrt(s.along_u * s.along_u + s.along_v * s.along_v);
    return s;
}

/* Whether one sphere hides all of a circle: true of nearly all circles, and fast. */
static bool is_hidden(neighbours *n, const surface_circle *circle, const ball *other)
{
    for (int64_t k = -1; k < n->count; k++) {
        const int64_t index = k < 0 ? n->last : k;
        if (index >= n->count || &n->of[index] == other)
            continue;
        const shade s = shade_of(circle, &n->of[index]);
        if (s.inside > s.across) {
            n->last = index;
            return true;
        }
    }
    return false;
}

/* The angles that sphere k hides, between -pi and pi. */
static void hide_angles(neighbours *n, const surface_circle *circle, const ball *k, int64_t *count)
{
    const shade s = shade_of(circle, k);
    if (s.inside <= -s.across)
        return;
    const double middle = atan2(s.along_v, s.along_u), half = acos(-s.inside / s.across);
    double first = middle - half, last = middle + half;
    if (first < -PI) { /* cut in two */
        n->hidden[*count][0] = first + 2 * PI;
        n->hidden[(*count)++][1] = PI;
        first = -PI;
    }
    if (last > PI) {
        n->hidden[*count][0] = -PI;
        n->hidden[(*count)++][1] = last - 2 * PI;
        last = PI;
    }
    n->hidden[*count][0] = first;
    n->hidden[(*count)++][1] = last;
}

/* Of 64 equal parts of a circle, those that one hidden interval covers. */
static uint64_t parts_within(const double angle[2])
{
    const double part = 2 * PI / 64, first = ceil((angle[0] + PI) / part * (1 + 1e-12)),
                 end = floor((angle[1] + PI) / part * (1 - 1e-12));
    if (!(first < end) || !(first < 64))
        return angle[0] <= -PI && angle[1] >= PI ? ~(uint64_t)0 : 0;
    const uint64_t from = ~(uint64_t)0 << (int)first;
    return end < 64 ? from & ~(~(uint64_t)0 << (int)end) : from;
}

/* Points of an arc, and both of its ends: at most spacing / 2 apart, and 0.4 of the circle's radius, whose curvature adds to the error. */
static void add_arc(const surface_circle *circle, double first, double last, double spacing, seed_list *list)
{
    const int64_t steps = (int64_t)ceil((last - first) * fmax(circle->radius / (spacing / 2), 2.5)) + 1;
    for (int64_t p = 0; p <= steps; p++) {
        double r[3];
        surface_circle_at(circle, first + (last - first) * (double)p / (double)steps, r);
        add(list, r);
    }
}

static void add_arcs(neighbours *n, const ball *other, double spacing, seed_list *list)
{
    surface_circle circle;
    int64_t count = 0;
    if (!surface_circle_of(n->self.at, n->self.radius, other->at, other->radius, &circle) ||
        is_hidden(n, &circle, other))
        return;
    uint64_t hidden_parts = 0; /* most circles are hidden, and known to be so after a few spheres */
    for (int64_t k = 0; k < n->count; k++) {
        int64_t before = count;
        if (&n->of[k] != other)
            hide_angles(n, &circle, &n->of[k], &count);
        for (; before < count; before++)
            hidden_parts |= parts_within(n->hidden[before]);
        if (hidden_parts == ~(uint64_t)0)
            return;
    }
    for (double at = -PI; at < PI;) { /* few steps, so that sorting would take longer */
        double end = at, next = PI;
        for (int64_t h = 0; h < count; h++)
            if (n->hidden[h][0] <= at)
                end = n->hidden[h][1] > end ? n->hidden[h][1] : end;
            else
                next = n->hidden[h][0] < next ? n->hidden[h][0] : next;
        if (!(end > at)) {
            add_arc(&circle, at, next, spacing, list);
            end = next;
        }
        at = end;
    }
}

static bool add_seeds(const surface_bins *s, int64_t self, double largest, double spacing, seed_list *list)
{
    neighbours n = {0};
    const bool room = find_neighbours(s, self, largest, &n);
    ball *const of = n.of; /* add_arcs leaves it */
    for (int64_t k = 0; room && k < n.count; k++)
        if (of[k].number > self)
            add_arcs(&n, &of[k], spacing, list);
    free(of);
    free(n.hidden);
    return room && !list->failed;
}

vf_status surface_seeds_make(vf_context *ctx, const surface_bins *spheres, double largest, double spacing,
                             int64_t *count, surface_place **out)
{
    seed_list *lists = calloc((size_t)spheres->count + 1, sizeof *lists);
    bool room = lists != NULL;
    int64_t total = 0;
    *out = NULL;
#pragma omp parallel for schedule(dynamic, 8) num_threads(vf_threads_for(ctx, 20000 * spheres->count)) reduction(&& : room)
    for (int64_t i = 0; i < (lists ? spheres->count : 0); i++)
        room = (vf_cancelled(ctx) || add_seeds(spheres, i, largest, spacing, &lists[i])) && room;
    for (int64_t i = 0; room && i < spheres->count; i++)
        total += lists[i].count;
    surface_place *all = room ? malloc((size_t)(total + 1) * sizeof *all) : NULL;
    int64_t at = 0;
    for (int64_t i = 0; lists && i < spheres->count; i++) {
        if (all && lists[i].count)
            memcpy(all + at, lists[i].of, (size_t)lists[i].count * sizeof *all);
        at += lists[i].count;
        free(lists[i].of);
    }
    free(lists);
    if (!all)
        return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for the points of a molecule's surface");
    if (vf_cancelled(ctx)) {
        free(all);
        return vf_fail(ctx, VF_ERR_CANCELLED, "interrupted");
    }
    *count = total;
    *out = all;
    return VF_OK;
}
