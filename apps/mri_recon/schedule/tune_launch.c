#include "tune_launch.h"

#include <stdlib.h>
#include <string.h>

#define SEARCH_SECONDS 8.0

static vf_device *first_gpu(const vf_context *ctx)
{
    for (int i = 0; i < vf_context_device_count(ctx); i++)
        if (vf_device_get_kind(vf_context_device(ctx, i)) == VF_DEVICE_CUDA)
            return vf_context_device(ctx, i);
    return NULL;
}

/* Keeps a launch, if it can be kept. */
static void keep_launch(vf_context *ctx, const char *path, const char *device, vf_trig trig,
                        const vf_fourier_tuning *launch)
{
    const vf_status status = path ? launch_table_store(ctx, path, device, trig, launch) : VF_ERR_OUTPUT;
    if (status == VF_OK)
        return;
    vf_warn(ctx, "the launch is not kept for later runs: %s",
            path ? vf_context_message(ctx) : "neither XDG_CACHE_HOME nor HOME is set");
    vf_context_clear_error(ctx);
}

static vf_status search_launch(vf_context *ctx, vf_device *gpu, const char *path, solve_settings *s, vf_trig trig)
{
    vf_fourier_found found;
    const vf_status status = vf_fourier_search(gpu, s->variant, trig, SEARCH_SECONDS, &found);
    if (status != VF_OK)
        return status;
    s->launch = found.best;
    vf_note(ctx,
            "tuned on %s: %d threads, chunks of %d samples, unrolling %d: %.0f G pairs/s, %.0f %% more than the usual "
            "launch (%d, %d, %d), of %d combinations",
            vf_device_name(gpu), found.best.threads, found.best.chunk, found.best.unroll, 1e-9 * found.best_rate,
            100 * (found.best_rate / found.usual_rate - 1), found.usual.threads, found.usual.chunk, found.usual.unroll,
            found.tried);
    keep_launch(ctx, path, vf_device_name(gpu), trig, &found.best);
    return VF_OK;
}

vf_status tune_launch(vf_context *ctx, bool search, solve_settings *s)
{
    const bool tuned = s->variant && strcmp(s->variant, "tuned-structs") == 0;
    const vf_trig trig = s->hardware_trig ? VF_TRIG_HARDWARE : VF_TRIG_ACCURATE;
    vf_device *gpu = first_gpu(ctx);
    if (search && !tuned)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--tune needs --variant tuned-structs, not %s", s->variant);
    if (search && !gpu)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--tune needs an NVIDIA GPU; use --device cuda");
    if (!tuned || !gpu)
        return VF_OK;
    vf_status status = VF_OK;
    char *path = launch_table_path();
    if (search)
        status = search_launch(ctx, gpu, path, s, trig);
    else if (path && launch_table_find(path, vf_device_name(gpu), trig, &s->launch) == LAUNCH_DAMAGED)
        vf_note(ctx, "note: %s is no table of launches and is ignored; --tune replaces it", path);
    free(path);
    return status;
}
