/* Reads a scan and detects the layout of its file. */
#include <stdlib.h>
#include <string.h>

#include "scan_internal.h"

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

vf_status read_scan(vf_context *ctx, const char *path, const scan_request *request, mri_scan *out)
{
    const char *group = request->group;
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
        status = scan_read_plain(ctx, &source, request->units, out);
        if (status == VF_OK)
            status = scan_warn_unread(ctx, path, file);
    } else {
        bool bare = vf_h5_exists(file, "/scan") && !vf_h5_exists(file, "/scan/data");
        status = scan_find_ismrmrd(ctx, path, file, group, found, sizeof found);
        if (status == VF_OK && found[0])
            status = scan_read_ismrmrd(ctx, path, file, found, request, out);
        else if (status == VF_OK)
            status = vf_fail(
                ctx, VF_ERR_INPUT,
                bare ? "%s: dataset /scan/data is missing%s"
                     : "%s: no scan in this file: it has neither a group /scan nor a group with 'xml' and 'data' "
                       "(ISMRMRD)%s",
                path, scan_matlab_advice(path));
    }
done:
    vf_h5_close(&file);
    memcpy(out->group, found, sizeof out->group);
    if (status == VF_OK)
        status = scan_finish(ctx, path, out);
    if (status != VF_OK) {
        char *told = out->told;
        out->told = NULL;
        scan_free(out);
        out->told = request->info ? told : NULL;
        if (!request->info)
            free(told);
    }
    return status;
}
