/* Solves for the small images of the coils from the samples in the centre of k-space, by least squares; and how exact
 * that is where the samples leave gaps. */
#include <complex.h>
#include <math.h>
#include <stdlib.h>

#include "calibrate.h"
#include "coil_maps.h"
#include "kernel_operators.h"
#include "solve/transfer.h"
#include "voxfield/dense.h"
#include "voxfield/statistics.h"

/* Precise enough for ratios of coils. */
static const solve_options small_solve = {
    .precision = VF_F32, .iterations = 25, .tolerance = 1e-3, .input = "calibration"};
/* For a known image: what a koosh ball's solution still lacks after 25 iterations is not lost in gaps. */
static const solve_options known_solve = {
    .precision = VF_F32, .iterations = 60, .tolerance = 3e-4, .input = "calibration"};
static const vf_encoding_options small_encoding = {
    .by = VF_ENCODE_OFF_GRID, .precision = VF_F32, .accuracy = 1e-4, .most_batch = 1};
static const double SMALL_LAMBDA = 1e-3; /* relative to the diagonal of F^H F */

/* Device memory for the steps below; both use `samples` and `image` for one coil at a time. */
typedef struct coil_work {
    vf_encoding *from, *to;
    vf_array samples, image, solution, gridded;
} coil_work;

static vf_status no_memory(const calibration *c)
{
    return vf_fail(c->ctx, VF_ERR_MEMORY, "no memory to estimate coil maps");
}

static vf_status allocate(calibration *c, int64_t samples, int64_t image, int64_t solution, int64_t gridded,
                          coil_work *w)
{
    const int64_t counts[4] = {samples, image, solution, gridded};
    vf_array *const arrays[4] = {&w->samples, &w->image, &w->solution, &w->gridded};
    vf_status status = VF_OK;
    for (int i = 0; i < 4 && status == VF_OK; i++)
        status = vf_array_create(vf_queue_device(c->queue), VF_SPACE_DEVICE, VF_C64, counts[i], arrays[i]);
    return status;
}

static void free_work(coil_work *w)
{
    vf_encoding_destroy(w->from);
    vf_encoding_destroy(w->to);
    vf_array_free(&w->samples);
    vf_array_free(&w->image);
    vf_array_free(&w->solution);
    vf_array_free(&w->gridded);
}

/* Mixes virtual coils, or mixes them back, by the unitary discrete Fourier transform. Of the principal components one has
 * nearly all of the signal: what an iterative solution of it lacks would count beside the others. The mixed coils see
 * about the same, as real ones do, so what their solutions lack is about the same factor of all, which does not change
 * ratios of coils. */
static vf_status mix_virtual(const calibration *c, bool back, int64_t count, float complex *data)
{
    const int coils = c->scan->coils;
    if (c->scan->compressed_from == 0)
        return VF_OK;
    double complex *mix = malloc((size_t)coils * (size_t)coils * sizeof *mix);
    if (!mix)
        return no_memory(c);
    for (int i = 0; i < coils; i++)
        for (int j = 0; j < coils; j++)
            mix[i * coils + j] = cexp(2 * M_PI * I * (double)(i * (int64_t)j % coils) / coils) / sqrt(coils);
    for (int e = 0; e < coils * coils && back; e++) /* symmetric */
        mix[e] = conj(mix[e]);
    const vf_status status = vf_mix_rows(c->ctx, coils, coils, mix, count, data);
    free(mix);
    return status;
}

/* The equations of one small image. */
typedef struct small_problem {
    coil_work w;
    vf_normal normal;
    vf_prior known;
    vf_operator *operator;
} small_problem;

static vf_status create_problem(calibration *c, small_problem *p)
{
    vf_device *device = vf_queue_device(c->queue);
    const vf_encoding_samples from = {.count = c->centre.samples, .k = c->centre.k};
    const vf_encoding_samples to = {.count = c->points, .k = c->grid.k};
    const vf_normal_task task = {.matrix = {c->small[0], c->small[1], c->small[2]},
                                 .samples = c->centre.samples,
                                 .k = c->centre.k,
                                 .encoding = small_encoding};
    *p = (small_problem){.known = {.kind = VF_PRIOR_IDENTITY, .counts = {c->small[0], c->small[1], c->small[2]}}};
    vf_status status = allocate(c, c->centre.samples, c->points, c->points, c->points, &p->w);
    VF_TRY(status, vf_encoding_create(device, c->small, &from, &small_encoding, &p->w.from));
    VF_TRY(status, vf_encoding_create(device, c->small, &to, &small_encoding, &p->w.to));
    VF_TRY(status, vf_normal_create(device, &task, &p->normal));
    p->known.lambda = SMALL_LAMBDA * p->normal.diagonal;
    VF_TRY(status, vf_normal_operator(device, VF_F32, c->points, &p->normal, 1, NULL, &p->operator));
    return status;
}

static void free_problem(small_problem *p)
{
    vf_operator_free(p->operator);
    vf_normal_free(&p->normal);
    free_work(&p->w);
}

/* Solves for the image of the samples on the device, and computes its Cartesian samples. */
static vf_status solve_samples(calibration *c, small_problem *p, const solve_options *options, float complex *gridded)
{
    solve_result result;
    vf_status status = vf_encoding_adjoint(p->w.from, c->queue, 1, &p->w.samples, &p->w.image);
    VF_TRY(status, solve(options, p->operator, & p->known, c->queue, &p->w.image, &p->w.solution, &result));
    VF_TRY(status, vf_encoding_forward(p->w.to, c->queue, 1, &p->w.solution, &p->w.gridded));
    VF_TRY(status, download(c->queue, &p->w.gridded, c->points, gridded));
    return status;
}

/* ---- how exact it is ---- */

/* In gaps between samples, the solution of least norm is small in k-space, and no residual shows that. A known image
 * does, whose k-space is that of the scan, moved by half a cycle: it has in the gaps what the scan has on the samples. */
typedef struct known_image {
    float complex *sum;           /* [points] the coils' images, added up, without noise */
    float complex *image;         /* [points] one solved image; the known one */
    float complex *known, *found; /* [points] Cartesian samples of the known image, and of its solution */
    double error, energy;
} known_image;

static vf_status create_known(const calibration *c, known_image *k)
{
    const size_t points = (size_t)c->points;
    *k = (known_image){.sum = calloc(points, sizeof *k->sum),
                       .image = malloc(points * sizeof *k->image),
                       .known = malloc(points * sizeof *k->known),
                       .found = malloc(points * sizeof *k->found)};
    return k->sum && k->image && k->known && k->found ? VF_OK : no_memory(c);
}

static void free_known(known_image *k)
{
    free(k->sum);
    free(k->image);
    free(k->known);
    free(k->found);
}

static double square(float complex z)
{
    return (double)crealf(z) * crealf(z) + (double)cimagf(z) * cimagf(z);
}

/* Adds a coil's solution. Phases that do not repeat keep the coils from cancelling each other. */
static vf_status add_coil(calibration *c, const small_problem *p, int coil, known_image *k)
{
    const double golden = M_PI * (3 - sqrt(5)), phase = golden * coil * coil;
    const float re = (float)cos(phase), im = (float)sin(phase);
    const vf_status status = download(c->queue, &p->w.solution, c->points, k->image);
    for (int64_t i = 0; i < c->points && status == VF_OK; i++)
        k->sum[i] += (re + im * I) * k->image[i];
    return status;
}

/* Computes the Cartesian samples of an image, k->known, and leaves the image on the device. */
static vf_status sample_known(calibration *c, small_problem *p, const float complex *image, known_image *k)
{
    vf_status status = upload(c->queue, image, c->points, &p->w.solution);
    VF_TRY(status, vf_encoding_forward(p->w.to, c->queue, 1, &p->w.solution, &p->w.gridded));
    VF_TRY(status, download(c->queue, &p->w.gridded, c->points, k->known));
    return status;
}

/* Removes what may be noise from the sum. Noise is everywhere in k-space, the signal is strong at less than half of the
 * points. Of points with noise alone, 1 in 2^16 has an energy above ABOVE times the median. */
static vf_status remove_noise(calibration *c, small_problem *p, known_image *k)
{
    const float ABOVE = 16;
    float *energy = malloc((size_t)c->points * sizeof *energy), median = 0;
    vf_status status = energy ? VF_OK : no_memory(c);
    VF_TRY(status, sample_known(c, p, k->sum, k));
    for (int64_t i = 0; i < c->points && status == VF_OK; i++)
        energy[i] = (float)square(k->known[i]);
    VF_TRY(status, vf_host_quantile(c->ctx, c->points, energy, 0.5, &median));
    for (int64_t i = 0; i < c->points && status == VF_OK; i++)
        k->known[i] *= energy[i] > ABOVE * median ? 1 - ABOVE * median / energy[i] : 0;
    VF_TRY(status, upload(c->queue, k->known, c->points, &p->w.gridded));
    VF_TRY(status, vf_encoding_adjoint(p->w.to, c->queue, 1, &p->w.gridded, &p->w.solution));
    VF_TRY(status, download(c->queue, &p->w.solution, c->points, k->sum));
    free(energy);
    return status;
}

/* Solves for the image that is moved in k-space along an axis, from its samples, and adds its error in the middle `kept`
 * points of k-space. Points count by their amplitude: errors of the weak ones, as far out on few spokes, matter little to
 * the maps. */
static vf_status solve_known(calibration *c, small_problem *p, int axis, const int64_t kept[3], known_image *k)
{
    const int64_t *n = c->small;
    const int64_t stride = axis == 0 ? 1 : axis == 1 ? n[0] : n[0] * n[1];
    for (int64_t i = 0; i < c->points; i++) {
        const double phase = M_PI * (double)(i / stride % n[axis] - n[axis] / 2) / (double)n[axis];
        k->image[i] = k->sum[i] * ((float)cos(phase) + (float)sin(phase) * I);
    }
    vf_status status = sample_known(c, p, k->image, k);
    VF_TRY(status, vf_encoding_forward(p->w.from, c->queue, 1, &p->w.solution, &p->w.samples));
    VF_TRY(status, solve_samples(c, p, &known_solve, k->found));
    for (int64_t i = 0; i < c->points && status == VF_OK; i++) {
        const int64_t at[3] = {i % n[0], i / n[0] % n[1], i / n[0] / n[1]};
        bool inside = true;
        for (int a = 0; a < 3; a++)
            inside = inside && llabs(at[a] - n[a] / 2) <= kept[a] / 2;
        const double weight = inside ? cabs(k->known[i]) : 0;
        k->error += weight * square(k->found[i] - k->known[i]);
        k->energy += weight * square(k->known[i]);
    }
    return status;
}

vf_status calibrate_solve(calibration *c, const int64_t kept[3])
{
    const int64_t samples = c->centre.samples;
    const bool test = kept && c->share < 1;
    small_problem p = {0};
    known_image k = {0};
    vf_status status = mix_virtual(c, false, samples, c->data);
    VF_TRY(status, create_problem(c, &p));
    VF_TRY(status, test ? create_known(c, &k) : VF_OK);
    for (int coil = 0; coil < c->scan->coils && status == VF_OK; coil++) {
        status = upload(c->queue, c->data + coil * samples, samples, &p.w.samples);
        VF_TRY(status, solve_samples(c, &p, &small_solve, c->gridded + coil * c->points));
        VF_TRY(status, test ? add_coil(c, &p, coil, &k) : VF_OK);
    }
    VF_TRY(status, mix_virtual(c, true, c->points, c->gridded));
    VF_TRY(status, test ? remove_noise(c, &p, &k) : VF_OK);
    for (int a = 0; a < 3 && test && status == VF_OK; a++)
        status = c->small[a] > 1 ? solve_known(c, &p, a, kept, &k) : VF_OK;
    c->lost = k.energy > 0 ? sqrt(k.error / k.energy) : 0;
    free_known(&k);
    free_problem(&p);
    return status;
}

vf_status calibrate_images(calibration *c, const int64_t matrix[3], float complex *images)
{
    const int64_t voxels = matrix[0] * matrix[1] * matrix[2];
    const vf_encoding_samples at = {.count = c->points, .k = c->grid.k};
    coil_work w = {0};
    vf_taper_centre(c->grid.samples, c->grid.k, c->k_cut, c->scan->coils, c->gridded, c->gridded);
    vf_status status = allocate(c, c->points, voxels, 0, 0, &w);
    VF_TRY(status, vf_encoding_create(vf_queue_device(c->queue), matrix, &at, &small_encoding, &w.from));
    for (int coil = 0; coil < c->scan->coils && status == VF_OK; coil++) {
        status = upload(c->queue, c->gridded + coil * c->points, c->points, &w.samples);
        VF_TRY(status, vf_encoding_adjoint(w.from, c->queue, 1, &w.samples, &w.image));
        VF_TRY(status, download(c->queue, &w.image, voxels, images + coil * voxels));
    }
    free_work(&w);
    return status;
}
