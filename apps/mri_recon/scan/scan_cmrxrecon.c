/* Reads the files of the CMRxRecon challenges of 2023, 2024 and 2025: MATLAB files of version 7.3, with one array of
 * k-space. MATLAB's dimensions are [kx][ky][coil][slice][frame], without coils for single-coil data; HDF5 has them in
 * reverse, and MATLAB leaves out the last ones if they are 1. */
#include <stdio.h>
#include <string.h>

#include "scan_formats.h"
#include "scan_grid.h"
#include "scan_text.h"
#include "voxfield/append.h"

enum { NAMES_TEXT = 200 };

static bool begins(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

static bool is_single(const char *name)
{
    return begins(name, "kspace_single");
}

/* "kspace" and "kus" are not names of this layout alone; others use them in files that are not MATLAB's. */
static bool is_kspace(const scan_file *file, const listed_set *set)
{
    const bool own = begins(set->name, "kspace_full") || begins(set->name, "kspace_sub") || is_single(set->name);
    const bool shared = strcmp(set->name, "kspace") == 0 || strcmp(set->name, "kus") == 0;
    return set->kind == LISTED_MATLAB && (own || (shared && file->matlab));
}

static bool is_mask(const listed_set *set)
{
    return begins(set->name, "mask") && set->kind == LISTED_REAL;
}

bool scan_is_cmrxrecon(const scan_file *file)
{
    for (int i = 0; i < file->list.count; i++)
        if (is_kspace(file, &file->list.set[i]))
            return true;
    return false;
}

/* The only dataset of its kind; NULL if there is none. More are an error. */
static vf_status choose(const scan_file *file, bool mask, const char **name)
{
    char names[NAMES_TEXT] = "", printable[NAMES_TEXT];
    int count = 0;
    *name = NULL;
    for (int i = 0; i < file->list.count; i++) {
        const listed_set *set = &file->list.set[i];
        if (!(mask ? is_mask(set) : is_kspace(file, set)))
            continue;
        *name = set->name;
        vf_append(names, sizeof names, "%s%s", count++ ? ", " : "", set->name);
    }
    if (count <= 1)
        return VF_OK;
    return vf_fail(file->ctx, VF_ERR_INPUT, "%s: %d datasets %s (%s); write a file with one of them", file->path, count,
                   mask ? "could be the mask" : "have k-space", scan_printable(names, printable, sizeof printable));
}

vf_status scan_read_cmrxrecon(vf_context *ctx, const plain_source *source, const char *name, const char *mask,
                              mri_scan *out)
{
    const bool single = is_single(name);
    scan_grid grid = {.ctx = ctx, .source = source, .name = name};
    snprintf(out->layout, sizeof out->layout, "CMRxRecon");
    vf_status status =
        scan_grid_open(&grid, 2, single ? 4 : 5, single ? "[frame][slice][ky][kx]" : "[frame][slice][coil][ky][kx]");
    grid.coil = single ? -1 : grid.rank - 3;
    grid.slice = grid.rank - (single ? 3 : 4);
    grid.frame = grid.rank - (single ? 4 : 5);
    VF_TRY(status, scan_grid_plan(&grid, out));
    for (int a = 0; status == VF_OK && a < 3; a++)
        out->fov[a] = (double)out->matrix[a]; /* the file has no field of view */
    if (status == VF_OK)
        out->geometry.slice_step = out->slices > 1 ? 1 : 0;
    if (status == VF_OK && mask)
        status = scan_grid_mask(&grid, mask);
    VF_TRY(status, scan_grid_read(&grid, out));
    if (status == VF_OK) {
        scan_grid_describe(&grid, out->description, sizeof out->description);
        vf_append(out->description, sizeof out->description, "; voxels of 1 mm assumed%s",
                  out->slices > 1 ? ", and slices 1 mm apart" : "");
    }
    scan_grid_free(&grid);
    return status;
}

vf_status scan_read_cmrxrecon_file(const scan_file *file, mri_scan *out)
{
    const plain_source source = scan_h5_source(file->path, file->file);
    const char *name = NULL, *mask = NULL;
    vf_status status = choose(file, false, &name);
    VF_TRY(status, choose(file, true, &mask));
    if (status == VF_OK && !name) /* it was recognised by it */
        status = vf_fail(file->ctx, VF_ERR_INTERNAL, "%s: no k-space", file->path);
    return status == VF_OK ? scan_read_cmrxrecon(file->ctx, &source, name, mask, out) : status;
}
