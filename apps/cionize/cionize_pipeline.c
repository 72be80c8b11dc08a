/* The stages of cionize, in the order data flows. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cionize.h"
#include "program.h"
#include "voxfield/version.h"

/* Figures of a map, summed up while its layers go by. */
typedef struct figures {
    double minimum, maximum, sum, squares;
    int64_t count;
} figures;

typedef struct run {
    vf_context *ctx;
    const cionize_settings *settings;
    vf_stages stages;
    vf_progress progress;
    molecule molecule;
    vf_grid grid;
    potential_plan plan;
    char *output; /* the map's path */
    const map_format *format;
    map_info info;
    char created[PROGRAM_TIME_TEXT], method[128];
    char *command;
    void *map; /* the format's state; NULL when there is none open */
    slices *planes;
    figures figures;
    int64_t *slabs_done; /* [the context's devices] */
} run;

/* "a/b.pqr" -> "a/b.dx"; other extensions are kept: "a/b.txt" -> "a/b.txt.dx". */
static char *default_output(const char *input)
{
    static const char *const endings[] = {".pqr", ".pqr.gz", ".pdb", ".pdb.gz", ".inpcrd", ".rst7", NULL};
    return program_replace_ending(input, endings, ".dx");
}

/* An output must not replace the molecule, nor another output. */
static vf_status check_names(const run *r)
{
    const cionize_settings *s = r->settings;
    const program_file files[] = {{"the molecule", s->input},
                                  {"the charges", s->charges},
                                  {"the map", r->output},
                                  {"the picture", s->picture},
                                  {"the report", s->report}};
    return program_check_names(r->ctx, files, sizeof files / sizeof *files);
}

static vf_status prepare_output(run *r)
{
    const cionize_settings *s = r->settings;
    r->output = s->output ? strdup(s->output) : default_output(s->input);
    if (!r->output)
        return vf_fail(r->ctx, VF_ERR_MEMORY, "no memory");
    vf_status status = map_format_for(r->ctx, r->output, &r->format);
    return status == VF_OK ? check_names(r) : status;
}

static void say_molecule(const run *r)
{
    const molecule *m = &r->molecule;
    double off = m->total_charge - round(m->total_charge);
    printf("molecule   %s: %lld atom%s, %s\n", r->settings->input, (long long)m->atoms, m->atoms == 1 ? "" : "s",
           m->dialect);
    if (fabs(off) < 5e-7)
        printf("           total charge %+.0f e\n", round(m->total_charge) + 0.0);
    else
        printf("           total charge %+.6f e, %.2g away from an integer\n", m->total_charge, fabs(off));
    printf("           x %.3f to %.3f, y %.3f to %.3f, z %.3f to %.3f A\n", m->lo[0], m->hi[0], m->lo[1], m->hi[1],
           m->lo[2], m->hi[2]);
}

/* The size of the finished map, about. */
static double map_bytes(const run *r)
{
    const map_format *format = r->format;
    return format->bytes_per_value[r->settings->precision] * (double)vf_grid_points(&r->grid) +
           format->bytes_per_atom * (double)r->molecule.atoms + format->bytes_besides;
}

static void say_plan(const run *r)
{
    const cionize_settings *s = r->settings;
    const vf_grid *g = &r->grid;
    char text[32], text2[32];
    printf("grid       %lld x %lld x %lld = %lld points, spacing ", (long long)g->counts[0], (long long)g->counts[1],
           (long long)g->counts[2], (long long)vf_grid_points(g));
    if (g->spacing[0] == g->spacing[1] && g->spacing[0] == g->spacing[2])
        printf("%g A", g->spacing[0]);
    else
        printf("%g x %g x %g A", g->spacing[0], g->spacing[1], g->spacing[2]);
    printf(", origin (%g, %g, %g)\n", g->origin[0], g->origin[1], g->origin[2]);
    printf("potential  V = C sum q / (eps max(r, %g A)), C = %.9g %s A/e", s->r_min, r->info.unit_constant, s->unit);
    if (strcmp(s->unit, "kT/e") == 0)
        printf(" at %g K", s->temperature);
    printf(", eps = %g%s\n", s->dielectric, s->distance_dielectric ? " r/A" : "");
    printf("device     %s\n", r->plan.device);
    printf("work       %.3g G evaluations, %s, about %s", 1e-9 * r->plan.evaluations, r->method,
           vf_format_seconds(r->plan.seconds, text, sizeof text));
    printf(", %s of memory in %lld slab%s\n", vf_format_bytes((double)r->plan.host_bytes, text, sizeof text),
           (long long)r->plan.slabs, r->plan.slabs == 1 ? "" : "s");
    printf("map        %s: %s, about %s\n", r->output, r->format->name,
           vf_format_bytes(map_bytes(r), text2, sizeof text2));
    fflush(stdout);
}

static vf_status check_size(run *r)
{
    int64_t points = vf_grid_points(&r->grid);
    if (r->format->max_points > 0 && points > r->format->max_points)
        return vf_fail(r->ctx, VF_ERR_UNSUPPORTED, "%s: %lld points are too many for %s: %s", r->output,
                       (long long)points, r->format->name, r->format->max_reason);
    return VF_OK;
}

static void describe(run *r)
{
    const cionize_settings *s = r->settings;
    program_time(r->created);
    snprintf(r->method, sizeof r->method, "direct sum (%s), %s precision", r->plan.variant,
             s->precision == VF_F64 ? "double" : "single");
    r->info = (map_info){
        .grid = r->grid,
        .type = s->precision,
        .quantity = "electrostatic potential",
        .unit = s->unit,
        .program = "cionize (Voxfield) " VF_VERSION,
        .command = r->command,
        .created = r->created,
        .method = r->method,
        .input = s->input,
        .unit_constant = r->plan.scale * s->dielectric,
        .temperature = s->temperature,
        .dielectric = s->dielectric,
        .distance_dielectric = s->distance_dielectric,
        .r_min = s->r_min,
        .molecule = &r->molecule,
    };
}

/* One layer: always one, so that the sums do not depend on how thick the slabs are. Eight running sums let the compiler
 * use vectors. */
static void add_figures(figures *f, vf_dtype type, const void *values, int64_t count)
{
    enum { LANES = 8 };
    double lo[LANES], hi[LANES], sum[LANES] = {0}, squares[LANES] = {0};
    for (int l = 0; l < LANES; l++) {
        lo[l] = f->minimum;
        hi[l] = f->maximum;
    }
    for (int64_t i = 0; i < count; i++) {
        int l = (int)(i % LANES);
        double v = type == VF_F64 ? ((const double *)values)[i] : (double)((const float *)values)[i];
        lo[l] = v < lo[l] ? v : lo[l];
        hi[l] = v > hi[l] ? v : hi[l];
        sum[l] += v;
        squares[l] += v * v;
    }
    for (int l = 0; l < LANES; l++) {
        f->minimum = fmin(f->minimum, lo[l]);
        f->maximum = fmax(f->maximum, hi[l]);
        f->sum += sum[l];
        f->squares += squares[l];
    }
    f->count += count;
}

/* In pieces, so that an interrupt need not wait for a whole slab to be formatted and compressed. */
static vf_status write_layers(run *r, int64_t first, int64_t count, int64_t layer, const void *values)
{
    enum { PIECE = 1 << 20 }; /* values: some tenths of a second for the slowest format */
    int64_t step = layer < PIECE ? PIECE / layer : 1;
    vf_status status = VF_OK;
    for (int64_t done = 0; status == VF_OK && done < count; done += step) {
        const char *from = (const char *)values + (size_t)(done * layer) * vf_dtype_bytes(r->info.type);
        int64_t n = count - done < step ? count - done : step;
        status = vf_cancelled(r->ctx) ? vf_fail(r->ctx, VF_ERR_CANCELLED, "interrupted")
                                      : r->format->write(r->map, first + done, n, from);
    }
    return status;
}

/* Takes layers from the pool: to the file, the picture's planes, and the figures. */
static vf_status take_layers(void *user, int64_t first, int64_t count, const void *values)
{
    run *r = user;
    int64_t points = vf_grid_points(&r->grid);
    int64_t layer = points / r->grid.counts[r->plan.order == MAP_Z_FASTEST ? 0 : 2];
    size_t layer_bytes = (size_t)layer * vf_dtype_bytes(r->info.type);
    for (int64_t n = 0; n < count; n++)
        add_figures(&r->figures, r->info.type, (const char *)values + (size_t)n * layer_bytes, layer);
    if (!isfinite(r->figures.sum))
        return vf_fail(r->ctx, VF_ERR_INTERNAL, "%s: a value of the map is not finite; please report this", r->output);
    if (r->planes)
        slices_take(r->planes, r->plan.order, r->info.type, first, count, values);
    vf_status status = write_layers(r, first, count, layer, values);
    vf_progress_update(&r->progress, r->plan.evaluations * (double)r->figures.count / (double)points);
    return status;
}

static void report_devices(vf_report *report, const run *r)
{
    vf_report_begin(report, "devices");
    for (int d = 0; d < vf_context_device_count(r->ctx); d++) {
        const vf_device *device = vf_context_device(r->ctx, d);
        vf_report_begin(report, vf_device_spec(device));
        vf_report_text(report, "name", vf_device_name(device));
        vf_report_integer(report, "slabs", r->slabs_done[d]);
        if (vf_device_failure(device))
            vf_report_text(report, "failure", vf_device_failure(device));
        vf_report_end(report);
    }
    vf_report_end(report);
}

static void report_run(vf_report *report, const run *r, double mean, double deviation, double seconds)
{
    const cionize_settings *s = r->settings;
    vf_report_run(report, "cionize", s->argc, s->argv);
    vf_report_begin(report, "input");
    vf_report_text(report, "path", s->input);
    if (s->charges)
        vf_report_text(report, "charges", s->charges);
    vf_report_text(report, "sha256", r->molecule.digest);
    vf_report_integer(report, "atoms", r->molecule.atoms);
    vf_report_number(report, "total_charge", r->molecule.total_charge);
    vf_report_integer(report, "missing_atoms", r->molecule.missing_atoms);
    vf_report_end(report);
    vf_report_begin(report, "grid");
    vf_report_numbers(report, "origin", r->grid.origin, 3);
    vf_report_numbers(report, "spacing", r->grid.spacing, 3);
    vf_report_integers(report, "counts", r->grid.counts, 3);
    vf_report_end(report);
    vf_report_begin(report, "potential");
    vf_report_text(report, "unit", s->unit);
    vf_report_number(report, "constant", r->info.unit_constant);
    vf_report_number(report, "temperature", s->temperature);
    vf_report_number(report, "dielectric", s->dielectric);
    vf_report_integer(report, "distance_dielectric", s->distance_dielectric);
    vf_report_number(report, "r_min", s->r_min);
    vf_report_number(report, "minimum", r->figures.minimum);
    vf_report_number(report, "maximum", r->figures.maximum);
    vf_report_number(report, "mean", mean);
    vf_report_number(report, "rms_deviation", deviation);
    vf_report_end(report);
    vf_report_text(report, "device", r->plan.device);
    program_report_warm_up(r->ctx, report);
    report_devices(report, r);
    vf_report_text(report, "method", r->method);
    vf_report_text(report, "map", r->output);
    vf_report_number(report, "evaluations", r->plan.evaluations);
    vf_report_number(report, "evaluations_per_second", r->plan.evaluations / seconds);
    vf_report_number(report, "estimated_seconds", r->plan.seconds);
    vf_report_stages(report, &r->stages);
}

/* From the molecule to the plan: everything that can be refused is refused here, before any work. */
static vf_status prepare(run *r)
{
    const cionize_settings *s = r->settings;
    vf_stage_begin(&r->stages, "read");
    potential_warm_up(r->ctx, s, program_file_bytes(s->input));
    vf_status status = prepare_output(r);
    if (status == VF_OK)
        status = s->charges ? read_molecule_with_charges(r->ctx, s->input, s->charges, &r->molecule)
                            : read_molecule(r->ctx, s->input, &r->molecule);
    if (status != VF_OK)
        return status;
    if (!s->quiet)
        say_molecule(r);
    vf_stage_begin(&r->stages, "plan");
    status = plan_grid(r->ctx, s, &r->molecule, &r->grid);
    if (status == VF_OK)
        status = check_size(r);
    if (status == VF_OK)
        status = potential_prepare(r->ctx, s, &r->molecule, &r->grid, r->format->order, &r->plan);
    if (status != VF_OK)
        return status;
    describe(r);
    if (!s->quiet)
        say_plan(r);
    return VF_OK;
}

static vf_status compute(run *r)
{
    const cionize_settings *s = r->settings;
    vf_status status = program_check_place(r->ctx, r->output, map_bytes(r), "use a larger --spacing");
    if (status == VF_OK && s->picture)
        status = program_check_place(r->ctx, s->picture, 0, "");
    if (status != VF_OK)
        return status;
    vf_stage_begin(&r->stages, "compute");
    status = r->format->begin(r->ctx, r->output, &r->info, &r->map);
    if (status == VF_OK && s->picture)
        status = slices_create(r->ctx, &r->grid, &r->planes);
    if (status != VF_OK)
        return status;
    r->slabs_done = calloc((size_t)vf_context_device_count(r->ctx), sizeof *r->slabs_done);
    if (!r->slabs_done)
        return vf_fail(r->ctx, VF_ERR_MEMORY, "no memory");
    r->figures = (figures){.minimum = INFINITY, .maximum = -INFINITY};
    vf_progress_begin(&r->progress, stderr, s->quiet ? VF_PROGRESS_OFF : s->progress, "computing", r->plan.evaluations,
                      1e-9, "G evaluations");
    status = potential_compute(r->ctx, s, &r->molecule, &r->grid, &r->plan, take_layers, r, r->slabs_done);
    vf_progress_end(&r->progress);
    return status;
}

/* The files, and what there is to say of the map. */
static vf_status finish(run *r, vf_report **report)
{
    const cionize_settings *s = r->settings;
    double n = (double)r->figures.count, mean = r->figures.sum / n;
    double deviation = sqrt(fmax(r->figures.squares / n - mean * mean, 0));
    double seconds = vf_stage_seconds(&r->stages, "compute") + vf_now() - r->stages.since;
    vf_stage_begin(&r->stages, "write");
    void *map = r->map;
    r->map = NULL;
    vf_status status = r->format->commit(map, r->figures.minimum, r->figures.maximum, mean, deviation);
    if (status == VF_OK && r->planes)
        status = slices_draw(r->planes, &r->info, s->picture);
    vf_stage_end(&r->stages);
    if (status != VF_OK)
        return status;
    if (!s->quiet) {
        char text[32];
        printf("done       %s, %.3g G evaluations/s; %.6g to %.6g %s, mean %.6g\n",
               vf_format_seconds(seconds, text, sizeof text), 1e-9 * r->plan.evaluations / seconds, r->figures.minimum,
               r->figures.maximum, s->unit, mean);
        if (s->picture)
            printf("picture    %s\n", s->picture);
    }
    report_run(*report, r, mean, deviation, seconds);
    return vf_report_commit(report);
}

vf_status cionize_run(vf_context *ctx, const cionize_settings *settings)
{
    run r = {.ctx = ctx, .settings = settings};
    vf_report *report = NULL;
    vf_status status = VF_OK;
    r.command = program_join_arguments(settings->argc, settings->argv);
    if (!r.command)
        return vf_fail(ctx, VF_ERR_MEMORY, "no memory");
    if (settings->report && !settings->dry_run)
        status = vf_report_create(ctx, settings->report, &report);
    if (status == VF_OK)
        status = prepare(&r);
    if (status == VF_OK && !settings->dry_run)
        status = compute(&r);
    if (status == VF_OK && !settings->dry_run)
        status = finish(&r, &report);
    if (r.map)
        r.format->discard(r.map);
    vf_report_discard(&report);
    slices_destroy(r.planes);
    molecule_free(&r.molecule);
    free(r.slabs_done);
    free(r.output);
    free(r.command);
    return status;
}
