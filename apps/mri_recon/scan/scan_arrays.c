/* Memory for the arrays of a scan, and checks of their values. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scan_internal.h"

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

vf_status scan_allocate(vf_context *ctx, const char *path, const char *what, int64_t count, size_t size, void *out)
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
    free(s->field_map);
    free(s->reference);
    free(s->truth);
    free(s->place_geometry);
    free(s->protocol);
    free(s->told);
    memset(s, 0, sizeof *s);
}

/* ---- values ---- */

int64_t scan_first_not_finite(const float *values, int64_t count)
{
    enum { BLOCK = 1024 };
    for (int64_t first = 0; first < count; first += BLOCK) {
        int64_t end = first + BLOCK < count ? first + BLOCK : count;
        float zero = 0;
#pragma omp simd reduction(+ : zero)
        for (int64_t i = first; i < end; i++)
            zero += values[i] * 0; /* NaN if any value is NaN or infinite */
        if (zero == 0)
            continue;
        for (int64_t i = first; i < end; i++)
            if (!isfinite(values[i]))
                return i;
    }
    return -1;
}

const char *scan_not_finite_name(float value)
{
    return isnan(value) ? "nan" : "infinite";
}

const char *scan_printable(const char *text, char *out, size_t size)
{
    size_t i = 0;
    for (; text[i] && i + 1 < size; i++)
        out[i] = (char)(text[i] >= ' ' && text[i] <= '~' ? text[i] : '?');
    out[i] = 0;
    return out;
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
