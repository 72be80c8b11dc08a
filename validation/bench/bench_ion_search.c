/* The cost of the search for ions' places: seconds to create it, seconds per ion, and that time in passes. A pass
 * reads and writes a field of doubles at all grid points (16 bytes per point) at the speed of a copy, measured in
 * the same run.
 *
 * usage: bench_ion_search DEVICE [REPORT.json [ATOMS [EDGE [IONS]]]]
 *
 * A solute of random atoms without net charge, as dense as a protein, is in the middle of a cube of EDGE points at 1
 * angstrom. It gets ions of charge +1 and -1 in turn. The time of an ion is that of vf_ion_search_find and
 * vf_ion_search_add. A GPU's add may return early; the next find then includes its time. The first ion is timed
 * separately, since it may include preparation.
 *
 * A search that keeps the potential of all points must pass over them for each ion, so one pass is its ceiling. The
 * CPU's cells need less: the bounds and values of some cells. They have no share of the memory's speed, because
 * arithmetic limits them.
 *
 * Before any timing, ions on a small grid must be where "ref" finds them, one by one. In the timed cases, energies
 * must be finite and distances kept. On a GPU the first ions must be where "cells" finds them, which is timed for
 * comparison.
 */
#include <math.h>

#include "bench_device.h"
#include "free_all.h"
#include "ion_search.h"

static const double solute_density = 0.1;                /* atoms per cubic angstrom */
static const double from_solute = 6, between_ions = 5.0; /* angstrom */

static double copy_ceiling; /* bytes a second, read and written */

typedef struct bench_case {
    int64_t atoms, edge, ions;
    int64_t beside; /* ions that "cells" places, too */
} bench_case;

static const bench_case check_case = {200, 84, 50, 0}; /* enough cells for loops that run in parallel only for many
                                                        * cells */
static const bench_case cpu_cases[] = {{10000, 128, 1000, 0}};
static const bench_case gpu_cases[] = {{20000, 256, 1000, 200}, {100000, 400, 10000, 200}};

typedef struct problem {
    vf_grid grid;
    vf_coulomb_atoms atoms;
    double *data; /* x, y, z, charge, distance */
    vf_array map; /* on the host */
    vf_ion_search_options options;
} problem;

/* The result of a search. */
typedef struct placement {
    int64_t ions;
    vf_ion_place *place;   /* [ions] */
    double *energy;        /* [ions] */
    double *find, *add;    /* [ions] seconds */
    double made, excluded; /* seconds */
} placement;

static void make_map(problem *p)
{
    vf_array there = {0};
    vf_coulomb *sums;
    const vf_box box = vf_grid_box(&p->grid);
    const int64_t points = vf_grid_points(&p->grid);
    need(vf_array_create(device, VF_SPACE_PINNED, VF_F32, points, &p->map));
    need(vf_array_create(device, VF_SPACE_DEVICE, VF_F32, points, &there));
    const vf_coulomb_options options = {
        .scale = p->options.pair.scale, .r_min = p->options.pair.r_min, .precision = p->options.precision};
    need(vf_coulomb_create(device, &p->grid, &p->atoms, &options, &sums));
    need(vf_coulomb_execute(sums, queue, &box, there.data));
    need(vf_array_copy(queue, &p->map, &there, points));
    need(vf_queue_sync(queue));
    vf_coulomb_destroy(sums);
    vf_array_free(&there);
}

static problem make_problem(const bench_case *c)
{
    const int64_t n = c->atoms;
    problem p = {.grid = {.spacing = {1, 1, 1}, .counts = {c->edge, c->edge, c->edge}}};
    const double side = cbrt((double)n / solute_density), first = 0.5 * ((double)(c->edge - 1) - side);
    double charge = 0;
    p.data = room((size_t)n * 5, sizeof *p.data);
    seed_random();
    for (int64_t i = 0; i < n; i++) {
        for (int a = 0; a < 3; a++)
            p.data[a * n + i] = first + side * uniform();
        p.data[3 * n + i] = 2 * uniform() - 1;
        p.data[4 * n + i] = from_solute;
        charge += p.data[3 * n + i];
    }
    for (int64_t i = 0; i < n; i++)
        p.data[3 * n + i] -= charge / (double)n;
    p.atoms =
        (vf_coulomb_atoms){.count = n, .x = p.data, .y = p.data + n, .z = p.data + 2 * n, .charge = p.data + 3 * n};
    p.options.pair = (vf_pair_potential){.law = VF_PAIR_COULOMB, .scale = 560.459322, .r_min = 0.1};
    p.options.precision = VF_F32;
    make_map(&p);
    return p;
}

static void free_problem(problem *p)
{
    vf_array_free(&p->map);
    free(p->data);
}

/* Places ions on `where`. There must be room for all. */
static placement place_ions(const problem *p, vf_device *where, const char *variant, int64_t ions)
{
    const size_t n = (size_t)ions;
    placement got = {ions,
                     room(n, sizeof *got.place),
                     room(n, sizeof *got.energy),
                     room(n, sizeof *got.find),
                     room(n, sizeof *got.add),
                     0,
                     0};
    vf_ion_search_options options = p->options;
    vf_ion_search *search;
    options.variant = variant;
    double began = vf_now();
    need(vf_ion_search_create(where, &p->grid, &p->atoms, p->map.data, &options, &search));
    got.made = vf_now() - began;
    began = vf_now();
    need(vf_ion_search_exclude(search, p->data + 4 * p->atoms.count));
    got.excluded = vf_now() - began;
    for (int64_t i = 0; i < ions; i++) {
        vf_ion_place *place = &got.place[i];
        const double charge = i % 2 ? -1 : 1, start = vf_now();
        need(vf_ion_search_find(search, charge, place));
        if (place->index < 0) {
            fprintf(stderr, "%s: only %lld of %lld ions have room\n", program, (long long)i, (long long)ions);
            exit(1);
        }
        const double found = vf_now();
        need(vf_ion_search_add(search, place->position, charge, between_ions, &got.energy[i]));
        got.find[i] = found - start;
        got.add[i] = vf_now() - found;
    }
    vf_ion_search_destroy(search);
    return got;
}

static void free_placement(placement *p)
{
    FREE_ALL(p->place, p->find, p->add, p->energy);
}

/* ---- checks ---- */

/* The number of first ions that are the same in two searches. */
static int64_t agree(const placement *a, const placement *b, int64_t ions)
{
    int64_t n = 0;
    while (n < ions && a->place[n].index == b->place[n].index)
        n++;
    return n;
}

static bool apart(const double a[3], double x, double y, double z, double distance)
{
    const double dx = a[0] - x, dy = a[1] - y, dz = a[2] - z;
    return dx * dx + dy * dy + dz * dz >= distance * distance;
}

/* Counts ions whose energy is not finite, or that are too near to something. At a spacing of 1 angstrom, ions have
 * whole coordinates and exact distances between them. Near the limit to an atom, rounding leaves 1e-12 undecided. */
static int64_t misplaced(const problem *p, const placement *got)
{
    int64_t wrong = 0;
    for (int64_t i = 0; i < got->ions; i++) {
        const double *at = got->place[i].position;
        bool good = isfinite(got->energy[i]);
        for (int64_t n = 0; n < p->atoms.count && good; n++)
            good = apart(at, p->atoms.x[n], p->atoms.y[n], p->atoms.z[n], from_solute * (1 - 1e-12));
        for (int64_t n = 0; n < i && good; n++) {
            const double *other = got->place[n].position;
            good = apart(at, other[0], other[1], other[2], between_ions);
        }
        wrong += !good;
    }
    return wrong;
}

static void check_against_ref(void)
{
    problem p = make_problem(&check_case);
    placement got = place_ions(&p, device, NULL, check_case.ions);
    placement ref = place_ions(&p, vf_context_host(ctx), "ref", check_case.ions);
    const int64_t same = agree(&got, &ref, check_case.ions);
    failures += same < check_case.ions;
    printf("small case: %lld of %lld ions where \"ref\" finds them%s\n", (long long)same, (long long)check_case.ions,
           same < check_case.ions ? "  WRONG" : "");
    vf_report_integer(report, "ions_checked", check_case.ions);
    vf_report_integer(report, "ions_as_ref", same);
    free_placement(&got);
    free_placement(&ref);
    free_problem(&p);
}

/* ---- cases ---- */

/* Median and sum of a value in seconds over ions [1, ions). */
typedef struct summary {
    double median, sum;
} summary;

static summary summarise(const double *find, const double *add, int64_t ions)
{
    double *seconds = room((size_t)ions, sizeof *seconds);
    summary s = {0};
    for (int64_t i = 1; i < ions; i++) {
        seconds[i - 1] = (find ? find[i] : 0) + (add ? add[i] : 0);
        s.sum += seconds[i - 1];
    }
    s.median = median(seconds, (int)ions - 1);
    free(seconds);
    return s;
}

/* Places the first ions by "cells" on the CPU, too; returns how many times as long an ion takes there. */
static double compare_with_cells(const bench_case *c, const problem *p, const placement *got)
{
    placement cells = place_ions(p, vf_context_host(ctx), "cells", c->beside);
    const int64_t same = agree(got, &cells, c->beside);
    const double times =
        summarise(cells.find, cells.add, c->beside).median / summarise(got->find, got->add, c->beside).median;
    failures += same < c->beside;
    printf("    the first %lld: %.2f times as fast as \"cells\" on the CPU, %lld at the same points%s\n",
           (long long)c->beside, times, (long long)same, same < c->beside ? "  WRONG" : "");
    free_placement(&cells);
    return times;
}

static void note(const bench_case *c, const problem *p, const placement *got, int64_t wrong)
{
    const summary ion = summarise(got->find, got->add, got->ions), find = summarise(got->find, NULL, got->ions),
                  add = summarise(NULL, got->add, got->ions);
    const double first = got->find[0] + got->add[0];
    const double pass = 16 * (double)vf_grid_points(&p->grid) / copy_ceiling;
    char name[96];
    failures += wrong > 0;
    snprintf(name, sizeof name, "%lld atoms, %lld^3, %lld ions", (long long)c->atoms, (long long)c->edge,
             (long long)c->ions);
    printf("%s%s\n    made %.3f s, excluded %.3f s, first ion %.3f s, the others %.2f s\n", name,
           wrong ? "  WRONG" : "", got->made, got->excluded, first, ion.sum);
    printf("    an ion %.3f ms (median; find %.3f, add %.3f), %.0f ions/s; %.2f passes at a copy's speed\n",
           1e3 * ion.median, 1e3 * find.median, 1e3 * add.median, (double)(got->ions - 1) / ion.sum, ion.median / pass);
    vf_report_begin(report, name);
    vf_report_integer(report, "atoms", c->atoms);
    vf_report_integers(report, "grid", p->grid.counts, 3);
    vf_report_integer(report, "ions", got->ions);
    vf_report_number(report, "make_seconds", got->made);
    vf_report_number(report, "exclude_seconds", got->excluded);
    vf_report_number(report, "first_ion_seconds", first);
    vf_report_number(report, "other_ions_seconds", ion.sum);
    vf_report_number(report, "ions_per_second", (double)(got->ions - 1) / ion.sum);
    vf_report_number(report, "seconds_an_ion", ion.median);
    vf_report_number(report, "find_seconds_an_ion", find.median);
    vf_report_number(report, "add_seconds_an_ion", add.median);
    vf_report_number(report, "share_of_find", find.sum / ion.sum);
    vf_report_number(report, "passes_an_ion", ion.median / pass);
    vf_report_integer(report, "misplaced", wrong);
    if (c->beside > 0)
        vf_report_number(report, "times_cells", compare_with_cells(c, p, got));
    vf_report_end(report);
}

static void run_case(const bench_case *c)
{
    problem p = make_problem(c);
    placement got = place_ions(&p, device, NULL, c->ions);
    note(c, &p, &got, misplaced(&p, &got));
    free_placement(&got);
    free_problem(&p);
}

int main(int argc, char **argv)
{
    int64_t size[3] = {10000, 128, 1000};
    static const int64_t least[3] = {1, 2, 2}, most[3] = {1000000, 1000, 1000000};
    bool usable = argc <= 6;
    for (int a = 0; usable && a + 3 < argc; a++) {
        size[a] = whole_number(argv[a + 3], most[a]);
        usable = size[a] >= least[a];
    }
    if (!usable) {
        fprintf(stderr, "usage: bench_ion_search DEVICE [REPORT.json [ATOMS [EDGE [IONS]]]]\n"
                        "ATOMS: 1 to 1000000, EDGE: 2 to 1000 points, IONS: 2 to 1000000\n");
        return 2;
    }
    int ended = begin("bench_ion_search", argc > 1 ? argv[1] : "cpu", argc > 2 ? argv[2] : NULL);
    if (ended >= 0)
        return ended;
    const bool gpu = !vf_device_is_host(device);
    const bench_case asked = {size[0], size[1], size[2], gpu ? (size[2] < 200 ? size[2] : 200) : 0};
    const bench_case *cases = argc > 3 ? &asked : gpu ? gpu_cases : cpu_cases;
    const size_t count = argc > 3 ? 1
                         : gpu    ? sizeof gpu_cases / sizeof *gpu_cases
                                  : sizeof cpu_cases / sizeof *cpu_cases;
    copy_ceiling = copy_speed();
    printf("%s: %s, %d threads, copy %.1f GB/s\n", vf_device_spec(device), vf_device_name(device),
           vf_context_threads(ctx), 1e-9 * copy_ceiling);
    vf_report_integer(report, "threads", vf_context_threads(ctx));
    vf_report_number(report, "copy_bytes_per_second", copy_ceiling);
    check_against_ref();
    vf_report_begin(report, "cases");
    for (size_t c = 0; c < count; c++)
        run_case(&cases[c]);
    return end();
}
