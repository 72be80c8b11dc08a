/* Where to compute: what the work takes on the CPU and on a GPU, in time and in memory. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "mri_recon.h"

/* Seconds of the transforms: about as measured on two cores and on an H200; good enough to choose by. */
static void estimate(vf_context *ctx, const recon_settings *s, const scan *raw, double *cpu, double *gpu)
{
    const double cpu_rate = 1e10, gpu_rate = 2e12; /* floating-point operations a second of one core, of a GPU */
    double doubled = 1, voxels = (double)(raw->matrix[0] * raw->matrix[1] * raw->matrix[2]);
    for (int a = 0; a < 3; a++)
        doubled *= (double)(raw->matrix[a] > 1 ? 2 * raw->matrix[a] : 1);
    double transform = 5 * doubled * log2(doubled + 1), threads = vf_context_threads(ctx);
    double adjoint = 2 * transform * raw->coils * raw->frames + 500.0 * (double)scan_samples(raw) * raw->coils;
    double solver = s->method == RECON_CG ? 1.2 * transform * s->iterations * raw->coils * raw->frames : 0;
    double q = s->method == RECON_CG ? 3 * transform * raw->trajectories : 0;
    *cpu = (adjoint + solver + q) / (cpu_rate * threads);
    *gpu = (adjoint + solver + q) / gpu_rate;
    if (s->encode_by == RECON_DIRECT) {
        double pairs =
            (double)scan_samples(raw) * voxels + (s->method == RECON_CG ? (double)scan_samples(raw) * doubled / 2 : 0);
        *cpu += pairs / (2e10 * threads);
        *gpu += pairs / 3e12;
    }
}

/* Memory that the largest step needs, about: on the device (with coil maps, images of a batch of coils, Q and its
 * transform, or the NUFFT's grid; the NUFFT's sorted samples), and on the host (with the scan). */
static void estimate_memory(const recon_settings *s, const scan *raw, double *device, double *host)
{
    const double element = s->precision == VF_F64 ? 16 : 8, frames = raw->frames;
    const double voxels = (double)raw->matrix[0] * (double)raw->matrix[1] * (double)raw->matrix[2];
    const bool maps = s->coils != RECON_COILS_RSS && (raw->coils > 1 || raw->sensitivity);
    double doubled = 1;
    for (int a = 0; a < 3; a++)
        doubled *= (double)(raw->matrix[a] > 1 ? 2 * raw->matrix[a] : 1);
    const double images = (maps ? raw->coils : 0) + 6, of_frame = element * voxels * (maps ? 1 : raw->coils);
    const double group = fmin(frames * of_frame, fmax(of_frame, (double)recon_group_bytes(s)));
    /* With several groups, Q is there while the right sides of the next are made. */
    const double grids = s->method != RECON_CG ? 1.2 : group < frames * of_frame ? 3.7 : 2.5;
    double samples = 0; /* of the longest trajectory */
    for (int t = 0; t < raw->trajectories; t++)
        samples = fmax(samples, (double)raw->trajectory[t].samples);
    *device = element * (images * voxels + grids * doubled) + samples * (3 * element + 8);
    *host = 8 * frames * voxels + group + (maps ? 8.0 * raw->coils * voxels : 0) +
            (double)scan_samples(raw) * 8 * raw->coils + raw->trajectories * samples * 16 + samples * 16;
}

static vf_status check_memory(vf_context *ctx, const recon_settings *s, const scan *raw, double *bytes)
{
    char need[32], have[32];
    uint64_t free_bytes, total, host_free, host_total;
    double device_bytes, host_bytes;
    vf_device *device = vf_context_device(ctx, 0);
    estimate_memory(s, raw, &device_bytes, &host_bytes);
    vf_status status = vf_device_memory(device, &free_bytes, &total);
    if (status != VF_OK)
        return status;
    vf_host_memory(&host_free, &host_total);
    *bytes = vf_device_is_host(device) ? device_bytes + host_bytes : device_bytes;
    if (*bytes > (double)free_bytes)
        return vf_fail(ctx, vf_device_is_host(device) ? VF_ERR_MEMORY : VF_ERR_DEVICE_MEMORY,
                       "%s: about %s of memory are needed and %s are free; use a smaller --matrix, fewer coils "
                       "(--compress), or another --device",
                       vf_device_spec(device), vf_format_bytes(*bytes, need, sizeof need),
                       vf_format_bytes((double)free_bytes, have, sizeof have));
    if (host_bytes > (double)host_free)
        return vf_fail(ctx, VF_ERR_MEMORY,
                       "about %s of host memory are needed for %d images and %s are free; use a smaller --matrix",
                       vf_format_bytes(host_bytes, need, sizeof need), raw->frames,
                       vf_format_bytes((double)host_free, have, sizeof have));
    return VF_OK;
}

vf_status plan_device(vf_context *ctx, const recon_settings *s, const scan *raw, char *text, size_t size, double *bytes)
{
    const char *wish = s->device;
    double cpu, gpu;
    char why[384] = "";
    estimate(ctx, s, raw, &cpu, &gpu);
    vf_status status = strcmp(wish, "auto") == 0 ? vf_device_choose(ctx, cpu, gpu, why, sizeof why)
                                                 : vf_context_set_devices(ctx, wish);
    if (status != VF_OK)
        return status;
    vf_device *device = vf_context_device(ctx, 0);
    if (s->hardware_trig && vf_device_is_host(device))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--trig hardware is of GPUs; this runs on %s: use --device cuda",
                       vf_device_spec(device));
    if (vf_context_device_count(ctx) > 1)
        vf_note(ctx, "note: one GPU is used: %s", vf_device_spec(device));
    snprintf(text, size, "%s: %s%s%s%s", vf_device_spec(device), vf_device_name(device), why[0] ? " (auto: " : "", why,
             why[0] ? ")" : "");
    return check_memory(ctx, s, raw, bytes);
}
