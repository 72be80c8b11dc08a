/* The phase between readouts of opposite polarity by the images themselves, for EPI without navigators: images of the
 * forward and of the reversed lines alone, in which epi_ghost.c looks for the phase with the fewest ghosts. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scan_ismrmrd_epi.h"
#include "voxfield/fft.h"

/* Of volumes, and of partitions about the centre, no more than these are looked at. */
enum { MOST_FRAMES = 4, MOST_PARTITIONS = 9, MOST_POSITIONS = 64, MOST_SHARP = 512, ALIGNMENT = 64 };

typedef struct ghost_fit {
    const ismrmrd_reader *r;
    epi_profile kind[2];
    epi_halves halves;
    vf_fft_rows *rows;
    float complex *plane[2]; /* [x][y] of the forward and of the reversed lines */
    float complex *profile;
} ghost_fit;

static void free_fit(ghost_fit *g)
{
    for (int i = 0; i < 2; i++) {
        free(g->kind[i].factor);
        free(g->plane[i]);
    }
    free(g->halves.power);
    free(g->halves.cross);
    free(g->profile);
    vf_fft_rows_destroy(g->rows);
}

/* At up to `most` positions along x; those outside the image do not count, because there may be copies of it, if samples
 * on the flat top are far apart. */
static vf_status make_fit(const ismrmrd_reader *r, int64_t most, ghost_fit *g)
{
    const int64_t n = r->out->matrix[0], ny = r->out->matrix[1], nx = n < most ? n : most;
    const int64_t half = (nx * r->out->crop[0] + 2 * n - 1) / (2 * n);
    const char *path = r->source->path;
    *g = (ghost_fit){.r = r, .halves = {.nx = (int)nx, .ny = (int)ny}};
    g->halves.first = (int)(half < nx / 2 ? nx / 2 - half : 0);
    g->halves.end = (int)(half < nx - nx / 2 ? nx / 2 + half : nx);
    g->kind[0].nx = g->kind[1].nx = (int)nx;
    vf_status status = vf_fft_rows_create(r->ctx, VF_C64, ny, nx, &g->rows);
    VF_TRY(status, scan_allocate(r->ctx, path, "an image", nx * ny, sizeof(float), &g->halves.power));
    VF_TRY(status, scan_allocate(r->ctx, path, "an image", nx * ny, sizeof(float complex), &g->halves.cross));
    VF_TRY(status, scan_allocate(r->ctx, path, "an image", nx, sizeof(float complex), &g->profile));
    for (int i = 0; status == VF_OK && i < 2; i++) {
        g->plane[i] = aligned_alloc(ALIGNMENT, ((size_t)(nx * ny) * sizeof(float complex) + ALIGNMENT - 1) / ALIGNMENT *
                                                   ALIGNMENT);
        if (!g->plane[i])
            status = vf_fail(r->ctx, VF_ERR_MEMORY, "%s: not enough memory for an image", path);
    }
    return status;
}

/* The images of the lines of a partition, of one coil. Returns whether there are lines. */
static vf_status make_planes(ghost_fit *g, int frame, int32_t partition, int coil, bool *any)
{
    const ismrmrd_reader *r = g->r;
    const int64_t nx = g->halves.nx, ny = g->halves.ny;
    vf_status status = VF_OK;
    for (int i = 0; i < 2; i++)
        memset(g->plane[i], 0, (size_t)(nx * ny) * sizeof(float complex));
    for (int64_t i = r->frame_first[frame]; status == VF_OK && i < r->frame_first[frame + 1]; i++) {
        const scan_line *line = &r->line[r->order[i].line];
        if (line->step_2 != partition)
            continue;
        epi_profile *p = &g->kind[line->reversed];
        const int64_t y = ((line->step_1 - r->center[0]) % ny + ny) % ny;
        p->ramps = ismrmrd_on_ramps(r, line);
        status = ismrmrd_profile_for(r, line, p);
        if (status != VF_OK)
            break;
        ismrmrd_profile(p, r->out->frame[frame].data + coil * r->frame_samples[frame] + line->at, g->profile);
        for (int64_t x = 0; x < nx; x++)
            g->plane[line->reversed][x * ny + y] += g->profile[x];
        *any = true;
    }
    for (int i = 0; status == VF_OK && *any && i < 2; i++)
        vf_fft_rows_execute(g->rows, VF_FFT_BACKWARD, g->plane[i]);
    return status;
}

/* Adds a frame to the halves. */
static vf_status add_frame(ghost_fit *g, int frame)
{
    const ismrmrd_reader *r = g->r;
    const int64_t points = (int64_t)g->halves.nx * g->halves.ny;
    vf_status status = VF_OK;
    for (int p = 0; status == VF_OK && p < MOST_PARTITIONS; p++)
        for (int c = 0; status == VF_OK && c < r->out->coils; c++) {
            bool any = false;
            status = make_planes(g, frame, (int32_t)r->center[1] + p - MOST_PARTITIONS / 2, c, &any);
            if (!any)
                break;
            for (int64_t i = 0; status == VF_OK && i < points; i++) {
                const float complex f = g->plane[0][i], b = g->plane[1][i];
                g->halves.power[i] += crealf(f * conjf(f)) + crealf(b * conjf(b));
                g->halves.cross[i] += b * conjf(f);
            }
        }
    return status;
}

/* Whether no lines are missing in the middle half of k-space. */
static bool is_complete(const ismrmrd_reader *r, int frame)
{
    const int64_t first = r->frame_first[frame], end = r->frame_first[frame + 1], middle = r->out->matrix[1] / 4;
    int64_t lines = 0;
    for (int64_t i = first; i < end; i++) {
        const scan_line *line = &r->line[r->order[i].line];
        lines += llabs(line->step_1 - r->center[0]) < middle && line->step_2 == r->center[1];
    }
    return (double)lines >= 0.9 * (double)(2 * middle - 1);
}

vf_status ismrmrd_likeness(const ismrmrd_reader *r, double *out)
{
    ghost_fit g;
    double both = 0, all = 0;
    vf_status status = make_fit(r, MOST_POSITIONS, &g);
    for (int f = 0, n = 0; status == VF_OK && f < r->out->frames && n < MOST_FRAMES; f++)
        if (r->epi.mixed[f]) {
            status = add_frame(&g, f);
            n++;
        }
    for (int i = g.halves.first; status == VF_OK && i < g.halves.end; i++)
        for (int j = 0; j < g.halves.ny; j++) {
            both += (double)cabsf(g.halves.cross[(int64_t)i * g.halves.ny + j]);
            all += (double)g.halves.power[(int64_t)i * g.halves.ny + j];
        }
    *out = all > 0 ? 2 * both / all : 0;
    free_fit(&g);
    return status;
}

/* Asks one image for the phases of its navigators. */
static vf_status ask(ghost_fit *g, int frame, const epi_phase *phase, epi_opinion *out)
{
    const size_t points = (size_t)g->halves.nx * (size_t)g->halves.ny;
    const epi_phase tried[3] = {
        {0}, {.turn = phase->turn, .shift = phase->shift}, {.turn = -phase->turn, .shift = -phase->shift}};
    epi_ghost found;
    memset(g->halves.power, 0, points * sizeof(float));
    memset(g->halves.cross, 0, points * sizeof(float complex));
    const vf_status status = add_frame(g, frame);
    if (status != VF_OK)
        return status;
    epi_find_ghost(&g->halves, &found);
    const double least = epi_magnitudes(&g->halves, &found.phase);
    for (int i = 0; i < 3; i++) {
        const double sum = epi_magnitudes(&g->halves, &tried[i]);
        out->sum[i] += sum;
        found.before = least > 0 ? sum / least : 1;
        const epi_verdict judged = epi_judge(&g->halves, &found, is_complete(g->r, frame));
        if (i == 0)
            out->needed = out->needed || judged != EPI_NONE_NEEDED;
        else
            out->contradicts[i - 1] = out->contradicts[i - 1] || judged == EPI_CLEAR;
    }
    return VF_OK;
}

/* Fits a frame together with those that differ from it only in their time. */
static vf_status fit(ismrmrd_reader *r, ghost_fit *g, int first, epi_phase *phase, epi_verdict *verdict)
{
    const scan_frame *frame = r->out->frame;
    const size_t points = (size_t)g->halves.nx * (size_t)g->halves.ny;
    static const char *const said[] = {"none needed", "corrected", "not clear, so nothing is changed"};
    epi_ghost found;
    vf_status status = VF_OK;
    memset(g->halves.power, 0, points * sizeof(float));
    memset(g->halves.cross, 0, points * sizeof(float complex));
    for (int f = first, n = 0; status == VF_OK && f < r->out->frames && n < MOST_FRAMES; f++)
        if (r->epi.mixed[f] && scan_same_kind(&frame[f], &frame[first])) {
            status = add_frame(g, f);
            n++;
        }
    if (status != VF_OK)
        return status;
    epi_find_ghost(&g->halves, &found);
    const epi_verdict judged = epi_judge(&g->halves, &found, is_complete(r, first));
    for (int f = first; f < r->out->frames; f++)
        if (r->epi.mixed[f] && scan_same_kind(&frame[f], &frame[first])) {
            phase[f] = found.phase;
            verdict[f] = judged;
        }
    scan_tell(
        r->out,
        "EPI, slice %d: the image has the fewest ghosts if reversed readouts are shifted by %.3f samples and turned "
        "by %.1f degrees: the sum of magnitudes is %.2f %% larger without that, %.1f %% at most, %.1f %% with the next "
        "best phase; halves differ by %.3f rad: %s",
        frame[first].place + 1, found.phase.shift, found.phase.turn * 180 / M_PI, 100 * (found.before - 1),
        100 * (found.worst - 1), 100 * (found.second - 1), found.spread, said[judged]);
    return status;
}

vf_status ismrmrd_sharpness(const ismrmrd_reader *r, double *out)
{
    ghost_fit g;
    vf_status status = make_fit(r, MOST_SHARP, &g);
    VF_TRY(status, add_frame(&g, 0));
    if (status == VF_OK)
        *out = epi_sharpness(&g.halves);
    free_fit(&g);
    return status;
}

/* Whether frame f is one of `which`, and the first of its slice, contrast, phase and set; `done` [frames] keeps those. */
static bool is_next_kind(const ismrmrd_reader *r, const bool *which, int f, bool *done)
{
    const scan_frame *frame = r->out->frame;
    if (!which[f] || done[f])
        return false;
    for (int other = f; other < r->out->frames; other++)
        done[other] = done[other] || scan_same_kind(&frame[other], &frame[f]);
    return true;
}

vf_status ismrmrd_fit_images(ismrmrd_reader *r, epi_phase *phase, epi_verdict *verdict)
{
    ghost_fit g;
    bool *done = NULL;
    vf_status status = make_fit(r, MOST_POSITIONS, &g);
    VF_TRY(status, SCAN_NEW(r->ctx, r->source->path, "frames", r->out->frames, done));
    for (int f = 0; status == VF_OK && f < r->out->frames; f++) {
        if (!is_next_kind(r, r->epi.mixed, f, done))
            continue;
        status = fit(r, &g, f, phase, verdict);
        VF_TRY(status, scan_check_cancelled(r->ctx));
    }
    free(done);
    free_fit(&g);
    return status;
}

vf_status ismrmrd_ask_images(ismrmrd_reader *r, const epi_phase *phase, const bool *has, epi_opinion *out)
{
    ghost_fit g;
    bool *done = NULL;
    *out = (epi_opinion){.sum = {0}};
    vf_status status = make_fit(r, MOST_POSITIONS, &g);
    VF_TRY(status, SCAN_NEW(r->ctx, r->source->path, "frames", r->out->frames, done));
    for (int f = 0; status == VF_OK && f < r->out->frames; f++) {
        if (!is_next_kind(r, has, f, done))
            continue;
        status = ask(&g, f, &phase[f], out);
        VF_TRY(status, scan_check_cancelled(r->ctx));
    }
    free(done);
    free_fit(&g);
    return status;
}
