/* AMBER's NetCDF restarts as a molecule's coordinates and box (amber_netcdf.h); of a trajectory, the first frame. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "amber_netcdf.h"
#include "binary_coordinates.h"

vf_status binary_coordinate_fail(const molecule_reader *r, int64_t atom, int axis, double value)
{
    return vf_fail(r->ctx, VF_ERR_INPUT,
                   "%s: %c of atom %" PRId64 " is %s; the simulation failed or the file is damaged", r->name,
                   "xyz"[axis], atom + 1, isnan(value) ? "NaN" : "beyond +-1e9");
}

static vf_status take_atoms(molecule_reader *r, const amber_netcdf *file)
{
    molecule *m = r->out;
    const int64_t atoms = amber_netcdf_atoms(file);
    if (!molecule_resize(m, atoms))
        return vf_fail(r->ctx, VF_ERR_MEMORY, "%s: no memory for %" PRId64 " atoms", r->name, atoms);
    r->capacity = atoms;
    vf_status status = amber_netcdf_read(file, 0, m->x, m->y, m->z);
    for (int64_t i = 0; status == VF_OK && i < atoms; i++) {
        const double xyz[3] = {m->x[i], m->y[i], m->z[i]};
        for (int a = 0; status == VF_OK && a < 3; a++)
            if (!(fabs(xyz[a]) <= MOST_COORDINATE))
                status = binary_coordinate_fail(r, i, a, xyz[a]);
        VF_TRY(status, reader_add_atom(r));
        if (status == VF_OK)
            molecule_place(m, i, xyz);
    }
    return status == VF_OK ? amber_netcdf_cell(file, 0, &m->cell) : status;
}

vf_status read_ncrst(molecule_reader *r, const char *bytes, size_t size)
{
    const netcdf_source source = {.path = r->name, .fd = -1, .memory = bytes, .size = (int64_t)size};
    amber_netcdf *file;
    vf_status status = amber_netcdf_open(r->ctx, &source, &file);
    if (status != VF_OK)
        return status;
    if (amber_netcdf_frames(file) > 1)
        vf_warn(r->ctx, "%s: using the first of %" PRId64 " frames; for the others, add --trajectory %s", r->name,
                amber_netcdf_frames(file), r->name);
    status = take_atoms(r, file);
    amber_netcdf_close(file);
    strcpy(r->out->dialect, "AMBER NetCDF");
    return status;
}
