/* Data shared by the frames of a place, made once by the first team that needs them: the coil maps, and their power in
 * the object, which lambda is relative to. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coils/choose_maps.h"
#include "coils/coil_map_file.h"
#include "coils/estimate_maps.h"
#include "frame_images.h"
#include "frame_places.h"
#include "solve/recon_choices.h"
#include "voxfield/team_size.h"

vf_status places_create(recon_job *job)
{
    const mri_scan *raw = job->scan;
    for (int f = 0; f < raw->frames; f++)
        if (raw->frame[f].place < 0 || raw->frame[f].place >= raw->places)
            return vf_fail(job->ctx, VF_ERR_INTERNAL, "frame %d: place %d of %d", f, raw->frame[f].place, raw->places);
    job->place = calloc((size_t)raw->places, sizeof *job->place);
    if (!job->place)
        return vf_fail(job->ctx, VF_ERR_MEMORY, "no memory");
    for (int p = 0; p < raw->places; p++)
        job->place[p].sets = 1;
    for (int f = raw->frames - 1; f >= 0; f--)
        job->place[job->frames[f]->place].first = job->frames[f];
    return VF_OK;
}

void places_free(recon_job *job)
{
    for (int p = 0; job->place && p < job->scan->places; p++) {
        if (!job->place[p].of_scan)
            free(job->place[p].maps);
        free(job->place[p].envelope.values);
        free(job->place[p].phase.turn);
    }
    free(job->place);
    pthread_cond_destroy(&job->changed);
    pthread_mutex_destroy(&job->lock);
}

/* ---- results computed once ---- */

/* Waits while another thread computes the result. True: the caller must compute it and call once_end. */
static bool once_begin(recon_job *job, once_state *state)
{
    pthread_mutex_lock(&job->lock);
    while (*state == ONCE_BEGUN)
        pthread_cond_wait(&job->changed, &job->lock);
    const bool begins = *state == ONCE_NONE;
    if (begins)
        *state = ONCE_BEGUN;
    pthread_mutex_unlock(&job->lock);
    return begins;
}

static void once_end(recon_job *job, once_state *state, bool made)
{
    pthread_mutex_lock(&job->lock);
    *state = made ? ONCE_MADE : ONCE_NONE;
    pthread_cond_broadcast(&job->changed);
    pthread_mutex_unlock(&job->lock);
}

/* ---- coil maps ---- */

static vf_status find_better(crew *c, frame_place *place, char *text, size_t size)
{
    const recon_job *j = c->job;
    float complex *maps = NULL;
    calibrated made;
    if (!judges_scan_maps(j->coils, j->solve, j->scan) || place->sets > 1)
        return VF_OK;
    watch_stage(c->watch, "coil maps", 1);
    const vf_status status =
        calibrate_better_maps(&c->team, j->scan, place->first->place, place->maps, c->watch, &maps, &made);
    if (status != VF_OK || !maps)
        return status;
    place->of_scan = false;
    place->maps = maps;
    place->sets = made.sets;
    place->weighted = made.weighted;
    snprintf(text, size, "%s", made.text);
    return VF_OK;
}

/* The number of sets that are not zero, of a place's `sets`. If only other places need a second set, this place's is
 * zero, and would only cost time. */
static int sets_in_use(const recon_job *j, const float complex *maps, int sets)
{
    const int64_t n = j->scan->coils * j->voxels;
    for (int64_t i = n; i < sets * n; i++)
        if (maps[i] != 0)
            return sets;
    return 1;
}

static vf_status take_from_scan(crew *c, frame_place *place, char *text, size_t size)
{
    const recon_job *j = c->job;
    const mri_scan *raw = j->scan;
    const int sets = scan_map_sets(raw);
    place->of_scan = true;
    place->maps = raw->sensitivity + (raw->own_maps ? place->first->place * sets * raw->coils * j->voxels : 0);
    place->sets = sets_in_use(j, place->maps, sets < j->most_sets ? sets : j->most_sets);
    place->weighted = raw->maps_weighted;
    snprintf(text, size, "%d coil%s, %smaps from %s", raw->coils, raw->coils == 1 ? "" : "s",
             place->sets > 1 ? "two sets of " : "", j->coils->file ? j->coils->file : "the file");
    return find_better(c, place, text, size);
}

/* Takes or estimates the place's maps. Frees the memory of the second set if it was not made. */
static vf_status make_maps(crew *c, frame_place *place, char *text, size_t size)
{
    const recon_job *j = c->job;
    const mri_scan *raw = j->scan;
    const recon_map_sets wanted = j->most_sets > 1 ? j->coils->sets : RECON_SETS_ONE;
    const size_t bytes = (size_t)raw->coils * (size_t)j->voxels * sizeof *place->maps;
    if (uses_scan_maps(j->coils, raw))
        return take_from_scan(c, place, text, size);
    watch_stage(c->watch, "coil maps", 1);
    place->maps = malloc((size_t)j->most_sets * bytes);
    vf_large_pages(place->maps, (size_t)j->most_sets * bytes);
    if (!place->maps)
        return vf_fail(j->ctx, VF_ERR_MEMORY, "no memory for the maps of %d coils", raw->coils);
    calibrated made;
    vf_status status =
        calibrate_maps(&c->team, raw, j->coils->how, wanted, place->first->place, c->watch, place->maps, &made);
    if (status != VF_OK) {
        free(place->maps);
        place->maps = NULL;
        return status;
    }
    if (made.sets < j->most_sets) {
        float complex *smaller = realloc(place->maps, (size_t)made.sets * bytes);
        place->maps = smaller ? smaller : place->maps;
    }
    place->sets = made.sets;
    place->weighted = made.weighted;
    snprintf(text, size, "%s", made.text);
    return VF_OK;
}

/* No deadlock: a crew that makes maps waits for no other. */
vf_status place_maps(crew *c, const scan_frame *frame)
{
    recon_job *j = c->job;
    frame_place *place = &j->place[frame->place];
    char text[sizeof j->maps_text] = "";
    if (!j->has_maps || !once_begin(j, &place->maps_made))
        return VF_OK;
    vf_status status = make_maps(c, place, text, sizeof text);
    if (status == VF_OK) {
        pthread_mutex_lock(&j->lock);
        snprintf(j->maps_text, sizeof j->maps_text, "%s", text);
        pthread_mutex_unlock(&j->lock);
    }
    once_end(j, &place->maps_made, status == VF_OK);
    return status;
}

vf_status places_keep_maps(const recon_job *job, recon_summary *summary)
{
    if (!job->coils->keep || !job->has_maps)
        return VF_OK;
    const size_t numbers = (size_t)job->scan->coils * (size_t)job->voxels;
    summary->maps = calloc((size_t)job->scan->places * numbers, sizeof *summary->maps);
    if (!summary->maps)
        return vf_fail(job->ctx, VF_ERR_MEMORY, "no memory to keep coil maps for the page");
    for (int p = 0; p < job->scan->places; p++)
        if (job->place[p].maps)
            memcpy(summary->maps + (size_t)p * numbers, job->place[p].maps, numbers * sizeof *summary->maps);
    return VF_OK;
}

vf_status places_save_maps(const recon_job *job)
{
    const int places = job->scan->places;
    if (!job->coils->save || !job->has_maps)
        return VF_OK;
    saved_maps *of = calloc((size_t)places, sizeof *of);
    if (!of)
        return vf_fail(job->ctx, VF_ERR_MEMORY, "no memory");
    for (int p = 0; p < places; p++)
        of[p] =
            (saved_maps){.sets = job->place[p].sets, .weighted = job->place[p].weighted, .data = job->place[p].maps};
    vf_status status = is_in_memory(job->coils->save) ? keep_coil_maps(job->coils->result, job->scan, of)
                                                      : write_coil_maps(job->ctx, job->coils->save, job->scan, of);
    free(of);
    return status;
}

/* ---- the maps' power ---- */

enum { CHUNK = 4096 }; /* voxels per partial sum */

/* sum over coils of |s|^2 at voxels [first, first + count) */
static void add_coils(const recon_job *j, const float complex *maps, int64_t first, int64_t count, double *out)
{
    for (int64_t n = 0; n < count; n++)
        out[n] = 0;
    for (int c = 0; c < j->scan->coils; c++) {
        const float complex *s = maps + c * j->voxels + first;
        for (int64_t n = 0; n < count; n++)
            out[n] += (double)crealf(s[n]) * crealf(s[n]) + (double)cimagf(s[n]) * cimagf(s[n]);
    }
}

static int64_t chunks(const recon_job *j)
{
    return (j->voxels + CHUNK - 1) / CHUNK;
}

static int64_t chunk_voxels(const recon_job *j, int64_t chunk)
{
    const int64_t left = j->voxels - chunk * CHUNK;
    return left < CHUNK ? left : CHUNK;
}

void map_powers(const recon_job *j, const float complex *maps, double *out)
{
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(j->ctx, 2 * j->scan->coils * j->voxels))
    for (int64_t i = 0; i < chunks(j); i++)
        add_coils(j, maps, i * CHUNK, chunk_voxels(j, i), out + i * CHUNK);
}

vf_status crew_map_powers(crew *c, const frame_place *place, const double **out)
{
    const recon_job *j = c->job;
    const size_t bytes = (size_t)place->sets * (size_t)j->voxels * sizeof *c->map_power;
    *out = NULL;
    if (c->map_power_of != place->maps) {
        c->map_power_of = NULL;
        if (c->map_power_sets < place->sets) {
            free(c->map_power);
            c->map_power = malloc(bytes);
            c->map_power_sets = c->map_power ? place->sets : 0;
            vf_large_pages(c->map_power, bytes);
        }
        if (!c->map_power)
            return vf_fail(j->ctx, VF_ERR_MEMORY, "no memory for the power of coil maps");
        for (int set = 0; set < place->sets; set++)
            map_powers(j, place->maps + set * j->scan->coils * j->voxels, c->map_power + set * j->voxels);
        c->map_power_of = place->maps;
    }
    *out = c->map_power;
    return VF_OK;
}

/* sum over coils of |s|^2, averaged over voxels with |F^H d|^2 (`image`) as weights, so mostly over the object. (Maps
 * from a file may have any scale, and may be largest outside the object.) If the image is 0, all voxels weigh the same.
 * Chunks are added up in order, so the bits do not depend on the number of threads. */
static vf_status map_power(crew *c, const frame_place *place, const char *image, double *out)
{
    const recon_job *j = c->job;
    const double *kept = NULL;
    const vf_status status =
        regularise_by_noise(j->solve) ? crew_map_powers(c, place, &kept) : VF_OK; /* which need them next */
    if (status != VF_OK)
        return status;
    const int64_t count = chunks(j);
    double(*sum)[3] = malloc((size_t)count * sizeof *sum);
    if (!sum)
        return vf_fail(j->ctx, VF_ERR_MEMORY, "no memory for the power of coil maps");
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(j->ctx, 2 * j->scan->coils * j->voxels))
    for (int64_t i = 0; i < count; i++) {
        double own[CHUNK], squares[3] = {0};
        const int64_t first = i * CHUNK, voxels = chunk_voxels(j, i);
        const double *power = kept ? kept + first : own;
        if (!kept)
            add_coils(j, place->maps, first, voxels, own);
        for (int64_t n = 0; n < voxels; n++) {
            const double complex value = image_value(j, image, first + n);
            const double square = creal(value) * creal(value) + cimag(value) * cimag(value);
            squares[0] += square * power[n];
            squares[1] += square;
            squares[2] += power[n];
        }
        memcpy(sum[i], squares, sizeof squares);
    }
    double power = 0, weights = 0, all = 0;
    for (int64_t i = 0; i < count; i++) {
        power += sum[i][0];
        weights += sum[i][1];
        all += sum[i][2];
    }
    free(sum);
    *out = weights > 0 ? power / weights : all > 0 ? all / (double)j->voxels : 1;
    return VF_OK;
}

static bool needs_power(const recon_job *j)
{
    return j->has_maps && j->solve->method == RECON_CG;
}

/* No deadlock: a crew that holds claims makes images F^H d. It may wait for maps, but never for another crew's
 * power. */
vf_status claim_powers(crew *c, const frame_group *g)
{
    recon_job *j = c->job;
    int claims = 0;
    free(c->claim);
    c->claim = calloc((size_t)g->count + 2, sizeof *c->claim);
    if (!c->claim)
        return vf_fail(j->ctx, VF_ERR_MEMORY, "no memory");
    pthread_mutex_lock(&j->lock);
    for (int f = g->first; needs_power(j) && f < g->first + g->count; f++) {
        frame_place *place = &j->place[j->frames[f]->place];
        if (place->first != j->frames[f] || place->power_made != ONCE_NONE)
            continue;
        place->power_made = ONCE_BEGUN;
        c->claim[claims++] = j->frames[f];
    }
    pthread_mutex_unlock(&j->lock);
    return VF_OK;
}

/* Removes a frame from the claims; false if it is not claimed. */
static bool take_claim(crew *c, const scan_frame *frame)
{
    for (int i = 0; c->claim && c->claim[i]; i++) {
        if (c->claim[i] != frame)
            continue;
        for (; c->claim[i]; i++)
            c->claim[i] = c->claim[i + 1];
        return true;
    }
    return false;
}

vf_status found_image(crew *c, const scan_frame *frame, const char *image)
{
    frame_place *place = &c->job->place[frame->place];
    if (!take_claim(c, frame))
        return VF_OK;
    /* No lock: no other thread writes place->power, or reads it before once_end. */
    const vf_status status = map_power(c, place, image, &place->power);
    once_end(c->job, &place->power_made, status == VF_OK);
    return status;
}

void leave_powers(crew *c)
{
    for (int i = 0; c->claim && c->claim[i]; i++)
        once_end(c->job, &c->job->place[c->claim[i]->place].power_made, false);
    free(c->claim);
    c->claim = NULL;
}

/* When this is called, the crew has no claims left. */
bool place_power(crew *c, const scan_frame *frame, double *power)
{
    recon_job *j = c->job;
    frame_place *place = &j->place[frame->place];
    *power = 1;
    if (!needs_power(j))
        return true;
    const bool begins = once_begin(j, &place->power_made);
    if (begins) {
        c->claim[0] = place->first;
        c->claim[1] = NULL;
    }
    *power = begins ? 0 : place->power;
    return !begins;
}
