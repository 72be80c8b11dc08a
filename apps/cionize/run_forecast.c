/* How long a run will take: of the map what its method has measured, of the rest what it took on one core of an EPYC with AVX-512.
 * Each part has serial work, which takes what a short measurement says of this machine's cores, and work that threads share.
 * validation/bench/forecast.py compares whole runs with their forecasts. */
#include <math.h>
#include <string.h>

#include "cionize_facts.h"
#include "cionize_state.h"
#include "ion_stage.h"
#include "point_stage.h"
#include "potential/potential_common.h"
#include "solvent_stage.h"

static const char *const part_names[RUN_PARTS] = {"before", "solve",     "compute",  "write",
                                                  "points", "field map", "energies", "place"};

static const double ns = 1e-9;
static const double loading = 0.012; /* until main, and after the report */

/* Seconds of a solution in solvent by point and by atom (300 to 20,000 atoms, 0.05 to 17 million points), in a cell by point alone, of right angles or
 * not; what the full equation, of 3 to 4 steps, takes of a point's; and what is left of it beside a GPU, which solves linear systems. */
static const double solved_point = 0.43e-6, solved_atom = 65e-6, solved_in_cell = 0.37e-6, solved_sheared = 1.8e-6,
                    non_linear = 1.7, beside_gpu = 0.35;
/* The serial part of a solution: of any, and by point. */
static const double solution_alone = 16e-3, solution_alone_point = 10e-9;
/* Of a pair of an atom and a point; in a cell. */
static const double pair = 0.7e-9, pair_in_cell = 25e-9;
/* Of a screened ion and its images at a point. */
static const double screened_image = 5e-6;
/* Until a GPU has its kernels. */
static const double first_launches = 0.02;

/* Work that one thread does. */
static double alone(const cionize_state *r, double seconds)
{
    return r->speed.core * seconds;
}

/* Work that threads share, in so many pieces. Half of it is arithmetic in registers and caches, which is as fast on most
 * processors with the same instructions: the geometric mean. */
static double shared_by(const cionize_state *r, double seconds, double pieces)
{
    const double n = fmax(1, fmin(pieces, vf_context_threads(r->ctx)));
    return sqrt(r->speed.core) * seconds / vf_team_gain(n);
}

static double shared(const cionize_state *r, double seconds)
{
    return shared_by(r, seconds, vf_context_threads(r->ctx));
}

/* A team of all threads begins. */
static double teams(const cionize_state *r, double count)
{
    return count * (vf_context_threads(r->ctx) - 1) * r->speed.thread;
}

static bool on_gpu(const cionize_state *r)
{
    return vf_device_get_kind(potential_first_device(r->ctx)) == VF_DEVICE_CUDA;
}

static bool in_cell(const cionize_state *r)
{
    return r->settings.cell.kind != VF_CELL_NONE;
}

static double frames_of(const cionize_state *r)
{
    return r->trajectory ? (double)r->frames.count : 1;
}

/* ---- parts ---- */

/* `points` of a grid. */
static double solution(const cionize_state *r, double points, double atoms)
{
    const bool sheared = r->settings.cell.kind == VF_CELL_TRICLINIC, gpu = on_gpu(r) && !sheared;
    const double each = sheared ? solved_sheared : in_cell(r) ? solved_in_cell : solved_point;
    const double steps = r->dissolved.options.non_linear ? non_linear : 1;
    return alone(r, steps * (solution_alone + solution_alone_point * points)) +
           shared(r, each * steps * (gpu ? beside_gpu : 1) * points + (in_cell(r) ? 0 : solved_atom * atoms));
}

double forecast_solution(const cionize_state *r)
{
    return solution(r, (double)vf_grid_points(&r->grid), (double)r->molecule.atoms);
}

/* Of a map on its way to a file: threads of its own make the text, or compress chunks, of each slab. */
static double writing(const cionize_state *r, const map_output *output, const map_info *info)
{
    static const double values = 24576; /* of a piece of text or a chunk */
    static const struct {
        const char *name;
        double byte, atom;
    } rates[] = {{"OpenDX", 2.2e-9, 0}, {"Gaussian cube", 2.7e-9, 4e-6}, {"HDF5", 16e-9, 0}};
    if (!output->format)
        return 0;
    const double bytes = map_output_bytes(output->format, info), slabs = fmax(1, (double)r->plan.slabs);
    const double pieces = ceil((double)vf_grid_points(&info->grid) / slabs / values);
    for (size_t n = 0; n < sizeof rates / sizeof *rates; n++)
        if (strstr(output->format->name, rates[n].name))
            return shared(r, rates[n].atom * (double)r->molecule.atoms) + shared_by(r, rates[n].byte * bytes, pieces) +
                   slabs * fmin(pieces, vf_context_threads(r->ctx)) * r->speed.thread;
    return alone(r, 0.7e-9 * bytes);
}

/* The file's last bytes reach the disk; the system writes the others before. */
static double closing(const cionize_state *r)
{
    const double bytes = r->map.format ? map_output_bytes(r->map.format, &r->info) : 0;
    return r->map.format ? 3e-3 + 0.4 * ns * fmin(bytes, 25e6) : 0;
}

static double map_seconds(const cionize_state *r)
{
    const double made = r->plan.evaluations * (double)r->plan.maps, share = made > 0 ? r->evaluations / made : 1;
    const double points = (double)vf_grid_points(&r->grid), frames = r->trajectory ? frames_of(r) : 0;
    const double sum = share * r->plan.seconds * (double)r->plan.maps;
    const double mesh = r->plan.problem.tolerance > 0 && !on_gpu(r) ? 2.5e-3 * fmax(1, frames) : 0;
    return sum + shared(r, error_points_seconds(r->ctx, &r->plan, r->sources->atoms) * frames_of(r)) + teams(r, 2) +
           writing(r, &r->map, &r->info) + writing(r, &r->deviation, &r->deviation_info) +
           (on_gpu(r) ? first_launches : 0) +
           alone(r, 2e-3 + mesh + points * ns * (2 + 4 * frames + (r->settings.solvent.on ? 6 : 0)));
}

/* Potentials of the atoms at `count` points. */
static double sums_at(const cionize_state *r, double count, bool fields)
{
    const vf_point_options o = point_options(&r->settings, &r->settings.cell, fields);
    const double atoms = (double)r->molecule.atoms, direct = atoms * count * pair * (fields ? 1.05 : 1);
    const double fast = 0.016 + 1e-6 * atoms + (fields ? 4.5e-6 : 3e-6) * count;
    if (o.tolerance == 0)
        return in_cell(r) ? atoms * count * pair_in_cell : direct;
    return in_cell(r) ? fast + pair_in_cell * 1e6 : fmin(fast + 256 * atoms * pair, direct);
}

static double points_seconds(const cionize_state *r)
{
    const double count = (double)r->at_points.set.count;
    const bool fields = r->settings.points.field;
    const double mesh = point_options(&r->settings, &r->settings.cell, fields).tolerance > 0 ? 3e-3 : 0;
    return teams(r, 1) +
           frames_of(r) * (shared(r, sums_at(r, count, fields)) + alone(r, mesh + count * (fields ? 1.5e-6 : 1.2e-6)));
}

static double field_map_seconds(const cionize_state *r)
{
    const double points = (double)vf_grid_points(&r->grid);
    return teams(r, 1) + shared(r, sums_at(r, points, true) + 185 * ns * points) + alone(r, 40 * ns * points);
}

static double energies_seconds(const cionize_state *r)
{
    const double points = (double)vf_grid_points(&r->grid), atoms = (double)r->molecule.atoms;
    const double frames = frames_of(r), partners = r->dissolved.binds ? 2 : 0;
    const double pairs = in_cell(r) ? fmin(atoms, 1000) * 25 : fmin(atoms, 30000);
    return (r->trajectory ? frames : 0) * solution(r, points, atoms) +
           partners * frames * solution(r, points, atoms / 2) + /* each a part of the atoms */
           (r->settings.solvent.error ? solution(r, points / 2.8, atoms) : 0) +
           shared(r, frames * (1 + partners / 2) * atoms * pairs * pair);
}

static double placing_seconds(const cionize_state *r)
{
    const double points = (double)vf_grid_points(&r->grid), atoms = (double)r->molecule.atoms, ions = (double)r->wanted;
    if (r->water.no_map || r->water.solvent)
        return teams(r, 1) + shared(r, (double)r->water.count * 20e-6 + ions * 2e-3);
    const bool solvent = r->settings.solvent.on;
    const double an_ion = solvent ? 14 * ns * points : in_cell(r) ? 4e-3 : 1e-3 + 45 * ns * atoms;
    const bool images = solvent && in_cell(r) && r->dissolved.options.kappa > 0; /* a table of them */
    const double table = images ? (r->settings.cell.kind == VF_CELL_TRICLINIC ? 2 : 0.25) * points * screened_image : 0;
    return alone(r, 2e-3 + 15 * ns * points + ions * (solvent ? 0 : 19 * ns * atoms)) +
           shared(r, 8 * ns * points + frames_of(r) * atoms * 2e-6 + ions * an_ion + table);
}

void forecast_run(cionize_state *r)
{
    double *part = r->forecast;
    const bool map = !only_points(r) && !r->water.no_map && !r->settings.read_map;
    memset(part, 0, sizeof r->forecast);
    r->speed = vf_measure_machine(r->ctx);
    part[RUN_SOLVE] = solvent_on_grid(r) ? forecast_solution(r) : 0;
    part[RUN_COMPUTE] = map ? map_seconds(r) : 0;
    part[RUN_WRITE] = (map ? 1e-3 + closing(r) : 0) + (r->settings.picture ? alone(r, 0.14) : 0);
    part[RUN_POINTS] = r->settings.points.points ? points_seconds(r) : 0;
    part[RUN_FIELD_MAP] = r->settings.points.field_map ? field_map_seconds(r) : 0;
    part[RUN_ENERGIES] = energies_asked(r) ? energies_seconds(r) : 0;
    part[RUN_PLACE] = ions_asked(r) ? placing_seconds(r) : 0;
    part[RUN_BEFORE] = loading + vf_device_leaving_seconds(r->ctx) + vf_now() - r->began;
}

void forecast_facts(facts *f, const cionize_state *r)
{
    char text[32];
    double sum = 0;
    for (int p = 0; p < RUN_PARTS; p++)
        sum += r->forecast[p];
    fact_begin(f, "forecast");
    fact_number(f, "total", sum);
    fact_number(f, "measured_core", r->speed.core);
    fact_number(f, "measured_thread", r->speed.thread);
    fact_begin(f, "seconds");
    for (int p = 0; p < RUN_PARTS; p++)
        fact_number(f, part_names[p], r->forecast[p]);
    fact_end(f);
    fact_end(f);
    if (!kept_is_part(&r->kept.pieces) && !kept_is_joined(&r->kept.pieces))
        fact_only_say(f, LINE_FORECAST, "time       about %s in all", vf_format_seconds(sum, text, sizeof text));
}
