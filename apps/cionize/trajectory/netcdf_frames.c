/* Trajectories in AMBER's NetCDF format, read by molecule/amber_netcdf.h. */
#include "molecule/amber_netcdf.h"
#include "trajectory_file.h"

static vf_status open_netcdf(trajectory *t)
{
    const netcdf_source source = {.path = t->path, .fd = t->fd, .size = t->size};
    const vf_status status = amber_netcdf_open(t->ctx, &source, &t->netcdf);
    if (status != VF_OK)
        return status;
    t->atoms = amber_netcdf_atoms(t->netcdf);
    t->frames = amber_netcdf_frames(t->netcdf);
    return VF_OK;
}

static vf_status read_frame(const trajectory *t, int64_t frame, double *x, double *y, double *z)
{
    return amber_netcdf_read(t->netcdf, frame, x, y, z);
}

static vf_status read_cell(const trajectory *t, int64_t frame, unit_cell *cell)
{
    return amber_netcdf_cell(t->netcdf, frame, cell);
}

static void close_netcdf(trajectory *t)
{
    amber_netcdf_close(t->netcdf);
}

const trajectory_format netcdf_format = {open_netcdf, read_frame, read_cell, close_netcdf};
