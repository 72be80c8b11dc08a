/* mri_recon: options, and nothing else. The work is mri_recon_run's. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "coils/coil_map_file.h"
#include "mri_recon.h"
#include "program.h"
#include "solve/equations.h"

static const char usage[] =
    "mri_recon - images from the raw data of an MRI scan, Cartesian or not\n"
    "\n"
    "usage: mri_recon [options] scan.h5\n"
    "\n"
    "The scan: an ISMRMRD file, a plain HDF5 file with a group /scan, or k-space of BART (.cfl and .hdr); see\n"
    "docs/scans.md. The image solves\n"
    "(F^H W F + lambda P) image = F^H W data by conjugate gradients; F has the trajectory, coils and field map, W the\n"
    "samples' weights, P the prior.\n"
    "\n"
    "Output\n"
    "  -o, --output FILE        the image; by its extension .h5, .nii, .nii.gz, .mrd (ISMRMRD), .cfl (BART)\n"
    "                           (default: scan_image.h5, beside the input; of a .cfl, scan_image.cfl)\n"
    "  --append-to-copy         the image file is a copy of the ISMRMRD scan with the images added\n"
    "  --picture FILE.png       a montage of slices\n"
    "  --noise-map FILE         the standard deviation of the noise in each voxel, and the g-factor: .h5 (datasets\n"
    "                           noise and g_factor), .nii, .nii.gz, .cfl (the two as volumes)\n"
    "  --replicas N             of noise that it is made of (32; twice as many take twice as long)\n"
    "  --report FILE.json       what was done, how long it took, and figures\n"
    "  --compare FILE           print the error against `truth` (of the scan), or against another image: .h5, .cfl,\n"
    "                           .nii, .nii.gz\n"
    "\n"
    "Reading\n"
    "  --trajectory FILE        of k-space in a .cfl, as a .cfl (default: Cartesian)\n"
    "  --trajectory-units U     of ISMRMRD files: auto (default), normalized (k in [-1/2, 1/2)), fov (cycles per\n"
    "                           field of view), radians (k in [-pi, pi))\n"
    "  --group NAME             of an ISMRMRD file with several\n"
    "  --matrix X,Y,Z           voxels over the encoded field of view (the header's)\n"
    "  --keep-oversampling      do not crop to the reconstructed field of view\n"
    "\n"
    "Coils\n"
    "  --coils C                auto (default: the file's maps, else espirit or nlinv), file, espirit, walsh (from\n"
    "                           the centre of k-space), nlinv (together with an image, without calibration), rss\n"
    "                           (each coil alone, root of the sum of squares), or a file of maps: .h5, .cfl\n"
    "  --map-sets N             of coil maps: 1, 2 (an image each, for objects larger than the field of view), auto\n"
    "                           (default: two where the calibration shows that parts of the object fold, or a file\n"
    "                           of maps has two)\n"
    "  --save-coils FILE        the maps that were used: .h5, .cfl\n"
    "  --compress N             first combine the coils to N virtual ones\n"
    "\n"
    "Reconstruction\n"
    "  --method M               cg (default), adjoint (F^H data), gridding (density-compensated adjoint),\n"
    "                           bilinear (plain gridding with linear weights)\n"
    "  --iterations N           at most (500; 60 where lambda is a number)\n"
    "  --tolerance T            relative residual to stop at (1e-5; 1e-4 where lambda is a number; 0: all\n"
    "                           iterations)\n"
    "  --lambda L               weight of the prior: auto (default), from the noise and the image's spectrum;\n"
    "                           auto:F, F times that (below 1: sharper and noisier); or a number, relative to the\n"
    "                           diagonal of F^H W F (of spectrum: to Wiener's weight)\n"
    "  --prior P                auto (default: spectrum where lambda is auto, else identity), spectrum (the power\n"
    "                           that the scan itself shows at each spatial frequency), identity, differences,\n"
    "                           reference (differences, small across the edges of the scan's anatomical images)\n"
    "  --partial-fourier W      with the spectrum, where one side of k-space is missing: auto (default: the phase of\n"
    "                           low frequencies makes up for it, as far as it can), off\n"
    "  --operator O             auto (default), nufft, direct (the exact sum), cartesian (the FFT of the grid that\n"
    "                           all samples lie on; auto takes it where it can)\n"
    "  --variant V              of the direct sum; on the CPU: simd, avx512, avx2, baseline, ref;\n"
    "                           on GPUs: tuned, products, phasors, pairs, naive, registers, constant,\n"
    "                           published\n"
    "  --trig T                 sines of the direct sum on GPUs: accurate (default), hardware\n"
    "  --accuracy A             of the NUFFT (1e-6; double precision 1e-9)\n"
    "  --voxel V                point (default) or box: the voxels' shape, if the scan does not say\n"
    "  --save-q FILE            keep Q of this trajectory\n"
    "  --load-q FILE            use a Q that was kept\n"
    "\n"
    "Computation\n"
    "  --device D               auto (default), cpu, cuda (as many GPUs as pay), cuda:0,1 (these);\n"
    "                           cpu:0,1 makes several devices of the CPU, which is for tests\n"
    "  --threads N              CPU threads (default: one per core)\n"
    "  --precision P            single (default) or double\n"
    "  --dry-run                say what would be done and stop\n"
    "\n"
    "  -q, --quiet              only warnings and errors\n"
    "  --progress               a progress line even where stderr is no terminal\n"
    "  -h, --help               this text\n"
    "  --version                the version\n"
    "\n"
    "Exit status: 0 done, 2 options, 3 input, 4 output, 5 memory, 6 device, 7 device memory,\n"
    "8 not supported, 130 interrupted. The manual page mri_recon(1) says more.\n";

enum {
    OPT_FIRST = 256,
    OPT_APPEND_TO_COPY = OPT_FIRST,
    OPT_PICTURE,
    OPT_NOISE_MAP,
    OPT_REPLICAS,
    OPT_REPORT,
    OPT_COMPARE,
    OPT_TRAJECTORY,
    OPT_UNITS,
    OPT_GROUP,
    OPT_MATRIX,
    OPT_KEEP_OVERSAMPLING,
    OPT_COILS,
    OPT_MAP_SETS,
    OPT_SAVE_COILS,
    OPT_COMPRESS,
    OPT_METHOD,
    OPT_ITERATIONS,
    OPT_TOLERANCE,
    OPT_LAMBDA,
    OPT_PRIOR,
    OPT_OPERATOR,
    OPT_VARIANT,
    OPT_PARTIAL_FOURIER,
    OPT_TRIG,
    OPT_ACCURACY,
    OPT_VOXEL,
    OPT_SAVE_Q,
    OPT_LOAD_Q,
    OPT_DEVICE,
    OPT_THREADS,
    OPT_PRECISION,
    OPT_DRY_RUN,
    OPT_PROGRESS,
    OPT_VERSION,
    OPT_END
};

static const struct option options[] = {
    {"output", required_argument, NULL, 'o'},
    {"append-to-copy", no_argument, NULL, OPT_APPEND_TO_COPY},
    {"picture", required_argument, NULL, OPT_PICTURE},
    {"noise-map", required_argument, NULL, OPT_NOISE_MAP},
    {"replicas", required_argument, NULL, OPT_REPLICAS},
    {"report", required_argument, NULL, OPT_REPORT},
    {"compare", required_argument, NULL, OPT_COMPARE},
    {"trajectory", required_argument, NULL, OPT_TRAJECTORY},
    {"trajectory-units", required_argument, NULL, OPT_UNITS},
    {"group", required_argument, NULL, OPT_GROUP},
    {"matrix", required_argument, NULL, OPT_MATRIX},
    {"keep-oversampling", no_argument, NULL, OPT_KEEP_OVERSAMPLING},
    {"coils", required_argument, NULL, OPT_COILS},
    {"map-sets", required_argument, NULL, OPT_MAP_SETS},
    {"save-coils", required_argument, NULL, OPT_SAVE_COILS},
    {"compress", required_argument, NULL, OPT_COMPRESS},
    {"method", required_argument, NULL, OPT_METHOD},
    {"iterations", required_argument, NULL, OPT_ITERATIONS},
    {"tolerance", required_argument, NULL, OPT_TOLERANCE},
    {"lambda", required_argument, NULL, OPT_LAMBDA},
    {"prior", required_argument, NULL, OPT_PRIOR},
    {"partial-fourier", required_argument, NULL, OPT_PARTIAL_FOURIER},
    {"operator", required_argument, NULL, OPT_OPERATOR},
    {"variant", required_argument, NULL, OPT_VARIANT},
    {"trig", required_argument, NULL, OPT_TRIG},
    {"accuracy", required_argument, NULL, OPT_ACCURACY},
    {"voxel", required_argument, NULL, OPT_VOXEL},
    {"save-q", required_argument, NULL, OPT_SAVE_Q},
    {"load-q", required_argument, NULL, OPT_LOAD_Q},
    {"device", required_argument, NULL, OPT_DEVICE},
    {"threads", required_argument, NULL, OPT_THREADS},
    {"precision", required_argument, NULL, OPT_PRECISION},
    {"dry-run", no_argument, NULL, OPT_DRY_RUN},
    {"quiet", no_argument, NULL, 'q'},
    {"progress", no_argument, NULL, OPT_PROGRESS},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, OPT_VERSION},
    {0},
};

/* The words of an option, in the order of its enum in mri_recon.h. */
static const char *const unit_words[] = {"auto", "normalized", "fov", "radians", NULL};
static const char *const coil_words[] = {"auto", "file", "espirit", "walsh", "nlinv", "rss", NULL};
static const char *const set_words[] = {"auto", "1", "2", NULL};
static const char *const method_words[] = {"cg", "adjoint", "gridding", "bilinear", NULL};
static const char *const prior_words[] = {"identity", "differences", "reference", "spectrum", "auto", NULL};
static const char *const operator_words[] = {"auto", "direct", "nufft", "cartesian", NULL};
static const char *const partial_words[] = {"auto", "off", NULL};
static const char *const trig_words[] = {"accurate", "hardware", NULL};
static const char *const voxel_words[] = {"point", "box", NULL};

/* --coils: a word, or a file of maps, which its ending tells. */
static vf_status coils_option(vf_context *ctx, const char *text, recon_settings *s)
{
    char words[128] = "";
    s->maps = coil_map_is_name(text) ? text : NULL;
    s->coils = RECON_COILS_FILE;
    if (s->maps)
        return VF_OK;
    for (int w = 0; coil_words[w]; w++) {
        if (strcmp(text, coil_words[w]) == 0) {
            s->coils = (recon_coils)w;
            return VF_OK;
        }
        snprintf(words + strlen(words), sizeof words - strlen(words), "%s, ", coil_words[w]);
    }
    return vf_fail(ctx, VF_ERR_ARGUMENT,
                   "--coils '%s': expected one of %sor a file of maps, whose name ends in .h5, .hdf5, .cfl or .hdr",
                   text, words);
}

/* Options whose argument is one of a few words. */
static vf_status word_option(vf_context *ctx, int option, const char *text, recon_settings *s)
{
    int word = 0;
    vf_status status = VF_OK;
    switch (option) {
    case OPT_UNITS:
        status = program_word(ctx, "trajectory-units", text, unit_words, &word);
        s->units = (k_units)word;
        break;
    case OPT_COILS:
        return coils_option(ctx, text, s);
    case OPT_MAP_SETS:
        status = program_word(ctx, "map-sets", text, set_words, &word);
        s->map_sets = (recon_map_sets)word;
        break;
    case OPT_METHOD:
        status = program_word(ctx, "method", text, method_words, &word);
        s->method = (recon_method)word;
        break;
    case OPT_PRIOR:
        status = program_word(ctx, "prior", text, prior_words, &word);
        s->prior = (recon_prior)word;
        break;
    case OPT_PARTIAL_FOURIER:
        status = program_word(ctx, "partial-fourier", text, partial_words, &word);
        s->partial_fourier = word == 0;
        break;
    case OPT_OPERATOR:
        status = program_word(ctx, "operator", text, operator_words, &word);
        s->encode_by = (vf_encode_by)word;
        break;
    case OPT_TRIG:
        status = program_word(ctx, "trig", text, trig_words, &word);
        s->hardware_trig = word == 1;
        break;
    default:
        status = program_word(ctx, "voxel", text, voxel_words, &word);
        s->box_voxels = word == 1;
    }
    return status;
}

/* auto, auto:FACTOR, or a number. */
static vf_status lambda_option(vf_context *ctx, const char *text, recon_settings *s)
{
    static const char word[] = "auto";
    const size_t length = sizeof word - 1;
    s->lambda = 1;
    s->lambda_auto = strncmp(text, word, length) == 0 && (text[length] == '\0' || text[length] == ':');
    if (!s->lambda_auto)
        return program_number(ctx, "lambda", text, 0, 1e6, &s->lambda);
    return text[length] ? program_number(ctx, "lambda auto", text + length + 1, 1e-6, 1e6, &s->lambda) : VF_OK;
}

/* Options whose argument is a number or several. */
static vf_status number_option(vf_context *ctx, int option, const char *text, recon_settings *s)
{
    int64_t whole = 0;
    vf_status status = VF_OK;
    switch (option) {
    case OPT_MATRIX:
        s->has_matrix = true;
        return program_counts(ctx, "matrix", text, s->matrix);
    case OPT_COMPRESS:
        status = program_integer(ctx, "compress", text, 1, 4096, &whole);
        s->compress = (int)whole;
        return status;
    case OPT_REPLICAS:
        status = program_integer(ctx, "replicas", text, 2, 100000, &whole);
        s->replicas = (int)whole;
        return status;
    case OPT_ITERATIONS:
        status = program_integer(ctx, "iterations", text, 1, 1000000, &whole);
        s->iterations = (int)whole;
        return status;
    case OPT_TOLERANCE:
        return program_number(ctx, "tolerance", text, 0, 1, &s->tolerance);
    case OPT_LAMBDA:
        return lambda_option(ctx, text, s);
    case OPT_ACCURACY:
        return program_number(ctx, "accuracy", text, 1e-12, 0.1, &s->accuracy);
    case OPT_THREADS:
        return program_threads(ctx, text);
    default:
        return program_precision(ctx, text, &s->precision);
    }
}

/* Where the argument of an option that is any text goes; NULL: of none of these. */
static const char **text_option(int option, recon_settings *s)
{
    const struct {
        int option;
        const char **to;
    } texts[] = {{'o', &s->output},          {OPT_NOISE_MAP, &s->noise_map},   {OPT_REPORT, &s->report},
                 {OPT_COMPARE, &s->compare}, {OPT_TRAJECTORY, &s->trajectory}, {OPT_SAVE_COILS, &s->save_coils},
                 {OPT_GROUP, &s->group},     {OPT_VARIANT, &s->variant},       {OPT_SAVE_Q, &s->save_q},
                 {OPT_LOAD_Q, &s->load_q},   {OPT_DEVICE, &s->device}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].option == option)
            return texts[i].to;
    return NULL;
}

static vf_status one_option(vf_context *ctx, int option, const char *text, recon_settings *s)
{
    const char **plain = text_option(option, s);
    if (plain) {
        *plain = text;
        return VF_OK;
    }
    switch (option) {
    case 'q':
        s->quiet = true;
        return VF_OK;
    case OPT_APPEND_TO_COPY:
        s->append_to_copy = true;
        return VF_OK;
    case OPT_PICTURE:
        return program_picture(ctx, text, &s->picture);
    case OPT_KEEP_OVERSAMPLING:
        s->keep_oversampling = true;
        return VF_OK;
    case OPT_DRY_RUN:
        s->dry_run = true;
        return VF_OK;
    case OPT_PROGRESS:
        s->progress = VF_PROGRESS_ON;
        return VF_OK;
    case OPT_UNITS:
    case OPT_COILS:
    case OPT_MAP_SETS:
    case OPT_METHOD:
    case OPT_PRIOR:
    case OPT_PARTIAL_FOURIER:
    case OPT_OPERATOR:
    case OPT_TRIG:
    case OPT_VOXEL:
        return word_option(ctx, option, text, s);
    case OPT_MATRIX:
    case OPT_COMPRESS:
    case OPT_REPLICAS:
    case OPT_ITERATIONS:
    case OPT_TOLERANCE:
    case OPT_LAMBDA:
    case OPT_ACCURACY:
    case OPT_THREADS:
    case OPT_PRECISION:
        return number_option(ctx, option, text, s);
    default: /* getopt has said what is wrong */
        return vf_fail(ctx, VF_ERR_ARGUMENT, "mri_recon --help lists the options");
    }
}

/* Options that would do nothing are refused: who gave them expects something. */
static vf_status check_use(vf_context *ctx, const recon_settings *s, const bool *given)
{
    static const struct {
        int option;
        const char *name;
    } of_cg[] = {{OPT_ITERATIONS, "iterations"}, {OPT_TOLERANCE, "tolerance"}, {OPT_LAMBDA, "lambda"},
                 {OPT_PRIOR, "prior"},           {OPT_SAVE_Q, "save-q"},       {OPT_LOAD_Q, "load-q"},
                 {OPT_MAP_SETS, "map-sets"}};
    for (size_t i = 0; s->method != RECON_CG && i < sizeof of_cg / sizeof *of_cg; i++)
        if (given[of_cg[i].option - OPT_FIRST])
            return vf_fail(ctx, VF_ERR_ARGUMENT, "--%s is of --method cg; with --method %s it would do nothing",
                           of_cg[i].name, method_words[s->method]);
    if (s->method == RECON_BILINEAR && (given[OPT_OPERATOR - OPT_FIRST] || given[OPT_ACCURACY - OPT_FIRST]))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--operator and --accuracy do nothing with --method bilinear");
    if (s->encode_by == VF_ENCODE_DIRECT && given[OPT_ACCURACY - OPT_FIRST])
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--accuracy is of the NUFFT: a direct sum is exact");
    if (s->encode_by == VF_ENCODE_CARTESIAN && given[OPT_ACCURACY - OPT_FIRST])
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--accuracy is of the NUFFT: the FFT of the grid is exact");
    if (s->encode_by == VF_ENCODE_CARTESIAN && (s->save_q || s->load_q))
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "--save-q and --load-q do nothing with --operator cartesian, which has no Q");
    const bool by_spectrum =
        s->prior == RECON_SPECTRUM || (s->prior == RECON_PRIOR_AUTO && s->lambda_auto && s->method == RECON_CG);
    if (given[OPT_PARTIAL_FOURIER - OPT_FIRST] && !by_spectrum)
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "--partial-fourier goes with --prior spectrum and --lambda auto, the defaults");
    if (given[OPT_REPLICAS - OPT_FIRST] && !s->noise_map)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--replicas is of the noise map: it goes with --noise-map");
    if (s->variant && s->encode_by != VF_ENCODE_DIRECT)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--variant is of the direct sum: it goes with --operator direct");
    if (s->hardware_trig && s->encode_by != VF_ENCODE_DIRECT)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--trig hardware is of the direct sum: it goes with --operator direct");
    return VF_OK;
}

static vf_status read_options(vf_context *ctx, const program *p, int argc, char **argv, recon_settings *s)
{
    bool given[OPT_END - OPT_FIRST] = {false};
    int option;
    while ((option = getopt_long(argc, argv, "o:qh", options, NULL)) != -1) {
        if (option == 'h' || option == OPT_VERSION)
            program_print_and_exit(p, option == 'h');
        if (option >= OPT_FIRST && option < OPT_END)
            given[option - OPT_FIRST] = true;
        vf_status status = program_value(ctx, argv, options);
        if (status == VF_OK)
            status = one_option(ctx, option, optarg, s);
        if (status != VF_OK)
            return status;
    }
    vf_status status = program_input(ctx, p, argc, argv, "scan.h5", "one scan", &s->input);
    if (status == VF_OK)
        status = check_use(ctx, s, given);
    return status == VF_OK ? settings_complete(ctx, s) : status;
}

static vf_status run_mri_recon(vf_context *ctx, program *p, int argc, char **argv)
{
    recon_settings settings = {
        .tolerance = -1,
        .prior = RECON_PRIOR_AUTO,
        .partial_fourier = true,
        .lambda = 1,
        .lambda_auto = true,
        .replicas = 32,
        .device = "auto",
        .argc = p->argc,
        .argv = p->argv,
    };
    vf_status status = read_options(ctx, p, argc, argv, &settings);
    p->quiet = settings.quiet;
    if (status == VF_OK && settings.dry_run && settings.report)
        vf_note(ctx, "note: --dry-run writes nothing, so there will be no report %s", settings.report);
    return status == VF_OK ? mri_recon_run(ctx, &settings) : status;
}

int main(int argc, char **argv)
{
    program p = {.name = "mri_recon", .usage = usage, .run = run_mri_recon};
    return program_main(&p, argc, argv);
}
