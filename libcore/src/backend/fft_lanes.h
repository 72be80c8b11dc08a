/* Transforms of lines side by side: each lane of a vector has a line of its own, so all lines take the same steps and nothing
 * is shuffled. Faster than FFTW's rows up to 1024 points (docs/nufft.md). Frequencies leave in the order of the last stage,
 * which convolutions need not change. Not installed.
 *
 *     X(k) = sum_n x(n) exp(-+ 2 pi i k n / N)      (- forward, + backward; neither is scaled)
 *
 * The data are [points][re, im][lanes], 64-byte aligned, with room for `room` points, of which the first n are transformed. Forward,
 * the points come in order and point p leaves as frequency order[p]; backward is the reverse.
 *
 * Cosine transforms are made of them (Makhoul, IEEE Trans. ASSP 28 (1980) 27): forward, point p leaves as mode order[p] of
 *
 *     X(k) = a_k sum_n x(n) cos(pi k (n + 1/2) / N),     a_0 = 1, a_N/2 = sqrt(2), else 2
 *
 * and backward makes x of X(k) / N for k = 0 and N / 2, and X(k) / (2 N) for the others.
 *
 * Lengths with the factors 2, 3, 5, 7, 11 and 13: decimation in frequency, in place, backward in time (Gentleman and Sande,
 * Proc. AFIPS 29 (1966) 563). Others: as a convolution with a chirp (Bluestein, IEEE Trans. AU 18 (1970) 451). */
#ifndef VOXFIELD_FFT_LANES_H
#define VOXFIELD_FFT_LANES_H

#include "voxfield/device.h"

typedef struct fft_lanes fft_lanes;

enum { FFT_LANES_STAGES = 32 };

typedef struct fft_lanes_stage {
    int radix;
    int64_t points; /* of a block at the stage's begin, forward */
    void *twiddle;  /* real: [points / radix][radix - 1][re, im]: exp(-2 pi i j u / points) */
} fft_lanes_stage;

/* The functions of a precision of an instruction set. */
typedef struct fft_lanes_simd {
    int lanes;
    void (*forward)(const fft_lanes *plan, void *data);
    void (*backward)(const fft_lanes *plan, void *data);
} fft_lanes_simd;

struct fft_lanes {
    const fft_lanes_simd *simd;
    int64_t n, room;
    int stages;
    fft_lanes_stage stage[FFT_LANES_STAGES];
    int32_t *order; /* [n] */
    /* Of a convolution with a chirp; else NULL. */
    fft_lanes *inner; /* of `room` points */
    void *chirp;      /* [n][re, im]: exp(-pi i m^2 / n) */
    void *response;   /* [room][re, im]: the transform of conj(chirp), in the inner one's order, over room */
    /* Of a cosine transform; else NULL. */
    int32_t *cycles; /* from the points' order to that of the transform: the length of each cycle, then its places; 0 */
    int32_t *pairs;  /* [modes / 2][2]: places of modes k and n - k, 0 < k < n - k; -1 */
    void *turns;     /* [re, im] of each pair: exp(-pi i k / (2 n)) */
};

/* `precision`: VF_F32 or VF_F64. Errors: VF_ERR_ARGUMENT (a length below 1 or above 2^29), VF_ERR_MEMORY; *out is NULL then. */
VF_MUST_CHECK vf_status fft_lanes_create(vf_context *ctx, vf_dtype precision, int64_t n, fft_lanes **out);
VF_MUST_CHECK vf_status fft_lanes_create_cosine(vf_context *ctx, vf_dtype precision, int64_t n, fft_lanes **out);
void fft_lanes_destroy(fft_lanes *plan); /* NULL is allowed */

static inline void fft_lanes_forward(const fft_lanes *plan, void *data)
{
    plan->simd->forward(plan, data);
}

static inline void fft_lanes_backward(const fft_lanes *plan, void *data)
{
    plan->simd->backward(plan, data);
}

typedef struct fft_lanes_isa {
    const fft_lanes_simd *f32, *f64;
} fft_lanes_isa;

extern const fft_lanes_isa fft_lanes_isa_baseline, fft_lanes_isa_avx2, fft_lanes_isa_avx512;

#endif
