/* mri_phantom: options, and nothing else. The work is mri_phantom_run's. */
#include <getopt.h>
#include <math.h>
#include <string.h>

#include "mri_phantom.h"
#include "program.h"
#include "voxfield/parse.h"

static const char usage[] =
    "mri_phantom - MRI scans of a phantom whose signal is known in closed form\n"
    "\n"
    "usage: mri_phantom [options] -o scan.h5\n"
    "\n"
    "Output\n"
    "  -o, --output FILE        the scan; .h5 is the plain layout, .mrd is ISMRMRD\n"
    "  --layout L               plain or ismrmrd, whatever the name\n"
    "  --trajectory-units U     of ISMRMRD files: normalized (default), fov or radians\n"
    "  --phi                    write the transform of a voxel's box at each sample\n"
    "  --reference              write an anatomical image with the same edges\n"
    "  --without LIST           of time,sensitivity,field-map,truth: leave these out\n"
    "  --compress LEVEL         0 (default) to 9\n"
    "\n"
    "Object\n"
    "  --phantom P              shepp-logan (default), ellipsoids, ball, point, or head: tissues,\n"
    "                           folds, texture and phase\n"
    "  --matrix X,Y,Z           even numbers (one for all three); Z = 1: two-dimensional (128)\n"
    "  --fov X,Y,Z              field of view in mm (240); one number for all three, but slices\n"
    "                           are then 5 mm thick\n"
    "  --frames N               images, with contrast that grows from one to the next (1)\n"
    "  --coils N                receiver coils around the object (1: uniform)\n"
    "  --field-hz F             off-resonance, from -F to F across the field of view (0)\n"
    "  --fat-hz F               of --phantom head: off-resonance of its fat; -440 at 3 T (0)\n"
    "\n"
    "Trajectory\n"
    "  --trajectory T           2D: radial, golden-angle (default), spiral, rosette, cartesian;\n"
    "                           3D: koosh-ball (default), koosh-ball-golden, cones,\n"
    "                           stack-of-stars, stack-of-spirals, cartesian\n"
    "  --spokes N               readouts (of each partition of a stack); the default of this and\n"
    "  --interleaves N          (the same) the next two samples the image without gaps\n"
    "  --samples N              samples of a readout\n"
    "  --turns T                of a spiral; of rosettes: what a petal turns by, in half turns\n"
    "  --oversample N           samples along the readout times N (1)\n"
    "  --accelerate R[,RZ]      Cartesian: every R-th line and RZ-th partition, and all in the\n"
    "                           middle (1)\n"
    "  --poisson R              Cartesian: one in R phase encodings, by a Poisson disc that is\n"
    "                           denser in the middle; in 2D of single samples\n"
    "  --calibration-lines N    of the middle, along each axis, for these two (24)\n"
    "  --partial-fourier F      Cartesian: the share of lines acquired, 0.625 to 1 (1)\n"
    "  --partial-echo F         Cartesian: the share of the readout, without its beginning (1)\n"
    "  --continue               golden orders go on from frame to frame\n"
    "  --readout-ms T           duration of a readout (5)\n"
    "  --case 128               the published case: koosh-ball, 2,156 spokes of 132 samples, 128^3\n"
    "\n"
    "Noise: complex, white, Gaussian\n"
    "  --noise S                standard deviation, relative to the rms of the data (0)\n"
    "  --snr DB                 the same in decibels: S = 10^(-DB/20)\n"
    "  --image-snr S            noise with which a full Cartesian scan has this signal-to-noise ratio\n"
    "  --noise-correlation R    of the noise of any two coils, 0 to below 1 (0)\n"
    "  --noise-scan             a noise acquisition, for prewhitening\n"
    "  --seed N                 of the noise, --poisson, and --phantom ellipsoids and head (1)\n"
    "\n"
    "  --threads N              CPU threads (default: one per core)\n"
    "  -q, --quiet              only warnings and errors\n"
    "  -h, --help               this text\n"
    "  --version                the version\n"
    "\n"
    "Examples\n"
    "  mri_phantom --case 128 -o case128.h5\n"
    "  mri_phantom --matrix 192,192,1 --coils 8 --spokes 96 --snr 45 -o slice.h5\n"
    "  mri_phantom --phantom head --matrix 192,192,1 --coils 8 --spokes 96 --oversample 2 \\\n"
    "      --image-snr 30 -o head.h5\n"
    "  mri_phantom --matrix 64 --trajectory cartesian --oversample 2 --coils 4 -o scan.mrd\n"
    "\n"
    "Exit status: 0 done, 2 options, 4 output, 5 memory, 130 interrupted.\n"
    "The manual page mri_phantom(1) says more.\n";

enum {
    OPT_LAYOUT = 256,
    OPT_UNITS,
    OPT_PHI,
    OPT_REFERENCE,
    OPT_WITHOUT,
    OPT_COMPRESS,
    OPT_PHANTOM,
    OPT_MATRIX,
    OPT_FOV,
    OPT_FRAMES,
    OPT_COILS,
    OPT_FIELD,
    OPT_FAT,
    OPT_TRAJECTORY,
    OPT_READOUTS,
    OPT_SAMPLES,
    OPT_TURNS,
    OPT_OVERSAMPLE,
    OPT_ACCELERATE,
    OPT_POISSON,
    OPT_CALIBRATION,
    OPT_PARTIAL_FOURIER,
    OPT_PARTIAL_ECHO,
    OPT_READOUT,
    OPT_CONTINUE,
    OPT_CASE,
    OPT_NOISE,
    OPT_SNR,
    OPT_IMAGE_SNR,
    OPT_CORRELATION,
    OPT_NOISE_SCAN,
    OPT_SEED,
    OPT_THREADS,
    OPT_VERSION,
};

static const struct option options[] = {
    {"output", required_argument, NULL, 'o'},
    {"layout", required_argument, NULL, OPT_LAYOUT},
    {"trajectory-units", required_argument, NULL, OPT_UNITS},
    {"phi", no_argument, NULL, OPT_PHI},
    {"reference", no_argument, NULL, OPT_REFERENCE},
    {"without", required_argument, NULL, OPT_WITHOUT},
    {"compress", required_argument, NULL, OPT_COMPRESS},
    {"phantom", required_argument, NULL, OPT_PHANTOM},
    {"matrix", required_argument, NULL, OPT_MATRIX},
    {"fov", required_argument, NULL, OPT_FOV},
    {"frames", required_argument, NULL, OPT_FRAMES},
    {"coils", required_argument, NULL, OPT_COILS},
    {"field-hz", required_argument, NULL, OPT_FIELD},
    {"fat-hz", required_argument, NULL, OPT_FAT},
    {"trajectory", required_argument, NULL, OPT_TRAJECTORY},
    {"spokes", required_argument, NULL, OPT_READOUTS},
    {"interleaves", required_argument, NULL, OPT_READOUTS},
    {"samples", required_argument, NULL, OPT_SAMPLES},
    {"turns", required_argument, NULL, OPT_TURNS},
    {"oversample", required_argument, NULL, OPT_OVERSAMPLE},
    {"accelerate", required_argument, NULL, OPT_ACCELERATE},
    {"poisson", required_argument, NULL, OPT_POISSON},
    {"calibration-lines", required_argument, NULL, OPT_CALIBRATION},
    {"partial-fourier", required_argument, NULL, OPT_PARTIAL_FOURIER},
    {"partial-echo", required_argument, NULL, OPT_PARTIAL_ECHO},
    {"readout-ms", required_argument, NULL, OPT_READOUT},
    {"continue", no_argument, NULL, OPT_CONTINUE},
    {"case", required_argument, NULL, OPT_CASE},
    {"noise", required_argument, NULL, OPT_NOISE},
    {"snr", required_argument, NULL, OPT_SNR},
    {"image-snr", required_argument, NULL, OPT_IMAGE_SNR},
    {"noise-correlation", required_argument, NULL, OPT_CORRELATION},
    {"noise-scan", no_argument, NULL, OPT_NOISE_SCAN},
    {"seed", required_argument, NULL, OPT_SEED},
    {"threads", required_argument, NULL, OPT_THREADS},
    {"quiet", no_argument, NULL, 'q'},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, OPT_VERSION},
    {0},
};

/* ---- values ---- */

static vf_status matrix(vf_context *ctx, const char *text, int64_t *values)
{
    int n = vf_parse_integers(text, 1, 3, values);
    if (n == 1)
        values[1] = values[2] = values[0];
    for (int a = 0; a < 3; a++)
        if ((n != 1 && n != 3) || values[a] < (a == 2 ? 1 : 4) || values[a] > 2048 ||
            (values[a] % 2 && !(a == 2 && values[a] == 1)))
            return vf_fail(ctx, VF_ERR_ARGUMENT,
                           "--matrix '%s': expected one even number or three (x,y,z) from 4 to 2048; z may be 1", text);
    return VF_OK;
}

static vf_status leave_out(vf_context *ctx, const char *text, unsigned *arrays)
{
    static const struct {
        const char *name;
        unsigned array;
    } known[] = {{"time", ARRAY_TIME},
                 {"sensitivity", ARRAY_SENSITIVITY},
                 {"field-map", ARRAY_FIELD_MAP},
                 {"truth", ARRAY_TRUTH}};
    for (const char *rest = text;; rest++) {
        size_t length = strcspn(rest, ","), n = 0, count = sizeof known / sizeof *known;
        while (n < count && (strlen(known[n].name) != length || strncmp(rest, known[n].name, length) != 0))
            n++;
        if (n == count)
            return vf_fail(ctx, VF_ERR_ARGUMENT,
                           "--without '%s': expected some of time,sensitivity,field-map,truth, separated by commas",
                           text);
        *arrays &= ~known[n].array;
        rest += length;
        if (*rest == '\0')
            return VF_OK;
    }
}

static vf_status published_case(vf_context *ctx, const char *text, phantom_settings *s)
{
    if (strcmp(text, "128") != 0)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--case '%s': there is one published case, 128", text);
    s->trajectory = TRAJECTORY_KOOSH_BALL;
    s->has_trajectory = true;
    s->matrix[0] = s->matrix[1] = s->matrix[2] = 128;
    s->samples = 132;
    s->readouts = 2156;
    return VF_OK;
}

/* ---- options ---- */

static vf_status names_option(vf_context *ctx, int option, const char *text, phantom_settings *s)
{
    static const char *const layouts[] = {"plain", "ismrmrd", NULL};
    static const char *const units[] = {"normalized", "fov", "radians", NULL};
    static const char *const objects[] = {"shepp-logan", "ellipsoids", "ball", "point", "head", NULL};
    vf_status status;
    int value = 0;
    switch (option) {
    case OPT_LAYOUT:
        status = program_word(ctx, "layout", text, layouts, &value);
        s->layout = value == 0 ? LAYOUT_PLAIN : LAYOUT_ISMRMRD;
        return status;
    case OPT_UNITS:
        status = program_word(ctx, "trajectory-units", text, units, &value);
        s->units = (phantom_units)value;
        return status;
    case OPT_PHANTOM:
        status = program_word(ctx, "phantom", text, objects, &value);
        s->phantom = (phantom_kind)value;
        return status;
    default:
        status = program_word(ctx, "trajectory", text, trajectory_names, &value);
        s->trajectory = (trajectory_kind)value;
        s->has_trajectory = true;
        return status;
    }
}

static vf_status snr(vf_context *ctx, const char *text, phantom_settings *s)
{
    double decibels;
    vf_status status = program_number(ctx, "snr", text, -60, 200, &decibels);
    if (status == VF_OK)
        s->noise = pow(10, -decibels / 20);
    return status;
}

static vf_status acceleration(vf_context *ctx, const char *text, int64_t factor[2])
{
    factor[1] = 1;
    int n = vf_parse_integers(text, 1, 2, factor);
    for (int a = 0; a < 2; a++)
        if (n < 1 || factor[a] < 1 || factor[a] > 64)
            return vf_fail(ctx, VF_ERR_ARGUMENT,
                           "--accelerate '%s': expected one whole number or two (lines,partitions) from 1 to 64", text);
    return VF_OK;
}

static vf_status field_of_view(vf_context *ctx, const char *text, phantom_settings *s)
{
    vf_status status = program_triple(ctx, "fov", text, 0.001, 1e5, "mm", s->fov);
    if (!strchr(text, ','))
        s->fov[2] = 0;
    return status;
}

static vf_status readout(vf_context *ctx, const char *text, phantom_settings *s)
{
    vf_status status = program_number(ctx, "readout-ms", text, 0.001, 10000, &s->readout);
    s->readout /= 1000;
    return status;
}

static vf_status one_option(vf_context *ctx, int option, const char *text, phantom_settings *s)
{
    switch (option) {
    case 'o':
        s->output = text;
        return VF_OK;
    case 'q':
        s->quiet = true;
        return VF_OK;
    case OPT_LAYOUT:
    case OPT_UNITS:
    case OPT_PHANTOM:
    case OPT_TRAJECTORY:
        return names_option(ctx, option, text, s);
    case OPT_PHI:
        s->arrays |= ARRAY_PHI;
        return VF_OK;
    case OPT_REFERENCE:
        s->arrays |= ARRAY_REFERENCE;
        return VF_OK;
    case OPT_WITHOUT:
        return leave_out(ctx, text, &s->arrays);
    case OPT_COMPRESS:
        return program_integer(ctx, "compress", text, 0, 9, &s->compress);
    case OPT_MATRIX:
        return matrix(ctx, text, s->matrix);
    case OPT_FOV:
        return field_of_view(ctx, text, s);
    case OPT_FRAMES:
        return program_integer(ctx, "frames", text, 1, 65535, &s->frames);
    case OPT_COILS:
        return program_integer(ctx, "coils", text, 1, 1024, &s->coils);
    case OPT_FIELD:
        return program_number(ctx, "field-hz", text, 0, 1e5, &s->field);
    case OPT_FAT:
        return program_number(ctx, "fat-hz", text, -1e5, 1e5, &s->fat);
    case OPT_READOUTS:
        return program_integer(ctx, "spokes", text, 1, 10000000, &s->readouts);
    case OPT_SAMPLES:
        return program_integer(ctx, "samples", text, 2, 1000000, &s->samples);
    case OPT_TURNS:
        return program_number(ctx, "turns", text, 1e-3, 1000, &s->turns);
    case OPT_OVERSAMPLE:
        return program_integer(ctx, "oversample", text, 1, 16, &s->oversample);
    case OPT_ACCELERATE:
        return acceleration(ctx, text, s->accelerate);
    case OPT_POISSON:
        return program_number(ctx, "poisson", text, 1, 1000, &s->poisson);
    case OPT_CALIBRATION:
        return program_integer(ctx, "calibration-lines", text, 1, 2048, &s->calibration);
    case OPT_PARTIAL_FOURIER:
        return program_number(ctx, "partial-fourier", text, 0.625, 1, &s->partial_fourier);
    case OPT_PARTIAL_ECHO:
        return program_number(ctx, "partial-echo", text, 0.625, 1, &s->partial_echo);
    case OPT_READOUT:
        return readout(ctx, text, s);
    case OPT_CONTINUE:
        s->go_on = true;
        return VF_OK;
    case OPT_CASE:
        return published_case(ctx, text, s);
    case OPT_NOISE:
        return program_number(ctx, "noise", text, 0, 1000, &s->noise);
    case OPT_SNR:
        return snr(ctx, text, s);
    case OPT_IMAGE_SNR:
        return program_number(ctx, "image-snr", text, 0.01, 1e6, &s->image_snr);
    case OPT_CORRELATION:
        return program_number(ctx, "noise-correlation", text, 0, 0.999, &s->correlation);
    case OPT_NOISE_SCAN:
        s->noise_scan = true;
        return VF_OK;
    case OPT_SEED:
        return program_integer(ctx, "seed", text, 0, INT64_MAX, &s->seed);
    case OPT_THREADS:
        return program_threads(ctx, text);
    default: /* getopt has said what is wrong */
        return vf_fail(ctx, VF_ERR_ARGUMENT, "mri_phantom --help lists the options");
    }
}

static vf_status read_options(vf_context *ctx, const program *p, int argc, char **argv, phantom_settings *s)
{
    bool noise = false, in_decibels = false, of_image = false;
    int option;
    while ((option = getopt_long(argc, argv, "o:qh", options, NULL)) != -1) {
        if (option == 'h' || option == OPT_VERSION)
            program_print_and_exit(p, option == 'h');
        noise |= option == OPT_NOISE;
        in_decibels |= option == OPT_SNR;
        of_image |= option == OPT_IMAGE_SNR;
        vf_status status = one_option(ctx, option, optarg, s);
        if (status != VF_OK)
            return status;
    }
    if (noise + in_decibels + of_image > 1)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "%s and %s exclude each other", noise ? "--noise" : "--snr",
                       in_decibels && noise ? "--snr" : "--image-snr");
    if (optind < argc)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "'%s': nothing is read; the file to write follows -o", argv[optind]);
    if (!s->output || s->output[0] == '\0')
        return vf_fail(ctx, VF_ERR_ARGUMENT, "no output: mri_phantom -o scan.h5 (mri_phantom --help says more)");
    return VF_OK;
}

static vf_status run_phantom(vf_context *ctx, program *p, int argc, char **argv)
{
    phantom_settings settings = {
        .matrix = {128, 128, 128},
        .fov = {240, 240, 0},
        .readout = 0.005,
        .oversample = 1,
        .accelerate = {1, 1},
        .partial_fourier = 1,
        .partial_echo = 1,
        .coils = 1,
        .frames = 1,
        .seed = 1,
        .arrays = ARRAY_TIME | ARRAY_SENSITIVITY | ARRAY_FIELD_MAP | ARRAY_TRUTH,
    };
    vf_status status = read_options(ctx, p, argc, argv, &settings);
    p->quiet = settings.quiet;
    return status == VF_OK ? mri_phantom_run(ctx, &settings) : status;
}

int main(int argc, char **argv)
{
    program p = {.name = "mri_phantom", .usage = usage, .run = run_phantom};
    return program_main(&p, argc, argv);
}
