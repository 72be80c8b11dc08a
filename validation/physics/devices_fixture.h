/* The same random scan reconstructed on lists of one and more devices; for test_recon_devices.c and
 * test_recon_series_devices.c. */
#ifndef DEVICES_FIXTURE_H
#define DEVICES_FIXTURE_H

#include <stdio.h>
#include <string.h>

#include "recon_fixture.h"

enum { MOST_FRAMES = 5, LISTS = 3 };
static const int64_t plane[3] = {14, 17, 1};
static char lists[LISTS][24]; /* of devices */
static int devices[LISTS] = {1, 2, 3};

/* The scan, and how it is reconstructed. */
typedef struct variation {
    const int64_t *matrix;
    int coils, frames, places, trajectories;
    bool field, to_the_end; /* of the solver; otherwise only some iterations */
    vf_dtype precision;
    vf_encode_by encode_by;
    recon_method method;
    recon_coils seen;
    int64_t group_bytes;
    int window, priors; /* of frames that are solved together; priors 0: frame by frame */
    vf_penalty_kind prior[VF_MOST_PRIORS];
} variation;

typedef struct images {
    float complex *data; /* [frame][voxel] */
    int64_t voxels;
    const scan_frame *first;
    int frames;
    recon_summary summary;
    recon_watch watch;
    vf_status status;
    char message[400]; /* of an error */
    int given_up;      /* devices with a warning */
} images;

static void keep(void *user, const scan_frame *frame, const float complex *image)
{
    images *k = user;
    memcpy(k->data + (frame - k->first) * k->voxels, image, (size_t)k->voxels * sizeof *image);
    k->frames++;
}

/* The second trajectory is the first rotated: x for y. */
static void turn(const problem *p, scan_trajectory *out)
{
    *out = p->trajectory;
    out->k = allocate(3 * SAMPLES, sizeof *out->k);
    for (int m = 0; m < SAMPLES; m++) {
        out->k[3 * m] = p->trajectory.k[3 * m + 1] * (float)p->scan.matrix[0] / (float)p->scan.matrix[1];
        out->k[3 * m + 1] = p->trajectory.k[3 * m] * (float)p->scan.matrix[1] / (float)p->scan.matrix[0];
        out->k[3 * m + 2] = p->trajectory.k[3 * m + 2];
        for (int a = 0; a < 2 && p->settings.solve.encode_by == VF_ENCODE_CARTESIAN; a++)
            out->k[3 * m + a] = rintf(out->k[3 * m + a]);
    }
}

static void count_warnings(void *user, vf_log_level level, const char *text)
{
    images *out = user;
    out->given_up += level == VF_LOG_WARNING && strstr(text, "is dropped") != NULL;
}

/* Makes the same random scan each time, on the devices of a list. */
static images try_to_make(const variation *v, int list)
{
    scan_trajectory trajectories[2];
    device_spec = lists[list];
    seed_random();
    problem p = open_problem(v->matrix, v->coils, v->frames, v->field, v->precision, v->encode_by);
    p.settings.solve.method = v->method;
    p.settings.coils.how = v->seen;
    p.settings.schedule.group_bytes = v->group_bytes;
    if (!v->to_the_end)
        p.settings.solve.iterations = 8;
    if (v->priors > 0) { /* lambda is 0.05 of the noise, which comes from first images */
        p.settings.solve.prior = RECON_SPECTRUM;
        p.settings.solve.sparse = v->priors;
        memcpy(p.settings.solve.sparse_prior, v->prior, sizeof v->prior);
        p.settings.schedule.window = v->window;
    }
    for (int a = 0; a < 3; a++)
        p.scan.fov[a] = 200;
    trajectories[0] = p.trajectory;
    turn(&p, &trajectories[1]);
    p.scan.trajectory = trajectories;
    p.scan.trajectories = v->trajectories ? v->trajectories : 1;
    p.scan.places = v->places ? v->places : 1;
    for (int f = 0; f < v->frames; f++) {
        p.frames[f].trajectory = f % p.scan.trajectories;
        p.frames[f].place = f % p.scan.places;
        for (int i = 0; i < v->coils * SAMPLES; i++) /* so lambda depends on the frame that it is found from */
            p.frames[f].data[i] *= (float)(1 + f);
    }
    for (int64_t n = 0; v->coils > 1 && n < v->coils * p.voxels; n++)
        p.scan.sensitivity[n] *= (float)(1 + n % 7);
    images out = {.data = allocate((size_t)(v->frames * p.voxels), sizeof *out.data),
                  .voxels = p.voxels,
                  .first = p.frames,
                  .watch.mode = VF_PROGRESS_OFF};
    vf_context_set_log(p.ctx, count_warnings, &out);
    out.status = reconstruct(p.ctx, &p.settings, &p.scan, &out.watch, keep, NULL, &out, &out.summary);
    assert_int_equal(out.status, vf_context_status(p.ctx));
    snprintf(out.message, sizeof out.message, "%s", vf_context_message(p.ctx));
    free(out.summary.frame_noise);
    out.summary.frame_noise = NULL;
    free(trajectories[1].k);
    close_problem(&p);
    return out;
}

static images make(const variation *v, int list)
{
    images out = try_to_make(v, list);
    if (out.status != VF_OK)
        fail_msg("%s: %s", lists[list], out.message);
    assert_int_equal(out.frames, v->frames);
    return out;
}

/* All-zero images could hide errors. */
static void check_not_zero(const images *a, int frames)
{
    for (int f = 0; f < frames; f++) {
        double sum = 0;
        for (int64_t n = 0; n < a->voxels; n++)
            sum += cabsf(a->data[f * a->voxels + n]);
        assert_true(sum > 0 && isfinite(sum));
    }
}

static const char *const variable = "VOXFIELD_SIMULATE_FAILURE";

/* With windows, each device is a team; otherwise all are one. Frames are counted once for each device that made
 * them. */
static void check_sharing(const variation *v, const images *several, int list)
{
    const int teams = v->window > 0 ? devices[list] : 1, each = devices[list] / teams;
    int sum = 0;
    for (int d = 0; d < RECON_MAX_DEVICES; d++)
        sum += several->summary.device[d].frames;
    assert_int_equal(several->summary.sharing.teams, teams);
    assert_int_equal(several->summary.sharing.each, each);
    assert_int_equal(sum, v->frames * each);
    assert_true(teams == 1 || fabs(several->watch.progress.done - v->frames) <= 1e-9);
}

/* `failing`: a device that fails (docs/division.md), or NULL. Returns how many failed; one that found no work
 * did not. */
static int same_bits_though(const variation *v, const char *failing)
{
    int failed = 0;
    images one = make(v, 0);
    check_not_zero(&one, v->frames);
    for (int list = 1; list < LISTS; list++) {
        if (failing)
            setenv(variable, failing, 1);
        images several = make(v, list);
        unsetenv(variable);
        assert_true(several.given_up <= (failing != NULL));
        failed += several.given_up;
        for (int f = 0; f < v->frames; f++)
            if (memcmp(one.data + f * one.voxels, several.data + f * one.voxels,
                       (size_t)one.voxels * sizeof *one.data) != 0)
                fail_msg("%s: frame %d differs (%d coils, operator %d, method %d)", lists[list], f, v->coils,
                         v->encode_by, v->method);
        if (v->priors > 0)
            check_sharing(v, &several, list);
        assert_true(one.summary.last.objective == several.summary.last.objective);
        assert_true(v->priors == 0 || one.summary.last.objective < 0); /* 0 is the objective of an image of zeros */
        assert_true(one.summary.sigma == several.summary.sigma);
        assert_int_equal(one.summary.iterations, several.summary.iterations);
        assert_true(one.summary.residual == several.summary.residual);
        assert_true(one.summary.last.lambda == several.summary.last.lambda);
        assert_string_equal(one.summary.last.encoding, several.summary.last.encoding);
        assert_string_equal(one.summary.last.normal, several.summary.last.normal);
        assert_string_equal(one.summary.coils, several.summary.coils);
        free(several.data);
    }
    free(one.data);
    return failed;
}

static void same_bits(const variation *v)
{
    assert_int_equal(same_bits_though(v, NULL), 0);
}

/* |a - b| / |a| over all frames */
static double relative(const images *a, const images *b)
{
    double difference = 0, size = 0;
    for (int64_t n = 0; n < a->frames * a->voxels; n++) {
        difference += pow(cabs((double complex)a->data[n] - (double complex)b->data[n]), 2);
        size += pow(cabsf(a->data[n]), 2);
    }
    return sqrt(difference / size);
}

/* Makes the lists, of KIND cpu or cuda on the command line. False: there are not enough devices. */
static bool begin_lists(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "cpu", *reason = "";
    const int gpus = strcmp(kind, "cuda") == 0 ? vf_cuda_device_count(&reason) : LISTS;
    if (gpus < 2) {
        printf("SKIP: %d GPU, not two: %s\n", gpus, reason);
        return false;
    }
    snprintf(lists[0], sizeof lists[0], "%s:0", kind);
    snprintf(lists[1], sizeof lists[1], "%s:0,1", kind);
    snprintf(lists[2], sizeof lists[2], gpus > 2 ? "%s:0,1,2" : "%s:1,0", kind);
    devices[2] = gpus > 2 ? 3 : 2;
    return true;
}

#endif
