/* Reads a scan and detects the layout of its file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scan_layouts.h"

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

plain_source scan_h5_source(const scan_file *file)
{
    return (plain_source){file->path, file->file, h5_exists, h5_shape, h5_read, h5_integers, h5_doubles};
}

/* ---- the layouts ---- */

static bool is_plain(const scan_file *f)
{
    return !f->request->group && vf_h5_exists(f->file, "/scan/data") && !vf_h5_exists(f->file, "/scan/xml");
}

static vf_status read_plain(const scan_file *f, mri_scan *out)
{
    const plain_source source = scan_h5_source(f);
    vf_status status = scan_read_plain(f->ctx, &source, f->request->units, out);
    return status == VF_OK ? scan_warn_unread(f->ctx, f->path, f->file) : status;
}

static bool is_ismrmrd(const scan_file *f)
{
    return f->found[0] != '\0';
}

static vf_status read_ismrmrd(const scan_file *f, mri_scan *out)
{
    return scan_read_ismrmrd(f->ctx, f->path, f->file, f->found, f->request, out);
}

static bool has_no_data(const scan_file *f)
{
    return vf_h5_exists(f->file, "/scan") && !vf_h5_exists(f->file, "/scan/data");
}

/* Each is read, or refused with advice. The first that recognises the file decides; then those of foreign_hdf5.c. */
static const scan_layout layouts[] = {
    {"the plain layout", is_plain, read_plain, NULL},
    {"ISMRMRD", is_ismrmrd, read_ismrmrd, NULL},
    {"the plain layout", has_no_data, NULL, NULL},
    {"fastMRI", scan_is_fastmri, scan_read_fastmri_file, NULL},
    {"CMRxRecon", scan_is_cmrxrecon, scan_read_cmrxrecon_file, NULL},
    {NULL, NULL, NULL, NULL},
};

static const scan_layout *recognise(const scan_layout *rows, const scan_file *f)
{
    while (rows->recognise && !rows->recognise(f))
        rows++;
    return rows->recognise ? rows : NULL;
}

/* Finds out what the rows ask for, as far as it is needed. */
static vf_status look_into(scan_file *f)
{
    if (is_plain(f))
        return VF_OK;
    vf_status status = scan_find_ismrmrd(f->ctx, f->path, f->file, f->request->group, f->found, sizeof f->found);
    if (status == VF_OK && !f->found[0])
        status = list_datasets(f->ctx, f->path, f->file, &f->list);
    return status;
}

static vf_status refuse(const scan_file *f, const scan_layout *row)
{
    const char *advice = scan_matlab_advice(f->path);
    if (row && row->refuse)
        return vf_fail(f->ctx, VF_ERR_INPUT, "%s: not a supported scan; this seems to be %s; %s", f->path, row->what,
                       row->refuse);
    return vf_fail(f->ctx, VF_ERR_INPUT,
                   row ? "%s: dataset /scan/data is missing%s"
                       : "%s: no scan in this file: it has neither a group /scan nor a group with 'xml' and 'data' "
                         "(ISMRMRD), nor k-space of fastMRI or CMRxRecon%s",
                   f->path, advice);
}

/* The layouts without units of k. */
static vf_status check_units(const scan_file *f, const scan_layout *row)
{
    if (f->request->units == K_AUTO || row->read == read_plain || row->read == read_ismrmrd)
        return VF_OK;
    return vf_fail(f->ctx, VF_ERR_ARGUMENT,
                   "%s: --trajectory-units: this is a Cartesian scan of %s, without a trajectory", f->path, row->what);
}

static vf_status read_layout(scan_file *f, mri_scan *out)
{
    vf_status status = look_into(f);
    if (status != VF_OK)
        return status;
    const scan_layout *row = recognise(layouts, f);
    if (!row)
        row = recognise(scan_refused_layouts, f);
    if (!row || !row->read)
        return refuse(f, row);
    status = check_units(f, row);
    return status == VF_OK ? row->read(f, out) : status;
}

vf_status read_scan(vf_context *ctx, const char *path, const scan_request *request, mri_scan *out)
{
    scan_file f = {.ctx = ctx, .path = path, .request = request};
    memset(out, 0, sizeof *out);
    vf_status status = refuse_foreign_file(ctx, path);
    VF_TRY(status, vf_h5_open(ctx, path, &f.file));
    if (status == VF_OK) {
        f.matlab = scan_is_matlab(path);
        status = read_layout(&f, out);
    }
    vf_h5_close(&f.file);
    snprintf(out->group, sizeof out->group, "%s", f.found);
    VF_TRY(status, scan_finish(ctx, path, out));
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
