#include "amber_netcdf.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "classic_netcdf.h"
#include "text/stored_number.h"
#include "voxfield/hdf5_io.h"
#include "voxfield/output.h"
#include "voxfield/timer.h"

enum { COORDINATES, LENGTHS, ANGLES, VARIABLES };
static const char *const names[VARIABLES] = {"coordinates", "cell_lengths", "cell_angles"};

struct amber_netcdf {
    vf_context *ctx;
    netcdf_source source;
    vf_h5 *hdf5;                         /* NULL: classic */
    netcdf_variable variable[VARIABLES]; /* of HDF5: without offsets; `record` is not set */
    netcdf_header head;                  /* classic */
    int64_t atoms, frames;
};

static vf_status fail(const amber_netcdf *file, const char *why)
{
    return vf_fail(file->ctx, VF_ERR_INPUT, "%s: %s", file->source.path, why);
}

bool is_netcdf(const void *bytes, size_t size)
{
    return is_classic_netcdf(bytes, size) || (size >= 8 && memcmp(bytes, "\x89HDF\r\n\x1a\n", 8) == 0);
}

/* ---- bytes ---- */

static vf_status read_bytes(const amber_netcdf *file, int64_t offset, void *to, size_t bytes)
{
    const netcdf_source *s = &file->source;
    if (offset < 0 || offset > s->size || (int64_t)bytes > s->size - offset)
        return fail(file, "the file ends earlier than its header says; copy it again");
    if (s->fd < 0) {
        memcpy(to, (const char *)s->memory + offset, bytes);
        return VF_OK;
    }
    for (size_t done = 0; done < bytes;) {
        const ssize_t got = pread(s->fd, (char *)to + done, bytes - done, (off_t)(offset + (int64_t)done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return fail(file, got < 0 ? strerror(errno) : "the file became shorter while it was read");
        done += (size_t)got;
    }
    return VF_OK;
}

/* Reads `count` values of a variable, from value `from` of a frame (the whole variable if it has no frames). */
static vf_status read_classic(const amber_netcdf *file, const netcdf_variable *v, int64_t frame, int64_t from,
                              int64_t count, double *out)
{
    enum { CHUNK = 4096, MOST_BYTES = 8 };
    unsigned char bytes[CHUNK * MOST_BYTES];
    const int width = v->type == NETCDF_FLOAT ? 4 : 8;
    const int64_t each = v->record ? file->head.record_bytes : v->bytes / (v->dims[0] > 0 ? v->dims[0] : 1);
    const int64_t begin =
        v->begin + (v->rank == 1 || (v == &file->variable[COORDINATES] && v->rank == 2) ? 0 : frame * each);
    for (int64_t done = 0; done < count; done += CHUNK) {
        const int64_t some = count - done < CHUNK ? count - done : CHUNK;
        const vf_status status = read_bytes(file, begin + (from + done) * width, bytes, (size_t)(some * width));
        if (status != VF_OK)
            return status;
        for (int64_t i = 0; i < some; i++)
            out[done + i] = width == 4 ? (double)stored_float(bytes + 4 * i, true) : stored_double(bytes + 8 * i, true);
    }
    return VF_OK;
}

/* The same of an HDF5 file; `row` values (3) are the last dimension. */
static vf_status read_hdf5(const amber_netcdf *file, const netcdf_variable *v, int64_t frame, int64_t from,
                           int64_t count, double *out)
{
    const bool of_atoms = v == &file->variable[COORDINATES];
    int64_t start[NETCDF_MOST_RANK] = {0}, size[NETCDF_MOST_RANK] = {1, 1, 1};
    int axis = 0;
    if (v->rank == (of_atoms ? 3 : 2))
        start[axis++] = frame;
    if (of_atoms) {
        start[axis] = from / 3;
        size[axis++] = count / 3;
    }
    size[axis] = 3;
    return vf_h5_read(file->hdf5, v->name, VF_F64, start, size, out);
}

static vf_status read_values(const amber_netcdf *file, int which, int64_t frame, int64_t from, int64_t count,
                             double *out)
{
    const netcdf_variable *v = &file->variable[which];
    const vf_status status =
        file->hdf5 ? read_hdf5(file, v, frame, from, count, out) : read_classic(file, v, frame, from, count, out);
    for (int64_t i = 0; status == VF_OK && i < count; i++)
        out[i] *= v->scale;
    return status;
}

/* ---- opening ---- */

static vf_status find_classic(amber_netcdf *file)
{
    enum { MOST_HEADER = 1 << 20 };
    const size_t bytes = file->source.size < MOST_HEADER ? (size_t)file->source.size : MOST_HEADER;
    unsigned char *head = malloc(bytes + 1);
    const char *why = NULL;
    if (!head)
        return vf_fail(file->ctx, VF_ERR_MEMORY, "%s: no memory to read it", file->source.path);
    vf_status status = read_bytes(file, 0, head, bytes);
    if (status == VF_OK && !netcdf_read_header(head, bytes, &file->head, file->variable, VARIABLES, &why))
        status = fail(file, why);
    free(head);
    return status;
}

static vf_status find_in_hdf5(amber_netcdf *file)
{
    if (file->source.fd < 0 && vf_path_has_extension(file->source.path, ".gz"))
        return fail(file,
                    "is a compressed NetCDF-4 file; uncompress it (gunzip), because HDF5 files are read in place");
    vf_status status = vf_h5_open(file->ctx, file->source.path, &file->hdf5);
    if (status == VF_OK && vf_h5_attribute_exists(file->hdf5, "/", "Conventions"))
        status = vf_h5_attribute_get_text(file->hdf5, "/", "Conventions", file->head.conventions,
                                          sizeof file->head.conventions);
    netcdf_printable(file->head.conventions);
    for (int i = 0; status == VF_OK && i < VARIABLES; i++) {
        netcdf_variable *v = &file->variable[i];
        int64_t dims[VF_H5_MAX_RANK] = {0};
        vf_dtype type;
        if (!vf_h5_exists(file->hdf5, v->name))
            continue;
        v->found = true;
        status = vf_h5_dataset_shape(file->hdf5, v->name, &type, &v->rank, dims);
        if (status != VF_OK)
            break;
        v->type = type == VF_F32 ? NETCDF_FLOAT : type == VF_F64 ? NETCDF_DOUBLE : 0;
        memcpy(v->dims, dims, sizeof v->dims);
        if (vf_h5_attribute_exists(file->hdf5, v->name, "units"))
            status = vf_h5_attribute_get_text(file->hdf5, v->name, "units", v->units, sizeof v->units);
        if (status == VF_OK && vf_h5_attribute_exists(file->hdf5, v->name, "scale_factor"))
            status = vf_h5_attribute_get_doubles(file->hdf5, v->name, "scale_factor", &v->scale, 1);
    }
    return status;
}

static bool has_unit(const netcdf_variable *v, const char *unit)
{
    /* also "angstroms" and "degrees", and LAMMPS's "Angstrom" */
    return !*v->units || strncasecmp(v->units, unit, strlen(unit)) == 0;
}

/* Checks that the variables have the shapes of AMBER's convention. Sets atoms. */
static vf_status check_variables(amber_netcdf *file)
{
    netcdf_variable *x = &file->variable[COORDINATES];
    if (!strstr(file->head.conventions, "AMBER"))
        return vf_fail(file->ctx, VF_ERR_INPUT,
                       "%s: is a NetCDF or HDF5 file, but not AMBER's (Conventions '%s'); convert it with cpptraj, "
                       "MDAnalysis or mdconvert (MDTraj)",
                       file->source.path, file->head.conventions);
    if (!x->found)
        return fail(file, "has no coordinates; a NetCDF file of velocities or forces alone cannot be used");
    const int64_t last = x->rank == 2 || x->rank == 3 ? x->dims[x->rank - 1] : 0;
    if (last != 3 || (x->record && x->rank == 2) || (x->type != NETCDF_FLOAT && x->type != NETCDF_DOUBLE))
        return fail(file, "coordinates is not [frame][atom][3] or, of a restart, [atom][3], of floats or doubles");
    file->atoms = x->dims[x->rank - 2];
    if (file->atoms < 1 || file->atoms > INT32_MAX)
        return fail(file, "has no atoms, or 2^31 and more");
    for (int i = 0; i < VARIABLES; i++) {
        netcdf_variable *v = &file->variable[i];
        const char *unit = i == ANGLES ? "degree" : "angstrom";
        netcdf_printable(v->units);
        if (!has_unit(v, unit))
            return vf_fail(file->ctx, VF_ERR_INPUT,
                           "%s: %s has the unit '%s'; AMBER's convention is %s; convert the file with cpptraj or "
                           "MDAnalysis",
                           file->source.path, v->name, v->units, unit);
    }
    if (file->variable[LENGTHS].found != file->variable[ANGLES].found)
        return fail(file, "has one of cell_lengths and cell_angles, but not both");
    for (int i = 0; i < VARIABLES; i++) {
        const netcdf_variable *v = &file->variable[i];
        if (!isfinite(v->scale) || v->scale == 0)
            return fail(file, "has a scale_factor that is 0, NaN or infinite");
        const bool cell = i == LENGTHS || i == ANGLES;
        if (cell && v->found &&
            (v->rank != x->rank - 1 || v->dims[v->rank - 1] != 3 || (v->record != x->record) ||
             (v->rank == 2 && v->dims[0] != x->dims[0]) || (v->type != NETCDF_FLOAT && v->type != NETCDF_DOUBLE)))
            return fail(file,
                        "cell_lengths or cell_angles is not [frame][3] or, of a restart, [3], of floats or doubles");
    }
    return VF_OK;
}

/* The number of whole frames. */
static vf_status count_frames(amber_netcdf *file)
{
    const netcdf_variable *x = &file->variable[COORDINATES];
    int64_t there = INT64_MAX;
    file->frames = x->rank == 2 ? 1 : x->record ? file->head.records : x->dims[0];
    for (int i = 0; i < VARIABLES && !file->hdf5; i++) {
        const netcdf_variable *v = &file->variable[i];
        if (!v->found)
            continue;
        const int64_t room = file->source.size - v->begin - v->bytes;
        if (!v->record && room < 0)
            return fail(file, "the file ends before its coordinates do; copy it again");
        const int64_t whole = room < 0 ? 0 : v->record ? room / file->head.record_bytes + 1 : there;
        there = whole < there ? whole : there;
    }
    if (x->record && file->frames < 0)
        file->frames = there;
    if (file->frames < 1 || there == 0)
        return fail(file, file->frames < 1 ? "has no frames" : "has no complete frame; copy it again");
    if (file->frames > there) {
        vf_warn(file->ctx,
                "%s: the file ends within frame %" PRId64 " of the %" PRId64
                " that its header states; ignoring that frame and those after it, %" PRId64 " %s left",
                file->source.path, there + 1, file->frames, there, there == 1 ? "is" : "are");
        file->frames = there;
    } else if (x->record && there > file->frames && there < INT64_MAX) {
        vf_warn(file->ctx,
                "%s: the file has room for %" PRId64 " frames, but its header states %" PRId64
                "; the others are not read: the program that wrote it ended early, or files were joined; join them "
                "with cpptraj",
                file->source.path, there, file->frames);
    }
    return VF_OK;
}

vf_status amber_netcdf_open(vf_context *ctx, const netcdf_source *source, amber_netcdf **out)
{
    char start[8] = {0};
    *out = NULL;
    amber_netcdf *file = calloc(1, sizeof *file);
    if (!file)
        return vf_fail(ctx, VF_ERR_MEMORY, "%s: no memory to read it", source->path);
    file->ctx = ctx;
    file->source = *source;
    for (int i = 0; i < VARIABLES; i++)
        file->variable[i] = (netcdf_variable){.name = names[i], .scale = 1};
    vf_status status = read_bytes(file, 0, start, source->size < 8 ? (size_t)source->size : sizeof start);
    VF_TRY(status, is_classic_netcdf(start, sizeof start) ? find_classic(file) : find_in_hdf5(file));
    VF_TRY(status, check_variables(file));
    VF_TRY(status, count_frames(file));
    if (status == VF_OK)
        *out = file;
    else
        amber_netcdf_close(file);
    return status;
}

void amber_netcdf_close(amber_netcdf *file)
{
    if (!file)
        return;
    vf_h5_close(&file->hdf5);
    free(file);
}

int64_t amber_netcdf_atoms(const amber_netcdf *file)
{
    return file->atoms;
}

int64_t amber_netcdf_frames(const amber_netcdf *file)
{
    return file->frames;
}

/* ---- frames ---- */

/* What NetCDF stores where nothing was written: 9.97e36. */
static bool never_written(double value)
{
    return fabs(value) > 9.9e36;
}

vf_status amber_netcdf_read(const amber_netcdf *file, int64_t frame, double *x, double *y, double *z)
{
    enum { CHUNK = 1 << 14 };
    double *const out[3] = {x, y, z};
    double *values = malloc(3 * CHUNK * sizeof *values);
    vf_status status =
        values ? VF_OK : vf_fail(file->ctx, VF_ERR_MEMORY, "%s: no memory to read it", file->source.path);
    for (int64_t from = 0; status == VF_OK && from < file->atoms; from += CHUNK) {
        const int64_t some = file->atoms - from < CHUNK ? file->atoms - from : CHUNK;
        status = read_values(file, COORDINATES, frame, 3 * from, 3 * some, values);
        for (int64_t i = 0; status == VF_OK && i < 3 * some; i++) {
            out[i % 3][from + i / 3] = values[i];
            if (!isfinite(values[i]) || never_written(values[i]))
                status =
                    vf_fail(file->ctx, VF_ERR_INPUT,
                            "%s: frame %" PRId64 ": %c of atom %" PRId64
                            " %s; the simulation failed or the file is damaged; leave out that frame with --frames",
                            file->source.path, frame + 1, "xyz"[i % 3], from + i / 3 + 1,
                            isnan(values[i])   ? "is NaN"
                            : isinf(values[i]) ? "is infinite"
                                               : "was never written");
        }
    }
    free(values);
    return status;
}

vf_status amber_netcdf_cell(const amber_netcdf *file, int64_t frame, unit_cell *out)
{
    *out = (unit_cell){0};
    if (!file->variable[LENGTHS].found)
        return VF_OK;
    vf_status status = read_values(file, LENGTHS, frame, 0, 3, out->lengths);
    VF_TRY(status, read_values(file, ANGLES, frame, 0, 3, out->angles));
    const bool none = out->lengths[0] == 0 && out->lengths[1] == 0 && out->lengths[2] == 0;
    if (status != VF_OK || none || !(out->lengths[0] < 1e9 && out->lengths[1] < 1e9 && out->lengths[2] < 1e9))
        *out = (unit_cell){.state = none ? UNIT_CELL_NONE : UNIT_CELL_BAD};
    else
        out->state = cell_state(out->lengths, out->angles);
    return status;
}
