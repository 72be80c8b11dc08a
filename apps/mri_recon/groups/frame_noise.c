/* The noise of the samples, from first images; and noise that differs from frame to frame, for sparse priors.
 *
 * Frames differ in noise if their readouts differ in bandwidth or averages that the weights do not tell, or if a coil
 * fails for a while. The outermost samples show whether frames may differ, and what a first image of each frame
 * leaves of them decides. Both contain signal, the second one as much as undersampling hides. So frames differ only
 * by what their signal's power does not explain: a frame of another contrast keeps the common noise. A frame whose
 * noise does not differ for certain has exactly the common noise. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frame_noise.h"
#include "noise/noise_level.h"
#include "noise/noise_settings.h"
#include "solve_group.h"
#include "voxfield/statistics.h"

/* With a smaller noise estimate, the next image fits more of the outermost signal. Repeat if a pass lowered the
 * estimate at least to this factor. */
static const double WORTH_A_PASS = 0.9;
enum { PASSES = 3 };
/* First images are solved for until solving leaves less than HIDDEN times the noise's energy in the samples. Then the noise that
 * they show is that of solutions, to a percent, after a third to a half of the iterations on the grid. Scans almost without noise end at the
 * tolerance; at a smaller one if the noise is known, because what is left passes for a misfit. */
static const double HIDDEN = 0.01, ROUGH = 1e-3, ROUGH_IF_KNOWN = 1e-4;
/* The tolerance of an image that starts from another, relative to the other's. What a smaller lambda changes is mostly at high
 * frequencies: a residual of a thousandth of F^H d hides it. And the energy, for the noise's: that of the image before still has
 * signal in it. With a 16th of HIDDEN the noise would be right, but an iteration more or less, by rounding, would change it by
 * a percent. */
static const double LATER_SHARE = 0.25, LATER_ENERGY = 1.0 / 64;
enum { FIRST_ITERATIONS = 500 };
/* First images of all frames are made if variances of the outermost samples differ by this factor. Frames have noise of
 * their own if its variance differs by the second one: a smaller difference changes the weighted mean of two frames by
 * less than 6 %. */
static const double MAY_DIFFER = 1.25, DIFFERS = 2;
/* Both must exceed chance by this many standard deviations. */
static const double CERTAIN = 5;

/* A first image: with the quadratic prior, and a lambda that does not depend on the user's factor, nor the iterations on the
 * limit of another solver. */
static group_request first_image(recon_job *j, const scan_frame *frame)
{
    const solve_settings *settings = j->solve;
    const int64_t samples = used_samples(j, frame) * (j->has_maps ? j->scan->coils : 1);
    return (group_request){.name = "noise: ",
                           .lambda = regularise_by_noise(settings) ? 1 : settings->lambda,
                           .tolerance = j->level.known ? ROUGH_IF_KNOWN : ROUGH,
                           .energy = HIDDEN * j->level.variance * (double)samples,
                           .iterations = settings->sparse ? FIRST_ITERATIONS : settings->iterations,
                           .effort = &j->first};
}

/* Each image starts from the one before. */
static vf_status from_first_images(crew *c, int frame, char *image, bool *told)
{
    recon_job *j = c->job;
    const frame_group one = {.trajectory = j->frames[frame]->trajectory, .first = frame, .count = 1};
    char *last = malloc(frame_bytes(j));
    const char *start = NULL;
    vf_status status = last ? VF_OK : vf_fail(j->ctx, VF_ERR_MEMORY, "no memory for a first image");
    for (int pass = 0; pass < PASSES && status == VF_OK; pass++) {
        const double before = j->level.variance;
        group_request request = first_image(j, j->frames[frame]);
        request.start = start;
        request.tolerance *= start ? LATER_SHARE : 1;
        request.energy *= start ? LATER_ENERGY : 1;
        status = crew_make_group(c, &one, &request, image);
        VF_TRY(status, noise_from_residual(c, frame, image, told));
        if (!(j->level.variance < WORTH_A_PASS * before))
            break;
        memcpy(last, image, frame_bytes(j));
        start = last;
    }
    free(last);
    return status;
}

/* The sparse solution of the frame begins there. */
static vf_status keep_first_image(recon_job *j, const scan_frame *frame, const char *image)
{
    if (!j->solve->sparse || solves_series(j->solve))
        return VF_OK;
    free(j->first_image); /* of a team that failed */
    j->first_image = malloc(frame_bytes(j));
    if (!j->first_image)
        return vf_fail(j->ctx, VF_ERR_MEMORY, "no memory for a first image");
    memcpy(j->first_image, image, frame_bytes(j));
    j->first_of = frame;
    return VF_OK;
}

/* The variances of frames, and their relative standard errors; 0: unknown. [frame_count] each. */
typedef struct frame_variances {
    double *outer, *error; /* of the outermost samples */
    double *signal;        /* mean of all samples less that of the outermost */
    double *found;         /* from first images */
    double *sorted;        /* scratch */
} frame_variances;

static bool apart(double ratio, double least, double error)
{
    return fabs(log(ratio)) > fmax(log(least), CERTAIN * error);
}

/* The ratio of two frames' variances, less what the ratio of their signals explains. */
static double excess(double ratio, double signal, double of_signal)
{
    const double explained = signal == of_signal ? 1 : signal / of_signal;
    return ratio > 1 ? fmax(1, ratio / fmax(1, explained)) : fmin(1, ratio / fmin(1, explained));
}

static bool in_place(const recon_job *j, int frame, int place)
{
    return j->frames[frame]->place == place;
}

/* Compares frames with the one of median variance. */
static vf_status may_differ(const recon_job *j, int place, frame_variances *v, bool *differ)
{
    int count = 0, median = 0;
    vf_status status = VF_OK;
    *differ = false;
    for (int f = 0; f < j->frame_count && status == VF_OK; f++) {
        if (!in_place(j, f, place))
            continue;
        status = noise_of_outer(j, j->frames[f], &v->outer[f], &v->error[f]);
        v->signal[f] = fmax(0, mean_of_samples(j, j->frames[f]) - v->outer[f]);
        if (v->outer[f] > 0)
            v->sorted[count++] = v->outer[f];
    }
    vf_host_sort(count, v->sorted);
    while (median < j->frame_count && v->outer[median] != v->sorted[count / 2])
        median++;
    for (int f = 0; f < j->frame_count && status == VF_OK && count > 0; f++)
        *differ |=
            in_place(j, f, place) && v->outer[f] > 0 &&
            apart(excess(v->outer[f] / v->outer[median], v->signal[f], v->signal[median]), MAY_DIFFER, v->error[f]);
    return status;
}

/* Finds the noise of each frame of a place as if its samples were all there is. *misfit gets the quietest frame's: the
 * variance of all that its image leaves. */
static vf_status find_each(crew *c, int place, char *image, frame_variances *v, int *quietest, double *misfit)
{
    recon_job *j = c->job;
    const noise_estimate before = j->level;
    vf_status status = VF_OK;
    *quietest = -1;
    j->level.known = false;
    for (int f = 0; f < j->frame_count && status == VF_OK; f++) {
        bool told = false;
        if (!in_place(j, f, place) || !(v->outer[f] > 0))
            continue;
        j->level.variance = v->outer[f];
        j->level.misfit = 1;
        status = from_first_images(c, f, image, &told);
        if (status != VF_OK || !told || !(j->level.variance > 0))
            continue;
        v->found[f] = j->level.variance;
        if (*quietest < 0 || v->found[f] < v->found[*quietest]) {
            *quietest = f;
            *misfit = j->level.misfit * j->level.variance;
        }
    }
    j->level = before;
    return status;
}

static vf_status set_ratio(recon_job *j, const scan_frame *frame, double ratio)
{
    const int frames = j->scan->frames;
    if (!j->level.ratio) {
        j->level.ratio = malloc((size_t)frames * sizeof *j->level.ratio);
        if (!j->level.ratio)
            return vf_fail(j->ctx, VF_ERR_MEMORY, "no memory for the noise of %d frames", frames);
        for (int f = 0; f < frames; f++)
            j->level.ratio[f] = 1;
    }
    j->level.ratio[frame - j->scan->frame] = ratio;
    return VF_OK;
}

/* The quietest frames of a place have the common noise, unless even they are below it. */
static vf_status compare_frames(crew *c, int place, char *image, frame_variances *v)
{
    recon_job *j = c->job;
    int quietest = -1;
    double rest = 0;
    bool differ = false;
    vf_status status = may_differ(j, place, v, &differ);
    if (status == VF_OK && differ)
        status = find_each(c, place, image, v, &quietest, &rest);
    if (status != VF_OK || quietest < 0)
        return status;
    const double base = fmax(j->level.variance, v->found[quietest]), error = v->error[quietest];
    differ = false;
    for (int f = 0; f < j->frame_count && status == VF_OK; f++) {
        if (!in_place(j, f, place) || !(v->found[f] > 0))
            continue;
        const double ratio = excess(v->found[f] / base, v->signal[f], v->signal[quietest]);
        if (!apart(ratio, DIFFERS, hypot(v->error[f], error)))
            continue;
        differ = true;
        status = set_ratio(j, j->frames[f], ratio);
    }
    if (differ)
        j->level.misfit = fmax(1, rest / j->level.variance);
    return status;
}

vf_status crew_find_noise(crew *c, const frame_group *one, char *image)
{
    recon_job *j = c->job;
    const size_t frames = (size_t)j->frame_count;
    bool told = false;
    vf_status status = from_first_images(c, one->first, image, &told);
    VF_TRY(status, keep_first_image(j, j->frames[one->first], image));
    double *room = calloc(5 * frames + 1, sizeof *room);
    frame_variances v = {room, room + frames, room + 2 * frames, room + 3 * frames, room + 4 * frames};
    if (status == VF_OK && !room)
        status = vf_fail(j->ctx, VF_ERR_MEMORY, "no memory for the noise of %d frames", j->frame_count);
    const int places = j->solve->sparse > 0 && !j->noise->equal ? j->scan->places : 0;
    for (int p = 0; p < places && status == VF_OK; p++)
        status = compare_frames(c, p, image, &v);
    free(room);
    return status;
}
