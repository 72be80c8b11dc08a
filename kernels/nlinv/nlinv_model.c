/* G, its derivative and T: see nlinv.h. */
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "nlinv_internal.h"
#include "voxfield/dense.h"
#include "voxfield/team_size.h"

/* The period of a map's Fourier series, in fields of view: maps are smooth, not periodic. */
static const double PERIOD = 1.5;
/* The Sobolev norm of the paper, for its matrix of about 100 samples: (1 + 220 |k|^2 / 100^2)^16. */
static const double SOBOLEV = 220 / 1e4, ORDER = 16;
/* Terms with smaller weights are left out. */
static const double LEAST_WEIGHT = 1e-4;
/* Virtual coils are added until this share of the energy is left. */
static const double LEFT_OVER = 1e-5;
/* The data are scaled so that voxels have this root mean square; alpha is relative to it. */
static const double LEVEL = 0.39;
/* Standard deviation of the bell that rho starts from, in fractions of the part of the field of view that is kept. */
static const double BELL = 0.28;

static vf_status no_memory(const nlinv *n)
{
    return vf_fail(n->ctx, VF_ERR_MEMORY, "coil maps: not enough memory");
}

/* ---- Fourier series ---- */

static double widest(const vf_nlinv_task *t)
{
    double most = 0;
    for (int a = 0; a < 3; a++)
        most = t->matrix[a] > 1 ? fmax(most, t->fov[a] * t->kept[a]) : most;
    return most;
}

/* The terms along each axis, and their weights. */
static vf_status choose_terms(nlinv *n)
{
    const vf_nlinv_task *t = n->task;
    const double reach = sqrt((pow(LEAST_WEIGHT, -1 / ORDER) - 1) / SOBOLEV);
    double unit[3];
    n->terms = 1;
    for (int a = 0; a < 3; a++) {
        unit[a] = widest(t) / t->fov[a]; /* converts cycles per field of view to cycles over the widest one */
        const int64_t side = t->matrix[a] > 1 ? (int64_t)fmin(64, fmax(1, floor(PERIOD * reach / unit[a]))) : 0;
        n->series[a] = 2 * side + 1;
        n->terms *= n->series[a];
        n->frequency[a] = malloc((size_t)n->series[a] * sizeof **n->frequency);
        if (!n->frequency[a])
            return no_memory(n);
        for (int64_t i = 0; i < n->series[a]; i++)
            n->frequency[a][i] = (double)(i - side) / PERIOD;
    }
    n->smooth = malloc((size_t)n->terms * sizeof *n->smooth);
    if (!n->smooth)
        return no_memory(n);
    for (int64_t i = 0; i < n->terms; i++) {
        const int64_t at[3] = {i % n->series[0], i / n->series[0] % n->series[1], i / n->series[0] / n->series[1]};
        double square = 0;
        for (int a = 0; a < 3; a++)
            square += pow(n->frequency[a][at[a]] * unit[a], 2);
        n->smooth[i] = pow(1 + SOBOLEV * square, -ORDER);
    }
    return VF_OK;
}

/* S divided by the root of the number of voxels, and S^H: one matrix per axis. */
static vf_status make_factors(nlinv *n)
{
    vf_status status = VF_OK;
    for (int a = 0; a < 3 && status == VF_OK; a++) {
        const int64_t count = n->task->small[a];
        const double scale = 1 / sqrt((double)count);
        double *r = malloc((size_t)count * sizeof *r);
        if (!r)
            return no_memory(n);
        for (int64_t i = 0; i < count; i++)
            r[i] = (double)(i - count / 2) / (double)count;
        status = nlinv_factor_create(n->ctx, count, r, n->series[a], n->frequency[a], 1, scale, &n->sum[a]);
        VF_TRY(status, nlinv_factor_create(n->ctx, n->series[a], n->frequency[a], count, r, -1, scale, &n->back[a]));
        free(r);
    }
    return status;
}

static vf_status make_middle(nlinv *n)
{
    const int64_t *m = n->task->small;
    n->middle = malloc((size_t)n->voxels * sizeof *n->middle);
    if (!n->middle)
        return no_memory(n);
    for (int64_t i = 0; i < n->voxels; i++) {
        const int64_t at[3] = {i % m[0], i / m[0] % m[1], i / m[0] / m[1]};
        double square = 0;
        for (int a = 0; a < 3; a++)
            square += pow((double)(at[a] - m[a] / 2) / (double)m[a] / n->task->kept[a], 2);
        n->middle[i] = 1 / sqrt(1 + pow(4 * square, 4));
        n->x[i] = exp(-square / (2 * BELL * BELL)) / n->middle[i];
    }
    return VF_OK;
}

/* ---- data ---- */

/* sum over voxels of b_i conj(b_j), [coil][coil]. */
static vf_status covariance(const nlinv *n, double complex *a)
{
    const int coils = n->task->coils;
    const float complex *b = n->task->adjoint;
    for (int i = 0; i < coils; i++)
        for (int j = 0; j <= i; j++) {
            const float complex *x = b + i * n->voxels, *y = b + j * n->voxels;
            double re = 0, im = 0;
            for (int64_t v = 0; v < n->voxels; v++) {
                re += (double)crealf(x[v]) * crealf(y[v]) + (double)cimagf(x[v]) * cimagf(y[v]);
                im += (double)cimagf(x[v]) * crealf(y[v]) - (double)crealf(x[v]) * cimagf(y[v]);
            }
            if (!isfinite(re) || !isfinite(im))
                return vf_fail(n->ctx, VF_ERR_INPUT, "the centre of k-space has NaN or infinite values");
            a[i * coils + j] = re + im * I;
            a[j * coils + i] = re - im * I;
        }
    return VF_OK;
}

static int choose_coils(const nlinv *n, const double *values)
{
    const int64_t *m = n->task->matrix;
    const int most = m[0] > 1 && m[1] > 1 && m[2] > 1 ? NLINV_MOST_COILS_3D : NLINV_MOST_COILS;
    double total = 0, left;
    int kept = 0;
    for (int i = 0; i < n->task->coils; i++)
        total += values[i];
    left = total;
    while (kept < n->task->coils && kept < most && left > LEFT_OVER * total)
        left -= values[kept++];
    return kept;
}

/* Compresses b to its principal components, and scales it. */
static vf_status compress(nlinv *n)
{
    const int coils = n->task->coils;
    const float complex *b = n->task->adjoint;
    double complex *a = malloc((size_t)coils * (size_t)coils * sizeof *a);
    double *values = malloc((size_t)coils * sizeof *values);
    n->mix = malloc((size_t)coils * (size_t)coils * sizeof *n->mix);
    vf_status status = a && values && n->mix ? covariance(n, a) : no_memory(n);
    if (status == VF_OK) {
        vf_hermitian_eigen(coils, a, values, n->mix);
        n->coils = choose_coils(n, values);
        if (n->coils == 0)
            status = vf_fail(n->ctx, VF_ERR_INPUT, "the centre of k-space is 0, so coil maps cannot be estimated");
    }
    if (status == VF_OK) {
        n->b = calloc((size_t)n->coils * (size_t)n->voxels, sizeof *n->b);
        if (!n->b)
            status = no_memory(n);
    }
    n->scale = LEVEL * sqrt((double)n->voxels / n->task->energy);
    for (int v = 0; v < n->coils && status == VF_OK; v++)
        for (int c = 0; c < coils; c++) {
            const double complex m = n->scale * conj(n->mix[v * coils + c]);
            for (int64_t i = 0; i < n->voxels; i++)
                n->b[v * n->voxels + i] += m * b[c * n->voxels + i];
        }
    free(a);
    free(values);
    return status;
}

/* ---- T ---- */

/* The transform of Q, divided by the number of points. */
static vf_status make_transfer(nlinv *n)
{
    const float complex *psf = n->task->psf;
    const int64_t *g = n->grid;
    double complex *q = n->padded.data;
    vf_fft *fft = NULL;
    n->transfer = malloc((size_t)n->points * sizeof *n->transfer);
    if (!n->transfer)
        return no_memory(n);
    for (int64_t i = 0; i < n->points; i++) {
        const int64_t at[3] = {i % g[0], i / g[0] % g[1], i / g[0] / g[1]};
        int64_t to = 0;
        bool used = true;
        for (int a = 2; a >= 0; a--) {
            used = used && !(n->task->periods == 2 && g[a] > 1 && at[a] == 0);
            to = to * g[a] + (at[a] + g[a] - g[a] / 2) % g[a];
        }
        q[to] = used ? psf[i] : 0;
    }
    vf_status status = vf_fft_create(vf_context_host(n->ctx), VF_C128, 3, (const int64_t[]){g[2], g[1], g[0]}, 1, &fft);
    VF_TRY(status, vf_fft_execute(fft, n->queue, VF_FFT_FORWARD, q));
    for (int64_t i = 0; i < n->points && status == VF_OK; i++) {
        n->transfer[i] = creal(q[i]) / (double)n->points;
        if (!isfinite(n->transfer[i]))
            status = vf_fail(n->ctx, VF_ERR_INPUT, "the point spread function is not finite");
    }
    vf_fft_destroy(fft);
    return status;
}

/* Copies lines between the small matrix and the corner of the padded grid. */
static void copy_lines(const nlinv *n, int coil, bool back)
{
    const int64_t *m = n->task->small, *g = n->grid;
    double complex *image = n->product + coil * n->voxels;
    double complex *padded = (double complex *)n->padded.data + coil * n->points;
    if (!back)
        memset(padded, 0, (size_t)n->points * sizeof *padded);
    for (int64_t z = 0; z < m[2]; z++)
        for (int64_t y = 0; y < m[1]; y++) {
            double complex *line = image + (z * m[1] + y) * m[0], *other = padded + (z * g[1] + y) * g[0];
            memcpy(back ? line : other, back ? other : line, (size_t)m[0] * sizeof *line);
        }
}

vf_status nlinv_convolve(nlinv *n)
{
    const int threads = vf_threads_for(n->ctx, n->coils * n->points);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int c = 0; c < n->coils; c++)
        copy_lines(n, c, false);
    vf_status status = vf_fft_execute(n->fft, n->queue, VF_FFT_FORWARD, n->padded.data);
    if (status != VF_OK)
        return status;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int c = 0; c < n->coils; c++) {
        double complex *spectrum = (double complex *)n->padded.data + c * n->points;
        for (int64_t i = 0; i < n->points; i++)
            spectrum[i] *= n->transfer[i];
    }
    status = vf_fft_execute(n->fft, n->queue, VF_FFT_BACKWARD, n->padded.data);
    if (status != VF_OK)
        return status;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int c = 0; c < n->coils; c++)
        copy_lines(n, c, true);
    return VF_OK;
}

/* ---- G ---- */

/* A map from its series `a`; `out`: [voxels]. */
static void sum_series(const nlinv *n, const double complex *a, double complex *work, double complex *out)
{
    double complex *weighted = work;
    for (int64_t i = 0; i < n->terms; i++)
        weighted[i] = n->smooth[i] * a[i];
    nlinv_factors_apply(n->sum, weighted, work + n->terms, out);
}

/* For a map of each coil, from its series or back. */
static int threads_for_maps(const nlinv *n)
{
    return vf_threads_of_plan(n->ctx, n->threads, 20 * n->coils * n->voxels);
}

void nlinv_evaluate(nlinv *n)
{
    for (int64_t i = 0; i < n->voxels; i++)
        n->rho[i] = n->middle[i] * n->x[i];
#pragma omp parallel for schedule(static) num_threads(threads_for_maps(n))
    for (int c = 0; c < n->coils; c++)
        sum_series(n, n->x + n->voxels + c * n->terms, n->work + (size_t)omp_get_thread_num() * n->work_each,
                   n->maps + c * n->voxels);
}

void nlinv_derivative(nlinv *n, const double complex *dx)
{
#pragma omp parallel for schedule(static) num_threads(threads_for_maps(n))
    for (int c = 0; c < n->coils; c++) {
        const double complex *s = n->maps + c * n->voxels;
        double complex *out = n->product + c * n->voxels;
        sum_series(n, dx + n->voxels + c * n->terms, n->work + (size_t)omp_get_thread_num() * n->work_each, out);
        for (int64_t i = 0; i < n->voxels; i++)
            out[i] = n->rho[i] * out[i] + n->middle[i] * dx[i] * s[i];
    }
}

/* Writes the series' part of one coil to `out`, and replaces the product by conj(s) product. */
static void adjoint_of_coil(nlinv *n, int c, double complex *work, double complex *out)
{
    const double complex *s = n->maps + c * n->voxels;
    double complex *product = n->product + c * n->voxels, *series = out + n->voxels + c * n->terms;
    double complex *seen = work;
    for (int64_t i = 0; i < n->voxels; i++) {
        seen[i] = conj(n->rho[i]) * product[i];
        product[i] *= conj(s[i]);
    }
    nlinv_factors_apply(n->back, seen, work + n->voxels, series);
    for (int64_t i = 0; i < n->terms; i++)
        series[i] *= n->smooth[i];
}

void nlinv_adjoint(nlinv *n, double complex *out)
{
#pragma omp parallel for schedule(static) num_threads(threads_for_maps(n))
    for (int c = 0; c < n->coils; c++)
        adjoint_of_coil(n, c, n->work + (size_t)omp_get_thread_num() * n->work_each, out);
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(n->ctx, n->coils * n->voxels))
    for (int64_t i = 0; i < n->voxels; i++) {
        double complex sum = 0;
        for (int c = 0; c < n->coils; c++)
            sum += n->product[c * n->voxels + i];
        out[i] = n->middle[i] * sum;
    }
}

/* ---- setup ---- */

static vf_status reserve(nlinv *n)
{
    const size_t all = (size_t)n->coils * (size_t)n->voxels;
    const size_t sum = (size_t)n->terms + nlinv_factors_work(n->sum);
    const size_t back = (size_t)n->voxels + nlinv_factors_work(n->back);
    vf_device *host = vf_context_host(n->ctx);
    n->unknowns = n->voxels + n->coils * n->terms;
    n->work_each = sum > back ? sum : back;
    n->x = calloc((size_t)n->unknowns, sizeof *n->x);
    n->rho = malloc((size_t)n->voxels * sizeof *n->rho);
    n->maps = malloc(all * sizeof *n->maps);
    n->product = malloc(all * sizeof *n->product);
    n->work = malloc((size_t)n->threads * n->work_each * sizeof *n->work);
    if (!n->x || !n->rho || !n->maps || !n->product || !n->work)
        return no_memory(n);
    vf_status status = vf_queue_create(host, &n->queue);
    VF_TRY(status, vf_array_create(host, VF_SPACE_DEVICE, VF_C128, n->coils * n->points, &n->padded));
    if (status == VF_OK)
        status =
            vf_fft_create(host, VF_C128, 3, (const int64_t[]){n->grid[2], n->grid[1], n->grid[0]}, n->coils, &n->fft);
    return status;
}

vf_status nlinv_create(nlinv *n)
{
    n->voxels = n->points = 1;
    for (int a = 0; a < 3; a++) {
        n->grid[a] = n->task->small[a] > 1 ? n->task->small[a] * n->task->periods : 1;
        n->voxels *= n->task->small[a];
        n->points *= n->grid[a];
    }
    vf_status status = choose_terms(n);
    VF_TRY(status, make_factors(n));
    VF_TRY(status, compress(n));
    VF_TRY(status, reserve(n));
    VF_TRY(status, make_middle(n));
    VF_TRY(status, make_transfer(n));
    return status;
}

void nlinv_free(nlinv *n)
{
    for (int a = 0; a < 3; a++) {
        free(n->frequency[a]);
        nlinv_factor_free(&n->sum[a]);
        nlinv_factor_free(&n->back[a]);
    }
    free(n->smooth);
    free(n->middle);
    free(n->mix);
    free(n->b);
    free(n->transfer);
    free(n->x);
    free(n->rho);
    free(n->maps);
    free(n->product);
    free(n->work);
    vf_fft_destroy(n->fft);
    vf_queue_destroy(n->queue);
    vf_array_free(&n->padded);
}
