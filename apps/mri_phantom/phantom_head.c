/* A head: ellipsoids for tissues with edges, folds at the brain's rim, texture inside, and a phase. Values resemble
 * a T1-weighted scan (white matter is brightest except for fat, fluid is dark); the reference resembles a
 * T2-weighted one. The anatomy is not measured: sizes are those of a head of 177 x 216 mm in a field of view of 240
 * mm. x to the left, y to the back, z to the head. */
#include <math.h>
#include <stddef.h>

#include "mri_phantom.h"

enum { OCTAVES = 4, LEVELS = 3 };

/* T1-like and T2-like values of a tissue. */
typedef struct tissue {
    double t1, t2;
} tissue;
static const tissue air = {0, 0}, skin = {0.55, 0.35}, bone = {0.06, 0.05}, marrow = {0.5, 0.4}, fluid = {0.16, 1.3},
                    grey = {0.66, 0.72}, white = {0.95, 0.5}, nucleus = {0.72, 0.62}, lesion = {0.7, 1.0};
static const tissue fat = {0.5, 0.45}; /* in addition to the water of the skin around it */

static const double brain[3] = {0.306, 0.386, 0.36};      /* semi-axes */
static const double white_core[3] = {0.104, 0.288, 0.27}; /* semi-axes in each half */
static const double core_x = 0.125;                       /* distance of its centre from the middle */
static const double cortex = 0.010;                       /* thickness of the grey rim, without folds */

/* Adds a shape that turns the tissue `from` around it into `to`. */
static phantom_shape *add(phantom *out, const double centre[3], const double semi[3], tissue from, tissue to)
{
    phantom_shape *shape = &out->shape[out->shapes++];
    *shape = phantom_ellipsoid(centre, semi, to.t1 - from.t1);
    shape->reference = to.t2 - from.t2;
    return shape;
}

/* ---- shells ---- */

static void add_shells(phantom *out)
{
    static const double middle[3] = {0, 0, 0};
    static const struct {
        double semi[3];
        const tissue *from, *to;
        bool fatty;
    } shells[] = {
        {{0.370, 0.450, 0.420}, &air, &skin, false},    {{0.363, 0.443, 0.413}, &air, &fat, true},
        {{0.344, 0.424, 0.396}, &fat, &air, true},      {{0.344, 0.424, 0.396}, &skin, &bone, false},
        {{0.336, 0.416, 0.388}, &bone, &marrow, false}, {{0.327, 0.407, 0.380}, &marrow, &bone, false},
        {{0.318, 0.398, 0.372}, &bone, &fluid, false},  {{0.306, 0.386, 0.360}, &fluid, &grey, false},
    };
    for (size_t n = 0; n < sizeof shells / sizeof *shells; n++)
        add(out, middle, shells[n].semi, *shells[n].from, *shells[n].to)->fat = shells[n].fatty;
}

/* ---- structures on both sides ---- */

typedef struct part {
    double centre[3], semi[3], lean; /* lean: of the semi-axis along y towards the middle in front, radians */
    const tissue *from, *to;
} part;

static void add_parts(phantom *out, const part *parts, size_t count)
{
    for (size_t n = 0; n < count; n++)
        for (int side = -1; side <= 1; side += 2) {
            const part *p = &parts[n];
            double centre[3] = {side * p->centre[0], p->centre[1], p->centre[2]};
            if (p->centre[0] == 0 && side > 0)
                continue;
            phantom_rotate(add(out, centre, p->semi, *p->from, *p->to)->direction, 0, 1, -side * p->lean);
        }
}

static void add_inside(phantom *out)
{
    const part parts[] = {
        {{core_x, 0, 0}, {white_core[0], white_core[1], white_core[2]}, 0, &grey, &white},
        {{0, -0.125, 0.01}, {0.020, 0.020, 0.05}, 0, &grey, &white},   /* corpus callosum: genu, */
        {{0, 0.135, 0.01}, {0.020, 0.022, 0.05}, 0, &grey, &white},    /* splenium */
        {{0.040, -0.265, 0}, {0.013, 0.066, 0.1}, 0.1, &grey, &white}, /* gyri beside the fissure */
        {{0.038, 0.268, 0}, {0.013, 0.064, 0.1}, -0.08, &grey, &white},
        {{0, -0.275, 0}, {0.0045, 0.115, 0.26}, 0, &grey, &fluid},             /* fissure in front, */
        {{0, 0.275, 0}, {0.0045, 0.113, 0.26}, 0, &grey, &fluid},              /* behind */
        {{0, 0.012, -0.02}, {0.006, 0.034, 0.03}, 0, &grey, &fluid},           /* third ventricle */
        {{0.050, -0.082, 0.02}, {0.017, 0.056, 0.05}, -0.25, &white, &fluid},  /* ventricles: frontal, */
        {{0.066, 0.150, 0.015}, {0.016, 0.060, 0.04}, 0.28, &white, &fluid},   /* occipital horns */
        {{0.085, -0.085, 0.01}, {0.014, 0.036, 0.04}, -0.2, &white, &nucleus}, /* caudate */
        {{0.128, -0.030, 0}, {0.019, 0.058, 0.05}, -0.15, &white, &nucleus},   /* putamen */
        {{0.053, 0.040, 0}, {0.026, 0.040, 0.04}, 0.45, &white, &nucleus},     /* thalamus */
        {{0.262, -0.020, -0.02}, {0.046, 0.009, 0.08}, 0.12, &grey, &fluid},   /* Sylvian fissure */
    };
    add_parts(out, parts, sizeof parts / sizeof *parts);
}

/* Structures that change from frame to frame, as with a contrast agent. */
static void add_changing(phantom *out)
{
    const part parts[] = {
        {{0.068, 0.165, 0.015}, {0.006, 0.022, 0.02}, 0.28, &fluid, &nucleus}, /* choroid plexus */
    };
    add_parts(out, parts, sizeof parts / sizeof *parts);
    add(out, (double[]){0.135, 0.105, 0}, (double[]){0.014, 0.011, 0.014}, white, lesion);
    add(out, (double[]){-0.145, -0.135, 0.01}, (double[]){0.008, 0.009, 0.02}, white, lesion);
}

/* ---- folds ---- */

/* Where a ray from (0, 0) in the plane leaves the white matter of its side. */
static double core_edge(const double ray[2], double shrink)
{
    double a = white_core[0] * shrink, b = white_core[1] * shrink, c = ray[0] < 0 ? -core_x : core_x;
    double p = ray[0] * ray[0] / (a * a) + ray[1] * ray[1] / (b * b), q = ray[0] * c / (a * a), r = c * c / (a * a) - 1;
    double root = q * q - p * r;
    return root > 0 ? (q + sqrt(root)) / p : 1;
}

static void add_fold(phantom *out, double angle, double tilt, double z, const double span[2], double thick, double deep,
                     tissue from, tissue to)
{
    double mean = (span[0] + span[1]) / 2, semi[3] = {(span[1] - span[0]) / 2, thick, deep};
    double centre[3] = {mean * cos(angle), mean * sin(angle), z};
    if (span[1] - span[0] > 0.02 && out->shapes < PHANTOM_SHAPES)
        phantom_rotate(add(out, centre, semi, from, to)->direction, 0, 1, angle + tilt);
}

/* Adds a ring of folds at a height: blades of white matter reach from the core into the grey rim, with furrows of fluid
 * between them. */
static void add_folds(phantom *out, phantom_random *random, int folds, double z, double deep)
{
    double shrink = sqrt(1 - z * z / (brain[2] * brain[2])), core = 1 - z * z / (white_core[2] * white_core[2]);
    core = core > 0 ? sqrt(core) : 0;
    for (int n = 0; n < 2 * folds; n++) {
        double angle = M_PI * ((double)n + 0.5 + 0.4 * (random_uniform(random) - 0.5)) / folds;
        double ray[2] = {cos(angle), sin(angle)}, vary = random_uniform(random),
               tilt = 0.5 * (random_uniform(random) - 0.5);
        double edge = shrink / hypot(ray[0] / brain[0], ray[1] / brain[1]), start = core_edge(ray, core);
        double join = fabs(ray[0]) < 0.5 ? 0.014 : -0.002; /* blades that meet at a small angle would overlap */
        bool in_fissure = fabs(ray[0] * edge) < 0.022, sylvian = fabs(ray[1]) < 0.16;
        if (in_fissure || (sylvian && fabs(z) < 0.1))
            continue;
        if (n % 2)
            add_fold(out, angle, tilt, z, (double[]){edge - 0.042 - 0.034 * vary, edge - 0.001}, 0.0042 + 0.002 * vary,
                     deep, grey, fluid);
        else
            add_fold(out, angle, tilt / 3, z, (double[]){start + join, edge - cortex - 0.012 * vary},
                     0.0095 + 0.004 * vary, deep, grey, white);
    }
}

/* ---- texture ---- */

/* Octaves of waves in windows of 0.6 wavelengths, enough to cover the brain, of similar height: the power falls as
 * k^-2 in the plane. The finest waves are 2 to 3 voxels long in a matrix of 192. In 3D, the octaves end at half of
 * that frequency, because covering the volume with more windows would take minutes. */
static void add_texture(phantom *out, phantom_random *random)
{
    static const int counts[2][OCTAVES] = {{30, 60, 140, 260}, {30, 90, 130, 0}};
    const int *count = counts[out->dimensions - 2];
    for (int octave = 0; octave < OCTAVES; octave++)
        for (int n = 0; n < count[octave]; n++) {
            double size = 6 * pow(2, octave + random_uniform(random)), width = fmin(0.6 / size, 0.05);
            double place[3] = {0}, f[3] = {0}, length = 2;
            phantom_atom *atom = &out->atom[out->atoms++];
            while (length > 1) /* random direction: a point in a ball */
                for (int a = 0; a < 3; a++) {
                    f[a] = a < out->dimensions ? 2 * random_uniform(random) - 1 : 0;
                    length = a == 0 ? f[0] * f[0] : length + f[a] * f[a];
                }
            double reach = 2;
            while (reach > 1) /* random place in the brain, with room for the window */
                for (int a = 0; a < 3; a++) {
                    double room = fmax(brain[a] - 3 * width, 0.05);
                    place[a] = a < out->dimensions ? brain[a] * (2 * random_uniform(random) - 1) : 0;
                    reach = (a == 0 ? 0 : reach) + place[a] * place[a] / (room * room);
                }
            *atom = (phantom_atom){.value = 0.035, .width = width, .phase = 2 * M_PI * random_uniform(random)};
            for (int a = 0; a < 3; a++) {
                atom->centre[a] = place[a];
                atom->frequency[a] = size * f[a] / sqrt(length);
            }
        }
}

/* ---- the whole ---- */

/* Heads are never quite straight. */
static void turn_head(double angle, const double shift[3], phantom *out)
{
    for (int n = 0; n < out->shapes; n++) {
        double x = out->shape[n].centre[0], y = out->shape[n].centre[1];
        out->shape[n].centre[0] = x * cos(angle) - y * sin(angle) + shift[0];
        out->shape[n].centre[1] = x * sin(angle) + y * cos(angle) + shift[1];
        phantom_rotate(out->shape[n].direction, 0, 1, angle);
    }
}

void phantom_make_head(uint64_t seed, phantom *out)
{
    phantom_random random = random_start(seed, 2);
    int dimensions = out->dimensions;
    add_shells(out);
    add_inside(out);
    if (dimensions == 2)
        add_folds(out, &random, 38, 0, 0.09);
    for (int level = 0; dimensions == 3 && level < LEVELS; level++)
        add_folds(out, &random, 11, 0.17 * (level - 1), 0.08);
    out->steady = out->shapes;
    add_changing(out);
    turn_head(0.05, (double[]){0.006, 0.003, 0}, out);
    if (dimensions == 2)
        phantom_cut(out, 0);
    add_texture(out, &random);
    out->phase = (phantom_phase){.turns = 0.06, .shift = {0.12, -0.08, 0}};
    if (dimensions == 2) { /* in 3D, its terms would take most of a minute */
        out->phase.bend = 0.6;
        out->phase.bend_phase = 0.9;
    } else {
        out->phase.shift[2] = 0.1;
    }
}

void phantom_set_fat(double hertz, phantom *object)
{
    for (int n = 0; n < object->shapes; n++)
        object->shape[n].hertz = object->shape[n].fat ? hertz : 0;
}
