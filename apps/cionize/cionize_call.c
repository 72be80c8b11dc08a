/* The ways into cionize: the command line, and the functions of cionize.h. */
#include "cionize.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "apbs/apbs_run.h"
#include "batch.h"
#include "call.h"
#include "cionize_options.h"
#include "crystal_symmetry.h"
#include "job.h"
#include "molecule/atom_radii.h"
#include "molecule/molecule_memory.h"
#include "program.h"

/* - is standard input: for one of the files that are read from beginning to end. The script's reader knows it by
 * itself. */
static vf_status use_standard_input(vf_context *ctx, cionize_request *request)
{
    static const char *const names[] = {"the molecule", "--charges", "--script"};
    const char **files[] = {&request->settings.input, &request->settings.charges, &request->ions.script};
    int first = -1;
    for (int n = 0; n < 3; n++) {
        if (!*files[n] || strcmp(*files[n], "-") != 0)
            continue;
        if (first >= 0)
            return vf_fail(ctx, VF_ERR_ARGUMENT, "%s and %s cannot both be standard input (-); give a file for one",
                           names[first], names[n]);
        first = n;
        if (n < 2)
            *files[n] = "/dev/stdin";
    }
    return VF_OK;
}

/* What --solvent excludes of the ions' options, each for its own reason. */
static vf_status check_ions_in_solvent(vf_context *ctx, const cionize_request *request)
{
    const ion_settings *ions = &request->ions;
    const struct {
        bool given;
        const char *option, *why;
    } cases[] = {
        {ions->script, "--script", "a script's ions act by Coulomb's law in one dielectric; use --place instead"},
        {ions->refine, "--refine", "it needs the potential between grid points, where it is not solved for"},
        {ions->water != ION_WATER_AUTO, "--water", "water of the file is left out; --solute names the atoms that stay"},
        {ions->keep_water, "--keep-water", "water of the file is left out; --solute names the atoms that stay"},
        {ions->concentration_by == ION_BY_WATER, "--concentration-by water", "water of the file is left out"}};
    for (size_t n = 0; request->settings.solvent.on && n < sizeof cases / sizeof *cases; n++)
        if (cases[n].given)
            return vf_fail(ctx, VF_ERR_ARGUMENT, "%s cannot be combined with --solvent: %s", cases[n].option,
                           cases[n].why);
    return VF_OK;
}

static vf_status check_cell_in_solvent(vf_context *ctx, const cionize_request *request)
{
    const cionize_settings *s = &request->settings;
    if (s->solvent.on && s->vacuum)
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "--boundary vacuum cannot be combined with --solvent: a solvent goes on beyond all cells");
    return VF_OK;
}

static void check_temperature(vf_context *ctx, const program *p, const cionize_settings *s)
{
    enum { COLD = 100 }; /* K: no solution is that cold, and no water in degrees Celsius that hot */
    if (!program_given(p, "temperature"))
        return;
    if (!s->solvent.on && strcmp(s->unit, "kT/e") != 0)
        vf_warn(ctx, "--temperature has no effect on a map in %s; it applies to kT/e", s->unit);
    else if (s->temperature <= COLD)
        vf_warn(ctx, "--temperature %g is in kelvin; for %g degrees Celsius, use --temperature %g", s->temperature,
                s->temperature, s->temperature + 273.15);
}

static vf_status complete(vf_context *ctx, program *p, cionize_request *request)
{
    cionize_settings *s = &request->settings;
    vf_status status = batch_name_output(ctx, p, &request->output_map);
    VF_TRY(status, batch_name_output(ctx, p, &request->ions.ionized));
    if (status != VF_OK)
        return status;
    if (s->map && request->output_map)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "-o %s and --map %s both name the map; leave out one of them",
                       request->output_map, s->map);
    if (!s->map)
        s->map = request->output_map;
    if (s->points.points && strcmp(s->points.points, "atoms") != 0 && s->points.has_exclude)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--exclude needs --points atoms; no atom is excluded at points of a file");
    if (s->cutoff > 0 && (s->points.points || s->points.field_map))
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "--method cutoff is for maps; --points and --field-map sum all atoms, so leave it out");
    if (s->cutoff > 0 && (s->solvent.on || s->apbs))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--method cutoff leaves out charges that a solvent needs; leave it out");
    if (s->solvent.on && s->trajectory &&
        (s->map || s->picture || s->deviation || s->points.points || wants_ions(&request->ions) || s->has_profile ||
         s->compare || !s->solvent.energies))
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "--solvent with --trajectory gives the energies of each frame, and no map, points or ions; use "
                       "--energies FILE alone");
    VF_TRY(status, check_cell_in_solvent(ctx, request));
    VF_TRY(status, check_ions_in_solvent(ctx, request));
    if (status != VF_OK)
        return status;
    if (s->solvent.on)
        s->dielectric = s->solvent.molecule_dielectric;
    s->has_dielectric |= s->distance_dielectric;
    if (s->method && s->method->tolerance[s->precision] == 0 && program_given(p, "accuracy"))
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "--accuracy cannot be combined with --method %s: it applies only to the method fast",
                       s->method->name);
    s->ions = &request->ions;
    s->program = p;
    check_temperature(ctx, p, s);
    return VF_OK;
}

static vf_status run(vf_context *ctx, program *p)
{
    cionize_request *request = p->settings;
    cionize_settings *s = &request->settings;
    bool idle = false;
    vf_status status = complete(ctx, p, request);
    VF_TRY(status, use_standard_input(ctx, request));
    VF_TRY(status, job_begin(ctx, p, &s->pieces, &idle));
    if (job_is_other(&s->pieces)) {
        s->quiet = true;
        s->progress = VF_PROGRESS_OFF;
        s->report = NULL;
    }
    if (status == VF_OK && !idle && s->apbs)
        status = job_is_other(&s->pieces) ? VF_OK : apbs_run(ctx, s);
    else if (status == VF_OK && !idle)
        status = cionize_run_selections(ctx, s);
    return job_end(ctx, p, &s->pieces, status);
}

static const char *const synopsis[] = {"[options] molecule.pqr",
                                       "[options] --charges FILE molecule.pdb",
                                       "[options] --script FILE.cfg molecule.pqr",
                                       "[options] --apbs FILE.in",
                                       "[options] -o FILE -",
                                       "[options] --output-dir FOLDER *.pqr",
                                       NULL};

static program program_with(cionize_request *request)
{
    return (program){
        .name = "cionize",
        .about = "electrostatic potential of a molecule on a grid, and ions at its minima",
        .synopsis = synopsis,
        .incomplete = "not all ions fitted",
        .options = cionize_options,
        .endings = cionize_endings,
        .input = "molecule",
        .input_example = "molecule.pqr",
        .settings = request,
        .input_at = offsetof(cionize_request, settings.input),
        .run = run,
    };
}

int cionize_main(int argc, char **argv)
{
    cionize_request request = {0};
    program p = program_with(&request);
    const int status = program_main(&p, argc, argv);
    free(request.ions.request);
    free(request.settings.select);
    return status;
}

/* ---- calls ---- */

typedef struct cionize_call {
    program_call call;
    cionize_request request;
    vf_option *options;
} cionize_call;

/* Those of the caller, behind one that the call adds; NULL: none. */
static vf_status copy_options(vf_context *ctx, cionize_call *c, const vf_option *options, const vf_option *first)
{
    size_t count = 0;
    while (options && options[count].name)
        count++;
    c->options = calloc(count + 2, sizeof *c->options);
    if (!c->options)
        return vf_fail(ctx, VF_ERR_MEMORY, "no memory for the options");
    if (first)
        c->options[0] = *first;
    if (count > 0)
        memcpy(c->options + (first ? 1 : 0), options, count * sizeof *options);
    return VF_OK;
}

/* Reads the options as the program does. */
static vf_status begin(vf_context *ctx, cionize_call *c, const char *input, const vf_option *options,
                       const vf_option *first, const vf_view *points, vf_result *result)
{
    static const char *const places[] = {"map", "deviation", "mask", "energies", NULL};
    static const char *const refused[] = {"output", "solvent-map", "profile", "script", "apbs", NULL};
    static const call_rules rules = {places, refused};
    cionize_settings *s = &c->request.settings;
    program *p = &c->call.program;
    *p = program_with(&c->request);
    vf_status status = copy_options(ctx, c, options, first);
    VF_TRY(status, call_begin(ctx, &c->call, c->options, input, &rules));
    if (status == VF_OK && points && !is_in_memory(s->points.points))
        status = vf_fail(ctx, VF_ERR_ARGUMENT, "option points: the call has points already, in an array");
    if (status == VF_OK && s->selects > 1)
        status = vf_fail(ctx, VF_ERR_ARGUMENT, "option select: several make several maps; make a call for each");
    s->result = result;
    s->points.given = points;
    s->points.out = in_memory;
    s->pieces.journal = JOURNAL_NO;
    c->request.ions.ions = wants_ions(&c->request.ions) ? in_memory : NULL;
    VF_TRY(status, complete(ctx, p, &c->request));
    return status;
}

/* Without a result after errors, other than that of ions that did not fit. */
static vf_status end(vf_context *ctx, cionize_call *c, vf_status status, vf_result **out)
{
    free(c->request.ions.request);
    free(c->request.settings.select);
    call_end(ctx, &c->call);
    free(c->options);
    if (status != VF_OK && status != VF_ERR_INCOMPLETE) {
        vf_result_free(*out);
        *out = NULL;
    }
    return status;
}

vf_status vf_cionize(vf_context *ctx, const vf_molecule *mol, const vf_view *points, const vf_option *options,
                     vf_result **out)
{
    static const char *const inputs[] = {"charges", "altloc", NULL};
    static const vf_option in_array = {"points", in_memory};
    cionize_call c = {0};
    vf_status status = result_create(ctx, out);
    if (status != VF_OK)
        return status;
    status =
        begin(ctx, &c, mol->file ? mol->file : molecule_memory_name, options, points ? &in_array : NULL, points, *out);
    for (int n = 0; status == VF_OK && !mol->file && inputs[n]; n++)
        if (program_given(&c.call.program, inputs[n]))
            status =
                vf_fail(ctx, VF_ERR_ARGUMENT, "option %s: it is for files, but the molecule is in arrays", inputs[n]);
    if (status == VF_OK && mol->file && (mol->positions.data || mol->charges.data || mol->radii.data))
        status = vf_fail(ctx, VF_ERR_ARGUMENT, "%s: a molecule is a file or arrays, not both", mol->file);
    c.request.settings.arrays = mol->file ? NULL : mol;
    VF_TRY(status, cionize_run_selections(ctx, &c.request.settings));
    return end(ctx, &c, status, out);
}

/* ---- reading ---- */

enum { WIDTH = 8 };

typedef const char *label_text(const atom_label *label);

static const char *name_of(const atom_label *l)
{
    return l->name;
}

static const char *residue_of(const atom_label *l)
{
    return l->residue;
}

static const char *chain_of(const atom_label *l)
{
    return l->chain;
}

static const char *segment_of(const atom_label *l)
{
    return l->segment;
}

static const char *element_of(const atom_label *l)
{
    return l->element;
}

static vf_status add_labels(vf_result *result, const molecule *m)
{
    static const struct {
        const char *name;
        label_text *text;
    } all[] = {{"names", name_of},
               {"residues", residue_of},
               {"chains", chain_of},
               {"segments", segment_of},
               {"elements", element_of}};
    const int64_t dims[] = {m->atoms, WIDTH};
    int32_t *number = NULL;
    vf_status status = result_new(result, "residue_numbers", VF_I32, 1, dims, &number);
    for (int64_t i = 0; status == VF_OK && i < m->atoms; i++)
        number[i] = m->labels[i].residue_number;
    for (size_t n = 0; n < sizeof all / sizeof *all; n++) {
        char *text = NULL;
        VF_TRY(status, result_new(result, all[n].name, VF_U8, 2, dims, &text));
        for (int64_t i = 0; status == VF_OK && i < m->atoms; i++) {
            const char *from = all[n].text(&m->labels[i]);
            memcpy(text + i * WIDTH, from, strnlen(from, WIDTH));
        }
    }
    return status;
}

static vf_status add_molecule(vf_result *result, const molecule *m)
{
    const int64_t one[] = {m->atoms}, three[] = {m->atoms, 3}, six[] = {6};
    double *place = NULL;
    vf_status status = result_new(result, "positions", VF_F64, 2, three, &place);
    for (int64_t i = 0; status == VF_OK && i < m->atoms; i++) {
        place[3 * i] = m->x[i];
        place[3 * i + 1] = m->y[i];
        place[3 * i + 2] = m->z[i];
    }
    VF_TRY(status, result_copy(result, "charges", VF_F64, 1, one, m->charge));
    VF_TRY(status, result_copy(result, "radii", VF_F64, 1, one, m->radius));
    VF_TRY(status, add_labels(result, m));
    double cell[6];
    memcpy(cell, m->cell.lengths, sizeof m->cell.lengths);
    memcpy(cell + 3, m->cell.angles, sizeof m->cell.angles);
    if (status == VF_OK && m->cell.state == UNIT_CELL_NUMBERS)
        status = result_copy(result, "cell", VF_F64, 1, six, cell);
    return status;
}

static bool has_option(const vf_option *options, const char *name)
{
    while (options && options->name && strcmp(options->name, name) != 0)
        options++;
    return options && options->name;
}

/* Any other would have no effect. */
static vf_status check_reading(vf_context *ctx, const vf_option *options)
{
    static const vf_option taken[] = {{"charges", ""}, {"altloc", ""}, {"radii", ""}, {"symmetry", ""}, {NULL, NULL}};
    for (; options && options->name; options++)
        if (!has_option(taken, options->name))
            return vf_fail(ctx, VF_ERR_ARGUMENT,
                           "option %s: a molecule is read with the options charges, altloc, radii and symmetry",
                           options->name);
    return VF_OK;
}

/* What the atoms of the file are of a crystal: expanded, or the asymmetric unit, which the result then says. */
static vf_status take_crystal(vf_context *ctx, const cionize_settings *s, molecule *m, vf_result *result)
{
    const unit_cell cell = m->cell;
    const char *const group = symmetry_name(&cell, &m->symmetry);
    const crystal_files files = {.molecule = s->input, .cell = s->input};
    int copies = 1;
    if (s->symmetry == SYMMETRY_EXPAND && cell.state != UNIT_CELL_NUMBERS)
        return vf_fail(ctx, VF_ERR_INPUT, "%s has no periodic cell along the axes, which symmetry expand needs",
                       s->input);
    if (s->symmetry == SYMMETRY_EXPAND)
        return symmetry_expand(ctx, &files, &cell, &m->symmetry, m, &copies);
    return *group && s->symmetry == SYMMETRY_ASK ? result_add_text(result, "space_group", group) : VF_OK;
}

vf_status vf_molecule_read(vf_context *ctx, const char *file, const vf_option *options, vf_result **out)
{
    static const vf_option its_cell = {"cell", "input"};
    cionize_call c = {0};
    molecule m = {0};
    int64_t given = 0;
    vf_status status = result_create(ctx, out);
    if (status != VF_OK)
        return status;
    const cionize_settings *s = &c.request.settings;
    status = begin(ctx, &c, file, options, has_option(options, "symmetry") ? &its_cell : NULL, NULL, *out);
    VF_TRY(status, check_reading(ctx, options));
    VF_TRY(status, read_molecule_choosing(ctx, file, s->charges, s->altloc, &m));
    if (status == VF_OK && s->bondi)
        status = molecule_give_radii(ctx, file, &m, &given);
    VF_TRY(status, take_crystal(ctx, s, &m, *out));
    VF_TRY(status, add_molecule(*out, &m));
    molecule_free(&m);
    return end(ctx, &c, status, out);
}
