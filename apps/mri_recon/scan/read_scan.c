/* Reads a scan: finds out which layout the file has, and looks at the whole when it is read. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scan_internal.h"
#include "voxfield/hdf5_io.h"

/* ---- memory ---- */

vf_status scan_require_memory(vf_context *ctx, const char *path, const char *what, int64_t count, size_t size)
{
    uint64_t available, total;
    double bytes = (double)count * (double)size;
    vf_host_memory(&available, &total);
    if (count >= 0 && bytes <= (double)available)
        return VF_OK;
    return vf_fail(ctx, VF_ERR_MEMORY, "%s: not enough memory for %s: %.3g GB are needed, %.3g GB are free", path, what,
                   bytes / 1e9, (double)available / 1e9);
}

vf_status scan_allocate(vf_context *ctx, const char *path, const char *what, int64_t count, size_t size, void *out)
{
    enum { LARGE = 1 << 20 }; /* asking the kernel what is free takes longer than a small piece is worth */
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

void scan_free(scan *s)
{
    for (int i = 0; s->trajectory && i < s->trajectories + s->calibrations; i++) {
        free(s->trajectory[i].k);
        free(s->trajectory[i].weights);
        free(s->trajectory[i].time);
        free(s->trajectory[i].phi);
    }
    for (int i = 0; s->frame && i < s->frames + s->calibrations; i++)
        free(s->frame[i].data);
    free(s->trajectory);
    free(s->frame);
    free(s->noise);
    free(s->sensitivity);
    free(s->field_map);
    free(s->reference);
    free(s->truth);
    free(s->place_geometry);
    free(s->protocol);
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
            zero += values[i] * 0; /* nan as soon as one of them is nan or infinite */
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

/* ---- the whole ---- */

/* Samples beyond what the matrix resolves: a few, and not far beyond, get weight 0; else the trajectory is refused. */
static vf_status check_extent(vf_context *ctx, const char *path, const int64_t matrix[3], scan_trajectory *t,
                              int64_t *outside)
{
    double extent[3];
    bool some = false;
    scan_extent(t->k, t->samples, extent);
    for (int a = 0; a < 3; a++) {
        double edge = (double)matrix[a] / 2;
        if (matrix[a] == 1 || extent[a] <= edge + 0.5)
            continue;
        some = true;
        if (!(extent[a] <= 1.05 * edge))
            return vf_fail(ctx, VF_ERR_INPUT,
                           "%s: the trajectory reaches |k%c| = %.6g cycles per field of view, but %" PRId64
                           " voxels resolve no more than %.6g: check the matrix, or say in which units the trajectory "
                           "is by --trajectory-units",
                           path, "xyz"[a], extent[a], matrix[a], edge);
    }
    if (!some)
        return VF_OK;
    if (!t->weights) {
        vf_status status = scan_allocate(ctx, path, "weights", t->samples, sizeof *t->weights, &t->weights);
        if (status != VF_OK)
            return status;
        for (int64_t m = 0; m < t->samples; m++)
            t->weights[m] = 1;
    }
    for (int64_t m = 0; m < t->samples; m++) {
        bool out = false;
        for (int a = 0; a < 3; a++)
            out = out || (matrix[a] > 1 && fabsf(t->k[3 * m + a]) > (float)matrix[a] / 2 + 0.5f);
        if (out)
            t->weights[m] = 0;
        *outside += out;
    }
    return VF_OK;
}

bool scan_all_zero(const float *values, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (values[i] != 0)
            return false;
    return true;
}

/* A piece of an array that is digested. */
typedef struct piece {
    char array; /* of k, weights, time, phi */
    int64_t samples;
    const char *data;
    size_t bytes;
} piece;

/* Lists the pieces of all arrays there are; with NULL it counts. */
static int64_t cut_pieces(const scan *s, piece *out)
{
    enum { ARRAYS = 4 };
    const size_t most = 4 << 20;
    int64_t count = 0;
    for (int i = 0; i < s->trajectories; i++) {
        const scan_trajectory *t = &s->trajectory[i];
        const void *const arrays[ARRAYS] = {t->k, t->weights, t->time, t->phi};
        const size_t size[ARRAYS] = {3 * sizeof *t->k, sizeof *t->weights, sizeof *t->time, sizeof *t->phi};
        for (int a = 0; a < ARRAYS; a++) {
            const size_t bytes = arrays[a] ? size[a] * (size_t)t->samples : 0;
            size_t at = 0;
            do { /* what is not there, or empty, is one piece of no bytes */
                const size_t n = bytes - at < most ? bytes - at : most;
                if (out)
                    out[count] = (piece){"kwtp"[a], arrays[a] ? t->samples : -1, (const char *)arrays[a] + at, n};
                count++;
                at += n;
            } while (at < bytes);
        }
    }
    return count;
}

/* The digest of the digests of the pieces of what there is, so that nothing need be copied together, and threads can
 * share it. */
static vf_status digest_trajectories(vf_context *ctx, const char *path, scan *s)
{
    enum { LINE = 96 };
    const int threads = vf_context_threads(ctx);
    const int64_t count = cut_pieces(s, NULL);
    piece *pieces = NULL;
    char *text = NULL;
    vf_status status = scan_allocate(ctx, path, "the digest", count, sizeof *pieces, &pieces);
    if (status == VF_OK)
        status = scan_allocate(ctx, path, "the digest", count + 1, LINE, &text);
    if (status == VF_OK) {
        cut_pieces(s, pieces);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads) if (threads > 1 && count > 1)
        for (int64_t i = 0; i < count; i++) {
            char digest[VF_DIGEST_TEXT];
            vf_digest(pieces[i].data, pieces[i].bytes, digest);
            snprintf(text + i * LINE, LINE, "%c %" PRId64 " %s", pieces[i].array, pieces[i].samples, digest);
        }
        vf_digest(text, (size_t)count * LINE, s->digest);
    }
    free(pieces);
    free(text);
    return status;
}

vf_status scan_finish(vf_context *ctx, const char *path, scan *s)
{
    int64_t outside = 0, samples = 0;
    for (int i = 0; i < s->trajectories; i++) {
        scan_trajectory *t = &s->trajectory[i];
        vf_status status = check_extent(ctx, path, s->matrix, t, &outside);
        if (status != VF_OK)
            return status;
        if (t->weights && scan_all_zero(t->weights, t->samples))
            return vf_fail(ctx, VF_ERR_INPUT, "%s: all samples have the weight 0", path);
        if (t->phi && scan_all_zero((const float *)t->phi, 2 * t->samples))
            return vf_fail(ctx, VF_ERR_INPUT, "%s: phi is 0 at all samples, as is the image it makes", path);
        samples += t->samples;
    }
    if (outside > 0)
        vf_warn(ctx,
                "%s: %" PRId64 " of %" PRId64
                " sample%s %s more than half a cycle beyond what the matrix resolves; %s the weight 0",
                path, outside, samples, vf_plural(samples), outside == 1 ? "lies" : "lie",
                outside == 1 ? "it gets" : "they get");
    const int64_t maps = (int64_t)s->coils * s->matrix[0] * s->matrix[1] * s->matrix[2];
    if (s->sensitivity && scan_all_zero((const float *)s->sensitivity, 2 * maps))
        return vf_fail(ctx, VF_ERR_INPUT,
                       "%s: the coil maps in %s are 0 everywhere, as is the image they make: leave "
                       "them out of the file, and maps are estimated",
                       path, strcmp(s->layout, "plain") == 0 ? "/scan/sensitivity" : "'csm'");
    bool silent = true;
    for (int i = 0; silent && i < s->frames; i++)
        silent = scan_all_zero((const float *)s->frame[i].data,
                               2 * s->coils * s->trajectory[s->frame[i].trajectory].samples);
    if (silent)
        vf_warn(ctx, "%s: all samples are 0", path);
    return digest_trajectories(ctx, path, s);
}

/* ---- which layout ---- */

static bool h5_exists(void *user, const char *name)
{
    return vf_h5_exists(user, name);
}

static vf_status h5_shape(void *user, const char *name, vf_dtype *type, int *rank, int64_t *dims)
{
    return vf_h5_dataset_shape(user, name, type, rank, dims);
}

static vf_status h5_read(void *user, const char *name, vf_dtype type, const int64_t *start, const int64_t *count,
                         void *data)
{
    return vf_h5_read(user, name, type, start, count, data);
}

static vf_status h5_integers(void *user, const char *object, const char *name, int64_t *values, int n)
{
    return vf_h5_attribute_get_integers(user, object, name, values, n);
}

static vf_status h5_doubles(void *user, const char *object, const char *name, double *values, int n)
{
    return vf_h5_attribute_get_doubles(user, object, name, values, n);
}

vf_status read_scan(vf_context *ctx, const char *path, const char *group, k_units units, scan *out)
{
    char found[sizeof out->group] = "";
    vf_h5 *file = NULL;
    memset(out, 0, sizeof *out);
    vf_status status = refuse_foreign_file(ctx, path);
    if (status == VF_OK)
        status = vf_h5_open(ctx, path, &file);
    if (status != VF_OK)
        goto done;
    if (!group && vf_h5_exists(file, "/scan/data") && !vf_h5_exists(file, "/scan/xml")) {
        const plain_source source = {path, file, h5_exists, h5_shape, h5_read, h5_integers, h5_doubles};
        status = scan_read_plain(ctx, &source, units, out);
        if (status == VF_OK)
            status = scan_warn_unread(ctx, path, file);
    } else {
        bool bare = vf_h5_exists(file, "/scan") && !vf_h5_exists(file, "/scan/data");
        vf_h5_close(&file);
        status = scan_find_ismrmrd(ctx, path, group, found, sizeof found);
        if (status == VF_OK && found[0])
            status = scan_read_ismrmrd(ctx, path, found, units, out);
        else if (status == VF_OK)
            status = vf_fail(ctx, VF_ERR_INPUT,
                             bare ? "%s: the group /scan has no dataset 'data'%s"
                                  : "%s: no scan in it: neither a group /scan nor one with 'xml' and 'data' "
                                    "(ISMRMRD)%s",
                             path, scan_matlab_advice(path));
    }
done:
    vf_h5_close(&file);
    memcpy(out->group, found, sizeof out->group);
    if (status == VF_OK)
        status = scan_finish(ctx, path, out);
    if (status != VF_OK)
        scan_free(out);
    return status;
}

int scan_map_sets(const scan *raw)
{
    return !raw->sensitivity ? 0 : raw->map_sets > 1 ? raw->map_sets : 1;
}

int scan_all_map_sets(const scan *raw)
{
    return scan_map_sets(raw) * (raw->own_maps ? raw->places : 1);
}

int64_t scan_samples(const scan *raw)
{
    int64_t samples = 0;
    for (int f = 0; f < raw->frames; f++)
        samples += raw->trajectory[raw->frame[f].trajectory].samples;
    return samples;
}
