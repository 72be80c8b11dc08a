/* Recognises HDF5 files of other layouts, and says how to convert them. */
#include <string.h>

#include "scan_layouts.h"

static const listed_set *find(const scan_file *f, const char *name)
{
    return listing_find(&f->list, name);
}

static bool has(const scan_file *f, const char *name)
{
    return find(f, name) != NULL;
}

static int64_t last_of(const listed_set *set)
{
    return set && set->rank >= 1 && set->rank <= VF_H5_MAX_RANK ? set->dims[set->rank - 1] : 0;
}

/* T2: [average][slice][coil][readout][phase]; diffusion: with calibration data for its echo-planar readouts. */
static bool is_prostate(const scan_file *f)
{
    const listed_set *k = find(f, "kspace");
    return k && has(f, "ismrmrd_header") && (k->rank >= 5 || has(f, "calibration_data"));
}

static bool is_calgary(const scan_file *f)
{
    const listed_set *k = find(f, "kspace");
    return k && k->kind == LISTED_REAL && k->rank == 4 && last_of(k) > 2 && last_of(k) % 2 == 0;
}

static bool is_skm_tea(const scan_file *f)
{
    const listed_set *k = find(f, "kspace");
    return listed_complex(k) && k->rank == 5 && (has(f, "maps") || has(f, "target"));
}

static bool is_riesling(const scan_file *f)
{
    return (has(f, "info") && has(f, "trajectory")) || has(f, "noncartesian") ||
           (has(f, "info") && has(f, "cartesian"));
}

static bool is_mrd2(const scan_file *f)
{
    const listed_set *group = find(f, "Mrd");
    return group && group->kind == LISTED_GROUP;
}

static bool is_pyqmri(const scan_file *f)
{
    return has(f, "real_dat") && has(f, "imag_dat");
}

static bool is_4d_flow(const scan_file *f)
{
    for (int i = 0; i < f->list.count; i++)
        if (strncmp(f->list.set[i].name, "kdata_", 6) == 0)
            return true;
    return false;
}

static bool is_bare(const scan_file *f)
{
    return !f->matlab && (has(f, "kspace") || has(f, "kus"));
}

static bool is_image(const scan_file *f)
{
    static const char *const names[] = {
        "image",       "images",      "reconstruction", "reconstruction_rss", "reconstruction_esc",
        "image_input", "image_label", "img4ranking"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (has(f, names[i]))
            return true;
    return false;
}

#define TO_PLAIN "write the plain layout with h5py (docs/scans.md)"

const scan_layout scan_refused_layouts[] = {
    {"a fastMRI prostate scan", is_prostate, NULL,
     "'kspace' has averages or echo-planar readouts, which need its own program (fastMRI_prostate); write each average "
     "as ['kspace'][average] with 'ismrmrd_header' into a file of its own"},
    {"a scan of Calgary-Campinas", is_calgary, NULL,
     "its readouts are transformed already, and 'kspace' has real and imaginary parts of the coils in turn; "
     "write each slice k[slice, ..., 0::2] + 1j * k[slice, ..., 1::2] in the plain layout with h5py, ky and kz as "
     "trajectory (docs/scans.md)"},
    {"a scan of SKM-TEA", is_skm_tea, NULL,
     "its readouts are transformed already (x, ky, kz, echo, coil); write each slice k[x, :, :, echo] in the plain "
     "layout with h5py, ky and kz as trajectory (docs/scans.md)"},
    {"a file of RIESLING", is_riesling, NULL,
     "write its k-space and 'trajectory' (cycles per field of view since version 1) in the plain layout with h5py: "
     "/scan/data, /scan/trajectory, and the attributes matrix and fov_mm of /scan (docs/scans.md)"},
    {"MRD of version 2 in HDF5", is_mrd2, NULL,
     "convert it: mrd_hdf5_to_stream scan.h5 | mrd_to_ismrmrd | ismrmrd_stream_to_hdf5 --use-stdin -o new.h5"},
    {"a file of PyQMRI", is_pyqmri, NULL,
     "join 'real_dat' and 'imag_dat', and 'real_traj' and 'imag_traj', and " TO_PLAIN},
    {"4D flow data of CMRxRecon", is_4d_flow, NULL,
     "write each velocity encoding and frame of it in the plain layout with h5py (docs/scans.md)"},
    {"k-space without a description", is_bare, NULL,
     "the file has neither fastMRI's 'ismrmrd_header' with complex numbers of 3 or 4 axes nor MATLAB's {real, imag}; "
     "add 'ismrmrd_header', or " TO_PLAIN},
    {"an image", is_image, NULL, "mri_recon reads k-space, not images"},
    {NULL, NULL, NULL, NULL},
};
