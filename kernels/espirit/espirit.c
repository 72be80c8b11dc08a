#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "espirit_internal.h"
#include "voxfield/dense.h"

/* Virtual coils are added until this share of the energy is left, far below any visible change of the maps; more than the
 * usual number, whose time grows with the third power, only while more than MUCH is left. Small coils around a volume have
 * little in common, and 12 components of many leave much out. */
static const double LEFT_OVER = 1e-5, MUCH = 1e-3;

static vf_status check(vf_context *ctx, const vf_espirit_task *t)
{
    if (t->coils < 1 || t->coils > 1024 || t->sets < 1 || t->sets > 2 || !(t->sigma >= 0) ||
        !(t->truncation >= 0 && t->truncation < 1) || !(t->least_share >= 0))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "coil maps: %d coils, %d sets, sigma %g or another option is out of range",
                       t->coils, t->sets, t->sigma);
    for (int a = 0; a < 3; a++)
        if (t->matrix[a] < 1 || t->matrix[a] > INT32_MAX || t->block[a] > t->matrix[a] || t->block[a] > 64 ||
            t->block[a] < (t->matrix[a] > 1 ? 2 : 1))
            return vf_fail(ctx, VF_ERR_ARGUMENT,
                           "coil maps: %lld calibration samples for %lld voxels along axis %d are not supported",
                           (long long)t->block[a], (long long)t->matrix[a], a);
    return VF_OK;
}

/* The width of the patch: VF_ESPIRIT_KERNEL, or one less in 3D; at most half of the block, at least 2. Of 2 samples it
 * is 1: a patch of both has a single place, and says nothing of its neighbours. The maps are then even along the axis;
 * if the coils are not, the second set of maps tells. */
static vf_status choose_patch(espirit *e)
{
    const int64_t *n = e->task->block;
    int axes = 0, box = 1;
    for (int a = 0; a < 3; a++)
        axes += n[a] > 1;
    for (int a = 0; a < 3; a++) {
        const int wide = axes == 3 ? VF_ESPIRIT_KERNEL - 1 : VF_ESPIRIT_KERNEL;
        e->width[a] = n[a] <= 2 ? 1 : (int)fmax(2, fmin(wide, (double)(n[a] / 2)));
        e->span[a] = 2 * e->width[a] - 1;
        box *= e->width[a];
    }
    e->spans = e->span[0] * e->span[1] * e->span[2];
    e->offset = malloc((size_t)box * 3 * sizeof *e->offset);
    if (!e->offset)
        return vf_fail(e->ctx, VF_ERR_MEMORY, "coil maps: not enough memory");
    for (int i = 0; i < box; i++) {
        const int at[3] = {i % e->width[0], i / e->width[0] % e->width[1], i / e->width[0] / e->width[1]};
        double radius = 0;
        for (int a = 0; a < 3; a++)
            radius += e->width[a] > 1 ? pow((at[a] - 0.5 * (e->width[a] - 1)) / (0.5 * e->width[a]), 2) : 0;
        if (radius <= 1)
            memcpy(e->offset + 3 * (size_t)e->points++, at, sizeof at);
    }
    return VF_OK;
}

/* [coil][coil]: sum over samples of d_i conj(d_j). */
static vf_status covariance(const espirit *e, double complex *a)
{
    const int coils = e->task->coils;
    const float complex *data = e->task->data;
    for (int i = 0; i < coils; i++)
        for (int j = 0; j <= i; j++) {
            const float complex *x = data + i * e->samples, *y = data + j * e->samples;
            double re = 0, im = 0;
            for (int64_t k = 0; k < e->samples; k++) {
                re += (double)crealf(x[k]) * crealf(y[k]) + (double)cimagf(x[k]) * cimagf(y[k]);
                im += (double)cimagf(x[k]) * crealf(y[k]) - (double)crealf(x[k]) * cimagf(y[k]);
            }
            if (!isfinite(re) || !isfinite(im))
                return vf_fail(e->ctx, VF_ERR_INPUT, "the centre of k-space has NaN or infinite values");
            a[i * coils + j] = re + im * I;
            a[j * coils + i] = re - im * I;
        }
    return VF_OK;
}

/* Whether the components from `kept` on are as even as those of white noise, whose eigenvalues, of M samples of C coils, are
 * from (1 - sqrt(C / M))^2 to (1 + sqrt(C / M))^2 (Marchenko and Pastur); a tenth more is allowed. A few components can be even
 * by chance. */
static bool like_noise(const espirit *e, const double *values, int kept)
{
    const int coils = e->task->coils;
    const double root = sqrt((double)coils / (double)e->samples), ratio = (1 + root) / fmax(1 - root, 0.1);
    return coils - kept >= coils / 4.0 && values[kept] <= 1.1 * ratio * ratio * values[coils - 1];
}

static int choose_coils(const espirit *e, const double *values)
{
    const bool volume = e->task->block[0] > 1 && e->task->block[1] > 1 && e->task->block[2] > 1;
    const int usual = volume ? ESPIRIT_USUAL_COILS_3D : ESPIRIT_USUAL_COILS, coils = e->task->coils;
    double left = e->energy;
    int kept = 0;
    while (kept < coils && kept < usual && left > LEFT_OVER * e->energy)
        left -= values[kept++];
    while (kept < coils && kept < ESPIRIT_MOST_COILS && left > MUCH * e->energy && !like_noise(e, values, kept))
        left -= values[kept++];
    return kept;
}

/* Principal components of the block's data. */
static vf_status compress(espirit *e)
{
    const int coils = e->task->coils;
    const size_t elements = (size_t)coils * (size_t)coils;
    const float complex *data = e->task->data;
    double complex *a = malloc(elements * sizeof *a);
    double *values = malloc((size_t)coils * sizeof *values);
    vf_status status = VF_OK;
    e->mix = malloc(elements * sizeof *e->mix);
    if (!a || !values || !e->mix)
        status = vf_fail(e->ctx, VF_ERR_MEMORY, "coil maps: not enough memory");
    VF_TRY(status, covariance(e, a));
    for (int c = 0; c < coils && status == VF_OK; c++)
        e->energy += creal(a[c * coils + c]);
    if (status == VF_OK && !(e->energy > 0))
        status = vf_fail(e->ctx, VF_ERR_INPUT, "the centre of k-space is 0, so coil maps cannot be estimated");
    if (status == VF_OK) {
        vf_hermitian_eigen(coils, a, values, e->mix);
        e->coils = choose_coils(e, values);
        e->block = calloc((size_t)e->coils * (size_t)e->samples, sizeof *e->block);
        if (!e->block)
            status = vf_fail(e->ctx, VF_ERR_MEMORY, "coil maps: not enough memory");
    }
    for (int v = 0; v < e->coils && status == VF_OK; v++)
        for (int c = 0; c < coils; c++) {
            const double complex m = conj(e->mix[v * coils + c]);
            for (int64_t k = 0; k < e->samples; k++)
                e->block[v * e->samples + k] += m * data[c * e->samples + k];
        }
    free(a);
    free(values);
    return status;
}

/* P's diagonals: W_vv'(i - j) = 1/K sum P[(v, i), (v', j)]. */
static vf_status make_filter(espirit *e)
{
    const size_t count = (size_t)e->coils * (size_t)e->coils * (size_t)e->spans;
    double *sum = calloc(2 * count, sizeof *sum);
    e->filter = malloc(2 * count * sizeof *e->filter);
    if (!sum || !e->filter) {
        free(sum);
        return vf_fail(e->ctx, VF_ERR_MEMORY, "coil maps: not enough memory");
    }
    for (int64_t r = 0; r < e->rows; r++)
        for (int64_t q = 0; q < e->rows; q++) {
            const int *i = e->offset + 3 * (r % e->points), *j = e->offset + 3 * (q % e->points);
            const int64_t pair = r / e->points * e->coils + q / e->points;
            int64_t at = 0;
            for (int a = 2; a >= 0; a--)
                at = at * e->span[a] + i[a] - j[a] + e->width[a] - 1;
            sum[2 * (pair * e->spans + at)] += e->re[r * e->rows + q];
            sum[2 * (pair * e->spans + at) + 1] += e->im[r * e->rows + q];
        }
    for (size_t i = 0; i < 2 * count; i++)
        e->filter[i] = (float)(sum[i] / e->points);
    free(sum);
    return VF_OK;
}

vf_status vf_espirit(vf_context *ctx, const vf_espirit_task *task, void *maps, float *eigenvalue,
                     vf_espirit_quality *quality)
{
    espirit e = {.ctx = ctx, .task = task, .threads = vf_context_threads(ctx), .sigma = task->sigma};
    vf_status status = check(ctx, task);
    *quality = (vf_espirit_quality){0};
    if (status != VF_OK)
        return status;
    e.samples = task->block[0] * task->block[1] * task->block[2];
    status = choose_patch(&e);
    VF_TRY(status, compress(&e));
    e.rows = (int64_t)e.coils * e.points;
    VF_TRY(status, espirit_gram(&e));
    VF_TRY(status, espirit_projector(&e));
    VF_TRY(status, make_filter(&e));
    free(e.re);
    free(e.im);
    VF_TRY(status, espirit_explained(&e, quality));
    VF_TRY(status, espirit_voxels(&e, task->matrix, quality->sets, true, maps, eigenvalue, 0.6));
    quality->virtual_coils = e.coils;
    quality->sigma = e.sigma;
    free(e.mix);
    free(e.block);
    free(e.offset);
    free(e.filter);
    free(e.steady);
    return status;
}
