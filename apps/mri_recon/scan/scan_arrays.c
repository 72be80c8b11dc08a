/* The arrays of a scan, and what there is to ask of it. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mri_scan.h"
#include "voxfield/device.h"
#include "voxfield/team_size.h"

vf_status scan_require_memory(vf_context *ctx, const char *path, const char *what, int64_t count, size_t size)
{
    uint64_t available, total;
    double bytes = (double)count * (double)size;
    vf_host_memory(&available, &total);
    if (count >= 0 && bytes <= (double)available)
        return VF_OK;
    return vf_fail(ctx, VF_ERR_MEMORY, "%s: not enough memory for %s: %.3g GB needed, %.3g GB free", path, what,
                   bytes / 1e9, (double)available / 1e9);
}

/* The kernel clears each page when it is first written to. One thread would take longer for that than for reading the file. */
static void clear_by_all(const vf_context *ctx, char *memory, int64_t bytes)
{
    enum { PAGE = 4096 };
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(ctx, bytes / 8))
    for (int64_t i = 0; i < bytes; i += PAGE)
        *(volatile char *)(memory + i) = 0;
}

vf_status scan_allocate_to_read(vf_context *ctx, const char *path, const char *what, int64_t count, size_t size,
                                void *out)
{
    enum { LARGE = 1 << 20 }; /* smaller pieces are not worth the time to ask the kernel for the free memory */
    void *memory = NULL;
    vf_status status = VF_OK;
    if (count < 0 || count > LARGE)
        status = scan_require_memory(ctx, path, what, count, size);
    if (status == VF_OK)
        memory = calloc(count ? (size_t)count : 1, size);
    vf_large_pages(memory, (size_t)count * size);
    if (status == VF_OK && !memory)
        status = vf_fail(ctx, VF_ERR_MEMORY, "%s: not enough memory for %s", path, what);
    memcpy(out, &memory, sizeof memory);
    return status;
}

vf_status scan_allocate(vf_context *ctx, const char *path, const char *what, int64_t count, size_t size, void *out)
{
    enum { LARGE_BYTES = 1 << 26 }; /* less is not worth several threads */
    const vf_status status = scan_allocate_to_read(ctx, path, what, count, size, out);
    if (status == VF_OK && (double)count * (double)size >= LARGE_BYTES) {
        char *memory;
        memcpy(&memory, out, sizeof memory);
        clear_by_all(ctx, memory, count * (int64_t)size);
    }
    return status;
}

void scan_free_trajectory(scan_trajectory *t)
{
    if (!t->borrowed) {
        free(t->k);
        free(t->weights);
        free(t->time);
        free(t->phi);
        free(t->readout);
    }
    *t = (scan_trajectory){0};
}

/* Copies `count` elements of `size` bytes; NULL stays NULL. */
static vf_status copy_array(vf_context *ctx, const char *path, const void *from, int64_t count, size_t size, void *to)
{
    void *copy = NULL;
    vf_status status = from ? scan_allocate(ctx, path, "trajectories", count, size, &copy) : VF_OK;
    if (copy)
        memcpy(copy, from, (size_t)count * size);
    memcpy(to, &copy, sizeof copy);
    return status;
}

vf_status scan_copy_trajectory(vf_context *ctx, const char *path, const scan_trajectory *from, scan_trajectory *to)
{
    const int64_t n = from->samples;
    to->samples = n;
    to->readouts = from->readouts;
    vf_status status = copy_array(ctx, path, from->k, n, 3 * sizeof *from->k, &to->k);
    VF_TRY(status, copy_array(ctx, path, from->weights, n, sizeof *from->weights, &to->weights));
    VF_TRY(status, copy_array(ctx, path, from->time, n, sizeof *from->time, &to->time));
    VF_TRY(status, copy_array(ctx, path, from->phi, n, sizeof *from->phi, &to->phi));
    VF_TRY(status, copy_array(ctx, path, from->readout, from->readouts + 1, sizeof *from->readout, &to->readout));
    return status;
}

vf_status scan_need_weights(vf_context *ctx, const char *path, scan_trajectory *t)
{
    if (t->weights)
        return VF_OK;
    vf_status status = SCAN_NEW(ctx, path, "weights", t->samples, t->weights);
    for (int64_t m = 0; status == VF_OK && m < t->samples; m++)
        t->weights[m] = 1;
    return status;
}

vf_status scan_check_cancelled(vf_context *ctx)
{
    return vf_cancelled(ctx) ? vf_fail(ctx, VF_ERR_CANCELLED, "interrupted") : VF_OK;
}

void scan_drop_truth(mri_scan *s)
{
    free(s->truth);
    s->truth = NULL;
    s->truths = 0;
}

void scan_free(mri_scan *s)
{
    for (int i = 0; s->trajectory && i < s->trajectories + s->calibrations; i++)
        scan_free_trajectory(&s->trajectory[i]);
    for (int i = 0; s->frame && i < s->frames + s->calibrations; i++)
        free(s->frame[i].data);
    free(s->trajectory);
    free(s->frame);
    free(s->noise);
    free(s->left_out);
    free(s->sensitivity);
    free(s->density);
    free(s->field_map);
    free(s->reference);
    free(s->reference_known);
    free(s->truth);
    free(s->place_geometry);
    free(s->protocol);
    free(s->told);
    memset(s, 0, sizeof *s);
}

bool scan_all_zero(const float *values, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (values[i] != 0)
            return false;
    return true;
}

int scan_map_sets(const mri_scan *raw)
{
    return !raw->sensitivity ? 0 : raw->map_sets > 1 ? raw->map_sets : 1;
}

int scan_all_map_sets(const mri_scan *raw)
{
    return scan_map_sets(raw) * (raw->own_maps ? raw->places : 1);
}

bool scan_same_kind(const scan_frame *a, const scan_frame *b)
{
    return a->place == b->place && a->contrast == b->contrast && a->phase == b->phase && a->set == b->set;
}

int64_t scan_samples(const mri_scan *raw)
{
    int64_t samples = 0;
    for (int f = 0; f < raw->frames; f++)
        samples += raw->trajectory[raw->frame[f].trajectory].samples;
    return samples;
}

void scan_tell(mri_scan *s, const char *format, ...)
{
    char *line = NULL, *all = NULL;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&line, format, arguments) < 0)
        line = NULL;
    va_end(arguments);
    if (line && asprintf(&all, "%s%s\n", s->told ? s->told : "", line) >= 0) {
        free(s->told);
        s->told = all;
    }
    free(line);
}
