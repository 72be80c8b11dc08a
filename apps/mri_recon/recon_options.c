/* mri_recon's options. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "batch.h"
#include "coils/coil_map_file.h"
#include "recon_options.h"
#include "settings.h"
#include "solve/prior_table.h"

/* ---- arguments with their own parser ---- */

static const option_choice coil_words[] = {
    {"auto", RECON_COILS_AUTO,
     "the scan's maps if it has any and they fit its data, else espirit if the centre of k-space is sampled well "
     "enough, else nlinv"},
    {"file", RECON_COILS_FILE, "the scan's maps in any case"},
    {"espirit", RECON_COILS_ESPIRIT, "maps from the fully sampled centre of k-space, by ESPIRiT"},
    {"walsh", RECON_COILS_WALSH, "maps from the centre of k-space, by adaptive combination"},
    {"nlinv", RECON_COILS_NLINV,
     "maps estimated together with an image, by nonlinear inversion; no fully sampled centre is needed"},
    {"rss", RECON_COILS_RSS, "no maps: each coil alone, then the root of the sum of squares"},
    {0}};

/* The keyword's row, or NULL. */
static const option_choice *find_word(const option_choice *words, const char *text)
{
    while (words->word && strcmp(words->word, text) != 0)
        words++;
    return words->word ? words : NULL;
}

/* --coils: a keyword, or a coil map file, recognised by its extension. */
static vf_status coils(vf_context *ctx, const char *option, const char *text, void *settings)
{
    recon_settings *s = settings;
    char words[128];
    s->coils.file = NULL;
    s->coils.how = RECON_COILS_FILE;
    if (coil_map_is_name(text)) {
        s->coils.file = text;
        return VF_OK;
    }
    const option_choice *c = find_word(coil_words, text);
    if (c) {
        s->coils.how = (recon_coils)c->value;
        return VF_OK;
    }
    return vf_fail(ctx, VF_ERR_ARGUMENT,
                   "--%s '%s': expected %s, or a file of maps with the extension .h5, .hdf5, .cfl or .hdr", option,
                   text, option_choices_text(coil_words, words, sizeof words));
}

static const option_choice compress_words[] = {
    {"auto", COMPRESS_AUTO, "as many as leave out less signal than a tenth of the noise, from 12 coils on"},
    {"none", COMPRESS_NONE, "all coils"},
    {0}};

static const option_choice compress_methods[] = {
    {"auto", COMPRESS_BEST, "principal; with --compress auto geometric if those are a quarter fewer"},
    {"principal", COMPRESS_PRINCIPAL, "the principal components of all samples"},
    {"geometric", COMPRESS_GEOMETRIC, "components of their own at each position along complete Cartesian readouts"},
    {0}};

static vf_status compress(vf_context *ctx, const char *option, const char *text, void *settings)
{
    int *number = &((recon_settings *)settings)->coils.compress;
    const option_choice *c = find_word(compress_words, text);
    const program_option row = {OPTION_INTEGER, .name = option, .size = sizeof *number, .least = 1, .most = 4096};
    if (c)
        *number = c->value;
    return c ? VF_OK : option_parse(ctx, &row, text, number);
}

/* auto, auto:FACTOR, sure, or a number. */
static vf_status lambda(vf_context *ctx, const char *option, const char *text, void *settings)
{
    static const char word[] = "auto";
    const size_t length = sizeof word - 1;
    recon_settings *s = settings;
    s->solve.lambda = 1;
    s->solve.lambda_sure = strcmp(text, "sure") == 0;
    s->solve.lambda_auto =
        s->solve.lambda_sure || (strncmp(text, word, length) == 0 && (text[length] == '\0' || text[length] == ':'));
    if (s->solve.lambda_sure)
        return VF_OK;
    if (!s->solve.lambda_auto)
        return option_number(ctx, option, text, 0, 1e6, NULL, &s->solve.lambda);
    return text[length] ? option_number(ctx, "lambda auto", text + length + 1, 1e-6, 1e6, NULL, &s->solve.lambda)
                        : VF_OK;
}

static vf_status part(vf_context *ctx, const char *option, const char *text, void *settings)
{
    return parse_part(ctx, option, text, &((recon_settings *)settings)->pieces);
}

static const option_choice delay_words[] = {
    {"warn", RECON_DELAYS_WARN, "none, and a warning if spokes of an ISMRMRD file disagree as by delays"},
    {"off", RECON_DELAYS_OFF, "none"},
    {"auto", RECON_DELAYS_AUTO, "estimated from the samples near the centre of k-space, where spokes must agree"},
    {0}};

/* A keyword, or three numbers. */
static vf_status delays(vf_context *ctx, const char *option, const char *text, void *settings)
{
    recon_settings *s = settings;
    const option_choice *c = find_word(delay_words, text);
    if (c) {
        s->scan.delays = (recon_delays)c->value;
        return VF_OK;
    }
    if (!strpbrk(text, "0123456789"))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--%s '%s': expected auto, off, warn, or delays X,Y,Z in samples", option,
                       text);
    const program_option row = {OPTION_TRIPLE, .name = option, .least = -100, .most = 100, .unit = "samples"};
    s->scan.delays = RECON_DELAYS_GIVEN;
    return option_parse(ctx, &row, text, s->scan.delay);
}

static const option_choice shift_words[] = {{"auto", RECON_SHIFT_AUTO, "none; a warning says where one may be needed"},
                                            {"header", RECON_SHIFT_HEADER, "that of the file's positions"},
                                            {"off", RECON_SHIFT_OFF, "none"},
                                            {0}};

/* A keyword, or three numbers. */
static vf_status fov_shift(vf_context *ctx, const char *option, const char *text, void *settings)
{
    recon_settings *s = settings;
    const option_choice *c = find_word(shift_words, text);
    if (c) {
        s->scan.fov_shift = (recon_shift)c->value;
        return VF_OK;
    }
    if (!strchr(text, ','))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--%s '%s': expected auto, header, off, or a shift X,Y,Z in mm", option,
                       text);
    const program_option row = {OPTION_TRIPLE, .name = option, .least = -1e4, .most = 1e4, .unit = "mm"};
    s->scan.fov_shift = RECON_SHIFT_GIVEN;
    return option_parse(ctx, &row, text, s->scan.shift);
}

/* --prior: one word, or two sparse priors joined by a plus sign. */
static vf_status prior(vf_context *ctx, const char *option, const char *text, void *settings)
{
    recon_settings *s = settings;
    char words[128];
    s->solve.sparse = 0;
    for (const char *at = text; at; at = strchr(at, '+') ? strchr(at, '+') + 1 : NULL) {
        const size_t length = strcspn(at, "+");
        const option_choice *c = prior_table;
        while (c->word && !(strlen(c->word) == length && strncmp(at, c->word, length) == 0))
            c++;
        if (!c->word)
            return vf_fail(ctx, VF_ERR_ARGUMENT, "--%s '%s': expected %s, or two sparse priors as in wavelet+tv",
                           option, text, option_choices_text(prior_table, words, sizeof words));
        if (c->value < RECON_SPARSE && !strchr(text, '+')) {
            s->solve.prior = (recon_prior)c->value;
            return VF_OK;
        }
        if (c->value < RECON_SPARSE || s->solve.sparse == VF_MOST_PRIORS ||
            (s->solve.sparse > 0 && (int)s->solve.sparse_prior[0] == c->value - RECON_SPARSE))
            return vf_fail(ctx, VF_ERR_ARGUMENT, "--%s '%s': only two different sparse priors can be combined", option,
                           text);
        s->solve.sparse_prior[s->solve.sparse++] = (vf_penalty_kind)(c->value - RECON_SPARSE);
    }
    s->solve.prior = RECON_SPECTRUM;
    return VF_OK;
}

/* ---- the table ---- */

static const option_choice units[] = {{"auto", K_AUTO, "decided by the extent of the trajectory; the program says how"},
                                      {"normalized", K_NORMALIZED, "cycles per voxel: k in [-1/2, 1/2)"},
                                      {"radians", K_RADIANS, "radians per voxel: k in [-pi, pi)"},
                                      {"fov", K_FOV, "cycles per field of view: k in [-N/2, N/2)"},
                                      {"edge", K_EDGE, "k in [-1, 1)"},
                                      {"1/m", K_PER_M, "cycles per m"},
                                      {"1/cm", K_PER_CM, "cycles per cm"},
                                      {"1/mm", K_PER_MM, "cycles per mm"},
                                      {"rad/m", K_RAD_PER_M, "radians per m"},
                                      {"rad/mm", K_RAD_PER_MM, "radians per mm"},
                                      {0}};
static const option_choice signs[] = {{"auto", SIGN_AUTO, "+ for Siemens' scanners, - for others"},
                                      {"-", SIGN_MINUS, "d(k) = sum of rho(r) exp(-i 2 pi k.r)"},
                                      {"+", SIGN_PLUS, "d(k) = sum of rho(r) exp(+i 2 pi k.r)"},
                                      {0}};
static const option_choice epi[] = {{"auto", EPI_AUTO, "as header, navigators or images say"},
                                    {"off", EPI_OFF, "even samples, and readouts as they are"},
                                    {0}};
static const option_choice map_sets[] = {
    {"auto", RECON_SETS_AUTO,
     "two if the calibration by ESPIRiT shows that parts fold, or if the file of maps has two"},
    {"1", RECON_SETS_ONE, "one set"},
    {"2", RECON_SETS_TWO, "two sets; needs --coils auto, espirit or a file with two sets"},
    {0}};
static const option_choice methods[] = {
    {"cg", RECON_CG, "conjugate gradients"},
    {"adjoint", RECON_ADJOINT, "F^H W data"},
    {"gridding", RECON_GRIDDING, "the adjoint with iterative density compensation"},
    {"bilinear", RECON_BILINEAR, "gridding with linear weights, as in older programs; for comparison"},
    {0}};
static const option_choice solvers[] = {
    {"admm", RECON_ADMM, "alternating direction method of multipliers: the fastest"},
    {"primal-dual", RECON_PRIMAL_DUAL, "the method of Condat and Vu: slow, a check of the first"},
    {"fista", RECON_FISTA, "accelerated proximal gradients, for one wavelet with one shift: a check of the first"},
    {0}};
static const option_choice frame_noise[] = {
    {"auto", false, "found for each frame where frames differ by more than their signal and chance explain"},
    {"equal", true, "the same in all frames"},
    {0}};
static const option_choice wavelets[] = {{"auto", 0, "haar and db2: the mean of both priors"},
                                         {"haar", 1, "for flat regions with sharp borders"},
                                         {"db2", 2, "Daubechies' wavelet with two vanishing moments"},
                                         {"db3", 3, "with three"},
                                         {"db4", 4, "with four"},
                                         {0}};
static const option_choice partial_fourier[] = {
    {"auto", true, "a phase known from the low frequencies replaces the missing side, as far as it can"},
    {"off", false, "nothing is known of the phase; the image is blurred"},
    {0}};
static const option_choice operators[] = {
    {"auto", VF_ENCODE_AUTO,
     "cartesian if that is possible and no Q is saved or loaded, direct for the smallest scans, else nufft"},
    {"nufft", VF_ENCODE_NUFFT, "non-uniform FFT, to the accuracy of --accuracy"},
    {"direct", VF_ENCODE_DIRECT, "the exact sum over all pairs of a sample and a voxel"},
    {"cartesian", VF_ENCODE_CARTESIAN,
     "FFT of the grid that all samples lie on; samples off the grid and off-resonance are errors"},
    {0}};
static const option_choice spikes[] = {
    {"auto", false, "left out, if they are alone and far above all other samples, as interference is"},
    {"keep", true, "used like all others"},
    {0}};
static const option_choice trigs[] = {{"accurate", false, NULL}, {"hardware", true, NULL}, {0}};
static const option_choice voxels[] = {{"point", false, NULL}, {"box", true, NULL}, {0}};
static const option_choice precisions[] = {{"single", VF_F32, NULL}, {"double", VF_F64, NULL}, {0}};

#define SETTING(member) OPTION_TO(recon_settings, member)

const program_option recon_options[] = {
    {OPTION_GROUP, .name = "Output"},
    {OPTION_WRITE, .letter = 'o', .name = "output", .argument = "FILE", .completes = ".h5 .hdf5 .nii .nii.gz .mrd .cfl",
     SETTING(output), .default_help = "SCAN_image.h5, for BART SCAN_image.cfl",
     .help = "image: .h5, .nii, .nii.gz, .mrd (ISMRMRD) or .cfl (BART)",
     .more =
         "The extension selects the format. `.h5` has the complex image in the dataset /image. `.nii` and `.nii.gz` "
         "are NIfTI-1 with the magnitude. `.mrd` has ISMRMRD images. `.cfl` comes with a `.hdr` beside it. The "
         "default is beside the scan."},
    {OPTION_FLAG, .name = "append-to-copy", SETTING(append_to_copy), .needs = "output",
     .help = "an output (.mrd) that is a copy of the ISMRMRD scan with the images added"},
    {OPTION_PICTURE, .name = "picture", .argument = "FILE.png", SETTING(picture), .help = "montage of slices",
     .more = "It has all slices up to 20, or 20 slices that show something. Of several slabs, it shows the first."},
    {OPTION_WRITE, .name = "page", .argument = "FILE.html", .completes = ".html", SETTING(page),
     .help = "page for a browser: slices to scroll, frames, phase, figures of the run",
     .more =
         "One file that needs no network. It also has the noise map, the coil maps and the difference from another "
         "image, if --noise-map, --save-coils and --compare ask for them. At most 12 MB: larger images are reduced, "
         "and the page says how."},
    {OPTION_WRITE, .name = "noise-map", .argument = "FILE", .completes = ".h5 .hdf5 .nii .nii.gz .cfl",
     SETTING(noise.map), .help = "noise in each voxel and g-factor: .h5, .nii, .nii.gz or .cfl",
     .more = "The noise is the standard deviation of the complex value, so that its square is E|n|^2. The g-factor is "
             "its ratio to the lowest noise that as many samples could give. `.h5` has the datasets /noise and "
             "/g_factor; other formats have two volumes. The map is computed from replicas of noise that pass through "
             "the solver of the image."},
    {OPTION_INTEGER, .name = "replicas", .argument = "N", SETTING(noise.replicas), .least = 2, .most = 100000,
     .initial = "32", .needs = "noise-map",
     .help = "replicas of noise for the noise map; twice as many take twice as long",
     .more = "With 32 replicas, the deviation of a voxel is uncertain by 9 %."},
    {OPTION_WRITE, .name = "report", .argument = "FILE.json", .completes = ".json", SETTING(report),
     .help = "settings, times, and figures of the reconstruction"},
    {OPTION_TEXT, .scope = OPTION_OF_REPORT, .name = "compare", .argument = "FILE",
     .completes = "truth .h5 .hdf5 .cfl .nii .nii.gz .mrd", SETTING(compare),
     .help = "image to print the error against: .h5, .cfl, .nii, .nii.gz, or the word truth for that of the scan",
     .more = "The error is that of the magnitude. The other image may be from any program. Voxels are compared in the "
             "order of the files. If another scale fits better by more than 5 %, a second line has the error of the "
             "scaled image, because images come in many units. Each of several volumes has its line; if there are more "
             "than eight, the lines are the first, the worst and the mean. The report has all."},

    {OPTION_GROUP, .name = "Reading"},
    {OPTION_READ, .name = "trajectory", .argument = "FILE", .completes = ".cfl .hdr .h5 .hdf5",
     SETTING(scan.trajectory), .default_help = "that of the scan; Cartesian for a .cfl",
     .help = "trajectory in place of the scan's: .cfl, or .h5 with /scan/trajectory",
     .more =
         "A `.cfl` has [3][samples][spokes], an `.h5` [sample][3] or [frame][sample][3], in cycles per field of view, "
         "with as many samples as the scan. A scan in a `.cfl` takes a `.cfl`; without this option its k-space is "
         "Cartesian, and samples that are 0 in all coils were not acquired."},
    {OPTION_CHOICE, .name = "trajectory-units", .argument = "UNIT", SETTING(scan.read.units), .choices = units,
     .initial = "auto", .help = "unit of k"},
    {OPTION_CHOICE, .name = "spikes", .argument = "HOW", SETTING(scan.keep_spikes), .choices = spikes,
     .initial = "auto", .help = "samples that no object can have"},
    {OPTION_READ, .name = "girf", .argument = "FILE.h5", .completes = ".h5 .hdf5", SETTING(scan.girf),
     .help = "gradient impulse response functions, to predict the actual trajectory",
     .more = "The datasets are /girf/frequency in Hz and /girf/transfer, complex, [3][frequency] or, with cross terms, "
             "[3][3][frequency]."},
    {OPTION_CUSTOM, .name = "delays", .argument = "DELAYS", .parse = delays, .choices = delay_words, .initial = "warn",
     .help = "gradient delays of a radial scan: X,Y,Z in samples, or one of",
     .more = "With a delay of 1, a sample lies where the trajectory has the sample before."},
    {OPTION_READ, .name = "motion", .argument = "FILE", SETTING(scan.motion),
     .help = "the patient's motion: a text file with a row for each readout",
     .more = "A row has the shift in mm along x, y and z and the rotation in degrees about x, y and z."},
    {OPTION_CUSTOM, .name = "fov-shift", .argument = "SHIFT", .parse = fov_shift, .choices = shift_words,
     .initial = "auto",
     .help = "centre of the field of view from the isocentre, for samples without that shift: X,Y,Z in mm, or one of",
     .more = "The axes are those of the image. Scanners often store spirals and radials without the shift."},
    {OPTION_TEXT, .name = "slices", .argument = "FIRST:LAST:STEP", SETTING(scan.slices), .default_help = "all",
     .help = "slices to reconstruct, counted from 1",
     .more = "They are counted by position, in each stack of slices. The numbers are those of --frames."},
    {OPTION_TEXT, .name = "group", .argument = "NAME", SETTING(scan.read.group),
     .help = "group to read, if an ISMRMRD file has several"},
    {OPTION_INTEGER, .name = "encoding", .argument = "N", SETTING(scan.read.encoding), .least = 1, .most = 16,
     .default_help = "the one with most image data", .help = "encoding to reconstruct, if an ISMRMRD file has several"},
    {OPTION_CHOICE, .name = "phase-sign", .argument = "SIGN", SETTING(scan.read.sign), .choices = signs,
     .initial = "auto", .help = "sign in the exponent of the data's Fourier transform, in ISMRMRD files",
     .more = "With the wrong sign an image is turned by 180 degrees, a volume mirrored: left and right are swapped."},
    {OPTION_NUMBER, .name = "oversampling", .argument = "F", SETTING(scan.read.oversampling), .least = 0.01,
     .most = 100, .default_help = "by the header, checked against the samples",
     .help = "field of view of Cartesian readouts over that of the image, in ISMRMRD files"},
    {OPTION_TEXT, .name = "noise", .argument = "FILE[:GROUP]", .completes = ".h5 .mrd", SETTING(scan.read.noise),
     .default_help = "noise acquisitions of the scan's file, in any group",
     .help = "ISMRMRD file with the noise of the channels"},
    {OPTION_CHOICE, .name = "epi", .argument = "WHAT", SETTING(scan.read.epi), .choices = epi, .initial = "auto",
     .help = "ramp sampling, and the shift and phase of reversed readouts, in echo-planar ISMRMRD files",
     .more = "Reversed readouts are corrected by the navigators of the scan (phase correction, flag 24). Without "
             "navigators, the phase with the fewest ghosts is taken, if it is clearly better than none."},
    {OPTION_COUNTS, .name = "matrix", .argument = "X,Y,Z", SETTING(scan.matrix),
     OPTION_GIVEN(recon_settings, scan.has_matrix), .least = 1, .most = INFINITY, .default_help = "that of the scan",
     .help = "voxels over the encoded field of view"},
    {OPTION_FLAG, .name = "keep-oversampling", SETTING(scan.keep_oversampling),
     .help = "the whole encoded field of view, not only the part to reconstruct",
     .more =
         "Without this option, complete Cartesian readouts are cropped to that part before the reconstruction, if the "
         "prior is `spectrum` or `identity` and the operator is neither `nufft` nor `direct`. The image is the same."},

    {OPTION_GROUP, .name = "Series"},
    {OPTION_INTEGER, .name = "spokes-per-frame", .argument = "N", SETTING(scan.spokes_per_frame), .least = 1,
     .most = 1e9, .default_help = "the frames of the scan",
     .help = "readouts of a frame; the readouts of all repetitions are cut into such frames",
     .more =
         "For continuous acquisitions, such as golden-angle spokes. Readouts are taken in the order of acquisition. "
         "Coil maps are estimated from all readouts of a slice or slab. Readouts at the end that do not fill a "
         "frame make no image."},
    {OPTION_INTEGER, .name = "frame-step", .argument = "M", SETTING(scan.frame_step), .least = 1, .most = 1e9,
     .default_help = "N of --spokes-per-frame", .needs = "spokes-per-frame",
     .help = "readouts from the first of a frame to the first of the next one",
     .more = "Frames share readouts if it is less than N (sliding windows). If it is more, the readouts between frames "
             "make no image."},
    {OPTION_INTEGER, .name = "readout-samples", .argument = "N", SETTING(scan.readout_samples), .least = 1, .most = 1e9,
     .default_help = "found from the scan", .needs = "spokes-per-frame girf delays motion",
     .help = "samples of a readout of a plain scan",
     .more = "Without this option, a readout of a plain scan begins where /scan/time starts again. Without times, it "
             "begins where straight lines bend, or where k jumps, if that happens at equal distances. Other layouts "
             "say how long their readouts are."},
    {OPTION_TEXT, .name = "frames", .argument = "FIRST:LAST:STEP", SETTING(scan.frames), .default_help = "all",
     .help = "frames to reconstruct, counted from 1",
     .more = "They are counted after --spokes-per-frame. A frame is a volume: all slices, or all slabs. Both ends are "
             "included. Negative numbers count from the end: -1 is the last frame. Each part may be left out. A number "
             "alone selects one frame. Coil maps still use all frames."},

    {OPTION_GROUP, .name = "Coils"},
    {OPTION_CUSTOM, .name = "coils", .argument = "COILS", .completes = ".h5 .hdf5 .cfl .hdr", .parse = coils,
     .choices = coil_words, .initial = "auto", .help = "coil maps: a file (.h5, .cfl), or one of",
     .more = "A file of maps has the extension `.h5`, `.hdf5`, `.cfl` or `.hdr`. It has the dataset /maps "
             "([coil][z][y][x]), is a plain scan with maps, or is BART's [x][y][z][coil]."},
    {OPTION_CHOICE, .name = "map-sets", .argument = "N", SETTING(coils.sets), .choices = map_sets, .initial = "auto",
     .needs = "method=cg", .help = "sets of coil maps, each with an image of its own",
     .more = "Two sets are for objects larger than the field of view: if two parts fold onto one voxel, one map cannot "
             "describe the coils. The result is one image: the root of the sum of squares of both, with the phase of "
             "the stronger one. Methods other than `cg` use the first set."},
    {OPTION_WRITE, .name = "save-coils", .argument = "FILE", .completes = ".h5 .hdf5 .cfl", SETTING(coils.save),
     .excludes = "coils=rss", .why = "it has no maps", .help = "the maps used, on the encoded matrix: .h5 or .cfl",
     .more =
         "If coils were decorrelated or compressed, the maps are those of the resulting coils. The file says so. It "
         "can be used again with the same scan and the same --compress."},
    {OPTION_TEXT, .name = "drop-coils", .argument = "LIST", .completes = "none", SETTING(coils.drop),
     .default_help = "channels that are dead or have only noise",
     .help = "channels to leave out, counted from 0, such as 3 or 0,4:7; or none",
     .more =
         "Channels that are 0 everywhere, or have only noise, are left out as well, with a note. `none` keeps all."},
    {OPTION_CUSTOM, .name = "compress", .argument = "N", .parse = compress, .choices = compress_words,
     .initial = "auto", .help = "number of virtual coils to reduce the coils to, or one of",
     .more = "`auto` keeps all of fewer than 12 coils, or if neither a noise scan nor the outermost samples tell the "
             "noise. The plan and the report say what it chose."},
    {OPTION_CHOICE, .name = "compress-method", .argument = "METHOD", SETTING(coils.compress_by),
     .choices = compress_methods, .initial = "auto", .help = "how coils are combined"},

    {OPTION_GROUP, .name = "Reconstruction"},
    {OPTION_CHOICE, .name = "method", .argument = "METHOD", SETTING(solve.method), .choices = methods, .initial = "cg",
     .help = "method of reconstruction"},
    {OPTION_INTEGER, .name = "iterations", .argument = "N", SETTING(solve.iterations), .least = 1, .most = 1000000,
     .default_help = "500, or 60 if --lambda is a number; 300 with sparse priors", .needs = "method=cg",
     .help = "maximum number of iterations"},
    {OPTION_NUMBER, .name = "tolerance", .argument = "T", SETTING(solve.tolerance), .least = 0, .most = 1,
     .default_help = "1e-5, or 1e-4 if --lambda is a number; with sparse priors 3e-3, down to 3e-4 for little noise",
     .needs = "method=cg", .help = "relative residual to stop at; 0: all iterations",
     .more =
         "The residual is that of the solver's recurrence, relative to the right-hand side. The image's own residual "
         "follows it down to about 1e-6 in single precision, 1e-14 in double."},
    {OPTION_CUSTOM, .name = "lambda", .argument = "L", .completes = "auto sure", .parse = lambda, .initial = "auto",
     .needs = "method=cg",
     .help = "weight of the prior: auto, auto:F (F times that; below 1 sharper and noisier), sure, or a number",
     .more =
         "`auto` chooses it from the noise and the image's own spectrum. The noise comes from a noise scan, or is "
         "estimated from the outermost samples and from the residual of a first image. A number from 0 to 1e6 is "
         "relative to the diagonal of F^H W F in the object, so that one value serves scans of any scale and number "
         "of samples. With --prior `spectrum`, it is relative to the choice of `auto`. With sparse priors, it is in "
         "units of the noise: the standard deviation of the noise in the finest wavelet coefficients of F^H W data. "
         "`sure`, for sparse priors, looks for a factor on the choice of `auto` by Stein's unbiased risk estimate. It "
         "makes six to fourteen more images."},
    {OPTION_CUSTOM, .name = "prior", .argument = "PRIOR", .parse = prior, .choices = prior_table, .initial = "auto",
     .default_help = "by the scan if --lambda is auto, else identity", .needs = "method=cg",
     .help = "prior of the image; two sparse ones at once as in wavelet+tv",
     .more = "`wavelet`, `tv`, `tgv`, `temporal`, `llr` and `nuclear` are sparse priors: they make noise and the "
             "artefacts of undersampling vanish, and keep edges. `auto` takes `wavelet` for undersampled scans, "
             "`wavelet+temporal` for series of four or more undersampled frames, and `spectrum` for complete scans, "
             "where one side of k-space is missing, and with --noise-map and --partial-fourier."},
    {OPTION_READ, .name = "reference", .argument = "FILE", .completes = ".nii .nii.gz .hdr .h5 .hdf5 .cfl",
     SETTING(solve.reference), .needs = "method=cg", .default_help = "the scan's /scan/reference",
     .help = "anatomical images for --prior reference: .nii, .nii.gz, .hdr with .img, .h5 or .cfl",
     .more =
         "A scan of high resolution and little noise, such as a water image for a sodium scan. Its volumes are "
         "averaged "
         "over the image's voxels, at the place that both files give; where it says nothing, the prior is that of "
         "plain "
         "differences. It implies --prior reference. With --lambda auto, the scan's own data decide how strongly it "
         "acts; if they say that it does not help, the image is that of --prior spectrum."},
    {OPTION_CHOICE, .name = "solver", .argument = "SOLVER", SETTING(solve.solver), .choices = solvers,
     .initial = "admm", OPTION_GIVEN(recon_settings, has_sparse_option), .help = "solver for sparse priors"},
    {OPTION_CHOICE, .name = "wavelet", .argument = "WAVELET", SETTING(solve.moments), .choices = wavelets,
     .initial = "auto", OPTION_GIVEN(recon_settings, has_sparse_option), .help = "wavelets of the prior"},
    {OPTION_INTEGER, .name = "shifts", .argument = "N", SETTING(solve.shifts), .least = 1, .most = 8,
     .default_help = "2 in 1D, else 4", OPTION_GIVEN(recon_settings, has_sparse_option),
     .help = "shifts of each wavelet, or of the blocks of llr; the prior is their mean"},
    {OPTION_INTEGER, .name = "seed", .argument = "N", SETTING(solve.seed), .least = 0, .most = 2147483647,
     .initial = "1", OPTION_GIVEN(recon_settings, has_sparse_option),
     .help = "seed of the random part of the shifts, and of the noise for --lambda sure"},
    {OPTION_INTEGER, .name = "window", .argument = "FRAMES", SETTING(schedule.window), .least = 0, .most = 1e9,
     .default_help = "all whose images fit into 1 GiB and whose solver fits into memory",
     .help = "frames of a series that are solved together; longer series are solved in windows that overlap",
     .more = "It needs --prior temporal, llr or nuclear. Neighbouring windows share a quarter of their frames, where "
             "the images go over from one window to the next. At least 4; 0 is the default."},
    {OPTION_CHOICE, .name = "frame-noise", .argument = "HOW", SETTING(noise.equal), .choices = frame_noise,
     .initial = "auto", OPTION_GIVEN(recon_settings, has_sparse_option), .help = "noise of the frames of a series",
     .more = "It applies to sparse priors. Frames that are solved together weigh 1 / noise^2. Other frames have lambda "
             "in units of their own noise."},
    {OPTION_CHOICE, .name = "partial-fourier", .argument = "HOW", SETTING(noise.partial_fourier),
     .choices = partial_fourier, .initial = "auto",
     .help = "treatment of a missing side of k-space, with the prior spectrum",
     .more =
         "It applies to partial Fourier scans and asymmetric echoes. It needs --prior `spectrum`, which `auto` takes "
         "then."},
    {OPTION_CHOICE, .name = "operator", .argument = "OPERATOR", SETTING(solve.encode_by), .choices = operators,
     .initial = "auto", .excludes = "method=bilinear", .help = "computation of F"},
    {OPTION_TEXT, .name = "variant", .argument = "VARIANT", SETTING(solve.variant), .needs = "operator=direct",
     .help = "kernel of the direct sum; on the CPU simd, avx512, avx2, baseline or ref; on GPUs tuned, products, "
             "phasors, pairs, naive, registers, constant-arrays, constant-structs, tuned-structs, bank or bank-4",
     .more =
         "`tuned` is the fastest that the problem allows. `products` is a matrix product on tensor cores. `naive` to "
         "`tuned-structs` are the steps of the published study, whose phases lose accuracy at large |k|."},
    {OPTION_FLAG, .scope = OPTION_OF_RUN, .name = "tune", SETTING(tune), .needs = "variant",
     .help = "search of the fastest launch of the variant tuned-structs, for this and later runs on this GPU",
     .more = "It times combinations of threads, chunk and unrolling for some seconds. The best one is kept in "
             "`$XDG_CACHE_HOME/voxfield` or `~/.cache/voxfield`. It changes no bit of the image."},
    {OPTION_CHOICE, .name = "trig", .argument = "TRIG", SETTING(solve.hardware_trig), .choices = trigs,
     .initial = "accurate", .needs = "operator=direct", .help = "sines and cosines of the direct sum on GPUs"},
    {OPTION_NUMBER, .name = "accuracy", .argument = "A", SETTING(solve.accuracy), .least = 1e-12, .most = 0.1,
     .default_help = "1e-6, or 1e-9 in double precision", .excludes = "operator=direct|cartesian method=bilinear",
     .why = "it applies only to the NUFFT", .help = "relative error of the NUFFT"},
    {OPTION_CHOICE, .name = "voxel", .argument = "SHAPE", SETTING(solve.box_voxels), .choices = voxels,
     .initial = "point", .help = "shape of a voxel, if the scan does not define it"},
    {OPTION_WRITE, .name = "save-q", .argument = "FILE", SETTING(solve.save_q), .needs = "method=cg",
     .excludes = "operator=cartesian", .why = "it has no Q",
     .help = "file for Q, to reuse with other scans of the same trajectory"},
    {OPTION_READ, .name = "load-q", .argument = "FILE", SETTING(solve.load_q), .needs = "method=cg",
     .excludes = "save-q operator=cartesian", .help = "saved Q to reuse",
     .more = "It must be for the same trajectory and matrix."},

    {OPTION_GROUP, .name = "Computation"},
    {OPTION_TEXT, .scope = OPTION_OF_RUN, .name = "device", .argument = "DEVICE", .completes = "auto cpu cuda opencl",
     SETTING(schedule.device), .initial = "auto",
     .help = "where to compute: auto, cpu, cuda, opencl, or a list such as cuda:0,1; cpu:0,1 simulates devices",
     .more = "`auto` weighs the work against the time it takes to start a GPU. `cuda` uses as many GPUs as pay off. "
             "`cuda:0,1` uses all GPUs of the list. `opencl:1` is an OpenCL device of the list of --devices, of which "
             "`auto` takes none; `cpu,opencl:0` share a scan. `cpu:0,1` are several devices that all are the CPU; this "
             "is no faster, but tests what several GPUs would do. Several devices make several images at a time, "
             "or, with priors that couple frames, several windows. One image is shared by coils, or, for direct sums, "
             "by voxels. Sharing by coils changes the last bits of the sums. "
             "One image of one coil by NUFFT is not shared. If one of several devices fails, a warning says so and the "
             "others continue, unless they make one image together."},
    {OPTION_CUSTOM, .scope = OPTION_OF_RUN, .name = "threads", .argument = "N", .parse = option_threads,
     .default_help = "one per core", .help = "number of CPU threads",
     .more = "Only cores that the process may use are counted: its affinity, and its quota of processor time. Small "
             "images use fewer threads, but at least 4: one for each 75,000 voxels of coils."},
    {OPTION_CHOICE, .name = "precision", .argument = "P", SETTING(solve.precision), .choices = precisions,
     .initial = "single", .help = "precision of the computation"},
    {OPTION_FLAG, .name = "info", SETTING(info),
     .help = "only what the file holds and how it is understood; no file is written"},
    {OPTION_FLAG, .scope = OPTION_OF_RUN, .name = "dry-run", SETTING(dry_run),
     .help = "the plan only; no file is written"},

    {OPTION_GROUP, .name = "Long runs",
     .help =
         "Frames can be made in parts, by several processes or machines, and a run that was interrupted can go on."},
    OPTION_ROWS_PIECES(recon_settings, pieces, part, "frames"),
    OPTION_ROWS_BATCH(recon_settings, pieces),

    {OPTION_GROUP, .name = "Messages"},
    {OPTION_FLAG, .letter = 'q', .scope = OPTION_OF_RUN, .name = "quiet", SETTING(quiet),
     .help = "only warnings and errors"},
    {OPTION_FLAG, .scope = OPTION_OF_RUN, .name = "progress", SETTING(progress), .excludes = "quiet",
     .help = "progress even if standard error is not a terminal: a line every ten seconds",
     .more =
         "The line has the stage, its share done and the time left, and for the solver the iteration and residual."},
    OPTION_ROW_DEVICES,
    OPTION_ROWS_HELP,
    {0}};
