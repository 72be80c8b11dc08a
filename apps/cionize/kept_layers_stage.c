/* Layers of the map that outlive the run: see apps/program/kept_pieces.h. A piece is a layer, and that of the deviation
 * after it, in the order of the file. Of an average with several blocks of frames (potential/frame_sums.h) it is a layer
 * of a block's sums: l + b * layers for layer l of block b, the means and, for the deviation, the sums of squares. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cionize_state.h"
#include "job.h"
#include "kept_layers_stage.h"
#include "potential/average.h"
#include "potential/frame_sums.h"
#include "potential/potential_common.h"
#include "voxfield/version.h"

static int64_t layers_of(const cionize_state *r)
{
    return r->grid.counts[potential_slab_axis(r->plan.order)];
}

static int64_t layer_points(const cionize_state *r)
{
    return vf_grid_points(&r->grid) / layers_of(r);
}

static size_t layer_bytes(const cionize_state *r)
{
    return (size_t)layer_points(r) * vf_dtype_bytes(r->settings.precision);
}

static frame_blocks blocks_of(const cionize_state *r)
{
    return frame_blocks_of(r->trajectory ? r->frames.count : 1, vf_grid_points(&r->grid));
}

static bool keeps_sums(const cionize_state *r)
{
    return blocks_of(r).count > 1;
}

/* Of a layer, or its sums, without those of the deviation. */
static size_t kept_bytes(const cionize_state *r)
{
    return keeps_sums(r) ? (size_t)layer_points(r) * sizeof(double) : layer_bytes(r);
}

static int64_t items_of(const cionize_state *r)
{
    return blocks_of(r).count * layers_of(r);
}

static size_t item_bytes(const cionize_state *r)
{
    return kept_bytes(r) * (r->deviation.path ? 2 : 1);
}

static void write_numbers(FILE *to, const char *name, const double *numbers, int count)
{
    fputs(name, to);
    for (int n = 0; n < count; n++)
        fprintf(to, " %.17g", numbers[n]);
    fputs("\n", to);
}

/* All that the values depend on. The method is the maker's: which of them is taken depends on the machine. */
static char *make_key(const cionize_state *r)
{
    const vf_potential_problem *problem = &r->plan.problem;
    const bool follows = r->plan.follows_cells;
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    if (!to)
        return NULL;
    fprintf(to, "program cionize %s\nmolecule %s\n", VF_VERSION, r->molecule.digest);
    if (r->sources != &r->molecule) {
        const size_t n = (size_t)r->sources->atoms;
        const uint64_t numbers = vf_fingerprint(0, r->sources->of_whole, n * sizeof *r->sources->of_whole);
        fprintf(to, "selected %zu atoms, %016" PRIx64 "\n", n,
                vf_fingerprint(numbers, r->sources->charge, n * sizeof *r->sources->charge));
    }
    if (r->water.solvent)
        fprintf(to, "without water, atoms %" PRId64 ", positions %016" PRIx64 "\n", r->molecule.atoms,
                vf_fingerprint(0, r->molecule.x, (size_t)r->molecule.atoms * sizeof *r->molecule.x));
    if (r->trajectory)
        fprintf(to,
                "frames %" PRId64 " from %" PRId64 " in steps of %" PRId64 ", positions %016" PRIx64 "%s, in %" PRId64
                " blocks\n",
                r->frames.count, r->frames.first + 1, r->frames.step, r->frames_digest,
                follows ? ", with their cells" : "", blocks_of(r).count);
    fprintf(to, "grid %" PRId64 " x %" PRId64 " x %" PRId64 "\n", r->grid.counts[0], r->grid.counts[1],
            r->grid.counts[2]);
    write_numbers(to, "origin", r->grid.origin, 3);
    write_numbers(to, "spacing", r->grid.spacing, 3);
    if (r->grid.cell.kind != VF_CELL_NONE) {
        write_numbers(to, "cell", r->grid.cell.vectors[0], 9);
        fprintf(to, "boundary %s\n", problem->vacuum ? "vacuum" : "tinfoil");
        if (r->copies > 1)
            fprintf(to, "symmetry %d copies, %" PRId64 " atoms\n", r->copies, r->molecule.atoms);
    }
    fprintf(to, "order %s fastest\nprecision %s\n", r->plan.order == MAP_Z_FASTEST ? "z" : "x",
            problem->precision == VF_F64 ? "double" : "single");
    fprintf(to, "accuracy %g\nlaw %s\n", problem->tolerance,
            problem->pair.law == VF_PAIR_DISTANCE_DIELECTRIC ? "distance-dependent dielectric" : "Coulomb");
    write_numbers(to, "scale", &problem->pair.scale, 1);
    write_numbers(to, "r-min", &problem->pair.r_min, 1);
    write_numbers(to, "smooth", &problem->sigma, 1);
    if (problem->cutoff > 0) {
        fprintf(to, "cutoff-law %s\n", vf_cutoff_law_name(problem->cutoff_law));
        write_numbers(to, "cutoff", &problem->cutoff, 1);
        write_numbers(to, "switch-from", &problem->switch_from, 1);
    }
    fprintf(to, "deviation %s\n", r->deviation.path ? "yes" : "no");
    if (fclose(to) != 0) {
        free(text);
        text = NULL;
    }
    return text;
}

/* The output whose name the files of pieces have. */
static const char *main_output(const cionize_state *r)
{
    const char *const names[] = {r->map.path,  r->after.path, r->deviation.path, r->ions.ionized,
                                 r->ions.ions, r->ions.mask,  r->map.picture,    r->after.picture};
    for (size_t n = 0; n < sizeof names / sizeof *names; n++)
        if (names[n])
            return names[n];
    return r->settings.input; /* a script names the outputs */
}

/* ---- the maker: a line with the method ---- */

static void write_maker(const cionize_state *r, char *text, size_t size)
{
    snprintf(text, size, "method %s:%s\n", r->plan.method->name, r->plan.variant);
}

/* `what`: for the message. */
static vf_status read_maker(vf_context *ctx, const char *what, const char *text, const vf_potential_method **method,
                            char variant[32])
{
    char name[32] = "";
    if (sscanf(text, "method %31[^:\n]:%31[^\n]", name, variant) != 2)
        return vf_fail(ctx, VF_ERR_INPUT, "%s is not known: %.60s", what, text);
    return vf_potential_method_named(ctx, what, name, method);
}

/* ---- ranks: rank 0's method and slabs ---- */

static const char in_place[] = "in place\n";

static vf_status share_plan(cionize_state *r, const char *maker)
{
    potential_plan *plan = &r->plan;
    char *text = NULL, *none;
    size_t size = 0;
    potential_cut_for_ranks(plan, vf_ranks_size(plan->ranks));
    r->kept.slab = kept_missing(&r->kept.pieces) == 0 ? calloc(1, sizeof *r->kept.slab)
                   : r->trajectory
                       ? average_slabs(r->ctx, r->sources, &r->frames, plan, vf_ranks_size(plan->ranks), &plan->listed)
                       : potential_slabs(plan, &plan->listed);
    double *cost = malloc(((size_t)plan->listed + 1) * sizeof *cost);
    FILE *to = r->kept.slab && cost ? open_memstream(&text, &size) : NULL;
    if (to)
        fprintf(to, "%s%s", maker, r->kept.places ? in_place : "kept\n");
    for (int64_t n = 0; to && n < plan->listed; n++) {
        fprintf(to, "%" PRId64 " %" PRId64 "\n", r->kept.slab[n].first, r->kept.slab[n].behind);
        cost[n] = (double)(r->kept.slab[n].behind - r->kept.slab[n].first);
    }
    plan->list = r->kept.slab;
    vf_status status = to && fclose(to) == 0 ? vf_ranks_offer(plan->ranks, plan->listed, cost)
                                             : vf_fail(r->ctx, VF_ERR_MEMORY, "no memory for slabs");
    VF_TRY(status, vf_ranks_share(plan->ranks, 0, text, &none));
    free(text);
    free(cost);
    return status;
}

/* Whether the layers are the bytes of the map's file, one after another. */
static bool are_bytes_of_file(const cionize_state *r)
{
    return r->map.path && r->map.format->values_begin > 0 && r->settings.precision == VF_F32 && !r->trajectory &&
           !r->settings.solvent.on; /* the layers of the sum are not yet the map's */
}

vf_status plan_job(cionize_state *r)
{
    const pieces_settings *asked = &r->settings.pieces;
    potential_plan plan = r->plan;
    const double seconds = plan.seconds * (double)plan.maps, items = (double)items_of(r);
    const double again = r->trajectory ? 0 : plan.preparing * seconds;
    int64_t count = 0;
    if (asked->ranks_planned == 0 || !plan.method)
        return VF_OK;
    potential_cut_for_ranks(&plan, asked->ranks_planned);
    layer_range *slab = r->trajectory
                            ? average_slabs(r->ctx, r->sources, &r->frames, &plan, asked->ranks_planned, &count)
                            : potential_slabs(&plan, &count);
    double *cost = calloc((size_t)count + 1, sizeof *cost);
    if (!slab || !cost) {
        free(slab);
        free(cost);
        return vf_fail(r->ctx, VF_ERR_MEMORY, "no memory for slabs");
    }
    for (int64_t n = 0; n < count; n++)
        cost[n] = (seconds - again) * (double)(slab[n].behind - slab[n].first) / items;
    job_say_plan(r->ctx, asked, again, count, cost, items * (double)item_bytes(r), are_bytes_of_file(r));
    free(slab);
    free(cost);
    return VF_OK;
}

static vf_status read_slabs(cionize_state *r, const char *text, int64_t *count)
{
    size_t lines = 0;
    for (const char *c = text; *c; c++)
        lines += *c == '\n';
    r->kept.slab = calloc(lines + 1, sizeof *r->kept.slab);
    if (!r->kept.slab)
        return vf_fail(r->ctx, VF_ERR_MEMORY, "no memory for slabs");
    char *at;
    for (*count = 0; *text; text = at + 1, ++*count) {
        r->kept.slab[*count].first = strtoll(text, &at, 10);
        r->kept.slab[*count].behind = strtoll(at, &at, 10);
        if (*at != '\n')
            return vf_fail(r->ctx, VF_ERR_INTERNAL, "rank 0 sent no slab: %.40s", text);
    }
    return VF_OK;
}

vf_status take_job_plan(cionize_state *r, bool *differs)
{
    cionize_settings *s = &r->settings;
    char *text = NULL;
    vf_ranks *ranks = s->pieces.ranks;
    *differs = false;
    if (!ranks || vf_ranks_rank(ranks) == 0)
        return VF_OK;
    vf_status status = vf_ranks_share(ranks, 0, NULL, &text);
    VF_TRY(status, read_maker(r->ctx, "rank 0's method", text, &s->method, r->kept.variant));
    const char *where = status == VF_OK ? strchr(text, '\n') + 1 : "\n";
    r->kept.places = strncmp(where, in_place, strlen(in_place)) == 0;
    VF_TRY(status, read_slabs(r, strchr(where, '\n') + 1, &r->kept.slabs));
    s->variant = r->kept.variant;
    *differs = s->method != r->plan.method || strcmp(s->variant, r->plan.variant) != 0;
    free(text);
    return status;
}

/* The method that made the parts. */
static vf_status take_maker(cionize_state *r)
{
    char variant[sizeof r->kept.variant];
    const cionize_settings *s = &r->settings;
    vf_status status =
        read_maker(r->ctx, "the method of the parts", vf_pieces_maker(r->kept.pieces.pieces), &r->plan.method, variant);
    if (status != VF_OK)
        return status;
    snprintf(r->plan.variant, sizeof r->plan.variant, "%s", variant);
    if ((s->method && s->method != r->plan.method) || (s->variant && strcmp(s->variant, variant) != 0))
        return vf_fail(r->ctx, VF_ERR_ARGUMENT, "--method asks for another method than the parts have, %s:%s",
                       r->plan.method->name, variant);
    return VF_OK;
}

static vf_status find_missing(cionize_state *r)
{
    kept_layers *k = &r->kept;
    const int64_t behind = k->pieces.behind;
    int64_t first = k->pieces.first, end, count = 0;
    for (int64_t at = first; vf_pieces_next(k->pieces.pieces, false, at, behind, &first, &end); at = end)
        count++;
    k->missing = malloc((size_t)(count > 0 ? count : 1) * sizeof *k->missing);
    k->buffer = malloc(item_bytes(r));
    if (!k->missing || !k->buffer)
        return vf_fail(r->ctx, VF_ERR_MEMORY, "no memory for a layer of the map");
    count = 0;
    for (int64_t at = k->pieces.first; vf_pieces_next(k->pieces.pieces, false, at, behind, &first, &end); at = end)
        k->missing[count++] = (layer_range){first, end};
    r->plan.ranges = count;
    r->plan.range = k->missing;
    return VF_OK;
}

vf_status kept_layers_begin(cionize_state *r)
{
    kept_pieces *pieces = &r->kept.pieces;
    const pieces_settings *asked = &r->settings.pieces;
    const double seconds = r->plan.seconds * (double)r->plan.maps;
    const char *what = keeps_sums(r) ? "layer sum" : "layer";
    char maker[80];
    if (r->settings.read_map)
        return VF_OK;
    if (asked->parts > 0 && r->plan.method->extent == VF_POTENTIAL_WHOLE)
        return vf_fail(r->ctx, VF_ERR_ARGUMENT, "--part: the method %s computes whole maps only", r->plan.method->name);
    if (r->settings.dry_run)
        return kept_plan(r->ctx, asked, main_output(r), items_of(r), layers_of(r), what, pieces);
    if (!kept_wanted(asked, main_output(r), seconds))
        return VF_OK;
    char *key = make_key(r);
    if (!key)
        return vf_fail(r->ctx, VF_ERR_MEMORY, "no memory");
    write_maker(r, maker, sizeof maker);
    if (!job_is_other(asked))
        r->kept.places = are_bytes_of_file(r) && kept_places(asked, main_output(r));
    const vf_pieces_result result = {.key = key,
                                     .maker = maker,
                                     .items = items_of(r),
                                     .item_bytes = item_bytes(r),
                                     .data_begin = r->kept.places ? r->map.format->values_begin : 0};
    vf_status status = kept_begin(r->ctx, asked, main_output(r), &result, layers_of(r), what, pieces);
    free(key);
    if (status == VF_OK && kept_is_joined(pieces))
        status = take_maker(r);
    if (status == VF_OK && pieces->pieces)
        status = find_missing(r);
    r->plan.ranks = asked->ranks;
    if (status == VF_OK && asked->ranks && vf_ranks_rank(asked->ranks) == 0)
        return share_plan(r, maker);
    r->plan.list = r->kept.slab;
    r->plan.listed = r->kept.slabs;
    return status;
}

void kept_layers_free(cionize_state *r)
{
    free(r->kept.missing);
    free(r->kept.slab);
    free(r->kept.buffer);
    free(r->kept.sums);
    free(r->kept.layer);
}

/* ---- layers on their way ---- */

/* A layer of the result, from the sums of all blocks, into k->layer. */
static vf_status join_blocks(cionize_state *r, int64_t layer)
{
    kept_layers *k = &r->kept;
    const frame_blocks blocks = blocks_of(r);
    const int64_t points = layer_points(r);
    const bool deviation = r->deviation.path;
    vf_status status = VF_OK;
    if (!k->sums)
        k->sums = malloc(2 * (size_t)points * sizeof *k->sums);
    if (!k->layer)
        k->layer = malloc(2 * layer_bytes(r));
    if (!k->sums || !k->layer)
        return vf_fail(r->ctx, VF_ERR_MEMORY, "no memory for a layer of the map");
    double *const squares = deviation ? k->sums + points : NULL;
    for (int64_t b = 0; status == VF_OK && b < blocks.count; b++) {
        status = vf_pieces_get(k->pieces.pieces, b * layers_of(r) + layer, k->buffer);
        const double *block = (const double *)(const void *)k->buffer;
        if (status == VF_OK)
            frame_sums_join(r->ctx, points, frame_block_frames(&blocks, b), b * blocks.length, block,
                            deviation ? block + points : NULL, k->sums, squares);
    }
    if (status == VF_OK)
        frame_sums_finish(r->ctx, r->settings.precision, points, blocks.frames, k->sums, squares, k->layer,
                          deviation ? k->layer + layer_bytes(r) : NULL);
    return status;
}

static vf_status pass_kept(cionize_state *r, int64_t behind, layers_sink pass)
{
    kept_layers *k = &r->kept;
    const bool sums = keeps_sums(r);
    vf_status status = VF_OK;
    for (; status == VF_OK && k->passed < behind; k->passed++) {
        status = sums ? join_blocks(r, k->passed) : vf_pieces_get(k->pieces.pieces, k->passed, k->buffer);
        const char *layer = sums ? k->layer : k->buffer;
        VF_TRY(status, pass(r, k->passed, 1, layer, layer + layer_bytes(r)));
    }
    return status;
}

/* The layers one by one if each is followed by its deviation. */
static vf_status keep(cionize_state *r, int64_t first, int64_t count, const char *mean, const char *deviation)
{
    kept_layers *k = &r->kept;
    const size_t bytes = kept_bytes(r);
    vf_status status = VF_OK;
    if (!r->deviation.path)
        return vf_pieces_add(k->pieces.pieces, first, count, mean);
    for (int64_t n = 0; status == VF_OK && n < count; n++) {
        memcpy(k->buffer, mean + (size_t)n * bytes, bytes);
        memcpy(k->buffer + bytes, deviation + (size_t)n * bytes, bytes);
        status = vf_pieces_add(k->pieces.pieces, first + n, 1, k->buffer);
    }
    return status;
}

/* The number of the slab that begins with a layer. */
static int64_t slab_of(const cionize_state *r, int64_t first)
{
    int64_t n = 0, behind = r->plan.listed;
    while (n + 1 < behind) {
        const int64_t middle = n + (behind - n) / 2;
        if (r->plan.list[middle].first <= first)
            n = middle;
        else
            behind = middle;
    }
    return n;
}

vf_status kept_layers_take(cionize_state *r, int64_t first, int64_t count, const void *mean, const void *deviation,
                           layers_sink pass)
{
    kept_layers *k = &r->kept;
    vf_status status = k->pieces.pieces ? keep(r, first, count, mean, deviation) : VF_OK;
    k->made += count;
    if (status == VF_OK && r->plan.ranks)
        vf_ranks_done(r->plan.ranks, slab_of(r, first));
    if (status == VF_OK && (kept_only(&k->pieces) || (k->pieces.pieces && keeps_sums(r))))
        return VF_OK;
    if (status == VF_OK && k->pieces.pieces)
        status = pass_kept(r, first, pass);
    VF_TRY(status, pass(r, first, count, mean, deviation));
    k->passed = first + count;
    return status;
}

vf_status kept_layers_rest(cionize_state *r, layers_sink pass)
{
    const kept_layers *k = &r->kept;
    return k->pieces.pieces && !kept_is_part(&k->pieces) ? pass_kept(r, layers_of(r), pass) : VF_OK;
}
