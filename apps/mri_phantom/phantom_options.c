#include "phantom_options.h"

#include <math.h>
#include <string.h>

#include "voxfield/parse.h"

/* ---- arguments with parsers of their own ---- */

static vf_status matrix(vf_context *ctx, const char *option, const char *text, void *settings)
{
    int64_t *values = ((phantom_settings *)settings)->matrix;
    const int n = vf_parse_integers(text, 1, 3, values);
    if (n == 1)
        values[1] = values[2] = values[0];
    for (int a = 0; a < 3; a++)
        if ((n != 1 && n != 3) || values[a] < (a == 2 ? 1 : 4) || values[a] > 2048 ||
            (values[a] % 2 && !(a == 2 && values[a] == 1)))
            return vf_fail(ctx, VF_ERR_ARGUMENT,
                           "--%s '%s': expected one even number or three (x,y,z) from 4 to 2048; z may be 1", option,
                           text);
    return VF_OK;
}

static vf_status leave_out(vf_context *ctx, const char *option, const char *text, void *settings)
{
    static const option_choice known[] = {{"time", ARRAY_TIME, NULL},
                                          {"sensitivity", ARRAY_SENSITIVITY, NULL},
                                          {"field-map", ARRAY_FIELD_MAP, NULL},
                                          {"truth", ARRAY_TRUTH, NULL},
                                          {0}};
    for (const char *rest = text;; rest++) {
        const size_t length = strcspn(rest, ",");
        const option_choice *c = known;
        while (c->word && (strlen(c->word) != length || strncmp(rest, c->word, length) != 0))
            c++;
        if (!c->word)
            return vf_fail(ctx, VF_ERR_ARGUMENT,
                           "--%s '%s': expected time, sensitivity, field-map or truth, separated by commas", option,
                           text);
        ((phantom_settings *)settings)->arrays &= ~(unsigned)c->value;
        rest += length;
        if (*rest == '\0')
            return VF_OK;
    }
}

static vf_status phi(vf_context *ctx, const char *option, const char *text, void *settings)
{
    (void)ctx, (void)option, (void)text;
    ((phantom_settings *)settings)->arrays |= ARRAY_PHI;
    return VF_OK;
}

static vf_status reference(vf_context *ctx, const char *option, const char *text, void *settings)
{
    (void)ctx, (void)option, (void)text;
    ((phantom_settings *)settings)->arrays |= ARRAY_REFERENCE;
    return VF_OK;
}

static vf_status published_case(vf_context *ctx, const char *option, const char *text, void *settings)
{
    phantom_settings *s = settings;
    if (strcmp(text, "128") != 0)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--%s '%s': expected 128, the only published case", option, text);
    s->trajectory = TRAJECTORY_KOOSH_BALL;
    s->has_trajectory = true;
    s->matrix[0] = s->matrix[1] = s->matrix[2] = 128;
    s->samples = 132;
    s->readouts = 2156;
    return VF_OK;
}

static vf_status snr(vf_context *ctx, const char *option, const char *text, void *settings)
{
    double decibels = 0;
    const vf_status status = option_number(ctx, option, text, -60, 200, "dB", &decibels);
    if (status == VF_OK)
        ((phantom_settings *)settings)->noise = pow(10, -decibels / 20);
    return status;
}

static vf_status acceleration(vf_context *ctx, const char *option, const char *text, void *settings)
{
    int64_t *factor = ((phantom_settings *)settings)->accelerate;
    factor[1] = 1;
    const int n = vf_parse_integers(text, 1, 2, factor);
    for (int a = 0; a < 2; a++)
        if (n < 1 || factor[a] < 1 || factor[a] > 64)
            return vf_fail(ctx, VF_ERR_ARGUMENT,
                           "--%s '%s': expected one whole number or two (lines,partitions) from 1 to 64", option, text);
    return VF_OK;
}

/* A single number applies to the plane. The thickness of slices then follows from the matrix. */
static vf_status field_of_view(vf_context *ctx, const char *option, const char *text, void *settings)
{
    phantom_settings *s = settings;
    const program_option row = {OPTION_TRIPLE, .name = option, .least = 0.001, .most = 1e5, .unit = "mm"};
    const vf_status status = option_parse(ctx, &row, text, s->fov);
    if (!strchr(text, ','))
        s->fov[2] = 0;
    return status;
}

static vf_status readout(vf_context *ctx, const char *option, const char *text, void *settings)
{
    phantom_settings *s = settings;
    const vf_status status = option_number(ctx, option, text, 0.001, 10000, "ms", &s->readout);
    s->readout /= 1000;
    return status;
}

/* ---- the table ---- */

static const option_choice layouts[] = {
    {"plain", LAYOUT_PLAIN, "an HDF5 file with a group /scan"}, {"ismrmrd", LAYOUT_ISMRMRD, "an ISMRMRD file"}, {0}};
static const option_choice units[] = {{"normalized", UNITS_NORMALIZED, "cycles per voxel, -0.5 to 0.5"},
                                      {"fov", UNITS_FOV, "cycles per field of view"},
                                      {"radians", UNITS_RADIANS, "radians per voxel, -pi to pi"},
                                      {0}};
static const option_choice phantoms[] = {
    {"shepp-logan", PHANTOM_SHEPP_LOGAN, "ten ellipsoids with the contrast of Koay et al."},
    {"ellipsoids", PHANTOM_ELLIPSOIDS, "twelve ellipsoids that follow from the seed"},
    {"ball", PHANTOM_BALL, "one ball of value 1, off the centre"},
    {"point", PHANTOM_POINT, "a point in the centre; its image is one voxel of value 1"},
    {"head", PHANTOM_HEAD,
     "a head with T1-like contrast: scalp, skull, fluid, grey and white matter with folds, ventricles, texture, and a "
     "phase that varies by several tens of degrees"},
    {0}};
static const option_choice trajectories[] = {
    {"radial", TRAJECTORY_RADIAL, "2D: spokes"},
    {"golden-angle", TRAJECTORY_GOLDEN_ANGLE, "2D: spokes by the golden angle; the default in 2D"},
    {"spiral", TRAJECTORY_SPIRAL, "2D: spirals"},
    {"rosette", TRAJECTORY_ROSETTE, "2D: a rosette"},
    {"koosh-ball", TRAJECTORY_KOOSH_BALL, "3D: spokes in all directions, on a spiral; the default in 3D"},
    {"koosh-ball-golden", TRAJECTORY_KOOSH_BALL_GOLDEN, "3D: directions by the two-dimensional golden means"},
    {"cones", TRAJECTORY_CONES, "3D: spirals on cones"},
    {"stack-of-stars", TRAJECTORY_STACK_OF_STARS, "3D: spokes in each partition"},
    {"stack-of-spirals", TRAJECTORY_STACK_OF_SPIRALS, "3D: spirals in each partition"},
    {"cartesian", TRAJECTORY_CARTESIAN, "2D and 3D: lines of the grid"},
    {0}};

#define SETTING(member) OPTION_TO(phantom_settings, member)

const program_option phantom_options[] = {
    {OPTION_GROUP, .name = "Output"},
    {OPTION_WRITE, .letter = 'o', .name = "output", .argument = "FILE", .completes = ".h5 .mrd", SETTING(output),
     .required = true, .help = "scan: .h5 for the plain layout, .mrd for ISMRMRD"},
    {OPTION_CHOICE, .name = "layout", .argument = "LAYOUT", SETTING(layout), .choices = layouts,
     .default_help = "from the extension", .help = "layout of the file"},
    {OPTION_CHOICE, .name = "trajectory-units", .argument = "UNIT", SETTING(units), .choices = units,
     .initial = "normalized", .help = "unit of k in ISMRMRD files",
     .more = "The plain layout always has cycles per field of view."},
    {OPTION_CUSTOM, .name = "phi", .parse = phi, .help = "the transform of a voxel's box at each sample",
     .more =
         "It is the product of sinc(k / n) along the axes. A reconstruction that uses it models the object as boxes, "
         "not as points."},
    {OPTION_CUSTOM, .name = "reference", .parse = reference,
     .help = "anatomical reference: an image with the same edges and another contrast"},
    {OPTION_CUSTOM, .name = "without", .argument = "LIST", .completes = "time sensitivity field-map truth",
     .parse = leave_out,
     .help = "arrays to leave out of a plain file: time, sensitivity, field-map, truth, separated by commas"},
    {OPTION_INTEGER, .name = "compress", .argument = "LEVEL", SETTING(compress), .least = 0, .most = 9, .initial = "0",
     .help = "compression of plain files: 0 (none) to 9"},

    {OPTION_GROUP, .name = "Object"},
    {OPTION_CHOICE, .name = "phantom", .argument = "OBJECT", SETTING(phantom), .choices = phantoms,
     .initial = "shepp-logan", .help = "object",
     .more =
         "The folds and texture of the head follow from the seed. Its coils are narrower in 2D, like those of a head "
         "array."},
    {OPTION_CUSTOM, .name = "matrix", .argument = "X,Y,Z", .parse = matrix, .initial = "128",
     .help = "even numbers of voxels, or one number for all three; Z = 1 is two-dimensional",
     .more = "Numbers are from 4 to 2048. A two-dimensional scan is a slice through the small structures of the "
             "phantom."},
    {OPTION_CUSTOM, .name = "fov", .argument = "X,Y,Z", .parse = field_of_view, .initial = "240",
     .help = "field of view in mm; one number for all three, but 2D slices are then 5 mm thick",
     .more = "Numbers are from 0.001 to 100000 mm. The phantom fills the field of view."},
    {OPTION_INTEGER, .name = "frames", .argument = "N", SETTING(frames), .least = 1, .most = 65535, .initial = "1",
     .help = "number of images; the contrast grows from one to the next"},
    {OPTION_INTEGER, .name = "coils", .argument = "N", SETTING(coils), .least = 1, .most = 1024, .initial = "1",
     .help = "number of receiver coils around the object; 1 is a uniform coil",
     .more =
         "Each coil is most sensitive at its own place near the edge of the field of view. The sum of squares is 1 in "
         "the centre."},
    {OPTION_NUMBER, .name = "field-hz", .argument = "F", SETTING(field), .least = 0, .most = 1e5, .unit = "Hz",
     .initial = "0", .help = "off-resonance: a ramp from -F to F across the field of view",
     .more = "The ramp is between opposite corners."},
    {OPTION_NUMBER, .name = "fat-hz", .argument = "F", SETTING(fat), .least = -1e5, .most = 1e5, .unit = "Hz",
     .initial = "0", .needs = "phantom=head", .why = "no other object has fat",
     .help = "off-resonance of the fat in the head's scalp; -440 at 3 T"},

    {OPTION_GROUP, .name = "Trajectory",
     .help = "If --spokes, --samples or --turns is missing, the image is sampled without gaps."},
    {OPTION_CHOICE, .name = "trajectory", .argument = "NAME", SETTING(trajectory),
     OPTION_GIVEN(phantom_settings, has_trajectory), .choices = trajectories,
     .default_help = "golden-angle in 2D, koosh-ball in 3D", .help = "trajectory"},
    {OPTION_INTEGER, .name = "spokes", .argument = "N", SETTING(readouts), .least = 1, .most = 1e7,
     .help = "number of readouts, of each partition of a stack"},
    {OPTION_INTEGER, .name = "interleaves", .argument = "N", SETTING(readouts), .least = 1, .most = 1e7,
     .help = "another name for --spokes"},
    {OPTION_INTEGER, .name = "samples", .argument = "N", SETTING(samples), .least = 2, .most = 1e6,
     .help = "samples of a readout"},
    {OPTION_NUMBER, .name = "turns", .argument = "T", SETTING(turns), .least = 1e-3, .most = 1000,
     .help = "turns of a spiral; for rosettes, the angle between petals in half turns",
     .more = "The default for rosettes is 0.618."},
    {OPTION_INTEGER, .name = "oversample", .argument = "N", SETTING(oversample), .least = 1, .most = 16, .initial = "1",
     .help = "factor for the number of samples along the readout",
     .more =
         "Use 2 for spokes through the centre: with 1, each side of the object leaves a faint ring across the other. "
         "The encoded space of a Cartesian ISMRMRD file is N times as wide, as scanners write it."},
    {OPTION_CUSTOM, .name = "accelerate", .argument = "R[,RZ]", .parse = acceleration, .initial = "1",
     .help = "Cartesian acceleration: every R-th line and RZ-th partition, and all near the centre",
     .more = "Both are whole numbers from 1 to 64. In ISMRMRD files, extra lines near the centre are flagged as "
             "calibration, and the others there as calibration and imaging."},
    {OPTION_NUMBER, .name = "poisson", .argument = "R", SETTING(poisson), .least = 1, .most = 1000,
     .excludes = "accelerate",
     .help = "Cartesian acceleration by a Poisson disc: one in R phase encodings, denser in the centre",
     .more =
         "The density falls to a ninth from the centre to the edge. In 2D, with one axis of phase encodings, single "
         "samples are taken: no scanner does that, but many papers do."},
    {OPTION_INTEGER, .name = "calibration-lines", .argument = "N", SETTING(calibration), .least = 1, .most = 2048,
     .default_help = "24", .needs = "accelerate poisson",
     .help = "fully sampled lines and partitions in the centre of an accelerated scan"},
    {OPTION_NUMBER, .name = "partial-fourier", .argument = "F", SETTING(partial_fourier), .least = 0.625, .most = 1,
     .initial = "1", .help = "acquired share of Cartesian lines; the first are missing"},
    {OPTION_NUMBER, .name = "partial-echo", .argument = "F", SETTING(partial_echo), .least = 0.625, .most = 1,
     .initial = "1", .help = "acquired share of Cartesian readouts; the beginning is missing"},
    {OPTION_TRIPLE, .name = "delay", .argument = "X,Y,Z", SETTING(delay), .least = -10, .most = 10, .unit = "samples",
     .initial = "0", .help = "delays of the gradients: data are taken late, and the file has the nominal trajectory",
     .more = "With a delay of 1, a sample is taken where the nominal trajectory has the sample before."},
    {OPTION_FLAG, .name = "continue", SETTING(go_on), .help = "golden orders that continue from frame to frame",
     .more = "Each frame then has its own trajectory."},
    {OPTION_CUSTOM, .name = "readout-ms", .argument = "T", .parse = readout, .initial = "5",
     .help = "duration of a readout in ms",
     .more = "A number from 0.001 to 10000. The time of a sample counts from the start of its readout."},
    {OPTION_CUSTOM, .name = "case", .argument = "128", .parse = published_case,
     .help =
         "the published case, 284,592 samples and 128^3 voxels, with a trajectory of ours: koosh-ball, 2,156 spokes "
         "of 132 samples",
     .more = "It has 284,592 samples. Options that follow change parts of it."},

    {OPTION_GROUP, .name = "Noise", .help = "Noise is complex, white and Gaussian; its variance is E|n|^2."},
    {OPTION_NUMBER, .name = "noise", .argument = "S", SETTING(noise), .least = 0, .most = 1000, .initial = "0",
     .help = "standard deviation, relative to the root mean square of the data",
     .more = "Samples near the centre of k-space dominate the latter: 0.005 is typical of an image."},
    {OPTION_CUSTOM, .name = "snr", .argument = "DB", .parse = snr, .excludes = "noise",
     .help = "the same in decibels: S = 10^(-DB/20)", .more = "A number from -60 to 200."},
    {OPTION_NUMBER, .name = "image-snr", .argument = "S", SETTING(image_snr), .least = 0.01, .most = 1e6,
     .excludes = "noise snr", .help = "signal-to-noise ratio that a full Cartesian scan would have",
     .more =
         "The ratio is the mean over the object's voxels of the signal divided by the standard deviation of the noise "
         "in phase with it, for an optimal combination of the coils. It depends on the object, matrix and coils, "
         "not on the sampling."},
    {OPTION_NUMBER, .name = "noise-correlation", .argument = "R", SETTING(correlation), .least = 0, .most = 0.999,
     .initial = "0", .help = "correlation of the noise of any two coils"},
    {OPTION_FLAG, .name = "noise-scan", SETTING(noise_scan), .needs = "noise snr image-snr",
     .help = "noise acquisition for prewhitening",
     .more =
         "It has 8192 samples of noise alone: an acquisition in front of an ISMRMRD file, the dataset noise of a plain "
         "one."},
    {OPTION_INTEGER, .name = "seed", .argument = "N", SETTING(seed), .least = 0, .most = INFINITY, .initial = "1",
     .help = "seed of the noise, of --poisson, and of the phantoms ellipsoids and head"},

    {OPTION_GROUP, .name = "Running"},
    {OPTION_CUSTOM, .scope = OPTION_OF_RUN, .name = "threads", .argument = "N", .parse = option_threads,
     .default_help = "one per core", .help = "number of CPU threads",
     .more = "Only cores that the process may use are counted: its affinity, and its quota of processor time. The "
             "result does not depend on the number."},
    {OPTION_FLAG, .letter = 'q', .scope = OPTION_OF_RUN, .name = "quiet", SETTING(quiet),
     .help = "only warnings and errors"},
    OPTION_ROWS_HELP,
    {0}};
