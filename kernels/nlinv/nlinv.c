/* The Gauss-Newton steps, with conjugate gradients inside. */
#include "nlinv_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* alpha falls slower than by the paper's factor of 1/2. With regular lines and threefold undersampling, halving leads
 * to an image with another kind of folding. */
static const double FIRST_ALPHA = 0.25, FALL = 0.7;
enum { STEPS = 16, MOST_STEPS = 28, MOST_ITERATIONS = 200 };
/* After STEPS, alpha may still draw image and maps away from the data, if gaps are large and noise is little. Each step takes a
 * large share off the energy that they leave unexplained, down to the noise, from where a step takes 1 to 3 %. So the steps go on
 * while one changes it by more than WORTH; one that makes it larger went too far, and the next ones mend that. Less than EXACT of
 * the data's energy may be the error of b and T. In 3D a step takes seconds, and there are no more than STEPS. */
static const double WORTH = 0.04, EXACT = 1e-5;
/* Conjugate gradients stop at this residual, relative to the first one. */
static const double SOLVED = 0.03;

static vf_status check(vf_context *ctx, const vf_nlinv_task *t)
{
    if (t->coils < 2 || t->coils > 1024 || t->periods < 1 || t->periods > 2)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "coil maps: %d coils and %d periods are not supported", t->coils,
                       t->periods);
    if (!(t->energy > 0 && isfinite(t->energy) && t->noise >= 0 && isfinite(t->noise)))
        return vf_fail(ctx, VF_ERR_INPUT, "coil maps: the data's energy %g or its noise %g is out of range", t->energy,
                       t->noise);
    int axes = 0;
    for (int a = 0; a < 3; a++) {
        if (t->matrix[a] < 1 || t->matrix[a] > INT32_MAX || t->small[a] > 512 ||
            t->small[a] < (t->matrix[a] > 1 ? 2 : 1) || (t->matrix[a] == 1 && t->small[a] > 1))
            return vf_fail(ctx, VF_ERR_ARGUMENT,
                           "coil maps: estimating %lld voxels for %lld along axis %d is not supported",
                           (long long)t->small[a], (long long)t->matrix[a], a);
        if (!(t->fov[a] > 0 && isfinite(t->fov[a]) && t->kept[a] > 0 && t->kept[a] <= 1))
            return vf_fail(ctx, VF_ERR_ARGUMENT,
                           "coil maps: the field of view %g, or its kept share %g, is out of range", t->fov[a],
                           t->kept[a]);
        axes += t->matrix[a] > 1;
    }
    return axes > 0 ? VF_OK : vf_fail(ctx, VF_ERR_ARGUMENT, "coil maps: the matrix is a single voxel");
}

/* A serial sum, so the bits are always the same. */
static double dot(int64_t count, const double complex *x, const double complex *y)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += creal(x[i]) * creal(y[i]) + cimag(x[i]) * cimag(y[i]);
    return sum;
}

typedef struct vectors {
    double complex *dx, *r, *p, *q; /* [unknowns] */
} vectors;

/* r = DG^H (b - T G(x)) - alpha x, and the energy that x leaves unexplained. */
static vf_status right_side(nlinv *n, double alpha, double complex *r, double *left)
{
    const int64_t all = n->coils * n->voxels;
    nlinv_evaluate(n);
    for (int c = 0; c < n->coils; c++)
        for (int64_t i = 0; i < n->voxels; i++)
            n->product[c * n->voxels + i] = n->rho[i] * n->maps[c * n->voxels + i];
    vf_status status = nlinv_convolve(n);
    if (status != VF_OK)
        return status;
    *left = n->scale * n->scale * n->task->energy; /* energy - 2 Re <G(x), b> + <G(x), T G(x)> */
    for (int64_t i = 0; i < all; i++) {
        const double complex seen = n->rho[i % n->voxels] * n->maps[i];
        *left += creal(conj(seen) * (n->product[i] - 2 * n->b[i]));
        n->product[i] = n->b[i] - n->product[i];
    }
    nlinv_adjoint(n, r);
    for (int64_t i = 0; i < n->unknowns; i++)
        r[i] -= alpha * n->x[i];
    return VF_OK;
}

/* q = (DG^H T DG + alpha) p */
static vf_status normal(nlinv *n, double alpha, const double complex *p, double complex *q)
{
    nlinv_derivative(n, p);
    vf_status status = nlinv_convolve(n);
    if (status != VF_OK)
        return status;
    nlinv_adjoint(n, q);
    for (int64_t i = 0; i < n->unknowns; i++)
        q[i] += alpha * p[i];
    return VF_OK;
}

/* Computes dx of one step from v->r. */
static vf_status solve(nlinv *n, double alpha, vectors *v)
{
    const int64_t count = n->unknowns;
    double rr = dot(count, v->r, v->r);
    const double enough = SOLVED * SOLVED * rr;
    memset(v->dx, 0, (size_t)count * sizeof *v->dx);
    memcpy(v->p, v->r, (size_t)count * sizeof *v->p);
    for (int it = 0; it < MOST_ITERATIONS && rr > 0; it++) {
        if (vf_cancelled(n->ctx))
            return vf_fail(n->ctx, VF_ERR_CANCELLED, "interrupted");
        vf_status status = normal(n, alpha, v->p, v->q);
        if (status != VF_OK)
            return status;
        const double pq = dot(count, v->p, v->q);
        if (!(pq > 0 && isfinite(pq)))
            return vf_fail(n->ctx, VF_ERR_INPUT, "coil maps: the data are too large or inconsistent to solve for maps");
        const double step = rr / pq;
        for (int64_t i = 0; i < count; i++) {
            v->dx[i] += step * v->p[i];
            v->r[i] -= step * v->q[i];
        }
        const double next = dot(count, v->r, v->r);
        n->iterations++;
        if (next <= enough)
            break;
        for (int64_t i = 0; i < count; i++)
            v->p[i] = v->r[i] + next / rr * v->p[i];
        rr = next;
    }
    return VF_OK;
}

static vf_status iterate(nlinv *n)
{
    const size_t bytes = (size_t)n->unknowns * sizeof(double complex);
    vectors v = {malloc(bytes), malloc(bytes), malloc(bytes), malloc(bytes)};
    const int64_t *m = n->task->matrix;
    const int most = m[0] > 1 && m[1] > 1 && m[2] > 1 ? STEPS : MOST_STEPS;
    const double energy = n->scale * n->scale * n->task->energy;
    double alpha = FIRST_ALPHA, left = 0, least = INFINITY;
    vf_status status = VF_OK;
    if (!v.dx || !v.r || !v.p || !v.q)
        status = vf_fail(n->ctx, VF_ERR_MEMORY, "coil maps: not enough memory");
    for (int step = 0; step < most && status == VF_OK; step++) {
        status = right_side(n, alpha, v.r, &left);
        if (step >= STEPS && (fabs(left - least) <= WORTH * least || left <= EXACT * energy))
            break;
        least = fmin(least, left);
        VF_TRY(status, solve(n, alpha, &v));
        for (int64_t i = 0; i < n->unknowns && status == VF_OK; i++)
            n->x[i] += v.dx[i];
        alpha *= FALL;
        nlinv_tell(n, step < STEPS ? 0.9 / STEPS : 0);
    }
    free(v.dx);
    free(v.r);
    free(v.p);
    free(v.q);
    return status;
}

/* sum |d - F G(x)|^2 w = energy - 2 Re <b, G(x)> + <G(x), T G(x)> */
static vf_status explain(nlinv *n, double *explained)
{
    const int64_t all = n->coils * n->voxels;
    const double square = n->scale * n->scale, signal = square * (n->task->energy - n->task->noise);
    double left = square * n->task->energy;
    nlinv_evaluate(n);
    for (int c = 0; c < n->coils; c++)
        for (int64_t i = 0; i < n->voxels; i++)
            n->product[c * n->voxels + i] = n->maps[c * n->voxels + i] *= n->rho[i];
    left -= 2 * dot(all, n->b, n->maps);
    vf_status status = nlinv_convolve(n);
    if (status != VF_OK)
        return status;
    left += dot(all, n->maps, n->product);
    if (!isfinite(left))
        return vf_fail(n->ctx, VF_ERR_INPUT, "coil maps: the data are too large or inconsistent to solve for maps");
    left = fmax(0, left - square * n->task->noise);
    *explained = signal > 0 ? fmax(0, 1 - left / signal) : 0;
    return VF_OK;
}

vf_status vf_nlinv(vf_context *ctx, const vf_nlinv_task *task, void *maps, vf_nlinv_quality *quality)
{
    nlinv n = {.ctx = ctx, .task = task, .threads = vf_context_threads(ctx)};
    *quality = (vf_nlinv_quality){0};
    vf_status status = check(ctx, task);
    if (status != VF_OK)
        return status;
    status = nlinv_create(&n);
    VF_TRY(status, nlinv_folding(&n, &quality->folding));
    VF_TRY(status, iterate(&n));
    VF_TRY(status, explain(&n, &quality->explained));
    VF_TRY(status, nlinv_enlarge(&n, maps));
    nlinv_tell(&n, 0.1);
    quality->virtual_coils = n.coils;
    quality->iterations = n.iterations;
    nlinv_free(&n);
    return status;
}
