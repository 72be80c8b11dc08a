/* A file with Q: computed once for a trajectory, then reused for every scan with that trajectory. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "equations.h"
#include "voxfield/hdf5_io.h"
#include "voxfield/statistics.h"

struct q_file {
    vf_context *ctx;
    vf_h5 *file;
    vf_dtype type;
    int64_t dims[4]; /* segment, z, y, x */
    char path[512];
};

static const char *const DATASET = "/q";

static vf_status allocate(vf_context *ctx, const char *path, vf_dtype type, int segments, const int64_t doubled[3],
                          q_file **out)
{
    *out = calloc(1, sizeof **out);
    if (!*out)
        return vf_fail(ctx, VF_ERR_MEMORY, "no memory");
    **out = (q_file){.ctx = ctx, .type = type, .dims = {segments, doubled[2], doubled[1], doubled[0]}};
    strncpy((*out)->path, path, sizeof(*out)->path - 1);
    return VF_OK;
}

vf_status q_file_create(vf_context *ctx, const char *path, vf_dtype type, int segments, const int64_t doubled[3],
                        const char *key, q_file **out)
{
    vf_status status = allocate(ctx, path, type, segments, doubled, out);
    if (status != VF_OK)
        return status;
    q_file *f = *out;
    status = vf_h5_create(ctx, path, &f->file);
    VF_TRY(status, vf_h5_dataset_create(f->file, DATASET, type, 4, f->dims, NULL, 0));
    VF_TRY(status, vf_h5_attribute_text(f->file, DATASET, "key", key));
    VF_TRY(status,
           vf_h5_attribute_text(f->file, DATASET, "about",
                                "Q of mri_recon (Voxfield): sum of the samples' weights times exp(i 2 pi k.r) on "
                                "the doubled grid, r = (n - N) / N; for --load-q"));
    if (status != VF_OK)
        q_file_close(out);
    return status;
}

vf_status q_file_open(vf_context *ctx, const char *path, vf_dtype type, int segments, const int64_t doubled[3],
                      const char *key, q_file **out)
{
    int64_t dims[VF_H5_MAX_RANK];
    int rank = 0;
    vf_dtype stored;
    char found[VF_DIGEST_TEXT + 1] = "";
    vf_status status = allocate(ctx, path, type, segments, doubled, out);
    if (status != VF_OK)
        return status;
    q_file *f = *out;
    status = vf_h5_open(ctx, path, &f->file);
    if (status == VF_OK && !vf_h5_exists(f->file, DATASET))
        status =
            vf_fail(ctx, VF_ERR_INPUT, "%s: dataset /q is missing; --load-q needs a file written by --save-q", path);
    VF_TRY(status, vf_h5_dataset_shape(f->file, DATASET, &stored, &rank, dims));
    VF_TRY(status, vf_h5_attribute_get_text(f->file, DATASET, "key", found, sizeof found));
    if (status == VF_OK &&
        (rank != 4 || memcmp(dims, f->dims, sizeof f->dims) != 0 || strcmp(found, key) != 0 || stored != type))
        status = vf_fail(ctx, VF_ERR_INPUT,
                         "%s: this Q was computed for another trajectory, matrix, field map, precision, --operator or "
                         "--accuracy; recompute it with --save-q",
                         path);
    if (status != VF_OK)
        q_file_close(out);
    return status;
}

vf_status q_file_write(q_file *file, int segment, const void *q)
{
    const int64_t start[4] = {segment, 0, 0, 0}, count[4] = {1, file->dims[1], file->dims[2], file->dims[3]};
    return vf_h5_write(file->file, DATASET, file->type, start, count, q);
}

vf_status q_file_read(q_file *file, int segment, void *q)
{
    const int64_t start[4] = {segment, 0, 0, 0}, count[4] = {1, file->dims[1], file->dims[2], file->dims[3]};
    vf_reduced sum; /* not finite if any number is not finite */
    vf_status status = vf_h5_read(file->file, DATASET, file->type, start, count, q);
    VF_TRY(status, vf_host_reduce(file->ctx, VF_REDUCE_SUM, file->type, count[1] * count[2] * count[3], q, NULL, &sum));
    if (status == VF_OK && !(isfinite(sum.re) && isfinite(sum.im)))
        status = vf_fail(file->ctx, VF_ERR_INPUT, "%s: /q contains NaN or infinite values; recompute it with --save-q",
                         file->path);
    return status;
}

vf_status q_file_commit(q_file **file)
{
    vf_status status = vf_h5_commit(&(*file)->file);
    free(*file);
    *file = NULL;
    return status;
}

void q_file_close(q_file **file)
{
    if (!*file)
        return;
    vf_h5_close(&(*file)->file);
    free(*file);
    *file = NULL;
}
