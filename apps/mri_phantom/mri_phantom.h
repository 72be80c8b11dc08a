/* mri_phantom: the declarations that its stages share.
 *
 *   phantom_make, trajectory_make, coils_make -> phantom_signal -> phantom_noise -> phantom_voxels -> write
 *
 * Positions are in fractions of the field of view, which spans [-1/2, 1/2); voxel n of N lies at (n - N/2) / N. k is in
 * cycles per field of view, in [-N/2, N/2), time in s, frequencies in Hz. The signal of a coil with sensitivity s is
 *
 *   d(k, t) = N integral rho(r) s(r) exp(-i 2 pi (k.r + f(r) t)) dr,   N: the number of voxels
 *
 * This is close to sum_n x_n s(r_n) exp(-i 2 pi (k.r_n + f(r_n) t)), where x_n is the mean of rho over voxel n. So an
 * iterative reconstruction gives the values of rho. The integral is in closed form and does not use voxels, so the data
 * do not contain a reconstruction's own discretisation. Arrays are in C order with x fastest. */
#ifndef MRI_PHANTOM_H
#define MRI_PHANTOM_H

#include <complex.h>
#include <stdint.h>

#include "voxfield/context.h"

/* C11's CMPLX, which some compilers lack. */
static inline double complex complex_of(double re, double im)
{
    const union {
        double part[2];
        double complex number;
    } both = {{re, im}};
    return both.number;
}

/* ---- settings: phantom_options.c ---- */

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
extern const char *const trajectory_names[TRAJECTORY_COUNT + 1]; /* ends with NULL */

typedef enum phantom_layout { LAYOUT_BY_NAME, LAYOUT_PLAIN, LAYOUT_ISMRMRD } phantom_layout;
typedef enum phantom_units { UNITS_NORMALIZED, UNITS_FOV, UNITS_RADIANS } phantom_units;

/* Optional arrays of a plain file. */
typedef enum phantom_array {
    ARRAY_TIME = 1,
    ARRAY_PHI = 2,
    ARRAY_SENSITIVITY = 4,
    ARRAY_FIELD_MAP = 8,
    ARRAY_REFERENCE = 16,
    ARRAY_TRUTH = 32
} phantom_array;

enum { PHANTOM_SLICE = 5 }; /* mm, thickness of a slice */

/* The parsers of options check each number. 0 stands for a default that depends on other settings. */
typedef struct phantom_settings {
    const char *output;
    phantom_layout layout;
    phantom_units units;
    phantom_kind phantom;
    trajectory_kind trajectory;
    bool has_trajectory;
    int64_t matrix[3]; /* even; z may be 1 */
    double fov[3];     /* mm; z: 0 for that of x, or for PHANTOM_SLICE if matrix[2] is 1 */
    int64_t samples, readouts;
    double turns, readout; /* readout: seconds */
    double delay[3];       /* of the gradients along x, y, z, in samples; k in the file is without them */
    int64_t oversample;
    int64_t accelerate[2];                /* every n-th line and partition */
    int64_t calibration;                  /* fully sampled lines (and partitions) in the middle; 0: the default */
    double poisson;                       /* 0, or the ratio of all phase encodings to acquired ones */
    double partial_fourier, partial_echo; /* acquired share of lines, and of the readout */
    int64_t coils, frames;
    double field;       /* Hz */
    double fat;         /* Hz, for the head's fat */
    double noise;       /* standard deviation, relative to the rms of the data */
    double image_snr;   /* 0: not given; see phantom_image_sigma */
    double correlation; /* of the noise of any two coils */
    bool noise_scan;
    bool go_on; /* golden orders continue from frame to frame: each frame has its own trajectory */
    int64_t seed;
    unsigned arrays; /* bits of phantom_array */
    int64_t compress;
    bool quiet;
} phantom_settings;

/* ---- mri_phantom_pipeline.c ---- */

/* Runs all stages in order. Errors: VF_ERR_ARGUMENT (contradictory options), VF_ERR_MEMORY, VF_ERR_OUTPUT. */
VF_MUST_CHECK vf_status mri_phantom_run(vf_context *ctx, phantom_settings *settings);

/* ---- phantom_shapes.c: the object, and its image ---- */

/* An ellipsoid (an ellipse in 2D) that adds `value` inside. With `point`, a point whose image is one voxel. */
typedef struct phantom_shape {
    double value;
    double reference; /* value in the anatomical reference */
    double hertz;     /* off-resonance of the added value: a chemical shift */
    double centre[3];
    double semi[3];         /* semi-axes; semi[2] = 0 in 2D */
    double direction[3][3]; /* of each semi-axis, orthonormal; in 2D, the last is z */
    bool point, fat;
} phantom_shape;

/* Texture: value exp(-|r - centre|^2 / (2 width^2)) cos(2 pi frequency.(r - centre) + phase). */
typedef struct phantom_atom {
    double value, width, phase;
    double centre[3], frequency[3]; /* in 2D, z is 0 */
} phantom_atom;

/* The image's phase: rho is multiplied by exp(i 2 pi (turns + shift.r)) (1 + i bend cos(2 pi y / 2 + bend_phase)),
 * where y is the second coordinate. The second factor bends the phase and increases the magnitude by a factor of up
 * to sqrt(1 + bend^2). */
typedef struct phantom_phase {
    double turns, shift[3], bend, bend_phase;
} phantom_phase;

enum { PHANTOM_SHAPES = 144, PHANTOM_ATOMS = 512 };
typedef struct phantom {
    int dimensions; /* 2 or 3 */
    int shapes, atoms;
    int steady; /* number of first shapes that are the same in all frames */
    phantom_phase phase;
    phantom_shape shape[PHANTOM_SHAPES];
    phantom_atom atom[PHANTOM_ATOMS];
} phantom;

/* Makes a phantom. In 2D, it is cut at the height of the Shepp-Logan phantom's middle structures, the head at 0.
 * `seed` is used by PHANTOM_ELLIPSOIDS, with random places, sizes, directions and values, and by PHANTOM_HEAD for
 * folds and texture. */
void phantom_make(phantom_kind kind, int dimensions, uint64_t seed, phantom *out);

/* phantom_head.c: makes PHANTOM_HEAD; `out` is zero except for its dimensions. */
void phantom_make_head(uint64_t seed, phantom *out);

/* Sets the off-resonance of the head's fat shapes. */
void phantom_set_fat(double hertz, phantom *object);

/* An ellipsoid along the axes; and its rotation by `angle` in the plane of two axes. */
phantom_shape phantom_ellipsoid(const double centre[3], const double semi[3], double value);
void phantom_rotate(double direction[3][3], int a, int b, double angle);

/* Replaces ellipsoids by the ellipses in the plane z = height. The object must have no texture. */
void phantom_cut(phantom *object, double height);

/* The phantom in frame `frame` of `frames`: the inner structures gain contrast from frame to frame. */
void phantom_at_frame(const phantom *object, int64_t frame, int64_t frames, phantom *out);

/* The anatomical reference: the same edges with another contrast. */
void phantom_reference(const phantom *object, phantom *out);

/* The mean of |rho| over each voxel: of the shapes from 8 points along each axis if an edge crosses the voxel, of the
 * texture by Gauss's rule; times the magnitude of the phase factor at the centre. `image` [z][y][x]. */
VF_MUST_CHECK vf_status phantom_voxels(vf_context *ctx, const phantom *object, const int64_t matrix[3], float *image);

/* phantom_texture.c: adds the mean of the texture over each voxel. */
VF_MUST_CHECK vf_status texture_voxels(vf_context *ctx, const phantom *object, const int64_t matrix[3], float *image);

/* The phase factor at r. */
double complex phantom_phase_at(const phantom_phase *phase, const double r[3]);

/* ---- phantom_signal.c: the object's Fourier transform ---- */

/* Sensitivities are sums of a few exponentials, s_c(r) = sum_j weight[c][j] exp(i 2 pi shift_j.r). Multiplying by an
 * exponential shifts the Fourier transform, so the signal stays exact. */
enum { COIL_TERMS = 27, SIGNAL_TERMS = 45, COIL_STEPS = 3 };
typedef struct phantom_coils {
    int64_t coils;
    int terms;
    double base[3];            /* shift = base + step / 2, */
    int step[SIGNAL_TERMS][3]; /* -COIL_STEPS to COIL_STEPS */
    double shift[SIGNAL_TERMS][3];
    double complex *weight; /* [coil][term] */
} phantom_coils;

/* A linear field shifts k by slope * t. */
typedef struct phantom_field {
    double slope[3]; /* Hz per field of view */
} phantom_field;

/* The Fourier transform of a unit ball at x = 2 pi |k|, 4 pi (sin x - x cos x) / x^3, and of a unit disk, 2 pi J1(x)
 * / x. Both use their series near 0. */
double phantom_ball_transform(double x);
double phantom_disk_transform(double x);

typedef struct phantom_trajectory phantom_trajectory;

/* phantom_texture.c: adds the transform of the texture, as phantom_signal.c adds shapes: for each of the coils'
 * shifts, N times the value at k minus the shift goes to `sum`. `prepared` comes from texture_prepare. Values below
 * 1e-12 of an atom's largest value are skipped. */
typedef struct prepared_atom {
    double decay; /* 2 pi^2 width^2 */
    double reach; /* beyond this |k - frequency|, the atom is skipped */
    double centre[3], frequency[3];
    double complex amplitude;           /* of the lobe at +frequency; the lobe at -frequency has its conjugate */
    double complex phase[SIGNAL_TERMS]; /* exp(i 2 pi u.c - decay |u|^2), where u is the coil's shift */
} prepared_atom;
void texture_prepare(const phantom_atom *atom, int dimensions, const phantom_coils *coils, double voxels,
                     prepared_atom *out);
void texture_add(const prepared_atom *prepared, const phantom_coils *coils, const double k[3],
                 double complex sum[SIGNAL_TERMS]);

/* The signal of every coil at every sample of one trajectory set, [coil][sample]. */
VF_MUST_CHECK vf_status phantom_signal(vf_context *ctx, const phantom *object, const phantom_coils *coils,
                                       const phantom_field *field, const phantom_trajectory *trajectory, int64_t set,
                                       const int64_t matrix[3], float complex *data);

/* ---- phantom_coils.c ---- */

/* Makes `coils` coils around the field of view. Each is most sensitive at its own place near the edge and falls off
 * like cos^(2 power) along each axis, with varying phase. The sum of squares is 1 in the middle. A single coil is
 * uniform. `power`: 1; or 2 (only in 2D) for narrower coils, like those of a head array: eight of them have a mean
 * g-factor of 1.5 if every third line is acquired, instead of 3.8. Free with coils_free. */
VF_MUST_CHECK vf_status coils_make(vf_context *ctx, int64_t coils, int dimensions, int power, phantom_coils *out);
void coils_free(phantom_coils *coils);

/* Coils that include the object's phase: the products of their maps and the phase factor. Free `out`. */
VF_MUST_CHECK vf_status coils_with_phase(vf_context *ctx, const phantom_coils *coils, const phantom_phase *phase,
                                         phantom_coils *out);
void coils_voxels(vf_context *ctx, const phantom_coils *coils, const int64_t matrix[3], float complex *maps);

/* A ramp from -hertz in one corner of the field of view to hertz in the opposite corner. */
void field_make(double hertz, int dimensions, phantom_field *out);
void field_voxels(const phantom_field *field, const int64_t matrix[3], float *map);

/* ---- trajectories ---- */

/* `readouts` of `length` samples each, in the order of acquisition: one frame. There are `sets` of them: 1, or one per
 * frame; sets differ only in k. */
struct phantom_trajectory {
    int64_t sets, readouts, length, samples;
    int64_t centre; /* the sample of a readout at the middle of k-space */
    int64_t partitions;
    float *k;          /* [set][readout][length][3] */
    float *time;       /* [readout][length] s since the start of the readout */
    uint16_t *step[2]; /* [readout]: numbers of the line in its partition, and of the partition */
    uint8_t *use;      /* [readout]: phantom_use */
};

/* The purpose of a readout: the image, the coil maps only (between lines that an accelerated scan skips), or both. */
typedef enum phantom_use { USE_IMAGE, USE_CALIBRATION, USE_BOTH } phantom_use;

/* phantom_undersample.c: the acquired phase encodings of a Cartesian scan. `mask` [partition][line] gets a
 * phantom_use or USE_NONE. `counts`: lines, partitions. */
enum { USE_NONE = 255, CALIBRATION_LINES = 24 };
/* The lowest line that a partial Fourier scan acquires. */
int64_t undersample_first_line(const phantom_settings *s, int64_t lines);
VF_MUST_CHECK vf_status undersample(vf_context *ctx, const phantom_settings *s, const int64_t counts[2], uint8_t *mask);

/* Makes a trajectory and sets defaults of `settings` that are still 0. Errors: VF_ERR_ARGUMENT (matrix and
 * trajectory do not match, too many samples), VF_ERR_MEMORY. Free with trajectory_free. */
VF_MUST_CHECK vf_status trajectory_make(vf_context *ctx, phantom_settings *settings, phantom_trajectory *out);
void trajectory_free(phantom_trajectory *trajectory);

/* The actual k if the gradients are late by `delay` samples: along axis a, k minus delay[a] times its local change
 * from one sample to the next. [set][sample][3]; free it. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status trajectory_delayed(vf_context *ctx, const phantom_trajectory *trajectory, const double delay[3],
                                           float **k);

/* The transform of a voxel's box, prod sinc(k_a / N_a), at each sample, [set][sample]. */
void trajectory_phi(const phantom_trajectory *trajectory, const int64_t matrix[3], float complex *phi);

/* ---- phantom_noise.c ---- */

/* Random numbers: xoshiro256++ (Blackman and Vigna 2018, public domain), seeded with splitmix64. */
typedef struct phantom_random {
    uint64_t state[4];
} phantom_random;
phantom_random random_start(uint64_t seed, uint64_t stream);
double random_uniform(phantom_random *random);        /* in [0, 1) */
double complex random_normal(phantom_random *random); /* E |z|^2 = 1, by the Box-Muller method */

/* The root mean square of `count` numbers. */
double complex_rms(const float complex *data, int64_t count);

/* Adds complex white Gaussian noise with E |n|^2 = sigma^2 to data [coil][sample], with `correlation` between any two
 * coils. `stream` numbers independent noise of one seed. */
VF_MUST_CHECK vf_status phantom_noise(vf_context *ctx, double sigma, double correlation, uint64_t seed, uint64_t stream,
                                      int64_t coils, int64_t samples, float complex *data);

/* The standard deviation of noise for which a fully sampled Cartesian scan has the signal-to-noise ratio `snr`: the
 * mean over the object's voxels (at least a tenth of the largest) of signal over the noise's standard deviation,
 * with optimal coil combination (Roemer et al., Magn. Reson. Med. 16 (1990) 192). The inverse transform of d = sum_n
 * x_n exp(-i 2 pi k.r_n) has noise of variance sigma^2 / N per voxel and coil. The combination leaves sigma^2 / (N
 * s^H P^-1 s), where P is the coils' correlation. Half of that is in phase with the signal, which is what a
 * magnitude image shows. So sigma = sqrt(2 N) mean(x sqrt(s^H P^-1 s)) / snr. */
VF_MUST_CHECK vf_status phantom_image_sigma(vf_context *ctx, const phantom *object, const phantom_coils *coils,
                                            double correlation, const int64_t matrix[3], double snr, double *sigma);

/* ---- writing ---- */

enum { NOISE_SAMPLES = 8192 }; /* in a noise acquisition */

/* The results to write. Arrays that are not written are NULL. */
typedef struct phantom_scan {
    const phantom_settings *settings;
    const phantom_trajectory *trajectory;
    const float complex *data;        /* [frame][coil][sample] */
    const float complex *phi;         /* [set][sample] */
    const float complex *sensitivity; /* [coil][z][y][x] */
    const float *field_map;           /* [z][y][x] */
    const float *reference;           /* [1][z][y][x] */
    const float *truth;               /* [z][y][x], or [frame][z][y][x] with several frames */
    const float complex *noise;       /* [coil][NOISE_SAMPLES], noise only */
    double sigma;                     /* standard deviation of the noise */
    char description[256];            /* one line for readers */
} phantom_scan;

/* Writes group /scan of docs/scans.md, or ISMRMRD; atomically. Errors: VF_ERR_OUTPUT, VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status phantom_write_plain(vf_context *ctx, const phantom_scan *scan);
/* Fails, before the work, for what ISMRMRD cannot store. Warns of a field map. Errors: VF_ERR_ARGUMENT. */
VF_MUST_CHECK vf_status phantom_check_ismrmrd(vf_context *ctx, const phantom_settings *settings,
                                              const phantom_trajectory *trajectory);
VF_MUST_CHECK vf_status phantom_write_ismrmrd(vf_context *ctx, const phantom_scan *scan);

#endif
