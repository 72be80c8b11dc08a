/* An operator under test, and vectors on the device. */
#ifndef OPERATOR_SUBJECT_H
#define OPERATOR_SUBJECT_H

#include "first_differences.h"
#include "kernel_operators.h"
#include "kernels/toeplitz/toeplitz_fixture.h"
#include "prior.h"
#include "voxfield/solver.h"
#include "voxfield/stencil.h"
#include "voxfield/vector.h"

enum { COILS_HERE = 3, MOST_ARRAYS = 12, MOST_PARTS = 4, SAMPLES_HERE = 40 };
static const double NUFFT_ACCURACY = 1e-6;

/* An operator, and its components. */
typedef struct subject {
    vf_dtype precision;
    bool real;              /* images are real instead of complex */
    vf_queue *queue, *away; /* `away`: of parts that stand for those of another device; NULL until asked for */
    vf_operator *a, *part[MOST_PARTS];
    vf_operator *lasting; /* of what `a` is made of and does not keep */
    int64_t matrix[3], voxels;
    float k[3 * SAMPLES_HERE];
    vf_array array[MOST_ARRAYS];
    int arrays;
    vf_fourier *fourier;
    vf_nufft *nufft;
    vf_cartesian *cartesian;
    vf_normal normal;
    vf_circulant *circulant;
    vf_stencil *stencil;
    vf_wavelet *wavelet;
    vf_encoding *encoding, *other;
    vf_prior prior;
    double normal_error; /* error of its normal, relative to ||A||^2, in addition to rounding */
} subject;

/* ---- vectors on the device ---- */

static inline vf_array *put_numbers(subject *s, vf_dtype type, int64_t count, const double *values)
{
    vf_array *array = &s->array[s->arrays++], host = {0};
    const int64_t numbers = type == VF_C64 || type == VF_C128 ? 2 * count : count;
    assert_true(s->arrays <= MOST_ARRAYS);
    need(vf_array_create(device, VF_SPACE_DEVICE, type, count, array));
    need(vf_array_create(device, VF_SPACE_PINNED, type, count, &host));
    for (int64_t i = 0; i < numbers; i++)
        if (vf_dtype_real(type) == VF_F64)
            ((double *)host.data)[i] = values[i];
        else
            ((float *)host.data)[i] = (float)values[i];
    need(vf_array_copy(s->queue, array, &host, count));
    need(vf_queue_sync(s->queue));
    vf_array_free(&host);
    return array;
}

static inline vf_array *put_random(subject *s, vf_dtype type, int64_t count, double lowest)
{
    double *values = room(2 * count, sizeof *values);
    for (int64_t i = 0; i < 2 * count; i++)
        values[i] = lowest + (1 - lowest) * uniform();
    vf_array *array = put_numbers(s, type, count, values);
    free(values);
    return array;
}

typedef vf_status operation(vf_operator *a, vf_queue *queue, const void *x, void *y);

/* y = the operation applied to x, between guards; x is kept. */
static inline void carry_out(const subject *s, operation *apply_to, vf_operator *a, vf_vector_space from,
                             vf_vector_space to, const double complex *x, double complex *y)
{
    guarded in = upload_elements(s->queue, from.type, from.count, x),
            out = upload_elements(s->queue, to.type, to.count, NULL);
    need(apply_to(a, s->queue, in.data, out.data));
    double complex *same = room(from.count, sizeof *same);
    download(s->queue, &in, same);
    if (memcmp(same, x, (size_t)from.count * sizeof *x) != 0)
        fail_msg("%s wrote to its input", vf_operator_name(a));
    download(s->queue, &out, y);
    free(same);
}

static inline bool is_real(vf_vector_space space)
{
    return space.type == vf_dtype_real(space.type);
}

static inline double complex *random_numbers(vf_vector_space space)
{
    double complex *v = room(space.count, sizeof *v);
    for (int64_t n = 0; n < space.count; n++) {
        const double complex drawn = random_complex();
        v[n] = rounded(vf_dtype_real(space.type), is_real(space) ? number(creal(drawn), 0) : drawn);
    }
    return v;
}

static inline double size_of(int64_t count, const double complex *x)
{
    return sqrt(creal(inner(count, x, x)));
}

#endif
