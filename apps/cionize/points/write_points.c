/* The files of values at points: CSV (all at the end) and HDF5 (frame by frame). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "maps/map_common.h"
#include "molecule/label_csv.h"
#include "points.h"
#include "result.h"
#include "voxfield/hdf5_io.h"
#include "voxfield/output.h"

vf_status points_check_path(vf_context *ctx, const char *path)
{
    return vf_path_has_extension(path, ".csv .h5 .hdf5")
               ? VF_OK
               : vf_fail(ctx, VF_ERR_ARGUMENT, "--points-out '%s': unknown file extension; use .csv or .h5", path);
}

static const char *excluded_text(const point_run *r)
{
    static const char *const texts[] = {"nothing", "the atom itself", "the atom's residue"};
    return r->set.atoms ? texts[r->settings->points.exclude] : texts[0];
}

/* ---- CSV ---- */

static vf_status csv_head(vf_output *out, const point_run *r, const map_info *info)
{
    char text[160];
    vf_status status = vf_output_printf(out, "# %s, %s\n# command: %s\n# input: %s, SHA-256 %s\n", info->program,
                                        info->created, info->command, info->input, r->mol->digest);
    VF_TRY(status,
           vf_output_printf(out, "# positions in angstrom, potential in %s%s%s%s\n", info->unit,
                            r->settings->points.field ? ", field in " : "", r->settings->points.field ? info->unit : "",
                            r->settings->points.field ? "/A" : ""));
    for (int line = 6; status == VF_OK && map_provenance(info, line, text, sizeof text); line++)
        status = vf_output_printf(out, "# %s\n", text);
    if (status == VF_OK && r->solvent)
        status = vf_output_printf(out, "# %s; %s\n", info->quantity, info->method);
    if (status == VF_OK && r->set.atoms)
        status = vf_output_printf(out, "# excluded at each atom: %s\n", excluded_text(r));
    if (status == VF_OK && r->trajectory)
        status = vf_output_printf(out, "# mean and standard deviation (sd) over %lld frames of %s\n",
                                  (long long)r->done, trajectory_path(r->trajectory));
    if (status == VF_OK && r->error.points > 0)
        status = vf_output_printf(out, "# rms error of the potential at %lld points: %.2g of the rms potential\n",
                                  (long long)r->error.points, r->error.rms);
    VF_TRY(status, vf_output_printf(out, "index,%sx,y,z,potential", r->set.atoms ? LABEL_CSV_ATOM : ""));
    if (status == VF_OK && r->trajectory)
        status = vf_output_printf(out, ",potential_sd");
    for (int a = 0; status == VF_OK && r->settings->points.field && a < 3; a++)
        status = vf_output_printf(out, r->trajectory ? ",E%c,E%c_sd" : ",E%c", 'x' + a, 'x' + a);
    return status == VF_OK ? vf_output_printf(out, "\n") : status;
}

static vf_status write_csv(vf_output *out, const point_run *r)
{
    const double frames = (double)r->done;
    vf_status status = VF_OK;
    for (int64_t n = 0; status == VF_OK && n < r->set.count; n++) {
        status = vf_output_printf(out, "%lld,", (long long)n + 1);
        if (status == VF_OK && r->set.atoms)
            status = label_csv(out, &r->mol->labels[n], true);
        VF_TRY(status,
               vf_output_printf(out, "%.9g,%.9g,%.9g", r->place[3 * n], r->place[3 * n + 1], r->place[3 * n + 2]));
        for (int c = 0; status == VF_OK && c < (r->settings->points.field ? 4 : 1); c++) {
            status = vf_output_printf(out, ",%.12g", r->mean[4 * n + c]);
            if (status == VF_OK && r->trajectory)
                status = vf_output_printf(out, ",%.6g", sqrt(r->squares[4 * n + c] / frames));
        }
        VF_TRY(status, vf_output_printf(out, "\n"));
    }
    return status;
}

/* ---- HDF5 ---- */

typedef struct h5_points {
    vf_context *ctx;
    point_run *run;
    vf_h5 *file; /* NULL: CSV, to which a frame alone is nothing */
} h5_points;

/* [frame][point] or [point], and [3] behind that for vectors. */
static vf_status h5_make(const h5_points *h, const char *name, bool frames, bool vector)
{
    const point_run *r = h->run;
    const int64_t all[3] = {frames ? r->frames->count : r->set.count, frames ? r->set.count : 3, 3};
    const int64_t piece = r->set.count < 65536 ? r->set.count : 65536;
    const int64_t chunk[3] = {frames ? 1 : piece, frames ? piece : 3, 3};
    return vf_h5_dataset_create(h->file, name, VF_F64, 1 + frames + vector, all, chunk, 1);
}

static vf_status h5_put(const h5_points *h, const char *name, int64_t frame, bool frames, const double *values)
{
    const int64_t n = h->run->set.count, start[3] = {frames ? frame : 0};
    const int64_t count[3] = {frames ? 1 : n, frames ? n : 3, 3};
    return vf_h5_write(h->file, name, VF_F64, start, count, values);
}

/* An attribute of an object. */
static vf_status h5_say(vf_status status, const h5_points *h, const char *object, const char *name, const char *text)
{
    return status == VF_OK ? vf_h5_attribute_text(h->file, object, name, text) : status;
}

/* Residue numbers alone; names are in h5_texts. */
static vf_status h5_residues(const h5_points *h)
{
    const point_run *r = h->run;
    double *numbers = malloc((size_t)r->set.count * sizeof *numbers);
    if (!numbers)
        return vf_fail(h->ctx, VF_ERR_MEMORY, "no memory for the residues of %lld atoms", (long long)r->set.count);
    for (int64_t n = 0; n < r->set.count; n++)
        numbers[n] = r->mol->labels[n].residue_number;
    vf_status status = h5_make(h, "residue_number", false, false);
    VF_TRY(status, h5_put(h, "residue_number", 0, false, numbers));
    free(numbers);
    return status;
}

typedef const char *label_text(const atom_label *label);

static const char *name_of(const atom_label *label)
{
    return label->name;
}

static const char *residue_of(const atom_label *label)
{
    return label->residue;
}

static const char *chain_of(const atom_label *label)
{
    return label->chain;
}

/* Texts as rows of eight character codes, zeros behind: [atom][8]. */
static vf_status h5_texts(const h5_points *h, const char *dataset, label_text *text)
{
    enum { WIDTH = 8 };
    const int64_t n = h->run->set.count, dims[2] = {n, WIDTH}, start[2] = {0};
    const int64_t chunk[2] = {n < 8192 ? n : 8192, WIDTH};
    float *codes = calloc((size_t)n, WIDTH * sizeof *codes);
    if (!codes)
        return vf_fail(h->ctx, VF_ERR_MEMORY, "no memory for the names of %lld atoms", (long long)n);
    for (int64_t i = 0; i < n; i++) {
        const char *from = text(&h->run->mol->labels[i]);
        for (int c = 0; c < WIDTH && from[c]; c++)
            codes[i * WIDTH + c] = (float)(unsigned char)from[c];
    }
    vf_status status = vf_h5_dataset_create(h->file, dataset, VF_F32, 2, dims, chunk, 1);
    VF_TRY(status, vf_h5_write(h->file, dataset, VF_F32, start, dims, codes));
    free(codes);
    return h5_say(status, h, dataset, "text", "character codes, zeros behind the last");
}

static vf_status h5_begin(h5_points *h, const char *path, const map_info *info)
{
    const point_run *r = h->run;
    const bool frames = r->trajectory, moves = frames && r->set.atoms;
    char unit[64];
    snprintf(unit, sizeof unit, "%s/A", info->unit);
    vf_status status = vf_h5_create(h->ctx, path, &h->file);
    status = h5_say(status, h, "/", "format", "voxfield points");
    status = h5_say(status, h, "/", "program", info->program);
    status = h5_say(status, h, "/", "command", info->command);
    status = h5_say(status, h, "/", "created", info->created);
    status = h5_say(status, h, "/", "input", info->input);
    status = h5_say(status, h, "/", "input_sha256", r->mol->digest);
    status = h5_say(status, h, "/", "excluded", excluded_text(r));
    if (r->solvent) {
        status = h5_say(status, h, "/", "quantity", info->quantity);
        status = h5_say(status, h, "/", "method", info->method);
    }
    VF_TRY(status, h5_make(h, "points", moves, true));
    status = h5_say(status, h, "points", "unit", "angstrom");
    VF_TRY(status, h5_make(h, "potential", frames, false));
    status = h5_say(status, h, "potential", "unit", info->unit);
    if (status == VF_OK && r->settings->points.field) {
        status = h5_make(h, "field", frames, true);
        status = h5_say(status, h, "field", "unit", unit);
    }
    if (status == VF_OK && r->set.atoms)
        status = h5_residues(h);
    if (status == VF_OK && r->set.atoms)
        status = h5_texts(h, "name", name_of);
    if (status == VF_OK && r->set.atoms)
        status = h5_texts(h, "residue", residue_of);
    if (status == VF_OK && r->set.atoms)
        status = h5_texts(h, "chain", chain_of);
    return status;
}

static vf_status take_frame(void *user, int64_t frame, const double *place, const double *potential,
                            const double *field)
{
    h5_points *h = user;
    const bool frames = h->run->trajectory, moves = frames && h->run->set.atoms;
    if (!h->file)
        return VF_OK;
    vf_status status = VF_OK;
    if (frame == 0 || moves)
        status = h5_put(h, "points", frame, moves, place);
    VF_TRY(status, h5_put(h, "potential", frame, frames, potential));
    return status == VF_OK && field ? h5_put(h, "field", frame, frames, field) : status;
}

static vf_status h5_commit(h5_points *h)
{
    const point_run *r = h->run;
    vf_status status = VF_OK;
    if (r->error.points > 0)
        status = vf_h5_attribute_doubles(h->file, "potential", "rms_error", &r->error.rms, 1);
    if (status == VF_OK && r->field_error.points > 0)
        status = vf_h5_attribute_doubles(h->file, "field", "rms_error", &r->field_error.rms, 1);
    return status == VF_OK ? vf_h5_commit(&h->file) : status;
}

/* ---- both ---- */

static vf_status check_finite(vf_context *ctx, const point_run *r)
{
    for (int64_t n = 0; n < 4 * r->set.count; n++)
        if (!isfinite(r->mean[n]) || !isfinite(r->squares[n]))
            return vf_fail(ctx, VF_ERR_INTERNAL, "the value at point %lld is not finite", (long long)(n / 4) + 1);
    return VF_OK;
}

/* As arrays of a call's result. */
static vf_status points_keep(vf_context *ctx, point_run *r, vf_result *result)
{
    const int64_t n = r->set.count, one[] = {n}, three[] = {n, 3};
    h5_points none = {.ctx = ctx, .run = r};
    double *values = NULL, *fields = NULL;
    vf_status status = points_compute(ctx, r, take_frame, &none);
    VF_TRY(status, check_finite(ctx, r));
    VF_TRY(status, result_copy(result, "points", VF_F64, 2, three, r->place));
    VF_TRY(status, result_new(result, "potential", VF_F64, 1, one, &values));
    for (int64_t i = 0; status == VF_OK && i < n; i++)
        values[i] = r->mean[4 * i];
    if (!r->settings->points.field)
        return status;
    VF_TRY(status, result_new(result, "field", VF_F64, 2, three, &fields));
    for (int64_t i = 0; status == VF_OK && i < n; i++)
        memcpy(fields + 3 * i, r->mean + 4 * i + 1, 3 * sizeof *fields);
    return status;
}

vf_status points_write(vf_context *ctx, point_run *r, const map_info *info)
{
    const char *path = r->settings->points.out;
    if (is_in_memory(path))
        return points_keep(ctx, r, info->result);
    h5_points h = {.ctx = ctx, .run = r};
    vf_output *csv = NULL;
    vf_status status = vf_path_has_extension(path, ".csv") ? vf_output_open(ctx, path, &csv) : h5_begin(&h, path, info);
    VF_TRY(status, points_compute(ctx, r, take_frame, &h));
    VF_TRY(status, check_finite(ctx, r));
    if (status == VF_OK && csv)
        status = csv_head(csv, r, info);
    if (status == VF_OK && csv)
        status = write_csv(csv, r);
    VF_TRY(status, csv ? vf_output_commit(&csv) : h5_commit(&h));
    vf_output_discard(&csv);
    vf_h5_close(&h.file);
    return status;
}
