/* Rejects contradictory settings and sets the defaults that depend on other settings. */
#include "bart/cfl_names.h"
#include "coils/coil_map_file.h"
#include "schedule/reconstruct.h"
#include "solve/equations.h"
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
    if (s->save_coils && !coil_map_is_name(s->save_coils))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--save-coils %s: unknown file extension; use .h5, .hdf5, .cfl or .hdr",
                       s->save_coils);
    if (s->map_sets == RECON_SETS_TWO &&
        (s->coils == RECON_COILS_RSS || s->coils == RECON_COILS_WALSH || s->coils == RECON_COILS_NLINV))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--map-sets 2 needs --coils auto, espirit or a file of two sets");
    return VF_OK;
}

static bool has_sparse_prior(const recon_settings *s, vf_penalty_kind kind)
{
    bool has = false;
    for (int i = 0; i < s->sparse; i++)
        has |= s->sparse_prior[i] == kind;
    return has;
}

static void set_defaults(recon_settings *s)
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
    if (s->noise_map)
        reason = "--noise-map needs a linear method";
    else if (s->partial_fourier_given)
        reason = "--partial-fourier needs it";
    else if (one_sided)
        reason = "one side of k-space is missing, and the phase makes up for it";
    else if (!(undersampling >= INCOMPLETE))
        reason = "the scan is complete";
    else if (frames < SERIES || s->map_sets == RECON_SETS_TWO) {
        s->sparse = 1;
        s->sparse_prior[0] = VF_PENALTY_WAVELET;
        reason = frames < SERIES ? "the scan is undersampled" : "the scan is undersampled, with two sets of coil maps";
    } else {
        s->sparse = 2;
        s->sparse_prior[0] = VF_PENALTY_WAVELET;
        s->sparse_prior[1] = VF_PENALTY_TEMPORAL;
        reason = "the frames of a series are undersampled";
    }
    s->lambda_sure &= s->sparse > 0; /* the spectrum has its own choice */
    set_defaults(s);
    return reason;
}

/* Options of sparse priors. */
static vf_status check_sparse(vf_context *ctx, const recon_settings *s)
{
    if (s->has_sparse_option && !s->sparse)
        return vf_fail(
            ctx, VF_ERR_ARGUMENT,
            "--solver, --wavelet, --shifts, --seed and --frame-noise need a sparse prior, such as --prior wavelet");
    if (s->moments && !has_sparse_prior(s, VF_PENALTY_WAVELET))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--wavelet needs --prior wavelet");
    if (s->shifts && !has_sparse_prior(s, VF_PENALTY_WAVELET) && !has_sparse_prior(s, VF_PENALTY_LLR))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--shifts needs --prior wavelet or llr");
    if (s->map_sets == RECON_SETS_TWO && solves_series(s))
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "--map-sets 2 does not work with --prior temporal, llr and nuclear, which use one set of coil "
                       "maps");
    if (s->window > 0 && !solves_series(s))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--window needs --prior temporal, llr or nuclear");
    if (s->window > 0 && s->window < RECON_LEAST_WINDOW)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--window %d: windows overlap, so they need at least %d frames", s->window,
                       RECON_LEAST_WINDOW);
    if (s->sparse && s->solver == RECON_FISTA &&
        (s->sparse > 1 || s->sparse_prior[0] != VF_PENALTY_WAVELET || s->moments == 0 || s->shifts != 1))
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "--solver fista needs --prior wavelet with one wavelet and one shift: --wavelet db2 --shifts 1");
    if (s->lambda_sure && !s->sparse && !s->chooses_prior)
        return vf_fail(
            ctx, VF_ERR_ARGUMENT,
            "--lambda sure needs a sparse prior, such as --prior wavelet; for other priors use --lambda auto");
    if (s->sparse && s->noise_map)
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "--noise-map needs a linear method; with --prior %s, the noise depends on the image",
                       vf_penalty_name(s->sparse_prior[0]));
    return VF_OK;
}

static vf_status complete_accuracy(vf_context *ctx, recon_settings *s)
{
    if (s->accuracy == 0)
        s->accuracy = s->precision == VF_F64 ? 1e-9 : 1e-6;
    if (s->method == RECON_CG && s->accuracy > 0.01)
        return vf_fail(
            ctx, VF_ERR_ARGUMENT,
            "--accuracy %g is too coarse for --method cg: the matrix would not be positive definite; use 0.01 or less",
            s->accuracy);
    if (s->precision == VF_F32 && s->accuracy < 1e-7)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--accuracy %g is beyond single precision (1e-7): use --precision double",
                       s->accuracy);
    if (s->method == RECON_CG && s->tolerance > 0 && s->tolerance < recon_rounding(s->precision))
        vf_warn(ctx,
                "--tolerance %g is beyond %s precision: the solver's own residual falls below it, but the image's true "
                "residual stays near %g",
                s->tolerance, s->precision == VF_F64 ? "double" : "single", recon_rounding(s->precision));
    return VF_OK;
}

vf_status settings_complete(vf_context *ctx, recon_settings *s, bool says_partial_fourier, bool says_prior)
{
    vf_status status = check_files(ctx, s);
    if (status != VF_OK)
        return status;
    if (s->encode_by == VF_ENCODE_DIRECT && s->method == RECON_GRIDDING)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--method gridding cannot be combined with --operator direct");
    if (s->append_to_copy && !(s->output && vf_path_has_extension(s->output, ".mrd")))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--append-to-copy needs an output (-o) with the extension .mrd");
    s->dry_run = s->dry_run || s->info;
    if (s->method != RECON_CG)
        s->lambda_auto = false;
    s->chooses_prior = s->prior == RECON_PRIOR_AUTO && s->method == RECON_CG && s->lambda_auto;
    s->partial_fourier_given = says_partial_fourier;
    if (s->prior == RECON_PRIOR_AUTO && says_prior && s->method == RECON_CG && !s->lambda_auto)
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "--prior auto needs --lambda auto: a number would mean something else with each prior");
    if (s->prior == RECON_PRIOR_AUTO)
        s->prior = s->lambda_auto ? RECON_SPECTRUM : RECON_IDENTITY;
    status = check_sparse(ctx, s);
    if (status != VF_OK)
        return status;
    if (says_partial_fourier && (s->prior != RECON_SPECTRUM || s->sparse))
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "--partial-fourier needs --prior spectrum, the default if --lambda is auto");
    if (!s->chooses_prior)
        set_defaults(s);
    return complete_accuracy(ctx, s);
}
