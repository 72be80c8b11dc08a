/* Q: the weights' Fourier sum on the doubled grid, and with it F^H W F. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mri_recon.h"
#include "voxfield/copy.h"

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

/* w |phi|^2 of each sample, times segment l's coefficient, which is real. */
static void segment_weights(const recon_settings *settings, const scan *raw, const scan_trajectory *at,
                            const vf_segments *segments, int l, float complex *out)
{
    for (int64_t m = 0; m < at->samples; m++) {
        float complex phi = sample_phi(settings, raw, at, m);
        float weight = (at->weights ? at->weights[m] : 1) * crealf(phi * conjf(phi));
        out[m] = segments->count ? weight * (float)segments->coefficient[2 * (l * at->samples + m)] : weight;
    }
}

/* What Q depends on, as one digest. */
static void make_key(const recon_settings *settings, const scan *raw, int64_t samples, int segments,
                     char key[VF_DIGEST_TEXT])
{
    char text[512], field[VF_DIGEST_TEXT] = "";
    const int64_t *n = raw->matrix, voxels = n[0] * n[1] * n[2];
    const bool direct = encoding_chooses_direct(settings, samples, voxels);
    if (raw->field_map)
        vf_digest(raw->field_map, (size_t)voxels * sizeof(float), field);
    snprintf(text, sizeof text,
             "scan %s matrix %lld %lld %lld segments %d field %s box %d accuracy %.17g direct %d trig %d", raw->digest,
             (long long)n[0], (long long)n[1], (long long)n[2], segments, field, settings->box_voxels,
             direct && segments == 1 ? 0 : settings->accuracy, direct, direct && settings->hardware_trig);
    vf_digest(text, strlen(text), key);
}

typedef struct q_maker {
    vf_context *ctx;
    const recon_settings *settings;
    const scan *scan;
    const scan_trajectory *at;
    vf_queue *queue;
    recon_watch *watch;   /* or NULL */
    vf_segments segments; /* empty: one, without a field map */
    int64_t doubled[3];
    vf_array weights, q; /* on the device */
    vf_array part;       /* a part of Q, [z][y][x] of the scan's matrix */
    encoding *encoding;
    q_file *file;
    void *host; /* Q on its way to or from the file; NULL if it need not go through the host */
} q_maker;

static vf_status open_file(q_maker *m, int segments, vf_dtype type)
{
    char key[VF_DIGEST_TEXT];
    const recon_settings *s = m->settings;
    if (!s->save_q && !s->load_q)
        return VF_OK;
    make_key(s, m->scan, m->at->samples, segments, key);
    vf_status status = s->load_q ? q_file_open(m->ctx, s->load_q, type, segments, m->doubled, key, &m->file)
                                 : q_file_create(m->ctx, s->save_q, type, segments, m->doubled, key, &m->file);
    if (status == VF_OK && !vf_device_is_host(vf_context_device(m->ctx, 0))) {
        m->host = malloc((size_t)m->q.count * vf_dtype_bytes(type));
        if (!m->host)
            status = vf_fail(m->ctx, VF_ERR_MEMORY, "no memory for Q");
    }
    return status;
}

static vf_status read_segment(q_maker *m, int l)
{
    vf_status status = q_file_read(m->file, l, m->host ? m->host : m->q.data);
    if (status == VF_OK && m->host)
        status = vf_queue_copy(m->queue, m->q.data, m->host, (size_t)m->q.count * vf_dtype_bytes(m->q.type));
    return status;
}

/* The doubled grid in parts of the scan's matrix: along a doubled axis, index n of the lower part is r = (n - N) / N,
 * which is voxel n's place moved by (N/2 - N) / N fields of view, and of the upper part r = n / N, moved by (N/2) / N.
 * So each part is the adjoint of weights times exp(i 2 pi k.s), on the plan that images are made with. */
static vf_status compute_in_parts(q_maker *m, const float complex *weights, float complex *moved)
{
    const int64_t *matrix = m->scan->matrix, *whole = m->doubled;
    const vf_pitch part_pitch = {matrix[0], matrix[0] * matrix[1]}, pitch = {whole[0], whole[0] * whole[1]};
    vf_status status = vf_fill(m->queue, m->q.type, m->q.count, (const double[2]){0}, m->q.data);
    for (int part = 0; part < 8 && status == VF_OK; part++) {
        double shift[3];
        int64_t at = 0, step = 1;
        bool wanted = true;
        for (int a = 0; a < 3; a++) {
            const int64_t n = matrix[a], upper = part >> a & 1;
            wanted = wanted && (n > 1 || !upper);
            at += upper * n * step;
            step *= whole[a];
            shift[a] = n > 1 ? (double)(n / 2 - (upper ? 0 : n)) / (double)n : 0;
        }
        if (!wanted)
            continue;
        for (int64_t i = 0; i < m->at->samples; i++) {
            double turns = 0;
            for (int a = 0; a < 3; a++)
                turns += shift[a] * (double)m->at->k[3 * i + a];
            turns -= rint(turns);
            moved[i] = weights[i] * (float complex)cexp(2 * M_PI * I * turns);
        }
        status = upload(m->queue, moved, m->at->samples, &m->weights);
        if (status == VF_OK)
            status = encoding_adjoint(m->encoding, m->queue, 1, &m->weights, &m->part);
        if (status == VF_OK)
            status = vf_copy_box(m->queue, m->q.type, matrix, m->part.data, part_pitch,
                                 (char *)m->q.data + (size_t)at * vf_dtype_bytes(m->q.type), pitch);
    }
    return status;
}

static vf_status compute_segment(q_maker *m, int l, float complex *weights)
{
    segment_weights(m->settings, m->scan, m->at, &m->segments, l, weights);
    vf_status status = VF_OK;
    if (encoding_is_direct(m->encoding)) {
        status = upload(m->queue, weights, m->at->samples, &m->weights);
        if (status == VF_OK)
            status = encoding_adjoint(m->encoding, m->queue, 1, &m->weights, &m->q);
    } else {
        status = compute_in_parts(m, weights, weights + m->at->samples);
    }
    if (status != VF_OK || !m->file)
        return status;
    if (m->host)
        status = vf_queue_copy(m->queue, m->host, m->q.data, (size_t)m->q.count * vf_dtype_bytes(m->q.type));
    if (status == VF_OK)
        status = vf_queue_sync(m->queue);
    return status == VF_OK ? q_file_write(m->file, l, m->host ? m->host : m->q.data) : status;
}

/* A NUFFT of the scan's matrix makes Q in parts, a direct sum makes it whole. */
static vf_status make_operator(q_maker *m)
{
    const int64_t samples = m->at->samples, *matrix = m->scan->matrix;
    vf_status status = encoding_create(m->ctx, m->settings, matrix, 1, samples, m->at->k, NULL, NULL, 1, &m->encoding);
    if (status != VF_OK || !encoding_is_direct(m->encoding))
        return status != VF_OK ? status
                               : vf_array_create(vf_context_device(m->ctx, 0), VF_SPACE_DEVICE, m->q.type,
                                                 matrix[0] * matrix[1] * matrix[2], &m->part);
    recon_settings direct = *m->settings;
    direct.encode_by = RECON_DIRECT;
    encoding_destroy(m->encoding);
    m->encoding = NULL;
    return encoding_create(m->ctx, &direct, m->doubled, 2, samples, m->at->k, NULL, NULL, 1, &m->encoding);
}

/* Of a segment. */
static int adjoints(const q_maker *m)
{
    const int64_t *n = m->scan->matrix;
    const bool whole = encoding_chooses_direct(m->settings, m->at->samples, n[0] * n[1] * n[2]);
    return whole ? 1 : (n[0] > 1 ? 2 : 1) * (n[1] > 1 ? 2 : 1) * (n[2] > 1 ? 2 : 1);
}

static vf_status make_segments(q_maker *m, normal_matrix *out)
{
    const int64_t samples = m->at->samples;
    vf_device *device = vf_context_device(m->ctx, 0);
    const vf_dtype type = vf_dtype_complex(m->settings->precision);
    float complex *weights = malloc(2 * (size_t)samples * sizeof *weights); /* twice: compute_in_parts moves them */
    vf_status status = VF_OK;
    if (!weights)
        return vf_fail(m->ctx, VF_ERR_MEMORY, "no memory for %lld weights", (long long)samples);
    if (m->watch)
        watch_stage(m->watch, "Q", (double)out->segments * (m->settings->load_q ? 0 : adjoints(m)));
    if (!m->settings->load_q) {
        status = make_operator(m);
        if (status == VF_OK && m->watch)
            encoding_watch(m->encoding, &m->watch->progress);
        if (status == VF_OK)
            status = vf_array_create(device, VF_SPACE_DEVICE, type, samples, &m->weights);
    }
    for (int l = 0; status == VF_OK && l < out->segments; l++) {
        status = m->settings->load_q ? read_segment(m, l) : compute_segment(m, l, weights);
        if (status == VF_OK)
            status = vf_toeplitz_set(out->toeplitz, m->queue, l, m->q.data);
        if (status == VF_OK)
            status = vf_queue_sync(m->queue);
    }
    free(weights);
    return status;
}

/* Where the memory of Q's making is freed before the solver's begins. */
static void free_maker(q_maker *m)
{
    encoding_destroy(m->encoding);
    vf_array_free(&m->weights);
    vf_array_free(&m->q);
    vf_array_free(&m->part);
    vf_segments_free(&m->segments);
    q_file_close(&m->file);
    free(m->host);
}

vf_status normal_matrix_create(vf_context *ctx, const recon_settings *settings, const scan *raw,
                               const scan_trajectory *at, vf_queue *queue, recon_watch *watch, normal_matrix *out)
{
    vf_device *device = vf_context_device(ctx, 0);
    const int64_t voxels = raw->matrix[0] * raw->matrix[1] * raw->matrix[2];
    const bool off_resonance = raw->field_map && at->time;
    q_maker m = {.ctx = ctx, .settings = settings, .scan = raw, .at = at, .queue = queue, .watch = watch};
    vf_status status = VF_OK;
    *out = (normal_matrix){.segments = 1};
    if (watch)
        watch_stage(watch, "Q", 0);
    if (off_resonance) {
        status = vf_segments_create(ctx, at->samples, at->time, voxels, raw->field_map, true, settings->accuracy,
                                    &m.segments);
        out->segments = m.segments.count;
    }
    for (int64_t i = 0; i < at->samples; i++) {
        float complex phi = sample_phi(settings, raw, at, i);
        out->diagonal += (at->weights ? at->weights[i] : 1) * creal((double complex)phi * conj((double complex)phi));
    }
    const vf_toeplitz_options options = {.precision = settings->precision,
                                         .segments = out->segments,
                                         .time = off_resonance ? m.segments.time : NULL,
                                         .field = off_resonance ? raw->field_map : NULL};
    if (status == VF_OK)
        status = vf_toeplitz_create(device, raw->matrix, &options, &out->toeplitz);
    if (status == VF_OK) {
        vf_toeplitz_doubled(out->toeplitz, m.doubled);
        status = vf_array_create(device, VF_SPACE_DEVICE, vf_dtype_complex(settings->precision),
                                 m.doubled[0] * m.doubled[1] * m.doubled[2], &m.q);
    }
    if (status == VF_OK)
        status = open_file(&m, out->segments, m.q.type);
    if (status == VF_OK)
        status = make_segments(&m, out);
    if (status == VF_OK && m.file && settings->save_q)
        status = q_file_commit(&m.file);
    if (status == VF_OK)
        snprintf(out->description, sizeof out->description, "%s%s",
                 settings->load_q ? "Q from its file" : encoding_description(m.encoding),
                 out->segments > 1 ? ", off-resonance" : "");
    free_maker(&m);
    if (status != VF_OK)
        normal_matrix_free(out);
    return status;
}

void normal_matrix_free(normal_matrix *normal)
{
    vf_toeplitz_destroy(normal->toeplitz);
    *normal = (normal_matrix){0};
}
