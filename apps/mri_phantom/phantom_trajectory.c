/* Trajectories. Each maps (readout, share of the readout) to k in units of the matrix, [-1/2, 1/2). */
#include <math.h>
#include <stdlib.h>

#include "mri_phantom.h"

const char *const trajectory_names[TRAJECTORY_COUNT + 1] = {
    "radial", "golden-angle", "stack-of-stars", "koosh-ball", "koosh-ball-golden", "spiral", "stack-of-spirals",
    "cones",  "rosette",      "cartesian",      NULL};

static const double golden = 0.6180339887498949; /* (sqrt(5) - 1) / 2 */
/* Chan et al., Magn. Reson. Med. 61 (2009) 354: the two-dimensional golden means. */
static const double golden_mean_1 = 0.4655712318767680, golden_mean_2 = 0.6823278038280193;

static double fraction(double x)
{
    return x - floor(x);
}

/* ---- the shapes of readouts ---- */

/* Share of the readout -> share of the radius on a spiral of `turns`, at constant speed along the curve. */
static double spiral_radius(double u, double turns)
{
    double b = 2 * M_PI * turns;
    return b < 1e-9 ? u : (sqrt(1 + 2 * b * u * (1 + b / 2)) - 1) / b;
}

/* A place on readout `n` of `total`: sample `i` of `length`, counting samples that a partial echo skips. */
typedef struct place {
    const phantom_settings *settings;
    int64_t n, total, i, length, partition;
} place;

static double through_centre(const place *at)
{
    return (double)(at->i - at->length / 2) / (double)at->length;
}

/* Angles are in [0, pi), so k never reaches +1/2: only cos(pi) = -1 would. */
static void spoke_2d(const place *at, double angle, double k[3])
{
    k[0] = through_centre(at) * cos(angle);
    k[1] = through_centre(at) * sin(angle);
}

/* Directions in the upper half: z in (0, 1), turn in [0, 1). */
static void spoke_3d(const place *at, double z, double turn, double k[3])
{
    double flat = sqrt(1 - z * z), kappa = through_centre(at);
    k[0] = kappa * flat * cos(2 * M_PI * turn);
    k[1] = kappa * flat * sin(2 * M_PI * turn);
    k[2] = kappa * z;
}

static void spiral(const place *at, double k[3])
{
    double turns = at->settings->turns;
    double r = spiral_radius((double)at->i / (double)at->length, turns);
    double angle = 2 * M_PI * (turns * r + (double)at->n / (double)at->total);
    k[0] = r / 2 * cos(angle);
    k[1] = r / 2 * sin(angle);
}

/* A spiral on a cone around the z axis. The cones' angles are evenly spread over the sphere. */
static void cone(const place *at, double k[3])
{
    double z = 1 - (2 * (double)at->n + 1) / (double)at->total, flat = sqrt(1 - z * z);
    double turns = at->settings->turns;
    double r = spiral_radius((double)at->i / (double)at->length, turns * flat);
    double angle = 2 * M_PI * (turns * r + fraction((double)at->n * golden));
    k[0] = r / 2 * flat * cos(angle);
    k[1] = r / 2 * flat * sin(angle);
    k[2] = r / 2 * z;
}

/* Noll, IEEE Trans. Med. Imaging 16 (1997) 372: k = sin(w1 t) exp(i w2 t) / 2. A readout is one petal; `turns` is w2
 * / w1. */
static void petal(const place *at, double k[3])
{
    double phase = M_PI * (double)at->i / (double)at->length;
    double turn = at->settings->turns / 2 * (double)at->n; /* rotation by the earlier petals */
    double angle = 2 * M_PI * fraction(turn) + at->settings->turns * phase;
    double r = (at->n % 2 ? -0.5 : 0.5) * sin(phase);
    k[0] = r * cos(angle);
    k[1] = r * sin(angle);
}

static void one_sample(const place *at, double k[3])
{
    double n = (double)at->n, total = (double)at->total;
    const int64_t *matrix = at->settings->matrix;
    k[2] = (double)(at->partition - matrix[2] / 2) / (double)matrix[2];
    switch (at->settings->trajectory) {
    case TRAJECTORY_RADIAL:
    case TRAJECTORY_STACK_OF_STARS:
        spoke_2d(at, M_PI * n / total, k);
        break;
    case TRAJECTORY_GOLDEN_ANGLE:
        spoke_2d(at, M_PI * fraction(n * golden), k);
        break;
    case TRAJECTORY_KOOSH_BALL: /* Fibonacci's spiral: Swinbank and Purser, Q. J. R. Meteorol. Soc. 132 (2006) 1769 */
        spoke_3d(at, (n + 0.5) / total, fraction(n * golden), k);
        break;
    case TRAJECTORY_KOOSH_BALL_GOLDEN:
        spoke_3d(at, fraction((n + 0.5) * golden_mean_1), fraction((n + 0.5) * golden_mean_2), k);
        break;
    case TRAJECTORY_SPIRAL:
    case TRAJECTORY_STACK_OF_SPIRALS:
        spiral(at, k);
        break;
    case TRAJECTORY_CONES:
        cone(at, k);
        break;
    case TRAJECTORY_ROSETTE:
        petal(at, k);
        break;
    default: /* Cartesian */
        k[0] = through_centre(at);
        k[1] = (double)(at->n - matrix[1] / 2) / (double)matrix[1];
    }
}

/* ---- requirements of each ---- */

typedef enum space_kind { PLANE, STACK, VOLUME, EITHER } space_kind;

static space_kind space_of(trajectory_kind kind)
{
    switch (kind) {
    case TRAJECTORY_STACK_OF_STARS:
    case TRAJECTORY_STACK_OF_SPIRALS:
        return STACK;
    case TRAJECTORY_KOOSH_BALL:
    case TRAJECTORY_KOOSH_BALL_GOLDEN:
    case TRAJECTORY_CONES:
        return VOLUME;
    case TRAJECTORY_CARTESIAN:
        return EITHER;
    default:
        return PLANE;
    }
}

static bool out_from_centre(trajectory_kind kind)
{
    return kind == TRAJECTORY_SPIRAL || kind == TRAJECTORY_STACK_OF_SPIRALS || kind == TRAJECTORY_CONES ||
           kind == TRAJECTORY_ROSETTE;
}

static bool has_turns(trajectory_kind kind)
{
    return out_from_centre(kind);
}

static int64_t round_up(double x)
{
    return x < 1 ? 1 : x > 1e15 ? (int64_t)1e15 : (int64_t)ceil(x);
}

/* Sets readouts, turns and samples so that neighbouring samples are about one cycle per field of view apart, which
 * determines the image. N is the largest number of the matrix. */
static void fill_in(phantom_settings *s)
{
    double size = (double)s->matrix[0];
    for (int a = 1; a < 3; a++)
        size = fmax(size, (double)s->matrix[a]);
    trajectory_kind kind = s->trajectory;
    bool spiral_kind = kind == TRAJECTORY_SPIRAL || kind == TRAJECTORY_STACK_OF_SPIRALS;
    if (spiral_kind && s->readouts == 0)
        s->readouts = s->turns > 0 ? round_up(size / 2 / s->turns) : 16;
    if (s->turns == 0 && has_turns(kind))
        s->turns = spiral_kind ? fmax(size / 2 / (double)s->readouts, 0.25) : kind == TRAJECTORY_ROSETTE ? golden : 2;
    double length = size / 2 * (1 + M_PI * s->turns); /* of a spiral */
    if (kind == TRAJECTORY_CONES) {
        double mean = size / 2 * (1 + M_PI * M_PI / 4 * s->turns);
        if (s->readouts == 0) /* three times as many samples as voxels in the covered ball */
            s->readouts = round_up(M_PI / 3 * size * size * size / mean);
    } else if (kind == TRAJECTORY_KOOSH_BALL || kind == TRAJECTORY_KOOSH_BALL_GOLDEN) {
        s->readouts = s->readouts ? s->readouts : round_up(M_PI / 2 * size * size);
    } else if (kind == TRAJECTORY_ROSETTE) {
        s->readouts = s->readouts ? s->readouts : round_up(M_PI * size);
        length = M_PI / 2 * size;
    } else if (kind == TRAJECTORY_CARTESIAN) {
        s->readouts = s->matrix[1];
        s->samples = s->matrix[0] * s->oversample;
    } else if (s->readouts == 0) {
        s->readouts = round_up(M_PI / 2 * size);
    }
    if (s->samples == 0)
        s->samples = out_from_centre(kind) ? round_up(length / 0.8) * s->oversample : (int64_t)size * s->oversample;
}

/* Whether --poisson takes single samples: a Poisson disc needs two axes of phase encodings, and a plane has only
 * one. */
static bool single_samples(const phantom_settings *s)
{
    return s->poisson > 0 && s->matrix[2] == 1;
}

static vf_status check(vf_context *ctx, const phantom_settings *s)
{
    const char *name = trajectory_names[s->trajectory];
    space_kind space = space_of(s->trajectory);
    if (space == PLANE && s->matrix[2] != 1)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--trajectory %s is two-dimensional; it needs --matrix %lld,%lld,1", name,
                       (long long)s->matrix[0], (long long)s->matrix[1]);
    if ((space == VOLUME || space == STACK) && s->matrix[2] == 1)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--trajectory %s is three-dimensional; it needs a --matrix with z > 1",
                       name);
    if (s->trajectory == TRAJECTORY_CARTESIAN && (s->readouts || s->samples))
        return vf_fail(
            ctx, VF_ERR_ARGUMENT,
            "--samples and --spokes cannot be combined with --trajectory cartesian; the matrix, --oversample and "
            "--accelerate determine the samples");
    bool skips = s->accelerate[0] * s->accelerate[1] > 1;
    if (s->trajectory != TRAJECTORY_CARTESIAN &&
        (skips || s->poisson > 0 || s->partial_fourier < 1 || s->partial_echo < 1))
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "%s needs --trajectory cartesian; other trajectories have --spokes and --samples",
                       skips                    ? "--accelerate"
                       : s->poisson > 0         ? "--poisson"
                       : s->partial_fourier < 1 ? "--partial-fourier"
                                                : "--partial-echo");
    if (s->accelerate[1] > 1 && s->matrix[2] == 1)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--accelerate along z needs a --matrix with z > 1");
    if (s->calibration > 0 && !skips && s->poisson == 0)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--calibration-lines needs --accelerate or --poisson");
    if (single_samples(s) && (s->oversample > 1 || s->partial_echo < 1 || s->partial_fourier < 1))
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "--poisson in 2D takes single samples, not readouts; it cannot be combined with --oversample, "
                       "--partial-fourier or --partial-echo");
    if (s->turns > 0 && !has_turns(s->trajectory))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--turns cannot be combined with --trajectory %s", name);
    if (s->go_on && s->trajectory != TRAJECTORY_GOLDEN_ANGLE && s->trajectory != TRAJECTORY_KOOSH_BALL_GOLDEN)
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "--continue needs --trajectory golden-angle or koosh-ball-golden; %s is the same in each frame",
                       name);
    return VF_OK;
}

/* ---- making ---- */

/* Rounding to float must not leave [-N/2, N/2). */
static float inside(double k, int64_t matrix)
{
    float value = (float)(k * (double)matrix), edge = (float)matrix / 2;
    if (matrix == 1)
        return 0;
    return value >= edge ? nextafterf(edge, 0) : value < -edge ? -edge : value;
}

static void one_readout(const phantom_settings *s, const int64_t step[2], int64_t readout, uint8_t use,
                        phantom_trajectory *out)
{
    bool single = single_samples(s);
    int64_t partition = single ? 0 : step[1], left_out = single ? step[1] : s->samples - out->length;
    out->step[0][readout] = (uint16_t)step[0];
    out->step[1][readout] = (uint16_t)partition;
    out->use[readout] = use;
    for (int64_t i = 0; i < out->length; i++) {
        int64_t m = readout * out->length + i;
        for (int64_t set = 0; set < out->sets; set++) {
            double k[3];
            place at = {s, set * s->readouts + step[0], s->readouts, i + left_out, s->samples, partition};
            one_sample(&at, k);
            for (int a = 0; a < 3; a++)
                out->k[3 * (set * out->samples + m) + a] = inside(k[a], s->matrix[a]);
        }
        out->time[m] = (float)(s->readout * (double)i / (double)s->samples);
    }
}

static vf_status allocate(vf_context *ctx, phantom_trajectory *out)
{
    out->k = malloc((size_t)(out->sets * out->samples) * 3 * sizeof *out->k);
    out->time = malloc((size_t)out->samples * sizeof *out->time);
    out->use = malloc((size_t)out->readouts);
    for (int n = 0; n < 2; n++)
        out->step[n] = malloc((size_t)out->readouts * sizeof *out->step[n]);
    if (out->k && out->time && out->use && out->step[0] && out->step[1])
        return VF_OK;
    trajectory_free(out);
    return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for a trajectory of %g samples", (double)out->samples);
}

/* Counts readouts and samples: those in the mask, or all without a mask. */
static vf_status plan(vf_context *ctx, const phantom_settings *s, const int64_t counts[2], const uint8_t *mask,
                      phantom_trajectory *out)
{
    bool single = single_samples(s);
    int64_t readouts = 0, sets = s->go_on ? s->frames : 1;
    for (int64_t n = 0; n < counts[0] * counts[1]; n++)
        readouts += !mask || mask[n] != USE_NONE;
    int64_t length = single ? 1 : (int64_t)llround(s->partial_echo * (double)s->samples);
    double samples = (double)readouts * (double)length;
    if (!(samples * (double)sets <= 1e10))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "%g samples exceed the limit of 1e10; use fewer --spokes or --samples",
                       samples);
    *out = (phantom_trajectory){.sets = sets,
                                .readouts = readouts,
                                .length = length,
                                .samples = readouts * length,
                                .partitions = single ? 1 : counts[1]};
    out->centre = out_from_centre(s->trajectory) || single ? 0 : s->samples / 2 - (s->samples - length);
    return VF_OK;
}

vf_status trajectory_make(vf_context *ctx, phantom_settings *s, phantom_trajectory *out)
{
    uint8_t *mask = NULL;
    *out = (phantom_trajectory){0};
    vf_status status = check(ctx, s);
    if (status != VF_OK)
        return status;
    fill_in(s);
    space_kind space = space_of(s->trajectory);
    int64_t counts[2] = {s->readouts, space == STACK || space == EITHER ? s->matrix[2] : 1};
    if (single_samples(s))
        counts[1] = s->matrix[0];
    if (s->trajectory == TRAJECTORY_CARTESIAN) {
        mask = malloc((size_t)(counts[0] * counts[1]));
        status = mask ? undersample(ctx, s, counts, mask)
                      : vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for a trajectory");
    }
    VF_TRY(status, plan(ctx, s, counts, mask, out));
    VF_TRY(status, allocate(ctx, out));
    int64_t readout = 0;
    for (int64_t n = 0; status == VF_OK && n < counts[0] * counts[1]; n++)
        if (!mask || mask[n] != USE_NONE)
            one_readout(s, (int64_t[]){n % counts[0], n / counts[0]}, readout++, mask ? mask[n] : USE_IMAGE, out);
    free(mask);
    return status;
}

void trajectory_free(phantom_trajectory *trajectory)
{
    free(trajectory->k);
    free(trajectory->time);
    free(trajectory->step[0]);
    free(trajectory->step[1]);
    free(trajectory->use);
    *trajectory = (phantom_trajectory){0};
}

vf_status trajectory_delayed(vf_context *ctx, const phantom_trajectory *t, const double delay[3], float **k)
{
    float *out = malloc((size_t)(t->sets * t->samples) * 3 * sizeof *out);
    *k = out;
    if (!out)
        return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for a trajectory");
    for (int64_t m = 0; m < t->sets * t->samples; m++) {
        const int64_t i = m % t->length, before = i > 0 ? m - 1 : m, after = i + 1 < t->length ? m + 1 : m;
        for (int a = 0; a < 3; a++) {
            const double step =
                after > before ? ((double)t->k[3 * after + a] - t->k[3 * before + a]) / (double)(after - before) : 0;
            out[3 * m + a] = (float)(t->k[3 * m + a] - delay[a] * step);
        }
    }
    return VF_OK;
}

static double sinc(double x)
{
    return fabs(x) < 1e-8 ? 1 : sin(M_PI * x) / (M_PI * x);
}

void trajectory_phi(const phantom_trajectory *trajectory, const int64_t matrix[3], float complex *phi)
{
    for (int64_t m = 0; m < trajectory->sets * trajectory->samples; m++) {
        double product = 1;
        for (int a = 0; a < 3; a++)
            product *= matrix[a] > 1 ? sinc((double)trajectory->k[3 * m + a] / (double)matrix[a]) : 1;
        phi[m] = (float)product;
    }
}
