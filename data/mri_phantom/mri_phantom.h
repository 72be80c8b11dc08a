/* mri_phantom: what its stages hand to one another.
 *
 *   phantom_make, trajectory_make, coils_make -> phantom_signal -> phantom_noise -> phantom_voxels -> write
 *
 * Positions in fractions of the field of view, which spans [-1/2, 1/2); voxel n of N lies at (n - N/2) / N. k in cycles
 * per field of view, in [-N/2, N/2). Time in s, frequencies in Hz. The signal of a coil with sensitivity s is
 *
 *   d(k, t) = N integral rho(r) s(r) exp(-i 2 pi (k.r + f(r) t)) dr,   N: the number of voxels
 *
 * so that it is near sum_n x_n s(r_n) exp(-i 2 pi (k.r_n + f(r_n) t)), where x_n is the mean of rho over voxel n: what
 * an iterative reconstruction makes of it has the values of rho. The integral is in closed form and no voxel takes part
 * in it, so that a reconstruction never meets its own discretisation in the data. Arrays in C order with x fastest.
 */
#ifndef MRI_PHANTOM_H
#define MRI_PHANTOM_H

#include <complex.h>
#include <stdint.h>

#include "voxfield/context.h"

/* C11's CMPLX, which not every compiler has. */
static inline double complex complex_of(double re, double im)
{
    const union {
        double part[2];
        double complex number;
    } both = {{re, im}};
    return both.number;
}

/* ---- what the user asked for: phantom_options.c ---- */

typedef enum phantom_kind {
    PHANTOM_SHEPP_LOGAN,
    PHANTOM_ELLIPSOIDS,
    PHANTOM_BALL,
    PHANTOM_POINT,
    PHANTOM_HEAD
} phantom_kind;

typedef enum trajectory_kind {
    TRAJECTORY_RADIAL,
    TRAJECTORY_GOLDEN_ANGLE,
    TRAJECTORY_STACK_OF_STARS,
    TRAJECTORY_KOOSH_BALL,
    TRAJECTORY_KOOSH_BALL_GOLDEN,
    TRAJECTORY_SPIRAL,
    TRAJECTORY_STACK_OF_SPIRALS,
    TRAJECTORY_CONES,
    TRAJECTORY_ROSETTE,
    TRAJECTORY_CARTESIAN,
    TRAJECTORY_COUNT
} trajectory_kind;
extern const char *const trajectory_names[TRAJECTORY_COUNT + 1]; /* NULL at the end */

typedef enum phantom_layout { LAYOUT_BY_NAME, LAYOUT_PLAIN, LAYOUT_ISMRMRD } phantom_layout;
typedef enum phantom_units { UNITS_NORMALIZED, UNITS_FOV, UNITS_RADIANS } phantom_units;

/* Arrays that a plain file may hold besides trajectory and data. */
typedef enum phantom_array {
    ARRAY_TIME = 1,
    ARRAY_PHI = 2,
    ARRAY_SENSITIVITY = 4,
    ARRAY_FIELD_MAP = 8,
    ARRAY_REFERENCE = 16,
    ARRAY_TRUTH = 32
} phantom_array;

enum { PHANTOM_SLICE = 5 }; /* mm, the thickness of a slice */

/* Numbers are checked one by one where they are read; 0 stands for a default that depends on the rest. */
typedef struct phantom_settings {
    const char *output;
    phantom_layout layout;
    phantom_units units;
    phantom_kind phantom;
    trajectory_kind trajectory;
    bool has_trajectory;
    int64_t matrix[3]; /* even; z may be 1 */
    double fov[3];     /* mm; z: 0 for that of x, or PHANTOM_SLICE where matrix[2] is 1 */
    int64_t samples, readouts;
    double turns, readout; /* readout: seconds */
    int64_t oversample;
    int64_t accelerate[2];                /* every so many lines, partitions */
    int64_t calibration;                  /* lines (and partitions) in the middle that are all there; 0: the default */
    double poisson;                       /* 0, or the ratio of all phase encodings to those acquired */
    double partial_fourier, partial_echo; /* shares of lines, of the readout that are acquired */
    int64_t coils, frames;
    double field;       /* Hz */
    double fat;         /* Hz: of the head's fat */
    double noise;       /* standard deviation relative to the rms of the data */
    double image_snr;   /* or 0: see phantom_image_sigma */
    double correlation; /* of the noise of two coils */
    bool noise_scan;
    bool go_on; /* golden orders go on from frame to frame: each frame has its own trajectory */
    int64_t seed;
    unsigned arrays; /* phantom_array */
    int64_t compress;
    bool quiet;
} phantom_settings;

/* ---- mri_phantom_pipeline.c ---- */

/* All stages, in order. Errors: VF_ERR_ARGUMENT (options that contradict each other), VF_ERR_MEMORY, VF_ERR_OUTPUT. */
VF_MUST_CHECK vf_status mri_phantom_run(vf_context *ctx, phantom_settings *settings);

/* ---- phantom_shapes.c: the object, and its image ---- */

/* An ellipsoid (an ellipse in 2D) that adds `value` inside; or, with `point`, a point whose image is one voxel. */
typedef struct phantom_shape {
    double value;
    double reference; /* the value in the anatomical reference */
    double hertz;     /* off-resonance of what it adds: a chemical shift */
    double centre[3];
    double semi[3];         /* semi-axes; semi[2] = 0 in 2D */
    double direction[3][3]; /* of each semi-axis, orthonormal; in 2D the last is z */
    bool point, fat;
} phantom_shape;

/* Texture: value exp(-|r - centre|^2 / (2 width^2)) cos(2 pi frequency.(r - centre) + phase). */
typedef struct phantom_atom {
    double value, width, phase;
    double centre[3], frequency[3]; /* in 2D, z is 0 */
} phantom_atom;

/* The image's phase: rho is multiplied by exp(i 2 pi (turns + shift.r)) (1 + i bend cos(2 pi y / 2 + bend_phase)),
 * y the second coordinate. The second factor bends the phase and, by up to sqrt(1 + bend^2), shades the magnitude. */
typedef struct phantom_phase {
    double turns, shift[3], bend, bend_phase;
} phantom_phase;

enum { PHANTOM_SHAPES = 144, PHANTOM_ATOMS = 512 };
typedef struct phantom {
    int dimensions; /* 2 or 3 */
    int shapes, atoms;
    int steady; /* the first shapes, which are the same in all frames */
    phantom_phase phase;
    phantom_shape shape[PHANTOM_SHAPES];
    phantom_atom atom[PHANTOM_ATOMS];
} phantom;

/* Makes a phantom. For 2D it is cut at the height of the Shepp-Logan phantom's middle structures, the head at 0. `seed`
 * is used by PHANTOM_ELLIPSOIDS, whose places, sizes, directions and values are random, and by PHANTOM_HEAD for folds
 * and texture. */
void phantom_make(phantom_kind kind, int dimensions, uint64_t seed, phantom *out);

/* phantom_head.c: the same for PHANTOM_HEAD; `out` is zero but for its dimensions. */
void phantom_make_head(uint64_t seed, phantom *out);

/* Gives the shapes that are fat this off-resonance; of the head. */
void phantom_set_fat(double hertz, phantom *object);

/* An ellipsoid along the axes, and its turn by `angle` in the plane of two axes. */
phantom_shape phantom_ellipsoid(const double centre[3], const double semi[3], double value);
void phantom_rotate(double direction[3][3], int a, int b, double angle);

/* Makes ellipses of ellipsoids: where the plane z = height cuts them. Of an object without texture. */
void phantom_cut(phantom *object, double height);

/* The phantom as it is in frame `frame` of `frames`: the structures inside gain contrast from frame to frame. */
void phantom_at_frame(const phantom *object, int64_t frame, int64_t frames, phantom *out);

/* The anatomical reference: the same edges with other contrast. */
void phantom_reference(const phantom *object, phantom *out);

/* The mean of |rho| over each voxel: that of the shapes from 8 points along each axis where an edge crosses the voxel,
 * of the texture by Gauss's rule, times the phase factor's magnitude at the centre. `image` [z][y][x]. */
VF_MUST_CHECK vf_status phantom_voxels(vf_context *ctx, const phantom *object, const int64_t matrix[3], float *image);

/* phantom_texture.c: adds the means of the texture over each voxel. */
VF_MUST_CHECK vf_status texture_voxels(vf_context *ctx, const phantom *object, const int64_t matrix[3], float *image);

/* The phase's factor at r. */
double complex phantom_phase_at(const phantom_phase *phase, const double r[3]);

/* ---- phantom_signal.c: its Fourier transform ---- */

/* Sensitivities that are sums of a few exponentials, s_c(r) = sum_j weight[c][j] exp(i 2 pi shift_j.r): multiplying by
 * one shifts the Fourier transform, so that the signal stays exact. */
enum { COIL_TERMS = 27, SIGNAL_TERMS = 45, COIL_STEPS = 3 };
typedef struct phantom_coils {
    int64_t coils;
    int terms;
    double base[3];            /* shift = base + step / 2, */
    int step[SIGNAL_TERMS][3]; /* -COIL_STEPS to COIL_STEPS */
    double shift[SIGNAL_TERMS][3];
    double complex *weight; /* [coil][term] */
} phantom_coils;

/* A field that varies linearly shifts k by slope * t. */
typedef struct phantom_field {
    double slope[3]; /* Hz per field of view */
} phantom_field;

/* The Fourier transform of a unit ball, by the size of 2 pi k: 4 pi (sin x - x cos x) / x^3, and of a unit disk,
 * 2 pi J1(x) / x; both by their series near 0. */
double phantom_ball_transform(double x);
double phantom_disk_transform(double x);

typedef struct phantom_trajectory phantom_trajectory;

/* phantom_texture.c: the transform of the texture, as phantom_signal.c adds shapes: at k less each of the coils' shifts
 * `sum` gains N times it. `prepared` is one of texture_prepare's atoms; less than 1e-12 of an atom's largest value is
 * left out. */
typedef struct prepared_atom {
    double decay; /* 2 pi^2 width^2 */
    double reach; /* of |k - frequency| beyond which nothing is left */
    double centre[3], frequency[3];
    double complex amplitude;           /* of the lobe at +frequency; its conjugate at -frequency */
    double complex phase[SIGNAL_TERMS]; /* exp(i 2 pi u.c - decay |u|^2), u: the coil's shift */
} prepared_atom;
void texture_prepare(const phantom_atom *atom, int dimensions, const phantom_coils *coils, double voxels,
                     prepared_atom *out);
void texture_add(const prepared_atom *prepared, const phantom_coils *coils, const double k[3],
                 double complex sum[SIGNAL_TERMS]);

/* The signal of every coil at every sample of one set of the trajectory, [coil][sample]. */
VF_MUST_CHECK vf_status phantom_signal(vf_context *ctx, const phantom *object, const phantom_coils *coils,
                                       const phantom_field *field, const phantom_trajectory *trajectory, int64_t set,
                                       const int64_t matrix[3], float complex *data);

/* ---- phantom_coils.c ---- */

/* `coils` coils around the field of view. Each has its largest sensitivity at its own place near the edge, from where
 * it falls off like cos^(2 power) along each axis, with a phase that varies; the sum of squares is 1 in the middle. One
 * coil is uniform. `power`: 1; or 2 (in 2D only), narrower coils like those of a head array: eight of them have a
 * g-factor of 1.5 on average where every third line is acquired, against 3.8. Free with coils_free. */
VF_MUST_CHECK vf_status coils_make(vf_context *ctx, int64_t coils, int dimensions, int power, phantom_coils *out);
void coils_free(phantom_coils *coils);

/* Coils that see the object with its phase: the products of their maps and the phase factor. Free `out`. */
VF_MUST_CHECK vf_status coils_with_phase(vf_context *ctx, const phantom_coils *coils, const phantom_phase *phase,
                                         phantom_coils *out);
void coils_voxels(vf_context *ctx, const phantom_coils *coils, const int64_t matrix[3], float complex *maps);

/* A ramp from -hertz in one corner of the field of view to hertz in the opposite one. */
void field_make(double hertz, int dimensions, phantom_field *out);
void field_voxels(const phantom_field *field, const int64_t matrix[3], float *map);

/* ---- trajectories ---- */

/* `readouts` in the order they are acquired, of `length` samples each: all there is of one frame. `sets` of them: 1, or
 * one a frame, which differ in k only. */
struct phantom_trajectory {
    int64_t sets, readouts, length, samples;
    int64_t centre; /* the sample of a readout that is at the middle of k-space */
    int64_t partitions;
    float *k;          /* [set][readout][length][3] */
    float *time;       /* [readout][length] s since the readout began */
    uint16_t *step[2]; /* [readout]: number of the line in its partition, of the partition */
    uint8_t *use;      /* [readout]: phantom_use */
};

/* What a readout is for: the image; the coils' maps alone (between lines that an accelerated scan leaves out); both. */
typedef enum phantom_use { USE_IMAGE, USE_CALIBRATION, USE_BOTH } phantom_use;

/* phantom_undersample.c: which phase encodings of a Cartesian scan are acquired: `mask` [partition][line] gets a
 * phantom_use or USE_NONE. `counts`: lines, partitions. */
enum { USE_NONE = 255, CALIBRATION_LINES = 24 };
/* The lowest line that a partial Fourier scan acquires. */
int64_t undersample_first_line(const phantom_settings *s, int64_t lines);
VF_MUST_CHECK vf_status undersample(vf_context *ctx, const phantom_settings *s, const int64_t counts[2], uint8_t *mask);

/* Makes a trajectory, after filling in the defaults of `settings` that are still 0. Errors: VF_ERR_ARGUMENT (matrix and
 * trajectory do not fit, too many samples), VF_ERR_MEMORY. Free with trajectory_free. */
VF_MUST_CHECK vf_status trajectory_make(vf_context *ctx, phantom_settings *settings, phantom_trajectory *out);
void trajectory_free(phantom_trajectory *trajectory);

/* The transform of a voxel's box, prod sinc(k_a / N_a), at each sample, [set][sample]. */
void trajectory_phi(const phantom_trajectory *trajectory, const int64_t matrix[3], float complex *phi);

/* ---- phantom_noise.c ---- */

/* Random numbers: xoshiro256++ (Blackman and Vigna 2018, public domain), started by splitmix64. */
typedef struct phantom_random {
    uint64_t state[4];
} phantom_random;
phantom_random random_start(uint64_t seed, uint64_t stream);
double random_uniform(phantom_random *random);        /* in [0, 1) */
double complex random_normal(phantom_random *random); /* E |z|^2 = 1, by Box and Muller */

/* The root mean square of `count` numbers. */
double complex_rms(const float complex *data, int64_t count);

/* Adds complex white Gaussian noise with E |n|^2 = sigma^2 to data [coil][sample]; `correlation` between any two coils.
 * `stream` numbers independent noise of one seed. */
VF_MUST_CHECK vf_status phantom_noise(vf_context *ctx, double sigma, double correlation, uint64_t seed, uint64_t stream,
                                      int64_t coils, int64_t samples, float complex *data);

/* The standard deviation of noise with which a fully sampled Cartesian scan has the signal-to-noise ratio `snr`: the
 * mean over the object's voxels (a tenth of the largest at least) of signal over the noise's standard deviation, when
 * coils are combined optimally (Roemer et al., Magn. Reson. Med. 16 (1990) 192). Of d = sum_n x_n exp(-i 2 pi k.r_n)
 * the inverse transform has noise of variance sigma^2 / N a voxel and coil; the combination leaves
 * sigma^2 / (N s^H P^-1 s), P: the coils' correlation; half of it is in phase with the signal, which is what a
 * magnitude shows. So sigma = sqrt(2 N) mean(x sqrt(s^H P^-1 s)) / snr. */
VF_MUST_CHECK vf_status phantom_image_sigma(vf_context *ctx, const phantom *object, const phantom_coils *coils,
                                            double correlation, const int64_t matrix[3], double snr, double *sigma);

/* ---- writing ---- */

enum { NOISE_SAMPLES = 8192 }; /* of a noise acquisition */

/* All that was made; arrays that are not to be written are NULL. */
typedef struct phantom_scan {
    const phantom_settings *settings;
    const phantom_trajectory *trajectory;
    const float complex *data;        /* [frame][coil][sample] */
    const float complex *phi;         /* [set][sample] */
    const float complex *sensitivity; /* [coil][z][y][x] */
    const float *field_map;           /* [z][y][x] */
    const float *reference;           /* [1][z][y][x] */
    const float *truth;               /* [z][y][x], or [frame][z][y][x] with several frames */
    const float complex *noise;       /* [coil][NOISE_SAMPLES] of noise alone */
    double sigma;                     /* of the noise */
    char description[256];            /* one line for people */
} phantom_scan;

/* Group /scan of docs/scans.md, or ISMRMRD; atomically. Errors: VF_ERR_OUTPUT, VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status phantom_write_plain(vf_context *ctx, const phantom_scan *scan);
/* Refuses, before the work, what ISMRMRD has no place for; a field map is a warning. Errors: VF_ERR_ARGUMENT. */
VF_MUST_CHECK vf_status phantom_check_ismrmrd(vf_context *ctx, const phantom_settings *settings,
                                              const phantom_trajectory *trajectory);
VF_MUST_CHECK vf_status phantom_write_ismrmrd(vf_context *ctx, const phantom_scan *scan);

#endif
