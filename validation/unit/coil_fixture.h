/* Coil images and unitary mixtures of coils, of random complex numbers; and a context for each test. */
#ifndef COIL_FIXTURE_H
#define COIL_FIXTURE_H

#include <complex.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "random_fixture.h"
#include "test_main.h"
#include "voxfield/context.h"
#include "voxfield/team_size.h"

/* Fails on NaN. */
#define assert_near(found, expected, tolerance)                                                                        \
    do {                                                                                                               \
        double found_ = (found), expected_ = (expected), tolerance_ = (tolerance);                                     \
        if (!(fabs(found_ - expected_) <= tolerance_))                                                                 \
            fail_msg("line %d: %.9g, expected %.9g within %.3g", __LINE__, found_, expected_, tolerance_);             \
    } while (0)

static inline double square(double complex z)
{
    return creal(z) * creal(z) + cimag(z) * cimag(z);
}

static inline void *allocate(size_t bytes)
{
    void *memory = malloc(bytes ? bytes : 1);
    assert_non_null(memory);
    return memory;
}

static inline double complex random_complex(void)
{
    double re = uniform_between(-1, 1);
    return re + uniform_between(-1, 1) * I;
}

static inline float complex *random_images(int coils, int64_t count)
{
    float complex *images = allocate((size_t)(coils * count) * sizeof *images);
    for (int64_t n = 0; n < coils * count; n++)
        images[n] = (float complex)random_complex();
    return images;
}

static inline float complex *copy_of(const float complex *from, int64_t count)
{
    float complex *copy = allocate((size_t)count * sizeof *copy);
    memcpy(copy, from, (size_t)count * sizeof *copy);
    return copy;
}

/* Gram-Schmidt, twice, on random rows: orthonormal to rounding. */
static inline double complex *random_unitary(int n)
{
    double complex *u = allocate((size_t)n * (size_t)n * sizeof *u);
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < n; k++)
            u[i * n + k] = random_complex();
        for (int pass = 0; pass < 2; pass++) {
            double norm = 0;
            for (int j = 0; j < i; j++) {
                double complex dot = 0;
                for (int k = 0; k < n; k++)
                    dot += conj(u[j * n + k]) * u[i * n + k];
                for (int k = 0; k < n; k++)
                    u[i * n + k] -= dot * u[j * n + k];
            }
            for (int k = 0; k < n; k++)
                norm += square(u[i * n + k]);
            for (int k = 0; k < n; k++)
                u[i * n + k] /= sqrt(norm);
        }
    }
    return u;
}

static inline void set_threads(vf_context *ctx, int threads)
{
    assert_int_equal(vf_context_set_threads(ctx, threads), VF_OK);
}

static inline int make_context(void **state)
{
    vf_context *ctx = NULL;
    vf_status status = vf_context_create(&ctx);
    if (status == VF_OK)
        vf_context_set_team_work(ctx, 1000); /* small arrays have teams, too */
    *state = ctx;
    return status == VF_OK ? 0 : -1;
}

static inline int free_context(void **state)
{
    vf_context_destroy(*state);
    return 0;
}

#endif
