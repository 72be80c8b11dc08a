/* Reads a scan of any format in the table (scan_formats.c). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bart/cfl_names.h"
#include "scan_finish.h"
#include "scan_formats.h"
#include "scan_ismrmrd_groups.h"

/* ---- what there is to see of a file ---- */

/* HDF5 signatures may be at 0, 512, 1024, ... */
static bool has_signature(const scan_file *f)
{
    static const char signature[] = "\211HDF\r\n\032\n";
    for (size_t at = 0; at + 8 <= f->head_bytes; at += 512)
        if (memcmp(f->head + at, signature, 8) == 0)
            return true;
    return false;
}

static vf_status look_at_head(scan_file *f)
{
    static const char matlab[] = "MATLAB 7.3 MAT-file";
    struct stat about;
    f->missing = stat(f->path, &about) != 0;
    f->folder = !f->missing && S_ISDIR(about.st_mode);
    FILE *stream = !f->missing && S_ISREG(about.st_mode) ? fopen(f->path, "rb") : NULL;
    if (stream) {
        f->head_bytes = fread(f->head, 1, SCAN_HEAD, stream);
        fclose(stream);
    }
    f->hdf5 = has_signature(f);
    f->matlab = f->head_bytes >= sizeof matlab && memcmp(f->head, matlab, sizeof matlab - 1) == 0;
    return VF_OK;
}

static vf_status open_contents(scan_file *f)
{
    return vf_h5_open(f->ctx, f->path, &f->file);
}

static vf_status find_group(scan_file *f)
{
    return scan_find_ismrmrd(f->ctx, f->path, f->file, f->request->group, f->found, sizeof f->found);
}

static vf_status list_root(scan_file *f)
{
    return list_datasets(f->ctx, f->path, f->file, &f->list);
}

static vf_status (*const look[])(scan_file *f) = {[CLUE_HEAD] = look_at_head,
                                                  [CLUE_CONTENTS] = open_contents,
                                                  [CLUE_GROUPS] = find_group,
                                                  [CLUE_LISTING] = list_root};

/* ---- the whole ---- */

static vf_status recognise(scan_file *f, const scan_format **row)
{
    vf_status status = VF_OK;
    int seen = CLUE_HEAD;
    for (*row = scan_formats;; ++*row) {
        for (; status == VF_OK && seen <= (int)(*row)->clue; seen++)
            status = look[seen](f);
        if (status != VF_OK || scan_format_fits(*row, f))
            return status;
    }
}

static vf_status read_as(const scan_format *row, const scan_file *f, mri_scan *out)
{
    if (!row->read)
        return vf_fail(f->ctx, VF_ERR_INPUT, "%s: not a supported scan; this seems to be %s; %s", f->path, row->name,
                       row->advice);
    if (row->on_grid && f->request->units != K_AUTO)
        return vf_fail(f->ctx, VF_ERR_ARGUMENT,
                       "%s: --trajectory-units: this is a Cartesian scan of %s, without a trajectory", f->path,
                       row->name);
    return row->read(f, out);
}

static vf_status read_file(scan_file *f, mri_scan *out)
{
    const scan_format *row = NULL;
    memset(out, 0, sizeof *out);
    vf_status status = recognise(f, &row);
    VF_TRY(status, read_as(row, f, out));
    vf_h5_close(&f->file);
    snprintf(out->group, sizeof out->group, "%s", f->found);
    VF_TRY(status, scan_finish(f->ctx, f->path, out));
    if (status != VF_OK) {
        char *told = out->told;
        out->told = NULL;
        scan_free(out);
        out->told = f->request->info ? told : NULL;
        if (!f->request->info)
            free(told);
    }
    return status;
}

vf_status read_scan(vf_context *ctx, const char *path, const scan_request *request, mri_scan *out)
{
    scan_file f = {.ctx = ctx, .path = path, .request = request};
    const vf_status status = read_file(&f, out);
    out->path = status == VF_OK ? path : NULL;
    return status;
}

vf_status read_bart_scan(vf_context *ctx, const scan_settings *settings, const int64_t *map_matrix, mri_scan *out)
{
    char *data = cfl_file_name(settings->input, ".cfl"); /* messages name that file of the pair */
    scan_file f = {.ctx = ctx,
                   .path = data ? data : settings->input,
                   .request = &settings->read,
                   .with = {.trajectory = settings->trajectory,
                            .matrix = settings->has_matrix ? settings->matrix : NULL,
                            .map_matrix = map_matrix}};
    const vf_status status = read_file(&f, out);
    out->path = status == VF_OK ? settings->input : NULL;
    free(data);
    return status;
}
