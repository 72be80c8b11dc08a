/* cionize: turns options into settings. cionize_run does the work. */
#include <stdlib.h>
#include <string.h>

#include "apbs/apbs_run.h"
#include "batch.h"
#include "cionize_options.h"
#include "job.h"
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
    VF_TRY(status, check_ions_in_solvent(ctx, request));
    if (status != VF_OK)
        return status;
    if (s->solvent.on)
        s->dielectric = s->solvent.molecule_dielectric;
    s->has_dielectric |= s->distance_dielectric;
    s->ions = &request->ions;
    s->program = p;
    if (program_given(p, "temperature") && strcmp(s->unit, "kT/e") != 0)
        vf_warn(ctx, "--temperature has no effect on a map in %s; it applies to kT/e", s->unit);
    return use_standard_input(ctx, request);
}

static vf_status run(vf_context *ctx, program *p)
{
    cionize_request *request = p->settings;
    cionize_settings *s = &request->settings;
    bool idle = false;
    vf_status status = complete(ctx, p, request);
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

int main(int argc, char **argv)
{
    static const char *const synopsis[] = {"[options] molecule.pqr",
                                           "[options] --charges FILE molecule.pdb",
                                           "[options] --script FILE.cfg molecule.pqr",
                                           "[options] --apbs FILE.in",
                                           "[options] -o FILE -",
                                           "[options] --output-dir FOLDER *.pqr",
                                           NULL};
    cionize_request request = {0};
    program p = {
        .name = "cionize",
        .about = "electrostatic potential of a molecule on a grid, and ions at its minima",
        .synopsis = synopsis,
        .incomplete = "not all ions fitted",
        .options = cionize_options,
        .endings = cionize_endings,
        .input = "molecule",
        .input_example = "molecule.pqr",
        .settings = &request,
        .input_at = offsetof(cionize_request, settings.input),
        .run = run,
    };
    const int status = program_main(&p, argc, argv);
    free(request.ions.request);
    free(request.settings.select);
    return status;
}
