/* What a run tells of a scan that is undersampled. */
#include <stdio.h>

#include "recon_state.h"
#include "voxfield/output.h"

/* A complete scan may have less: cones have thinner places. */
static const double WORTH_SAYING = 1.15;
/* The share of the field of view that an object typically fills, as many voxels are unknown. With one coil, every
 * second line is not enough. */
static const double FILLED = 0.55;

static int coils_apart(const coil_settings *coils, const mri_scan *raw)
{
    if (coils->how == RECON_COILS_RSS)
        return 1;
    return coils->compress > 0 && coils->compress < raw->coils ? coils->compress : raw->coils;
}

void say_sampling(const recon_state *r, char *text, size_t size)
{
    const solve_settings *settings = &r->settings->solve;
    const mri_scan *raw = &r->scan;
    const scan_sampling *sampling = &r->sampling;
    char edge[64] = "", filled[128];
    const int coils = coils_apart(&r->settings->coils, raw);
    text[0] = '\0';
    if (!(sampling->mean >= WORTH_SAYING))
        return;
    if (sampling->edge >= 1.1 * sampling->mean)
        (void)snprintf(edge, sizeof edge, ", %.2g at the edge of k-space", sampling->edge);
    if (settings->method != RECON_CG)
        (void)snprintf(filled, sizeof filled, "this method does not fill in missing samples; --method cg does");
    else if (coils > 1)
        (void)snprintf(filled, sizeof filled, "%d coils and the prior fill in missing samples%s", coils,
                       settings->sparse ? "" : ", which amplifies noise; --noise-map shows by how much");
    else
        (void)snprintf(filled, sizeof filled, "only the prior fills in missing samples%s",
                       raw->coils > 1 ? ", since --coils rss uses each coil alone" : "");
    (void)snprintf(text, size, "undersampled, R = %.2g%s; %s", sampling->mean, edge, filled);
}

void warn_sampling(const recon_state *r)
{
    const solve_settings *settings = &r->settings->solve;
    const mri_scan *raw = &r->scan;
    const scan_sampling *sampling = &r->sampling;
    const int coils = coils_apart(&r->settings->coils, raw);
    if (uses_reference(settings) || !(FILLED * sampling->mean > coils))
        return;
    vf_warn(r->ctx,
            "%s: undersampled, R = %.2g, with %d coil%s%s: the samples do not determine the image; expect "
            "blurring, streaks or aliasing. Acquire more samples, combine several frames, or reconstruct "
            "fewer voxels (--matrix)%s",
            raw->path, sampling->mean, coils, vf_plural(coils),
            raw->coils > coils         ? " at a time"
            : raw->compressed_from > 0 ? " left by --compress"
                                       : "",
            raw->coils > coils         ? "; --coils espirit uses all coils"
            : raw->compressed_from > 0 ? "; keep more coils"
                                       : "");
}
