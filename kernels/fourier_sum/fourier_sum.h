/* Voxfield - the exact, direct Fourier sum between scattered samples in k-space and voxels, in both directions.
 *
 *     adjoint   y_b(n) = sum_m c_b(m) exp(+i 2 pi (k_m . r_n + t_m f_n))
 *     forward   c_b(m) = sum_n x_b(n) exp(-i 2 pi (k_m . r_n + t_m f_n))
 *
 * k_m in cycles per field of view, r_n in fractions of the field of view, t_m in s and f_n in Hz (off-resonance,
 * optional). Every pair of a sample and a voxel is summed. Formula and the published GPU steps (below): Stone et al.,
 * J. Parallel Distrib. Comput. 68 (2008) 1307; Kirk and Hwu, Programming Massively Parallel Processors (2010), chapter
 * 8. The mu of these sources is c.
 *
 * A plan is made for a device, a set of samples and a set of voxels. Vectors of complex numbers are interleaved
 * {re, im} in the plan's precision. `batch` vectors (coils) are summed with the same exponentials. A voxel's value
 * depends neither on the range of voxels it was computed in, nor on the number of threads.
 *
 * Variants, by device (the first is the default):
 *   cpu   "simd"   the widest of avx512, avx2, baseline that the machine has; each is also a variant by name
 *         "ref"    plain C in double precision, one thread: the reference
 *   cuda  "tuned"  the fastest of the next four that the problem and free memory allow; vf_fourier_variant returns it
 *         "products"   on a grid without off-resonance, single precision: the adjoint is a matrix product on tensor
 *                  cores (compute capability 8.0 or later), with factors split in two, as exact as the others
 *         "phasors"    on a grid without off-resonance: runs of 8 voxels share sine and cosine
 *         "groups"     otherwise in single precision, if voxels are so dense that groups of 128 are within a few turns
 *                      of their centre's phase (not available by name): one sine and cosine per pair
 *         "pairs"      otherwise, and for any problem by name: one sine and cosine per pair, each phase
 *                      reduced separately
 *         If one of these four does not apply, another replaces it.
 *         "naive", "registers", "constant-arrays", "constant-structs", "tuned-structs"   the published steps of the
 *                  adjoint, as published (fourier_sum_published.cu): k and sums in global memory; sums in registers; k
 *                  also in constant memory, as three arrays or as one of structures; the last one with a launch that was
 *                  searched. With VF_TRIG_HARDWARE each is the study's step of hardware trigonometry. They add plain
 *                  numbers: the phase 2 pi k.r is not reduced before it is rounded, and is off by up to 12 pi u A, with
 *                  A = |kx x| + |ky y| + |kz z| and u = 2^-24 (2^-53 in double precision); with hardware trigonometry
 *                  18 pi u A, and without a bound beyond 50 turns. So they are for comparison, not for images at large
 *                  |k|. Off-resonance is no part of them: "pairs" replaces them then.
 *         "bank", "bank-4"   ours beyond these: samples with their values in constant memory, phases as exact as those
 *                  of "pairs"; and four voxels a thread with a launch that was searched (fourier_sum_bank.cu)
 *   opencl "pairs"  one sine and cosine per pair, each phase reduced exactly (turns.cl)
 */
#ifndef VOXFIELD_FOURIER_SUM_H
#define VOXFIELD_FOURIER_SUM_H

#include "voxfield/device.h"
#include "voxfield/grid.h"

#ifdef __cplusplus
extern "C" {
#endif
VF_API_BEGIN

/* Sine and cosine in single precision. ACCURATE: full accuracy, with a reduced argument. HARDWARE: the GPU's own
 * instructions; their argument is reduced too (the unit of phase is a turn, so reduction is exact), except for
 * "groups" and the published steps. No difference on the CPU. */
typedef enum vf_trig { VF_TRIG_ACCURATE, VF_TRIG_HARDWARE } vf_trig;

typedef struct vf_fourier_samples {
    int64_t count;     /* >= 0 */
    const float *k;    /* [count][3] kx, ky, kz, host memory; |k| <= VF_FOURIER_MAX_K */
    const float *time; /* [count] s, or NULL */
} vf_fourier_samples;

/* Voxels: the points of a grid, [z][y][x], or `count` positions. */
typedef struct vf_fourier_voxels {
    const vf_grid *grid;     /* origin and spacing in fractions of the field of view; NULL: positions */
    int64_t count;           /* of positions */
    const double *positions; /* [count][3] x, y, z, host memory; |r| <= VF_FOURIER_MAX_R */
    const float *field;      /* [voxels] Hz, host memory, or NULL; needs samples' time, else ignored */
} vf_fourier_voxels;

#define VF_FOURIER_MAX_K 65536.0
#define VF_FOURIER_MAX_R 64.0

/* How steps of a GPU with chunks of samples are launched: threads a block, samples of a chunk, and samples of a pass of
 * the loop (a power of two; double precision of the published steps has no unrolling). */
typedef struct vf_fourier_tuning {
    int threads, chunk, unroll;
} vf_fourier_tuning;

typedef struct vf_fourier_options {
    vf_dtype precision;  /* VF_F32, VF_F64: of terms and vectors; "ref" computes in double and rounds the result */
    vf_trig trig;        /* CUDA, single precision only */
    const char *variant; /* NULL: the device's default */
    /* CUDA: the launch of "registers", "bank-4" and steps named after arrays or structs; others ignore it. Chunks that do
     * not fit are shortened. 0 threads: the library's own for the GPU. Its errors are VF_ERR_ARGUMENT. */
    vf_fourier_tuning tuning;
} vf_fourier_options;

typedef struct vf_fourier vf_fourier;

/* Makes a plan for batches of at most `most_batch`: copies samples and voxels to the device (the arrays may be freed
 * afterwards) and reserves memory for execution. Blocking. Errors: VF_ERR_ARGUMENT (NaN; out of range; unknown variant,
 * with a list of the known ones), VF_ERR_UNSUPPORTED (an instruction set that this CPU lacks), VF_ERR_MEMORY,
 * VF_ERR_DEVICE, VF_ERR_DEVICE_MEMORY. *out is NULL then. */
VF_MUST_CHECK vf_status vf_fourier_create(vf_device *device, const vf_fourier_samples *samples,
                                          const vf_fourier_voxels *voxels, int most_batch,
                                          const vf_fourier_options *options, vf_fourier **out);

/* Puts the adjoint into the queue for voxels [first, first + count) in memory order. `c`: [batch][samples]; `y`:
 * [batch][count], overwritten; both VF_SPACE_DEVICE memory of the plan's device, not overlapping. Asynchronous on a
 * GPU, blocking on the CPU. One queue at a time may use a plan. Errors: VF_ERR_ARGUMENT, VF_ERR_DEVICE,
 * VF_ERR_CANCELLED (CPU only). */
VF_MUST_CHECK vf_status vf_fourier_adjoint(const vf_fourier *plan, vf_queue *queue, int batch, const void *c,
                                           int64_t first, int64_t count, void *y);

/* The same for the forward sum over all voxels: `x` [batch][voxels], `c` [batch][samples], overwritten. Variants of the
 * adjoint only (the published steps, "bank", "bank-4") use the default kernel here. */
VF_MUST_CHECK vf_status vf_fourier_forward(const vf_fourier *plan, vf_queue *queue, int batch, const void *x, void *c);

void vf_fourier_destroy(vf_fourier *plan); /* NULL is allowed; work in the queue must be done */

const char *vf_fourier_variant(const vf_fourier *plan); /* the actual variant: "avx512" for "simd" */

/* The variants of a kind of device, the default first; NULL beyond the last. */
const char *vf_fourier_variant_name(vf_device_kind kind, int index);

/* Whether a launch is within the limits, with chunks of at most `most_chunk` samples. */
bool vf_fourier_tuning_valid(const vf_fourier_tuning *tuning, int most_chunk);

/* What a search found: pairs of a sample and a voxel a second. */
typedef struct vf_fourier_found {
    vf_fourier_tuning usual,
        best; /* usual: a rule of thumb, 256 threads, chunks of up to 4,096 samples, no unrolling */
    double usual_rate, best_rate;
    int tried; /* combinations */
} vf_fourier_found;

/* Searches the launch of a variant that can be tuned, in single precision, for a grid of 128^3 voxels: times all
 * combinations of threads, chunk and unrolling once, and the best of them several times, for about `seconds` (10 are
 * enough on a large GPU; in less, combinations are left out). Takes some 150 MB on the device; blocking. Errors:
 * VF_ERR_UNSUPPORTED (nothing to tune), VF_ERR_CANCELLED, and those of vf_fourier_create. */
VF_MUST_CHECK vf_status vf_fourier_search(vf_device *device, const char *variant, vf_trig trig, double seconds,
                                          vf_fourier_found *found);

VF_API_END
#ifdef __cplusplus
}
#endif
#endif
