/* Q: the weights' Fourier sum on the doubled grid, and with it F^H W F. A device makes what it needs in its own memory:
 * a NUFFT takes less time than Q takes to come from another device. Of a direct sum, which takes so much longer, each
 * device makes a part, the parts meet in host memory, and whoever needs Q copies it from there. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "choose_operator.h"
#include "equations.h"
#include "voxfield/copy.h"
#include "voxfield/statistics.h"

float complex sample_phi(const recon_settings *settings, const scan *raw, const scan_trajectory *at, int64_t m)
{
    if (at->phi)
        return at->phi[m];
    if (!settings->box_voxels)
        return 1;
    double product = 1;
    for (int a = 0; a < 3; a++) {
        double x = M_PI * at->k[3 * m + a] / (double)raw->matrix[a];
        product *= raw->matrix[a] > 1 && x != 0 ? sin(x) / x : 1;
    }
    return (float)product;
}

/* What Q depends on, as one digest. */
static void make_key(const recon_settings *settings, const scan *raw, const scan_trajectory *at, int segments,
                     char key[VF_DIGEST_TEXT])
{
    char text[512], field[VF_DIGEST_TEXT] = "";
    const int64_t *n = raw->matrix, voxels = n[0] * n[1] * n[2];
    const bool direct = encoding_choose_for(settings, raw, at) == VF_ENCODE_DIRECT;
    if (raw->field_map)
        vf_digest(raw->field_map, (size_t)voxels * sizeof(float), field);
    snprintf(text, sizeof text,
             "scan %s matrix %lld %lld %lld segments %d field %s box %d accuracy %.17g direct %d trig %d%s",
             raw->digest, (long long)n[0], (long long)n[1], (long long)n[2], segments, field, settings->box_voxels,
             direct && segments == 1 ? 0 : settings->accuracy, direct, direct && settings->hardware_trig,
             settings->precision == VF_F64 ? " weights double" : "");
    vf_digest(text, strlen(text), key);
}

struct q_maker;

/* What one device does of Q. */
typedef struct q_part {
    struct q_maker *maker;
    vf_queue *queue;
    int64_t first, count; /* points of the doubled grid, of a direct sum */
    vf_encoding *encoding;
    vf_array weights;
    vf_array box;          /* of Q, [z][y][x] of the scan's matrix */
    vf_array q;            /* Q, where this device needs it; else its points */
    void *moved;           /* [sample] weights on their way to the device, in Q's type */
    vf_toeplitz *toeplitz; /* the device's own, or NULL */
} q_part;

typedef struct q_maker {
    const device_team *team;
    const recon_settings *settings;
    const scan *scan;
    const scan_trajectory *at;
    recon_watch *watch;   /* or NULL */
    vf_segments segments; /* empty: one, without a field map */
    int64_t doubled[3], points;
    vf_dtype type;
    bool direct;
    bool shared;  /* each device makes a part only */
    int parts;    /* devices at work */
    q_part *part; /* [parts] */
    q_file *file;
    vf_array host;   /* Q on its way to or from the file, or from device to device; empty: neither */
    double *weights; /* [sample] */
    int segment;
} q_maker;

static int64_t voxels_of(const scan *raw)
{
    return raw->matrix[0] * raw->matrix[1] * raw->matrix[2];
}

/* ---- weights ---- */

/* w |phi|^2 of each sample; *sum: of all. */
static vf_status make_weights(q_maker *q, double *sum)
{
    const scan_trajectory *at = q->at;
    const int threads = vf_context_threads(q->team->ctx);
    vf_reduced all = {0};
    q->weights = malloc((size_t)at->samples * sizeof *q->weights + 1);
    if (!q->weights)
        return vf_fail(q->team->ctx, VF_ERR_MEMORY, "no memory for %lld weights", (long long)at->samples);
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int64_t m = 0; m < at->samples; m++) {
        const double complex phi = sample_phi(q->settings, q->scan, at, m);
        q->weights[m] = (at->weights ? at->weights[m] : 1) * creal(phi * conj(phi));
    }
    vf_status status = vf_host_reduce(q->team->ctx, VF_REDUCE_SUM, VF_F64, at->samples, q->weights, NULL, &all);
    *sum = all.re;
    return status;
}

/* The weights times exp(i 2 pi k.s) and the segment's coefficients, which are real, to the device. */
static vf_status put_weights(q_part *p, const double shift[3])
{
    const q_maker *m = p->maker;
    const int64_t samples = m->at->samples;
    const double *coefficient = m->segments.count ? m->segments.coefficient + 2 * m->segment * samples : NULL;
    const int threads = vf_context_threads(m->team->ctx);
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int64_t i = 0; i < samples; i++) {
        const double weight = coefficient ? m->weights[i] * coefficient[2 * i] : m->weights[i];
        double turns = 0;
        for (int a = 0; a < 3; a++)
            turns += shift[a] * (double)m->at->k[3 * i + a];
        turns -= rint(turns);
        const double moved[2] = {weight * cos(2 * M_PI * turns), weight * sin(2 * M_PI * turns)};
        for (int part = 0; part < 2; part++)
            if (m->type == VF_C128)
                ((double *)p->moved)[2 * i + part] = moved[part];
            else
                ((float *)p->moved)[2 * i + part] = (float)moved[part];
    }
    vf_status status =
        vf_queue_copy(p->queue, p->weights.data, p->moved, (size_t)samples * vf_dtype_bytes(p->weights.type));
    return status == VF_OK ? vf_queue_sync(p->queue) : status;
}

/* ---- Q in boxes ---- */

/* The doubled grid in boxes of the scan's matrix: along a doubled axis, index n of the lower box is r = (n - N) / N,
 * which is voxel n's place moved by (N/2 - N) / N fields of view, and of the upper box r = n / N, moved by (N/2) / N.
 * So each box is the adjoint of weights times exp(i 2 pi k.s), on the plan that images are made with. The box with
 * the bits of `upper` begins at the point returned; -1: there is none, of an axis that is not doubled. */
static int64_t shift_of_box(const q_maker *m, int upper_bits, double shift[3])
{
    int64_t at = 0, step = 1;
    for (int a = 0; a < 3; a++) {
        const int64_t n = m->scan->matrix[a], upper = upper_bits >> a & 1;
        if (n == 1 && upper)
            return -1;
        at += upper * n * step;
        step *= m->doubled[a];
        shift[a] = n > 1 ? (double)(n / 2 - (upper ? 0 : n)) / (double)n : 0;
    }
    return at;
}

/* A box of the scan's matrix into Q. */
static vf_status place_box(const q_maker *m, vf_queue *queue, const void *box, int64_t at, void *q)
{
    const int64_t *matrix = m->scan->matrix, *whole = m->doubled;
    const vf_pitch box_pitch = {matrix[0], matrix[0] * matrix[1]}, pitch = {whole[0], whole[0] * whole[1]};
    return vf_copy_box(queue, m->type, matrix, box, box_pitch, (char *)q + (size_t)at * vf_dtype_bytes(m->type), pitch);
}

static vf_status compute_boxes(q_part *p)
{
    const q_maker *m = p->maker;
    double shift[3];
    vf_status status = VF_OK;
    for (int bits = 0; bits < 8 && status == VF_OK; bits++) {
        const int64_t at = shift_of_box(m, bits, shift);
        if (at < 0)
            continue;
        status = put_weights(p, shift);
        if (status == VF_OK)
            status = vf_encoding_adjoint(p->encoding, p->queue, 1, &p->weights, &p->box);
        if (status == VF_OK)
            status = place_box(m, p->queue, p->box.data, at, p->q.data);
    }
    return status;
}

static vf_status compute_points(q_part *p)
{
    const q_maker *m = p->maker;
    const size_t element = vf_dtype_bytes(m->type);
    vf_status status = put_weights(p, (const double[3]){0});
    if (status == VF_OK)
        status = vf_encoding_adjoint(p->encoding, p->queue, 1, &p->weights, &p->q);
    if (status == VF_OK && m->shared)
        status = vf_queue_copy(p->queue, (char *)m->host.data + (size_t)p->first * element, p->q.data,
                               (size_t)p->count * element);
    return status == VF_OK ? vf_queue_sync(p->queue) : status;
}

static vf_status compute_share(void *user, int number)
{
    const q_maker *m = user;
    return m->direct ? compute_points(&m->part[number]) : compute_boxes(&m->part[number]);
}

/* From wherever the segment's Q is. */
static vf_status give_to_device(void *user, int number)
{
    const q_maker *m = user;
    q_part *p = &m->part[number];
    const bool copied = m->shared || m->settings->load_q;
    vf_status status = VF_OK;
    if (!p->toeplitz)
        return VF_OK;
    if (copied)
        status = vf_queue_copy(p->queue, p->q.data, m->host.data, (size_t)m->points * vf_dtype_bytes(m->type));
    if (status == VF_OK)
        status = vf_toeplitz_set(p->toeplitz, p->queue, m->segment, p->q.data);
    return status == VF_OK ? vf_queue_sync(p->queue) : status;
}

/* One after the other, so that the host has one at a time. */
static vf_status make_segment(q_maker *m)
{
    const size_t bytes = (size_t)m->points * vf_dtype_bytes(m->type);
    vf_status status = VF_OK;
    if (m->settings->load_q) {
        status = q_file_read(m->file, m->segment, m->host.data);
    } else {
        status = team_run(m->team, m->parts, compute_share, m);
        if (status == VF_OK && m->file && !m->shared)
            status = vf_queue_copy(m->part->queue, m->host.data, m->part->q.data, bytes);
        if (status == VF_OK && m->file && !m->shared)
            status = vf_queue_sync(m->part->queue);
        if (status == VF_OK && m->file)
            status = q_file_write(m->file, m->segment, m->host.data);
    }
    return status == VF_OK ? team_run(m->team, m->parts, give_to_device, m) : status;
}

/* ---- plans and memory ---- */

static vf_status open_file(q_maker *m, int segments)
{
    char key[VF_DIGEST_TEXT];
    const recon_settings *s = m->settings;
    vf_context *ctx = m->team->ctx;
    vf_status status = VF_OK;
    if (s->save_q || s->load_q || m->shared)
        status = vf_array_create(vf_queue_device(m->team->queue[0]), VF_SPACE_PINNED, m->type, m->points, &m->host);
    if (status != VF_OK || (!s->save_q && !s->load_q))
        return status;
    make_key(s, m->scan, m->at, segments, key);
    return s->load_q ? q_file_open(ctx, s->load_q, m->type, segments, m->doubled, key, &m->file)
                     : q_file_create(ctx, s->save_q, m->type, segments, m->doubled, key, &m->file);
}

/* A NUFFT of the scan's matrix makes Q in boxes, a direct sum makes it whole. */
static vf_status make_operator(q_part *p)
{
    const q_maker *m = p->maker;
    const int64_t samples = m->at->samples, voxels = voxels_of(m->scan);
    recon_settings settings = *m->settings;
    settings.encode_by = m->direct ? VF_ENCODE_DIRECT : VF_ENCODE_NUFFT;
    vf_device *device = vf_queue_device(p->queue);
    vf_status status = encoding_create(device, &settings, m->direct ? m->doubled : m->scan->matrix, m->direct ? 2 : 1,
                                       samples, m->at->k, NULL, NULL, 1, &p->encoding);
    if (status == VF_OK)
        status = vf_array_create(device, VF_SPACE_DEVICE, m->type, samples, &p->weights);
    if (status != VF_OK)
        return status;
    if (m->watch)
        vf_encoding_watch(p->encoding, watch_tell, m->watch);
    if (m->direct)
        vf_encoding_restrict(p->encoding, p->first, p->count);
    p->moved = malloc((size_t)samples * vf_dtype_bytes(m->type) + 1);
    if (!p->moved)
        return vf_fail(m->team->ctx, VF_ERR_MEMORY, "no memory for %lld weights", (long long)samples);
    return m->direct ? VF_OK : vf_array_create(device, VF_SPACE_DEVICE, m->type, voxels, &p->box);
}

static vf_status prepare_part(void *user, int number)
{
    q_maker *m = user;
    q_part *p = &m->part[number];
    const int64_t points = p->toeplitz ? m->points : m->direct ? p->count : 0;
    vf_status status = vf_array_create(vf_queue_device(p->queue), VF_SPACE_DEVICE, m->type, points, &p->q);
    return status == VF_OK && !m->settings->load_q ? make_operator(p) : status;
}

/* Of a segment. */
static int boxes(const q_maker *m)
{
    const int64_t *n = m->scan->matrix;
    return (n[0] > 1 ? 2 : 1) * (n[1] > 1 ? 2 : 1) * (n[2] > 1 ? 2 : 1);
}

/* The devices that need Q take part; in a direct sum all do. */
static vf_status make_parts(q_maker *m, int wanted)
{
    m->direct = encoding_choose_for(m->settings, m->scan, m->at) == VF_ENCODE_DIRECT;
    const int64_t row = m->doubled[0];
    const int64_t most = m->settings->load_q || !m->direct ? wanted : m->points / row;
    m->parts = most < m->team->count ? (int)most : m->team->count;
    m->parts = m->parts < wanted ? wanted : m->parts;
    m->shared = m->direct && m->parts > 1;
    m->part = calloc((size_t)m->parts, sizeof *m->part);
    if (!m->part)
        return vf_fail(m->team->ctx, VF_ERR_MEMORY, "no memory");
    for (int d = 0; d < m->parts; d++) {
        const int64_t first = team_cut(m->points, row, m->parts, d);
        m->part[d] = (q_part){.maker = m,
                              .queue = m->team->queue[d],
                              .first = first,
                              .count = team_cut(m->points, row, m->parts, d + 1) - first};
    }
    return VF_OK;
}

static vf_status make_segments(q_maker *m, int segments)
{
    if (m->watch)
        watch_stage(m->watch, "Q", m->settings->load_q ? 0 : (double)segments * (m->direct ? 1 : boxes(m) * m->parts));
    vf_status status = team_run(m->team, m->parts, prepare_part, m);
    for (m->segment = 0; status == VF_OK && m->segment < segments; m->segment++)
        status = make_segment(m);
    return status;
}

/* Where the memory of Q's making is freed before the solver's begins. */
static void free_maker(q_maker *m)
{
    for (int d = 0; m->part && d < m->parts; d++) {
        q_part *p = &m->part[d];
        vf_encoding_destroy(p->encoding);
        vf_array_free(&p->weights);
        vf_array_free(&p->box);
        vf_array_free(&p->q);
        free(p->moved);
    }
    free(m->part);
    free(m->weights);
    vf_segments_free(&m->segments);
    q_file_close(&m->file);
    vf_array_free(&m->host);
}

/* Of samples on a grid, on each device that is to have it. */
static vf_status make_circulants(q_maker *m, int wanted, normal_matrix *out)
{
    double diagonal = 0;
    vf_status status = make_weights(m, &diagonal);
    const vf_cartesian_samples samples = {.count = m->at->samples, .k = m->at->k, .weights = m->weights};
    for (int d = 0; d < wanted && status == VF_OK; d++) {
        out[d].segments = 1;
        out[d].diagonal = diagonal;
        snprintf(out[d].description, sizeof out[d].description, "none: FFT of the grid");
        status = vf_cartesian_normal_create(vf_queue_device(m->team->queue[d]), m->scan->matrix, &samples,
                                            m->settings->precision, &out[d].cartesian);
    }
    return status;
}

/* F^H W F without its Q, on each device that is to have it. */
static vf_status make_matrices(q_maker *m, int wanted, normal_matrix *out)
{
    const bool off_resonance = m->segments.count > 0;
    double diagonal = 0;
    vf_status status = make_weights(m, &diagonal);
    for (int d = 0; d < wanted && status == VF_OK; d++) {
        out[d].segments = off_resonance ? m->segments.count : 1;
        out[d].diagonal = diagonal;
        const vf_toeplitz_options options = {.precision = m->settings->precision,
                                             .segments = out[d].segments,
                                             .time = off_resonance ? m->segments.time : NULL,
                                             .field = off_resonance ? m->scan->field_map : NULL};
        status = vf_toeplitz_create(vf_queue_device(m->team->queue[d]), m->scan->matrix, &options, &out[d].toeplitz);
    }
    return status;
}

/* Q, and with it F^H W F. */
static vf_status make_toeplitz(q_maker *m, int wanted, normal_matrix *out)
{
    const recon_settings *settings = m->settings;
    vf_status status = VF_OK;
    if (m->scan->field_map && m->at->time)
        status = vf_segments_create(m->team->ctx, m->at->samples, m->at->time, voxels_of(m->scan), m->scan->field_map,
                                    true, settings->accuracy, &m->segments);
    if (status == VF_OK)
        status = make_matrices(m, wanted, out);
    if (status == VF_OK)
        status = make_parts(m, wanted);
    for (int d = 0; d < wanted && status == VF_OK; d++)
        m->part[d].toeplitz = out[d].toeplitz;
    if (status == VF_OK)
        status = open_file(m, out->segments);
    if (status == VF_OK)
        status = make_segments(m, out->segments);
    if (status == VF_OK && m->file && settings->save_q)
        status = q_file_commit(&m->file);
    for (int d = 0; d < wanted && status == VF_OK; d++)
        snprintf(out[d].description, sizeof out[d].description, "%s%s",
                 settings->load_q ? "Q from its file" : vf_encoding_description(m->part->encoding),
                 out->segments > 1 ? ", off-resonance" : "");
    return status;
}

vf_status normal_matrix_create(const device_team *team, const recon_settings *settings, const scan *raw,
                               const scan_trajectory *at, recon_watch *watch, int wanted, normal_matrix *out)
{
    q_maker m = {.team = team,
                 .settings = settings,
                 .scan = raw,
                 .at = at,
                 .watch = watch,
                 .points = 1,
                 .type = vf_dtype_complex(settings->precision)};
    memset(out, 0, (size_t)wanted * sizeof *out);
    for (int a = 0; a < 3; a++) {
        m.doubled[a] = raw->matrix[a] > 1 ? 2 * raw->matrix[a] : 1;
        m.points *= m.doubled[a];
    }
    if (watch)
        watch_stage(watch, "Q", 0);
    const bool on_grid = encoding_choose_for(settings, raw, at) == VF_ENCODE_CARTESIAN;
    vf_status status = (on_grid ? make_circulants : make_toeplitz)(&m, wanted, out);
    free_maker(&m);
    for (int d = 0; d < wanted && status != VF_OK; d++)
        normal_matrix_free(&out[d]);
    return status;
}

vf_status normal_matrix_apply(const normal_matrix *normal, vf_queue *queue, int coils, const void *maps, const void *x,
                              void *y)
{
    return normal->cartesian ? vf_cartesian_normal_apply(normal->cartesian, queue, coils, maps, x, y)
                             : vf_toeplitz_apply(normal->toeplitz, queue, coils, maps, x, y);
}

void normal_matrix_free(normal_matrix *normal)
{
    vf_toeplitz_destroy(normal->toeplitz);
    vf_cartesian_destroy(normal->cartesian);
    *normal = (normal_matrix){0};
}
