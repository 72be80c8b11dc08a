/* What the files of the CPU backend share; not installed. */
#ifndef VOXFIELD_WAVELET_CPU_H
#define VOXFIELD_WAVELET_CPU_H

#include "wavelet_backend.h"
#include "wavelet_simd.h"

typedef struct cpu_state {
    const wavelet_lines *lines;
    int threads;
    size_t element;     /* bytes of a complex number */
    vf_array work;      /* [threads][work_bytes] */
    int64_t work_bytes; /* of a thread */
    /* The coefficients of the two outputs, forward and inverse, for rows in ascending order; in the plan's precision.
     * */
    double filter_f64[2][2][WAVELET_MOST_TAPS];
    float filter_f32[2][2][WAVELET_MOST_TAPS];
} cpu_state;

/* Methods of the backend. */
vf_status wavelet_cpu_magnitudes(vf_wavelet *plan, vf_queue *queue, const void *c);
vf_status wavelet_cpu_finest(vf_wavelet *plan, vf_queue *queue, const int64_t shift[3], const void *c,
                             const void *weights);

#endif
