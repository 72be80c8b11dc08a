/* What a run of mri_recon tells, in the order of the report. The lines of the terminal have an order of their own. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "job.h"
#include "recon_state.h"
#include "schedule/windows.h"
#include "solve/equations.h"
#include "solve/prior_table.h"
#include "voxfield/output.h"

/* The terminal's lines, in their order. */
enum line {
    LINE_FILE = 1,
    LINE_SCAN,
    LINE_DESCRIPTION,
    LINE_SIGN,
    LINE_CORRECTIONS,
    LINE_MATRIX,
    LINE_SAMPLING,
    LINE_REFERENCE,
    LINE_DEVICE,
    LINE_COMPRESSION,
    LINE_METHOD,
    LINE_PRIOR,
    LINE_SERIES,
    LINE_JOB,
    LINE_PIECES,
    LINE_IMAGE = LINE_PIECES + 3,
    LINE_PART_DONE,
    LINE_COILS,
    LINE_ENCODING,
    LINE_NOISE,
    LINE_LAMBDA,
    LINE_SPARSITY,
    LINE_FIT,
    LINE_EXPECTED,
    LINE_PHASE,
    LINE_DIAGONAL,
    LINE_DONE,
    LINE_ERROR,
    LINE_NOISE_MAP = LINE_ERROR + 2,
    LINE_PICTURE,
    LINE_PAGE
};

/* ---- texts ---- */

static const char *method_text(const solve_settings *s)
{
    static const char *const solvers[] = {"ADMM", "FISTA", "primal-dual method"};
    static const char *const texts[] = {"conjugate gradients", "adjoint", "density-compensated gridding",
                                        "bilinear gridding"};
    return s->sparse ? solvers[s->solver] : texts[s->method];
}

static const char *prior_text(const solve_settings *s, char *text, size_t size)
{
    static const char *const texts[] = {"identity", "differences", "differences weighted by references",
                                        "the image's spectrum"};
    if (!s->sparse)
        return finds_reference_strength(s) ? "the image's spectrum, and differences weighted by references"
                                           : texts[s->prior];
    (void)snprintf(text, size, "%s%s%s", vf_penalty_name(s->sparse_prior[0]), s->sparse > 1 ? "+" : "",
                   s->sparse > 1 ? vf_penalty_name(s->sparse_prior[1]) : "");
    return text;
}

/* Lambda as the user gave it. */
static const char *lambda_text(const solve_settings *s, char *text, size_t size)
{
    if (s->lambda_auto && s->lambda == 1)
        return s->lambda_sure ? "sure" : "auto";
    (void)snprintf(text, size, s->lambda_auto ? "auto:%g" : "%g", s->lambda);
    return text;
}

static const char *precision_text(const solve_settings *s)
{
    return s->precision == VF_F64 ? "double" : "single";
}

/* The number of iterations is the sum over all frames. */
static const char *in_all_frames(const recon_state *r)
{
    return r->scan.frames > 1 ? " in all frames" : "";
}

static double seconds_of_stages(const recon_state *r)
{
    double seconds = 0;
    for (int i = 0; i < r->watch.stages.count; i++)
        seconds += r->watch.stages.stage[i].seconds;
    return seconds;
}

/* The windows of the longest series. */
static series_windows longest_series(const recon_state *r)
{
    const double frame_bytes = series_frame_bytes(&r->settings->coils, r->settings->solve.precision, &r->scan);
    return windows_of_scan(&r->settings->schedule, &r->scan, frame_bytes);
}

void describe_image(recon_state *r)
{
    const solve_settings *s = &r->settings->solve;
    const int operator_length =
        (int)strcspn(r->summary.last.encoding, ","); /* up to the comma; the report has all of it */
    char lambda[32], prior[32], solved[160] = "";
    program_time(r->created);
    if (s->method == RECON_CG)
        (void)snprintf(solved, sizeof solved, ", %lld iteration%s%s, lambda %s (%s)", (long long)r->summary.iterations,
                       vf_plural(r->summary.iterations), in_all_frames(r), lambda_text(s, lambda, sizeof lambda),
                       prior_text(s, prior, sizeof prior));
    (void)snprintf(r->method, sizeof r->method, "%s%s, %.*s, %s precision, %s", method_text(s), solved, operator_length,
                   r->summary.last.encoding, precision_text(s), r->devices);
}

/* ---- the scan ---- */

/* What the reader told of the file, for --info. */
static void list_told(facts *f, const mri_scan *raw)
{
    for (const char *line = raw->told; line && *line; line = strchr(line, '\n') + 1)
        fact_only_say(f, LINE_FILE, "%-10s %.*s", line == raw->told ? "file" : "\n          ", (int)strcspn(line, "\n"),
                      line);
}

static void list_volumes(facts *f, const mri_scan *raw)
{
    const int missing = raw->volumes * raw->slices - raw->frames;
    char slices[32] = "", gaps[32] = "";
    if (raw->slices > 1)
        (void)snprintf(slices, sizeof slices, " of %d slices", raw->slices);
    if (missing > 0)
        (void)snprintf(gaps, sizeof gaps, " (%d missing)", missing);
    fact_integer(f, "frames", raw->frames);
    fact_say(f, LINE_SCAN, ", %d volume%s%s%s", raw->volumes, vf_plural(raw->volumes), slices, gaps);
}

static void list_input(facts *f, const recon_state *r)
{
    const mri_scan *raw = &r->scan;
    char sampling[256];
    fact_begin(f, "input");
    fact_text(f, "path", raw->path);
    fact_say(f, LINE_SCAN, "scan       %s: ", raw->path);
    fact_text(f, "layout", raw->layout);
    fact_say(f, LINE_SCAN, "%s", raw->layout);
    fact_text(f, "description", raw->description);
    if (raw->description[0])
        fact_say(f, LINE_DESCRIPTION, "           %s", raw->description);
    fact_line(f, LINE_SIGN, "", NULL, raw->sign);
    fact_line(f, LINE_CORRECTIONS, "", "corrections", raw->corrections);
    fact_text(f, "trajectory_sha256", raw->digest);
    fact_integers(f, "matrix", raw->matrix, 3);
    fact_say(f, LINE_MATRIX, "           matrix %lld x %lld x %lld", (long long)raw->matrix[0],
             (long long)raw->matrix[1], (long long)raw->matrix[2]);
    fact_numbers(f, "fov_mm", raw->fov, 3);
    fact_say(f, LINE_MATRIX, " over %g x %g x %g mm", raw->fov[0], raw->fov[1], raw->fov[2]);
    if (memcmp(raw->crop, raw->matrix, sizeof raw->crop) != 0)
        fact_only_say(f, LINE_MATRIX, ", cropped to %lld x %lld x %lld", (long long)raw->crop[0],
                      (long long)raw->crop[1], (long long)raw->crop[2]);
    if (raw->geometry.known)
        fact_only_say(f, LINE_MATRIX, ", position known");
    fact_integer(f, "coils", raw->coils);
    fact_say(f, LINE_SCAN, ", %d coil%s", raw->coils, vf_plural(raw->coils));
    list_volumes(f, raw);
    fact_integer(f, "trajectories", raw->trajectories);
    fact_integer(f, "samples", scan_samples(raw));
    fact_say(f, LINE_SCAN, ", %lld sample%s", (long long)scan_samples(raw), vf_plural(scan_samples(raw)));
    say_sampling(r, sampling, sizeof sampling);
    fact_number(f, "undersampling", r->sampling.mean);
    fact_line(f, LINE_SAMPLING, "", NULL, sampling);
    fact_number(f, "undersampling_at_the_edge", r->sampling.edge);
    reference_facts(f, LINE_REFERENCE, r);
    fact_end(f);
}

/* ---- the reconstruction ---- */

/* Sparse priors have a lambda each; the summary's is that of first images. */
static void list_lambda(facts *f, const solve_settings *s, const recon_summary *found)
{
    const bool of_spectrum = quadratic_prior_of(s)->of_spectrum, relative = of_spectrum || !(found->last.diagonal > 0);
    fact_number(f, "lambda",
                s->sparse  ? s->lambda
                : relative ? found->last.lambda
                           : found->last.lambda / found->last.diagonal);
    if (found->level.source[0] && !of_spectrum && found->last.diagonal > 0)
        fact_say(f, LINE_DIAGONAL, "           lambda relative to the diagonal: %.3g",
                 found->last.lambda / found->last.diagonal);
    fact_text(f, "lambda_chosen_by",
              !s->lambda_auto                                        ? "number"
              : found->choice.sure.tried > 0 || found->fit.tried > 0 ? "noise and SURE"
              : s->sparse                                            ? "noise"
                                                                     : "noise and spectrum");
    if (!s->sparse)
        fact_number(f, "lambda_absolute", found->last.lambda);
    fact_number(f, "diagonal", found->last.diagonal);
}

/* The factors that were tried, and their risks. */
static void list_sure(facts *f, const recon_summary *s)
{
    double factor[VF_SURE_MOST], risk[VF_SURE_MOST], freedom[VF_SURE_MOST];
    for (int i = 0; i < s->choice.sure.tried; i++) {
        factor[i] = s->choice.sure.point[i].factor;
        risk[i] = s->choice.sure.point[i].risk;
        freedom[i] = s->choice.sure.point[i].freedom;
    }
    fact_begin(f, "sure");
    fact_number(f, "factor", s->choice.sure.tried > 0 ? factor[s->choice.sure.best] : 1);
    if (s->choice.sure.tried > 0)
        fact_say(f, LINE_LAMBDA, "lambda     %.2f times that of auto, by SURE", factor[s->choice.sure.best]);
    else
        fact_say(f, LINE_LAMBDA, "lambda     that of auto, because there is no noise that SURE could measure");
    fact_numbers(f, "factors_tried", factor, s->choice.sure.tried);
    if (s->choice.sure.tried > 0)
        fact_say(f, LINE_LAMBDA, ": the least predicted risk of %d", s->choice.sure.tried);
    fact_numbers(f, "risks", risk, s->choice.sure.tried);
    fact_numbers(f, "degrees_of_freedom", freedom, s->choice.sure.tried);
    fact_integer(f, "applications_of_normal", s->choice.applications);
    if (s->choice.sure.tried > 0)
        fact_say(f, LINE_LAMBDA, ", found with %lld applications of F^H W F", (long long)s->choice.applications);
    fact_end(f);
}

static void list_sparse(facts *f, const recon_state *r)
{
    const solve_settings *s = &r->settings->solve;
    const bool all = r->kept.pieces.before == 0; /* of the frames were made by this run */
    fact_text(f, "solver", method_text(s));
    fact_integer(f, "applications_of_normal", r->summary.applications);
    fact_say(f, LINE_SPARSITY, "sparsity   %lld applications of F^H W F", (long long)r->summary.applications);
    fact_number(f, "noise_unit", r->summary.last.noise_unit);
    fact_number(f, all ? "objective" : NULL, r->summary.last.objective);
    fact_say(f, LINE_SPARSITY, ", objective %.6g", r->summary.last.objective);
    if (solves_series(s)) {
        const series_windows w = longest_series(r);
        fact_integer(f, "windows", w.count);
        fact_integer(f, "window_frames", w.frames);
        fact_integer(f, "window_overlap", w.shared);
    }
    if (s->lambda_sure)
        list_sure(f, &r->summary);
    for (int i = 0; i < s->sparse; i++) {
        fact_begin(f, vf_penalty_name(s->sparse_prior[i]));
        fact_number(f, "lambda", r->summary.last.sparse_lambda[i]);
        if (all)
            fact_number(f, "term", r->summary.last.penalty[i]);
        fact_end(f);
    }
}

/* Frames whose noise is not the common one. */
static void say_frame_noise(facts *f, const recon_state *r)
{
    const recon_summary *s = &r->summary;
    double least = INFINITY, most = 0;
    int others = 0;
    for (int n = 0; n < r->scan.frames; n++) {
        if (s->frame_noise[n] == s->sigma)
            continue;
        least = fmin(least, s->frame_noise[n] / s->sigma);
        most = fmax(most, s->frame_noise[n] / s->sigma);
        others++;
    }
    fact_say(f, LINE_NOISE, "\n           %d of %d frames have other noise, %.2g to %.2g times as much; %s", others,
             r->scan.frames, least, most,
             solves_series(&r->settings->solve) ? "frames weigh 1 / noise^2" : "each has its own lambda");
}

/* The noise is known if lambda or a noise map needed it, with any method. */
static void list_noise(facts *f, const recon_state *r)
{
    static const double MISFIT = 2; /* residuals above this multiple of the noise get a line */
    const recon_summary *s = &r->summary;
    if (!s->level.source[0])
        return;
    fact_number(f, "noise_sigma", s->sigma);
    fact_say(f, LINE_NOISE, "noise      %.3g per sample", s->sigma);
    fact_text(f, "noise_rests_on", s->level.source);
    fact_say(f, LINE_NOISE, ", %s", s->level.source);
    fact_number(f, "misfit", s->level.misfit);
    if (s->level.misfit > MISFIT * MISFIT)
        fact_say(f, LINE_NOISE,
                 "\n           the residual of all samples is %.2g times the noise: coil maps, trajectory or field map "
                 "are inaccurate",
                 sqrt(s->level.misfit));
    fact_integer(f, "first_images", s->first.images);
    fact_integer(f, "first_iterations", s->first.iterations);
    if (s->frame_noise) {
        fact_numbers(f, "noise_of_frames", s->frame_noise, r->scan.frames);
        say_frame_noise(f, r);
    }
    fact_line(f, LINE_PHASE, "phase", "phase", s->last.phase);
    if (!(s->last.expected_signal > 0) || r->settings->solve.sparse) /* no forecast, or only of first images */
        return;
    fact_number(f, "expected_signal", s->last.expected_signal);
    fact_say(f, LINE_EXPECTED, "           expected error relative to the image's RMS");
    fact_number(f, "expected_noise", s->last.expected_noise);
    fact_say(f, LINE_EXPECTED, ": noise %.2g %%", 100 * s->last.expected_noise / s->last.expected_signal);
    fact_number(f, "expected_bias", s->last.expected_bias);
    fact_say(f, LINE_EXPECTED, ", bias %.2g %%", 100 * s->last.expected_bias / s->last.expected_signal);
}

/* How the system of equations is solved, and how that went. */
static void list_solution(facts *f, const recon_state *r)
{
    const solve_settings *s = &r->settings->solve;
    const double rounding = recon_rounding(s->precision);
    char lambda[32], prior[32];
    if (r->made_frames)
        fact_text(f, "q", r->summary.last.normal);
    fact_text(f, "prior", prior_text(s, prior, sizeof prior));
    fact_say(f, LINE_METHOD, ", at most %d iteration%s, tolerance %g%s, lambda %s (%s)", s->iterations,
             vf_plural(s->iterations), s->tolerance, s->tolerance_auto ? " or less" : "",
             lambda_text(s, lambda, sizeof lambda), prior_text(s, prior, sizeof prior));
    if (r->reason) {
        fact_text(f, "prior_chosen_because", r->reason);
        fact_say(f, LINE_PRIOR, "prior      %s, because %s", prior_text(s, prior, sizeof prior), r->reason);
    }
    if (r->made_frames)
        list_lambda(f, s, &r->summary);
    fact_integer(f, "iterations", r->summary.iterations);
    fact_say(f, LINE_DONE, ", %lld iteration%s%s", (long long)r->summary.iterations, vf_plural(r->summary.iterations),
             in_all_frames(r));
    fact_number(f, "residual", r->summary.residual);
    fact_say(f, LINE_DONE, ", residual %s%.2g%s", r->summary.residual < rounding ? "below " : "",
             fmax(r->summary.residual, rounding),
             r->summary.converged || s->tolerance == 0 ? "" : " (the tolerance was not reached)");
    if (s->sparse && r->made_frames)
        list_sparse(f, r);
    reference_fit_facts(f, LINE_FIT, r);
}

static void say_series(facts *f, series_windows w)
{
    if (w.count == 1)
        fact_only_say(f, LINE_SERIES, "series     %d frames are solved together", w.frames);
    else
        fact_only_say(f, LINE_SERIES,
                      "series     %d windows of %d frames are solved; each shares at least %d frames with the next",
                      w.count, w.frames, w.shared);
}

static void list_compression(facts *f, const coil_choice *made)
{
    fact_number(f, "coil_energy_kept", made->kept);
    if (!made->text[0])
        return;
    fact_integer(f, "coils_received", made->from);
    fact_integer(f, "coils_used", made->to);
    fact_text(f, "coils_combined_along", made->along ? made->along : "");
    if (made->loss >= 0)
        fact_number(f, "coil_signal_left_out_over_noise", made->loss);
    fact_line(f, LINE_COMPRESSION, "coils", "coil_compression", made->text);
}

static void list_reconstruction(facts *f, const recon_state *r)
{
    const solve_settings *s = &r->settings->solve;
    char text[32];
    fact_begin(f, "reconstruction");
    fact_only_say(f, LINE_DONE, "done       %s", vf_format_seconds(seconds_of_stages(r), text, sizeof text));
    fact_text(f, "method", r->method);
    fact_say(f, LINE_METHOD, "method     %s", method_text(s));
    fact_text(f, "encoding", r->summary.last.encoding);
    fact_say(f, LINE_ENCODING, "encoding   %s", r->summary.last.encoding);
    if (r->made_frames)
        fact_text(f, "coils", r->summary.coils);
    if (r->summary.coils[0])
        fact_say(f, LINE_COILS, "coils      %s", r->summary.coils);
    list_compression(f, &r->summary.compression);
    if (s->method == RECON_CG)
        list_solution(f, r);
    list_noise(f, r);
    fact_end(f);
}

/* ---- the run ---- */

/* What the plan expected, in the units of the report. */
static void list_forecast(facts *f, const recon_forecast *of)
{
    fact_begin(f, "forecast");
    fact_number(f, "total", forecast_total(of));
    fact_number(f, "first_images", of->counts.first_images);
    fact_number(f, "first_iterations", of->counts.first_iterations);
    fact_number(f, "iterations", of->counts.iterations);
    fact_number(f, "applications_of_normal", of->counts.applications);
    if (of->speed > 0)
        fact_number(f, "measured_speed", of->speed);
    if (of->core > 0)
        fact_number(f, "measured_core", of->core);
    if (of->region > 0)
        fact_number(f, "measured_region", of->region);
    fact_begin(f, "seconds");
    for (int p = 0; p < FORECAST_PARTS; p++)
        fact_number(f, forecast_names[p], of->part[p]);
    if (of->gpu > 0)
        fact_number(f, "gpu", of->gpu);
    fact_end(f);
    fact_end(f);
}

/* The rest of the plan's line about the method. */
static void say_cost(facts *f, const recon_state *r)
{
    const kept_pieces *pieces = &r->kept.pieces;
    const double share = pieces->items > 0 ? (double)kept_missing(pieces) / (double)pieces->items : 1;
    const double again = r->forecast.again, frames = forecast_total(&r->forecast) - again;
    char bytes[32], seconds[32];
    fact_only_say(f, LINE_METHOD, ", %s precision, about %s of memory, about %s", precision_text(&r->settings->solve),
                  vf_format_bytes(r->memory, bytes, sizeof bytes),
                  vf_format_seconds(again + share * frames, seconds, sizeof seconds));
}

/* Devices that made a frame together count it each. */
static void list_devices(facts *f, const recon_state *r)
{
    fact_begin(f, "devices");
    for (int d = 0; d < r->summary.sharing.teams * r->summary.sharing.each; d++) {
        const vf_device *device = vf_context_device(r->ctx, d);
        fact_begin(f, vf_device_spec(device));
        fact_integer(f, "frames", r->summary.device[d].frames);
        fact_number(f, "seconds", r->summary.device[d].seconds);
        if (vf_device_failure(device))
            fact_text(f, "failed", vf_device_failure(device));
        fact_end(f);
    }
    fact_end(f);
}

/* What follows from the plan. Until there are results, theirs are 0, and not printed. */
static void list_run(facts *f, const recon_state *r)
{
    const noise_settings *noise = &r->settings->noise;
    const char *picture = r->settings->picture;
    const mri_scan *raw = &r->scan;
    char text[32];
    list_reconstruction(f, r);
    say_cost(f, r);
    if (solves_series(&r->settings->solve))
        say_series(f, longest_series(r));
    comparison_facts(f, LINE_ERROR, r->comparison, r->compared, r->image.frames);
    kept_facts(f, LINE_PIECES, &r->kept.pieces);
    kept_fact_of_end(f, LINE_PART_DONE, vf_format_seconds(seconds_of_stages(r), text, sizeof text));
    job_facts(f, LINE_JOB, &r->settings->pieces);
    fact_line(f, LINE_DEVICE, "device", "device", r->device);
    fact_number(f, "threads", vf_context_threads(r->ctx));
    program_facts_of_warm_up(r->ctx, f);
    list_devices(f, r);
    fact_text(f, "image", r->output);
    fact_say(f, LINE_IMAGE, "image      %s: %d volume%s of %lld x %lld x %lld", r->output, raw->volumes,
             vf_plural(raw->volumes), (long long)raw->crop[0], (long long)raw->crop[1],
             (long long)(raw->crop[2] * raw->slices));
    if (noise->map)
        fact_only_say(f, LINE_NOISE_MAP, "noise map  %s, from %d replicas", noise->map, noise->replicas);
    fact_line(f, LINE_PICTURE, "picture", NULL, picture ? picture : "");
    fact_line(f, LINE_PAGE, "page", NULL, r->settings->page ? r->settings->page : "");
    list_forecast(f, &r->forecast);
    fact_stages(f, &r->watch.stages);
}

vf_status recon_tell(const recon_state *r, recon_moment moment, vf_report *report)
{
    static const int first[] = {LINE_FILE, LINE_SCAN, LINE_DEVICE, LINE_PART_DONE, LINE_COILS};
    static const int last[] = {LINE_FILE, LINE_REFERENCE, LINE_IMAGE, LINE_PART_DONE, LINE_PAGE};
    const program *p = r->settings->program;
    facts f = {0};
    if (moment == TELL_FILE)
        list_told(&f, &r->scan);
    else
        list_input(&f, r);
    if (moment >= TELL_PLAN)
        list_run(&f, r);
    vf_status status = VF_OK;
    if (moment == TELL_FILE || !r->settings->quiet)
        status = facts_print(r->ctx, &f, first[moment], last[moment]);
    if (moment >= TELL_PART) {
        vf_report_run(report, "mri_recon", p->argc, p->argv);
        VF_TRY(status, facts_report(r->ctx, &f, report));
    }
    facts_free(&f);
    return status;
}

vf_status recon_facts_of_run(const recon_state *r, vf_report *report)
{
    facts f = {0};
    list_input(&f, r);
    list_run(&f, r);
    vf_report_run(report, "mri_recon", r->settings->program->argc, r->settings->program->argv);
    const vf_status status = facts_report(r->ctx, &f, report);
    facts_free(&f);
    return status;
}
