/* Profiles along x of single readouts, for fits of EPI's phase: at few positions, and of samples at any k, so without an
 * FFT. */
#include <math.h>
#include <stdlib.h>

#include "scan_ismrmrd_epi.h"

static bool alike(const scan_line *a, const scan_line *b)
{
    return a->samples == b->samples && a->pre == b->pre && a->post == b->post && a->center == b->center &&
           a->reversed == b->reversed && a->encoding == b->encoding;
}

/* The length of k-space that a sample stands for. */
static double length_of(const ismrmrd_reader *r, const scan_line *line, int m, bool ramps)
{
    const int before = m > line->pre ? m - 1 : m, after = m < line->samples - line->post - 1 ? m + 1 : m;
    const double all = ismrmrd_readout_k(r, line, after, ramps) - ismrmrd_readout_k(r, line, before, ramps);
    return after > before ? fabs(all) / (after - before) : 1;
}

vf_status ismrmrd_profile_for(const ismrmrd_reader *r, const scan_line *line, epi_profile *p)
{
    const double turn = 2 * M_PI;
    const int64_t kept = line_kept(line);
    if (p->like && alike(p->like, line))
        return VF_OK;
    free(p->factor);
    p->like = NULL;
    vf_status status = SCAN_NEW(r->ctx, r->source->path, "profiles", kept * p->nx, p->factor);
    if (status != VF_OK)
        return status;
    for (int64_t m = 0; m < kept; m++) {
        const int sample = (int)m + line->pre;
        const double k = ismrmrd_readout_k(r, line, sample, p->ramps), w = length_of(r, line, sample, p->ramps);
        for (int x = 0; x < p->nx; x++) {
            const double phase = turn * k * (x - p->nx / 2) / p->nx;
            p->factor[m * p->nx + x] = (float complex)(w * cos(phase) + w * sin(phase) * I);
        }
    }
    p->like = line;
    return VF_OK;
}

void ismrmrd_profile(const epi_profile *p, const float complex *samples, float complex *out)
{
    const int64_t kept = line_kept(p->like);
    float *const to = (float *)out;
    for (int x = 0; x < 2 * p->nx; x++)
        to[x] = 0;
    for (int64_t m = 0; m < kept; m++) {
        const float re = crealf(samples[m]), im = cimagf(samples[m]);
        const float *f = (const float *)(p->factor + m * p->nx);
#pragma omp simd
        for (int x = 0; x < p->nx; x++) {
            to[2 * x] += re * f[2 * x] - im * f[2 * x + 1];
            to[2 * x + 1] += re * f[2 * x + 1] + im * f[2 * x];
        }
    }
}
