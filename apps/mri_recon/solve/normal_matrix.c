/* F^H W F for a team of devices. By NUFFT, each device computes the whole Q in its own memory, which takes less time
 * than a copy from another device. A direct sum takes much longer: each device computes a part of Q, the parts are
 * collected in host memory, and the devices that need Q copy it from there. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "choose_operator.h"
#include "equations.h"
#include "voxfield/team_size.h"

float complex sample_phi(const solve_settings *settings, const mri_scan *raw, const scan_trajectory *at, int64_t m)
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

/* The digest of all inputs that Q depends on. */
static void make_key(const solve_settings *settings, const mri_scan *raw, bool direct, int segments,
                     char key[VF_DIGEST_TEXT])
{
    char text[512], field[VF_DIGEST_TEXT] = "";
    const int64_t *n = raw->matrix, voxels = n[0] * n[1] * n[2];
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

/* One device's part of the work on Q. */
typedef struct q_part {
    struct q_maker *maker;
    vf_queue *queue;
    int64_t first, count;  /* its points of the doubled grid, for a direct sum */
    vf_q *plan;            /* NULL if Q is loaded */
    vf_array q;            /* all of Q if this device needs it; else its points */
    vf_toeplitz *toeplitz; /* the device's own, or NULL */
} q_part;

typedef struct q_maker {
    const device_team *team;
    const solve_settings *settings;
    recon_watch *watch; /* or NULL */
    vf_normal_task task;
    double *weights; /* [sample] task.weights, to free */
    vf_segments segments;
    int64_t doubled[3], points;
    vf_dtype type;
    bool direct;
    bool shared;  /* each device computes only a part of Q */
    int parts;    /* devices that take part */
    q_part *part; /* [parts] */
    q_file *file;
    vf_array host; /* Q in host memory, for the file or shared work; else empty */
    int segment;
} q_maker;

/* w |phi|^2 of each sample. */
static vf_status make_weights(q_maker *q, const mri_scan *raw, const scan_trajectory *at)
{
    q->task.weights = q->weights = malloc((size_t)at->samples * sizeof *q->weights + 1);
    if (!q->weights)
        return vf_fail(q->team->ctx, VF_ERR_MEMORY, "no memory for %lld weights", (long long)at->samples);
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(q->team->ctx, 5 * at->samples))
    for (int64_t m = 0; m < at->samples; m++) {
        const double complex phi = sample_phi(q->settings, raw, at, m);
        q->weights[m] = (at->weights ? at->weights[m] : 1) * creal(phi * conj(phi));
    }
    return VF_OK;
}

static vf_status compute_share(void *user, int number)
{
    const q_maker *m = user;
    q_part *p = &m->part[number];
    vf_status status = vf_q_compute(p->plan, p->queue, m->segment, &p->q);
    if (status == VF_OK && m->shared)
        status = vf_queue_copy(p->queue, vf_array_at(&m->host, p->first), p->q.data,
                               (size_t)p->count * vf_dtype_bytes(m->type));
    return status == VF_OK ? vf_queue_sync(p->queue) : status;
}

/* Sets the segment's Q in the device's Toeplitz matrix, from host memory if it was shared or loaded. */
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
    VF_TRY(status, vf_toeplitz_set(p->toeplitz, p->queue, m->segment, p->q.data));
    return status == VF_OK ? vf_queue_sync(p->queue) : status;
}

/* Segments are made one after the other, so that the host holds one Q at a time. */
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

static vf_status open_file(q_maker *m, const mri_scan *raw, int segments)
{
    char key[VF_DIGEST_TEXT];
    const solve_settings *s = m->settings;
    vf_context *ctx = m->team->ctx;
    vf_status status = VF_OK;
    if (s->save_q || s->load_q || m->shared)
        status = vf_array_create(vf_queue_device(m->team->queue[0]), VF_SPACE_PINNED, m->type, m->points, &m->host);
    if (status != VF_OK || (!s->save_q && !s->load_q))
        return status;
    make_key(s, raw, m->direct, segments, key);
    return s->load_q ? q_file_open(ctx, s->load_q, m->type, segments, m->doubled, key, &m->file)
                     : q_file_create(ctx, s->save_q, m->type, segments, m->doubled, key, &m->file);
}

static vf_status prepare_part(void *user, int number)
{
    q_maker *m = user;
    q_part *p = &m->part[number];
    vf_device *device = vf_queue_device(p->queue);
    const int64_t points = p->toeplitz ? m->points : m->direct ? p->count : 0;
    vf_status status = vf_array_create(device, VF_SPACE_DEVICE, m->type, points, &p->q);
    if (status == VF_OK && !m->settings->load_q)
        status = vf_q_create(device, &m->task, &m->segments, p->first, p->count, &p->plan);
    if (status == VF_OK && p->plan && m->watch)
        vf_q_watch(p->plan, watch_tell, m->watch);
    return status;
}

/* For a direct sum all devices take part; otherwise only those that need Q. */
static vf_status make_parts(q_maker *m, int wanted)
{
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
        watch_stage(m->watch, "Q",
                    m->settings->load_q ? 0 : segments * vf_q_work(&m->task) * (m->direct ? 1 : m->parts));
    vf_status status = team_run(m->team, m->parts, prepare_part, m);
    for (m->segment = 0; status == VF_OK && m->segment < segments; m->segment++)
        status = make_segment(m);
    return status;
}

/* Frees the memory used to make Q before the solver allocates its own. */
static void free_maker(q_maker *m)
{
    for (int d = 0; m->part && d < m->parts; d++) {
        vf_q_destroy(m->part[d].plan);
        vf_array_free(&m->part[d].q);
    }
    free(m->part);
    free(m->weights);
    vf_segments_free(&m->segments);
    q_file_close(&m->file);
    vf_array_free(&m->host);
}

static vf_status make_q(q_maker *m, const mri_scan *raw, int wanted, vf_normal *out)
{
    vf_status status = make_parts(m, wanted);
    for (int d = 0; d < wanted && status == VF_OK; d++)
        m->part[d].toeplitz = out[d].toeplitz;
    VF_TRY(status, open_file(m, raw, out->segments));
    VF_TRY(status, make_segments(m, out->segments));
    if (status == VF_OK && m->file && m->settings->save_q)
        status = q_file_commit(&m->file);
    for (int d = 0; d < wanted && status == VF_OK; d++)
        snprintf(out[d].description, sizeof out[d].description, "%s%s",
                 m->settings->load_q ? "Q from its file" : vf_q_description(m->part->plan),
                 out->segments > 1 ? ", off-resonance" : "");
    return status;
}

vf_status normal_matrix_create(const device_team *team, const solve_settings *settings, const mri_scan *raw,
                               const scan_trajectory *at, recon_watch *watch, int wanted, vf_normal *out)
{
    q_maker m = {.team = team,
                 .settings = settings,
                 .watch = watch,
                 .task = {.matrix = {raw->matrix[0], raw->matrix[1], raw->matrix[2]},
                          .samples = at->samples,
                          .k = at->k,
                          .time = at->time,
                          .field = raw->field_map,
                          .encoding = encoding_options(settings, raw, at)},
                 .type = vf_dtype_complex(settings->precision)};
    m.direct = m.task.encoding.by == VF_ENCODE_DIRECT;
    m.points = vf_q_grid(raw->matrix, m.doubled);
    memset(out, 0, (size_t)wanted * sizeof *out);
    if (watch)
        watch_stage(watch, "Q", 0);
    vf_status status = make_weights(&m, raw, at);
    VF_TRY(status, vf_normal_segments(team->ctx, &m.task, &m.segments));
    for (int d = 0; d < wanted && status == VF_OK; d++)
        status = vf_normal_begin(vf_queue_device(team->queue[d]), &m.task, &m.segments, &out[d]);
    if (status == VF_OK && out->toeplitz)
        status = make_q(&m, raw, wanted, out);
    free_maker(&m);
    for (int d = 0; d < wanted && status != VF_OK; d++)
        vf_normal_free(&out[d]);
    return status;
}
