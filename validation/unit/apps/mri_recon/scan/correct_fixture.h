/* A scan of curved readouts in memory, and files of measured trajectories, responses and motion for it. */
#ifndef CORRECT_FIXTURE_H
#define CORRECT_FIXTURE_H

#include <complex.h>
#include <math.h>

#include "folder_fixture.h"
#include "random_fixture.h"
#include "scan/correct_internal.h"
#include "scan/correct_trajectory.h"
#include "voxfield/hdf5_io.h"

enum { COILS = 2, LENGTH = 24, READOUTS = 7, SAMPLES = LENGTH * READOUTS, CUT = 10 };
static const double ROUNDING = 0x1p-24; /* of single precision, relative */

static char path[PATH_SIZE];
static mri_scan raw;
static scan_settings settings;

static inline int set_up(void **state)
{
    (void)state;
    const int failed = open_folder("test_correct");
    path_of("file", path);
    return failed;
}

static inline int tear_down(void **state)
{
    scan_free(&raw);
    unlink(path);
    return close_folder(state);
}

/* A curved trajectory whose sample times restart. */
static inline void curve(float *k, float *seconds, int dimensions)
{
    for (int i = 0; i < READOUTS; i++) {
        const double turn = uniform_between(0, 6), speed = uniform_between(0.1, 0.3), rise = uniform_between(-0.2, 0.2);
        for (int j = 0; j < LENGTH; j++) {
            float *at = k + 3 * (i * LENGTH + j);
            at[0] = (float)(0.25 * j * cos(turn + speed * j));
            at[1] = (float)(0.25 * j * sin(turn + speed * j));
            at[2] = dimensions == 3 ? (float)(rise * j) : 0;
            seconds[i * LENGTH + j] = 1e-5F * (float)j;
        }
    }
}

/* A scan of `frames` frames that share a trajectory. */
static inline void make_scan(int dimensions, int frames)
{
    scan_free(&raw);
    raw = (mri_scan){.matrix = {16, 16, dimensions == 3 ? 16 : 1},
                     .fov = {uniform_between(150, 300), uniform_between(150, 300), uniform_between(150, 300)},
                     .coils = COILS,
                     .volumes = frames,
                     .slices = 1,
                     .places = 1,
                     .trajectories = 1,
                     .frames = frames};
    snprintf(raw.layout, sizeof raw.layout, "plain");
    raw.trajectory = room(1, sizeof *raw.trajectory);
    raw.frame = room(frames, sizeof *raw.frame);
    scan_trajectory *t = raw.trajectory;
    t->samples = SAMPLES;
    t->k = room(3 * SAMPLES, sizeof *t->k);
    t->time = room(SAMPLES, sizeof *t->time);
    curve(t->k, t->time, dimensions);
    for (int f = 0; f < frames; f++) {
        raw.frame[f].volume = f;
        raw.frame[f].data = room(COILS * SAMPLES, sizeof *raw.frame[f].data);
        for (int m = 0; m < COILS * SAMPLES; m++)
            raw.frame[f].data[m] = 1;
    }
    settings = (scan_settings){.input = "scan.h5"};
}

/* Straight spokes through the centre with a step of half a cycle. */
static inline void make_radial(bool with_time)
{
    make_scan(3, 1);
    for (int i = 0; i < READOUTS; i++) {
        const double turn = uniform_between(0, 6), height = uniform_between(-1, 1), flat = sqrt(1 - height * height);
        for (int j = 0; j < LENGTH; j++) {
            float *at = raw.trajectory->k + 3 * (i * LENGTH + j);
            at[0] = (float)((j - LENGTH / 2) * 0.5 * flat * cos(turn));
            at[1] = (float)((j - LENGTH / 2) * 0.5 * flat * sin(turn));
            at[2] = (float)((j - LENGTH / 2) * 0.5 * height);
        }
    }
    if (!with_time) {
        free(raw.trajectory->time);
        raw.trajectory->time = NULL;
    }
}

/* Splits the second readout into two: CUT samples, and the rest. */
static inline void cut_readout(void)
{
    for (int m = LENGTH + CUT; m < 2 * LENGTH; m++)
        raw.trajectory->time[m] = 1e-5F * (float)(m - LENGTH - CUT);
}

static inline float *copy_k(void)
{
    float *k = room(3 * SAMPLES, sizeof *k);
    memcpy(k, raw.trajectory->k, 3 * SAMPLES * sizeof *k);
    return k;
}

static inline void correct(void)
{
    if (correct_trajectory(ctx, &settings, &raw) != VF_OK)
        fail_msg("%s", vf_context_message(ctx));
}

static inline void expect_refusal(const char *words)
{
    const vf_status status = correct_trajectory(ctx, &settings, &raw);
    const char *text = vf_context_message(ctx);
    if (status != VF_ERR_INPUT || !strstr(text, words))
        fail_msg("got %s, '%s', not '%s'", vf_status_name(status), text, words);
    vf_context_clear_error(ctx);
}

static inline void expect_k(int trajectory, int64_t m, int axis, double expected, double tolerance)
{
    const double got = raw.trajectory[trajectory].k[3 * m + axis];
    if (!(fabs(got - expected) <= tolerance))
        fail_msg("k of sample %lld along %c is %.9g instead of %.9g, allowed %.3g", (long long)m, "xyz"[axis], got,
                 expected, tolerance);
}

static inline void write_text(const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static inline void write_array(vf_h5 *file, const char *name, vf_dtype type, int rank, const int64_t *dims,
                               const void *data)
{
    const int64_t start[4] = {0};
    assert_int_equal(vf_h5_dataset_create(file, name, type, rank, dims, dims, 0), VF_OK);
    assert_int_equal(vf_h5_write(file, name, type, start, dims, data), VF_OK);
}

static inline void write_file(const char *name, vf_dtype type, int rank, const int64_t *dims, const void *data)
{
    vf_h5 *file;
    assert_int_equal(vf_h5_create(ctx, path, &file), VF_OK);
    write_array(file, name, type, rank, dims, data);
    assert_int_equal(vf_h5_commit(&file), VF_OK);
}

#endif
