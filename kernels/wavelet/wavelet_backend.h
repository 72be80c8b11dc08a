/* The interface of the backends of the wavelet transforms, the contents of a plan, and what all backends share; not
 * installed. */
#ifndef VOXFIELD_WAVELET_BACKEND_H
#define VOXFIELD_WAVELET_BACKEND_H

#include "voxfield/reduce.h"
#include "wavelet.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __CUDACC__
#define WAVELET_HOST_DEVICE __host__ __device__
#else
#define WAVELET_HOST_DEVICE
#endif

enum { WAVELET_MOST_MOMENTS = 4, WAVELET_MOST_TAPS = 8, WAVELET_MOST_LEVELS = 30 };

/* A complex soft threshold: c is multiplied by 1 - level / |scale c|, or by 0 if |scale c| <= level. `scale` is a power
 * of two that brings the threshold near 1, so squares neither overflow nor vanish where they matter. */
typedef struct vf_wavelet_soft {
    double scale, level;
} vf_wavelet_soft;

typedef struct vf_wavelet_backend {
    vf_device_kind kind;
    /* Makes plan->state from the rest of the plan. If it fails and plan->state is set, `destroy` is called. */
    vf_status (*create)(vf_wavelet *plan, const char *variant);
    /* The first `levels` levels; all but the coarse part goes through the soft threshold, unless it is NULL. Shifts are
     * within [0, padded). */
    vf_status (*forward)(vf_wavelet *plan, vf_queue *queue, const int64_t shift[3], int levels,
                         const vf_wavelet_soft *soft, const void *v, void *c);
    vf_status (*adjoint)(vf_wavelet *plan, vf_queue *queue, const int64_t shift[3], const void *c, void *v);
    /* plan->sums [row]: the sum of |c| over each row of the padded array, without the coarsest band. */
    vf_status (*magnitudes)(vf_wavelet *plan, vf_queue *queue, const void *c);
    /* plan->sums [2][row]: the sum of |c|^2 over the coefficients of each row that count (vf_wavelet_counts), and their
     * number. `c` has the first level at least. */
    vf_status (*finest)(vf_wavelet *plan, vf_queue *queue, const int64_t shift[3], const void *c, const void *weights);
    void (*destroy)(vf_wavelet *plan);
    /* Adds up the rows' sums from number `first` of [2][row]; blocking. NULL: they are in plan->sums. */
    vf_status (*total)(const vf_wavelet *plan, vf_queue *queue, int64_t first, double *sum);
} vf_wavelet_backend;

struct vf_wavelet {
    const vf_wavelet_backend *backend;
    vf_device *device;
    vf_dtype precision, type; /* real, complex */
    int64_t counts[3], padded[3], coarse[3];
    int64_t numbers, rows; /* of the padded array */
    int moments, levels;   /* the most levels of an axis */
    int axis_levels[3];
    double low[WAVELET_MOST_TAPS], high[WAVELET_MOST_TAPS]; /* the filters of s and d */
    int64_t band_at[WAVELET_MOST_LEVELS];                   /* see vf_wavelet_band */
    vf_array coefficients;                                  /* [numbers] */
    vf_array bands; /* the coarse parts after levels 1, 2, ..., one after the other, each without gaps */
    vf_array sums;  /* [2][rows] VF_F64 */
    vf_reduce *reduce;
    void *state; /* the backend's own */
};

/* The box that level l >= 1 transforms, and along which axes. Level 0, for plans without levels: all, no axis. */
typedef struct vf_wavelet_box {
    int64_t counts[3];
    bool split[3];
} vf_wavelet_box;

static inline vf_wavelet_box vf_wavelet_box_of(const vf_wavelet *plan, int level)
{
    vf_wavelet_box box;
    for (int a = 0; a < 3; a++) {
        const int before = level - 1 < plan->axis_levels[a] ? level - 1 : plan->axis_levels[a];
        box.counts[a] = plan->padded[a] >> (level > 0 ? before : 0);
        box.split[a] = level > 0 && level <= plan->axis_levels[a];
    }
    return box;
}

/* The coarse part after level l, 1 <= l < plan->levels: the plan's memory for the box of level l + 1. */
static inline void *vf_wavelet_band(const vf_wavelet *plan, int level)
{
    return vf_array_at(&plan->bands, plan->band_at[level]);
}

/* ---- which coefficients count in vf_wavelet_finest_rms ---- */

typedef struct vf_wavelet_support {
    int64_t counts[3], padded[3], shift[3];
    bool split[3];
    int taps;
} vf_wavelet_support;

static inline vf_wavelet_support vf_wavelet_support_of(const vf_wavelet *plan, const int64_t shift[3])
{
    vf_wavelet_support s;
    s.taps = 2 * plan->moments;
    for (int a = 0; a < 3; a++) {
        s.counts[a] = plan->counts[a];
        s.padded[a] = plan->padded[a];
        s.shift[a] = shift[a];
        s.split[a] = plan->axis_levels[a] > 0;
    }
    return s;
}

/* The range of voxels that index `i` along an axis of the first level's coefficients depends on; false if it is coarse,
 * or leaves the image. */
WAVELET_HOST_DEVICE static inline bool vf_wavelet_range(const vf_wavelet_support *s, int axis, int64_t i,
                                                        int64_t *first, int *extent)
{
    const int64_t n = s->padded[axis], shifted = s->split[axis] ? 2 * i - n : i;
    if (shifted < 0)
        return false;
    *first = shifted < s->shift[axis] ? shifted - s->shift[axis] + n : shifted - s->shift[axis];
    *extent = s->split[axis] ? s->taps : 1;
    return *first + *extent <= s->counts[axis];
}

/* Whether the coefficient at (x, y, z) counts. `weights`: of type `precision`, or NULL. */
WAVELET_HOST_DEVICE static inline bool vf_wavelet_counts(const vf_wavelet_support *s, vf_dtype precision,
                                                         const void *weights, int64_t x, int64_t y, int64_t z)
{
    const int64_t at[3] = {x, y, z};
    int64_t first[3];
    int extent[3];
    for (int a = 0; a < 3; a++)
        if (!vf_wavelet_range(s, a, at[a], &first[a], &extent[a]))
            return false;
    if (!weights)
        return true;
    for (int k = 0; k < extent[2]; k++)
        for (int j = 0; j < extent[1]; j++)
            for (int i = 0; i < extent[0]; i++) {
                const int64_t n = ((first[2] + k) * s->counts[1] + first[1] + j) * s->counts[0] + first[0] + i;
                const bool counts =
                    precision == VF_F64 ? ((const double *)weights)[n] > 0 : ((const float *)weights)[n] > 0;
                if (!counts)
                    return false;
            }
    return true;
}

extern const vf_wavelet_backend vf_wavelet_ref, vf_wavelet_cpu, vf_wavelet_cuda, vf_wavelet_opencl;

#ifdef __cplusplus
}
#endif
#endif
