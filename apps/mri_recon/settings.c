/* Rejects contradictory settings and sets the defaults that depend on other settings; the names of a run's files. */
#include <stdlib.h>
#include <string.h>

#include "bart/cfl_names.h"
#include "batch.h"
#include "coils/coil_map_file.h"
#include "program.h"
#include "result.h"
#include "settings.h"
#include "solve/equations.h"
#include "solve/prior_table.h"
#include "solve/recon_choices.h"
#include "voxfield/output.h"

/* Checks file options against the input's format and other options. */
static vf_status check_files(vf_context *ctx, const recon_settings *s)
{
    const bool bart = cfl_is_name(s->scan.input);
    if (s->scan.trajectory && !cfl_is_name(s->scan.trajectory) &&
        (bart || !vf_path_has_extension(s->scan.trajectory, ".h5 .hdf5")))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--trajectory %s: unknown file extension; use %s.cfl or .hdr",
                       s->scan.trajectory, bart ? "" : ".h5, .hdf5, ");
    if (s->scan.read.group && bart)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--group applies to ISMRMRD files; %s has no groups", s->scan.input);
    if (s->coils.save && !is_in_memory(s->coils.save) && !coil_map_is_name(s->coils.save))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--save-coils %s: unknown file extension; use .h5, .hdf5, .cfl or .hdr",
                       s->coils.save);
    if (s->coils.sets == RECON_SETS_TWO &&
        (s->coils.how == RECON_COILS_RSS || s->coils.how == RECON_COILS_WALSH || s->coils.how == RECON_COILS_NLINV))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--map-sets 2 needs --coils auto, espirit or a file of two sets");
    return VF_OK;
}

static void set_defaults(solve_settings *s)
{
    s->tolerance_auto = s->tolerance < 0 && s->sparse;
    if (s->tolerance < 0)
        s->tolerance = s->sparse ? 3e-3 : s->lambda_auto ? 1e-5 : 1e-4;
    if (s->iterations == 0)
        s->iterations = s->sparse ? 300 : s->lambda_auto ? 500 : 60;
}

const char *settings_choose_prior(recon_settings *s, double undersampling, int frames, bool one_sided)
{
    static const double INCOMPLETE = 1.25; /* R from which samples are missing that sparse priors can fill in */
    enum { SERIES = 4 };                   /* frames from which differences between them say something */
    const char *reason = NULL;
    if (s->noise.map)
        reason = "--noise-map needs a linear method";
    else if (s->partial_fourier_given)
        reason = "--partial-fourier needs it";
    else if (one_sided)
        reason = "one side of k-space is missing, and the phase makes up for it";
    else if (!(undersampling >= INCOMPLETE))
        reason = "the scan is complete";
    else if (frames < SERIES || s->coils.sets == RECON_SETS_TWO) {
        s->solve.sparse = 1;
        s->solve.sparse_prior[0] = VF_PENALTY_WAVELET;
        reason = frames < SERIES ? "the scan is undersampled" : "the scan is undersampled, with two sets of coil maps";
    } else {
        s->solve.sparse = 2;
        s->solve.sparse_prior[0] = VF_PENALTY_WAVELET;
        s->solve.sparse_prior[1] = VF_PENALTY_TEMPORAL;
        reason = "the frames of a series are undersampled";
    }
    s->solve.lambda_sure &= s->solve.sparse > 0; /* the spectrum has its own choice */
    set_defaults(&s->solve);
    return reason;
}

/* A reference is only for its own prior, which it implies. Another prior would not use it, so the user expects something that
 * would not happen. */
static vf_status check_reference(vf_context *ctx, recon_settings *s, bool says_prior)
{
    if (!s->solve.reference)
        return VF_OK;
    if (says_prior && (s->solve.prior != RECON_REFERENCE || s->solve.sparse))
        return vf_fail(
            ctx, VF_ERR_ARGUMENT,
            "--reference %s: only --prior reference uses it, and it implies that; leave the other --prior out",
            s->solve.reference);
    s->solve.prior = RECON_REFERENCE;
    return VF_OK;
}

/* Options of sparse priors. */
static vf_status check_sparse(vf_context *ctx, const recon_settings *s)
{
    if (s->has_sparse_option && !s->solve.sparse)
        return vf_fail(
            ctx, VF_ERR_ARGUMENT,
            "--solver, --wavelet, --shifts, --seed and --frame-noise need a sparse prior, such as --prior wavelet");
    bool moments = false, shifts = false;
    for (int i = 0; i < s->solve.sparse; i++) {
        moments |= sparse_prior_of(&s->solve, i)->moments;
        shifts |= sparse_prior_of(&s->solve, i)->shifts;
    }
    if (s->solve.moments && !moments)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--wavelet needs --prior wavelet");
    if (s->solve.shifts && !shifts)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--shifts needs --prior wavelet or llr");
    if (s->coils.sets == RECON_SETS_TWO && solves_series(&s->solve))
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "--map-sets 2 does not work with --prior temporal, llr and nuclear, which use one set of coil "
                       "maps");
    if (s->schedule.window > 0 && !solves_series(&s->solve))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--window needs --prior temporal, llr or nuclear");
    if (s->schedule.window > 0 && s->schedule.window < RECON_LEAST_WINDOW)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--window %d: windows overlap, so they need at least %d frames",
                       s->schedule.window, RECON_LEAST_WINDOW);
    if (s->solve.sparse && s->solve.solver == RECON_FISTA &&
        (s->solve.sparse > 1 || s->solve.sparse_prior[0] != VF_PENALTY_WAVELET || s->solve.moments == 0 ||
         s->solve.shifts != 1))
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "--solver fista needs --prior wavelet with one wavelet and one shift: --wavelet db2 --shifts 1");
    if (s->solve.lambda_sure && !s->solve.sparse && !s->chooses_prior)
        return vf_fail(
            ctx, VF_ERR_ARGUMENT,
            "--lambda sure needs a sparse prior, such as --prior wavelet; for other priors use --lambda auto");
    if (s->solve.sparse && s->noise.map)
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "--noise-map needs a linear method; with --prior %s, the noise depends on the image",
                       vf_penalty_name(s->solve.sparse_prior[0]));
    return VF_OK;
}

static vf_status complete_accuracy(vf_context *ctx, recon_settings *s)
{
    if (s->solve.accuracy == 0)
        s->solve.accuracy = s->solve.precision == VF_F64 ? 1e-9 : 1e-6;
    if (s->solve.method == RECON_CG && s->solve.accuracy > 0.01)
        return vf_fail(
            ctx, VF_ERR_ARGUMENT,
            "--accuracy %g is too coarse for --method cg: the matrix would not be positive definite; use 0.01 or less",
            s->solve.accuracy);
    if (s->solve.precision == VF_F32 && s->solve.accuracy < 1e-7)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--accuracy %g is beyond single precision (1e-7): use --precision double",
                       s->solve.accuracy);
    if (s->solve.method == RECON_CG && s->solve.tolerance > 0 &&
        s->solve.tolerance < recon_rounding(s->solve.precision))
        vf_warn(ctx,
                "--tolerance %g is beyond %s precision: the solver's own residual falls below it, but the image's true "
                "residual stays near %g",
                s->solve.tolerance, s->solve.precision == VF_F64 ? "double" : "single",
                recon_rounding(s->solve.precision));
    return VF_OK;
}

vf_status settings_complete(vf_context *ctx, recon_settings *s, bool says_partial_fourier, bool says_prior)
{
    vf_status status = check_files(ctx, s);
    if (status != VF_OK)
        return status;
    if (s->solve.encode_by == VF_ENCODE_DIRECT && s->solve.method == RECON_GRIDDING)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--method gridding cannot be combined with --operator direct");
    if (s->append_to_copy && !(s->output && vf_path_has_extension(s->output, ".mrd")))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--append-to-copy needs an output (-o) with the extension .mrd");
    s->dry_run = s->dry_run || s->info;
    status = check_reference(ctx, s, says_prior);
    if (status != VF_OK)
        return status;
    if (s->solve.method != RECON_CG)
        s->solve.lambda_auto = false;
    s->chooses_prior = s->solve.prior == RECON_PRIOR_AUTO && s->solve.method == RECON_CG && s->solve.lambda_auto;
    s->partial_fourier_given = says_partial_fourier;
    if (s->solve.prior == RECON_PRIOR_AUTO && says_prior && s->solve.method == RECON_CG && !s->solve.lambda_auto)
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "--prior auto needs --lambda auto: a number would mean something else with each prior");
    if (s->solve.prior == RECON_PRIOR_AUTO)
        s->solve.prior = s->solve.lambda_auto ? RECON_SPECTRUM : RECON_IDENTITY;
    status = check_sparse(ctx, s);
    if (status != VF_OK)
        return status;
    if (says_partial_fourier && (!quadratic_prior_of(&s->solve)->of_spectrum || s->solve.sparse))
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "--partial-fourier needs --prior spectrum, the default if --lambda is auto");
    if (!s->chooses_prior)
        set_defaults(&s->solve);
    return complete_accuracy(ctx, s);
}

/* ---- the names of files ---- */

const char *const recon_endings[] = {".h5", ".hdf5", ".mrd", ".ismrmrd", ".cfl", ".hdr", NULL};

char *recon_default_output(const char *input, const char *folder)
{
    return batch_output_name(folder, input, recon_endings, cfl_is_name(input) ? "_image.cfl" : "_image.h5");
}

enum { MOST_FILES = 32 };

/* Adds both files of a BART pair. `names` owns the strings made for it. */
static vf_status add_file(vf_context *ctx, program_file *files, char **names, int *count, program_file file)
{
    if (!file.path || !cfl_is_name(file.path)) {
        files[(*count)++] = file;
        return VF_OK;
    }
    for (int i = 0; i < 2; i++) {
        names[*count] = cfl_file_name(file.path, i ? ".hdr" : ".cfl");
        if (!names[*count])
            return vf_fail(ctx, VF_ERR_MEMORY, "no memory");
        files[*count] = (program_file){file.what, names[*count]};
        (*count)++;
    }
    return VF_OK;
}

vf_status settings_check_names(vf_context *ctx, const recon_settings *s, const char *output)
{
    const bool other = s->compare && strcmp(s->compare, "truth") != 0;
    const program_file given[] = {{"the scan", s->scan.input},
                                  {"the trajectory", s->scan.trajectory},
                                  {"the gradient response (--girf)", s->scan.girf},
                                  {"the motion", s->scan.motion},
                                  {"the coil maps (--coils)", s->coils.file},
                                  {"the reference (--reference)", s->solve.reference},
                                  {"the image", output},
                                  {"the picture", s->picture},
                                  {"the report", s->report},
                                  {"the page", s->page},
                                  {"the noise map", s->noise.map},
                                  {"the coil maps (--save-coils)", s->coils.save},
                                  {"Q (--save-q)", s->solve.save_q},
                                  {"Q (--load-q)", s->solve.load_q},
                                  {"the image to compare with", other ? s->compare : NULL}};
    program_file files[MOST_FILES];
    char *names[MOST_FILES] = {NULL};
    int count = 0;
    vf_status status = VF_OK;
    for (size_t i = 0; i < sizeof given / sizeof *given && status == VF_OK; i++)
        status = add_file(ctx, files, names, &count, given[i]);
    VF_TRY(status, program_check_names(ctx, files, count));
    for (int i = 0; i < count; i++)
        free(names[i]);
    return status;
}
