/* The table of formats, and how those are recognised that are only refused: by their first bytes, by their names, or by
 * what an HDF5 file holds. */
#include "scan_formats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "voxfield/output.h"

/* ---- files that are not HDF5 ---- */

/* Whether there is a file NAME in a folder, or a file with another extension. */
static bool has_file(const char *path, const char *between, const char *name)
{
    struct stat about;
    char *whole = NULL;
    bool found = false;
    if (asprintf(&whole, "%s%s%s", path, between, name) >= 0) {
        found = stat(whole, &about) == 0 && S_ISREG(about.st_mode);
        free(whole);
    }
    return found;
}

/* A regular file with contents that are not HDF5. */
static bool has_other_head(const scan_file *f)
{
    return f->head_bytes > 0 && !f->hdf5;
}

static bool has_mark(const scan_file *f, const file_mark *mark)
{
    const size_t bytes = f->head_bytes;
    const size_t last = bytes < mark->length ? 0 : bytes - mark->length + 1; /* one behind the last possible offset */
    const size_t first = mark->at < 0 ? 0 : (size_t)mark->at, end = mark->at < 0 ? last : first + 1;
    bool found = mark->length == 0;
    if (!has_other_head(f) || (mark->extensions[0] && !vf_path_has_extension(f->path, mark->extensions)))
        return false;
    for (size_t at = first; !found && at < end && at < last; at++)
        found = memcmp(f->head + at, mark->bytes, mark->length) == 0;
    return found;
}

/* Siemens files of version VD and later begin with 0 (or a version below 10,000) and the number of measurements, at
 * most 64, both little-endian. Their names end in .dat; this recognises renamed ones. */
static bool is_twix(const scan_file *f)
{
    uint32_t version, count, measurement;
    if (!has_other_head(f) || f->head_bytes < SCAN_HEAD)
        return false;
    memcpy(&version, f->head, sizeof version);
    memcpy(&count, f->head + 4, sizeof count);
    memcpy(&measurement, f->head + 8, sizeof measurement);
    return version < 10000 && count >= 1 && count <= 64 && measurement > 0;
}

/* A folder with a measurement, or the file with its samples. */
static bool is_bruker(const scan_file *f)
{
    const char *slash = strrchr(f->path, '/'), *name = slash ? slash + 1 : f->path;
    if (f->folder)
        return has_file(f->path, "/", "acqp") || has_file(f->path, "/", "fid") ||
               has_file(f->path, "/", "rawdata.job0");
    return has_other_head(f) && (strcmp(name, "fid") == 0 || strcmp(name, "rawdata.job0") == 0);
}

/* A name that lacks the extension of BART's pairs. */
static bool is_bart_stem(const scan_file *f)
{
    return f->missing && (has_file(f->path, ".", "cfl") || has_file(f->path, "", "cfl"));
}

static vf_status refuse_bart_stem(const scan_file *f, mri_scan *out)
{
    const char *path = f->path;
    (void)out;
    return vf_fail(f->ctx, VF_ERR_INPUT, "%s: no such file; give BART files with their extension: %s%scfl", path, path,
                   path[0] && path[strlen(path) - 1] == '.' ? "" : ".");
}

/* ---- HDF5 files ---- */

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

static bool is_scan_group(const scan_file *f)
{
    return vf_h5_exists(f->file, "/scan") && !vf_h5_exists(f->file, "/scan/data");
}

static bool is_anything(const scan_file *f)
{
    (void)f;
    return true;
}

/* What a MATLAB file is told that has no scan. */
static const char *matlab_advice(const scan_file *f)
{
    return f->matlab ? "; this is a MATLAB file; write the plain layout with h5py or h5write: /scan/data, "
                       "/scan/trajectory, and the attributes matrix and fov_mm of /scan (docs/scans.md)"
                     : "";
}

static vf_status refuse_scan_group(const scan_file *f, mri_scan *out)
{
    (void)out;
    return vf_fail(f->ctx, VF_ERR_INPUT, "%s: dataset /scan/data is missing%s", f->path, matlab_advice(f));
}

static vf_status refuse_anything(const scan_file *f, mri_scan *out)
{
    (void)out;
    return vf_fail(
        f->ctx, VF_ERR_INPUT,
        "%s: no scan in this file: it has neither a group /scan nor a group with 'xml' and 'data' (ISMRMRD), "
        "nor k-space of fastMRI or CMRxRecon%s",
        f->path, matlab_advice(f));
}

/* ---- the table ---- */

static const char SIEMENS[] = "raw data of a Siemens scanner (twix)",
                  BY_SIEMENS[] = "convert it: siemens_to_ismrmrd -f meas.dat -o scan.h5";
static const char NIFTI[] = "a NIfTI image", DICOM[] = "a DICOM image",
                  AN_IMAGE[] = "mri_recon reads k-space, not images";
static const char NPY[] = "a NumPy array",
                  BY_H5PY[] = "write the plain layout with h5py: f['scan/data'], f['scan/trajectory'], and the "
                              "attributes matrix and fov_mm of f['scan'] (docs/scans.md)";
static const char MATLAB[] = "a MATLAB file",
                  BY_MATLAB[] = "write the plain layout with h5py or h5write: /scan/data, /scan/trajectory, and the "
                                "attributes matrix and fov_mm of /scan (docs/scans.md)";
static const char PHILIPS[] = "raw data of a Philips scanner",
                  BY_PHILIPS[] = "convert it: philips_to_ismrmrd -f scan.raw -o scan.h5";
static const char MRD2[] = "MRD of version 2",
                  BY_MRD2[] = "convert it: mrd_to_ismrmrd < scan.mrd | ismrmrd_stream_to_hdf5 --use-stdin -o scan.h5";

#define MARK(...) .mark = {__VA_ARGS__}
#define IN_ROOT(function) .clue = CLUE_LISTING, .recognise = (function)
#define TO_PLAIN "write the plain layout with h5py (docs/scans.md)"

const scan_format scan_formats[] = {
    {"BART", .recognise = scan_is_bart, .read = scan_read_bart},
    {"BART", .recognise = is_bart_stem, .read = refuse_bart_stem},
    {NIFTI, MARK(344, "n+1", 4, ""), .advice = AN_IMAGE},
    {NIFTI, MARK(344, "ni1", 4, ""), .advice = AN_IMAGE},
    {NIFTI, MARK(4, "n+2\0\r\n\032\n", 8, ""), .advice = AN_IMAGE},
    {NIFTI, MARK(0, "\037\213", 2, ".nii.gz"), .advice = AN_IMAGE},
    {DICOM, MARK(128, "DICM", 4, ""), .advice = AN_IMAGE},
    {MATLAB, MARK(0, "MATLAB 5.0 MAT-file", 19, ""), .advice = BY_MATLAB},
    {NPY, MARK(0, "\223NUMPY", 6, ""), .advice = BY_H5PY},
    {NPY, MARK(0, "PK\003\004", 4, ".npz"), .advice = BY_H5PY},
    {"a RawArray file (.ra)", MARK(0, "rawarray", 8, ""),
     .advice = "read it in Python, and write the plain layout with h5py (docs/scans.md)"},
    {MRD2, MARK(0, "yardl", 5, ""), .advice = BY_MRD2},
    {"MRD of version 2 as text (ndjson)", MARK(0, "{\"yardl\":", 9, ""),
     .advice = "write it as a binary MRD stream (mrd package), and convert that: mrd_to_ismrmrd < scan.mrd | "
               "ismrmrd_stream_to_hdf5 --use-stdin -o scan.h5"},
    {"an ISMRMRD stream", MARK(6, "<?xml", 5, ""),
     .advice = "convert it: ismrmrd_stream_to_hdf5 -i scan.bin -o scan.h5"},
    {"a Pulseq sequence", MARK(-1, "[VERSION]", 9, ".seq"),
     .advice =
         "it has no samples; write its trajectory (pypulseq: seq.calculate_kspace) into the scan of its data with h5py "
         "(docs/scans.md)"},
    {SIEMENS, MARK(0, "", 0, ".dat"), .advice = BY_SIEMENS},
    {PHILIPS, MARK(0, "", 0, ".raw .lab .sin .list .data"), .advice = BY_PHILIPS},
    {"raw data of a GE scanner (P-file)", MARK(0, "", 0, ".7"),
     .advice = "convert it: ge_to_ismrmrd (ge2ismrmrd -v P12345.7)"},
    {DICOM, MARK(0, "", 0, ".dcm .ima"), .advice = AN_IMAGE},
    {NIFTI, MARK(0, "", 0, ".nii .nii.gz"), .advice = AN_IMAGE},
    {MATLAB, MARK(0, "", 0, ".mat"), .advice = BY_MATLAB},
    {"raw data of a Bruker scanner", .recognise = is_bruker,
     .advice = "convert it: bruker_to_ismrmrd, or read it in Python (brukerapi) and write the plain "
               "layout with h5py (docs/scans.md)"},
    {SIEMENS, .recognise = is_twix, .advice = BY_SIEMENS},

    {"the plain layout", .clue = CLUE_CONTENTS, .recognise = scan_is_plain, .read = scan_read_plain_file},
    {"ISMRMRD", .clue = CLUE_GROUPS, .recognise = scan_is_ismrmrd, .read = scan_read_ismrmrd},
    {"the plain layout", IN_ROOT(is_scan_group), .read = refuse_scan_group},
    {"fastMRI", IN_ROOT(scan_is_fastmri), .read = scan_read_fastmri_file, .on_grid = true},
    {"CMRxRecon", IN_ROOT(scan_is_cmrxrecon), .read = scan_read_cmrxrecon_file, .on_grid = true},
    {"a fastMRI prostate scan", IN_ROOT(is_prostate),
     .advice = "'kspace' has averages or echo-planar readouts, which need its own program (fastMRI_prostate); write "
               "each average as ['kspace'][average] with 'ismrmrd_header' into a file of its own"},
    {"a scan of Calgary-Campinas", IN_ROOT(is_calgary),
     .advice =
         "its readouts are transformed already, and 'kspace' has real and imaginary parts of the coils in turn; "
         "write each slice k[slice, ..., 0::2] + 1j * k[slice, ..., 1::2] in the plain layout with h5py, ky and kz as "
         "trajectory (docs/scans.md)"},
    {"a scan of SKM-TEA", IN_ROOT(is_skm_tea),
     .advice =
         "its readouts are transformed already (x, ky, kz, echo, coil); write each slice k[x, :, :, echo] in the plain "
         "layout with h5py, ky and kz as trajectory (docs/scans.md)"},
    {"a file of RIESLING", IN_ROOT(is_riesling),
     .advice =
         "write its k-space and 'trajectory' (cycles per field of view since version 1) in the plain layout with h5py: "
         "/scan/data, /scan/trajectory, and the attributes matrix and fov_mm of /scan (docs/scans.md)"},
    {"MRD of version 2 in HDF5", IN_ROOT(is_mrd2),
     .advice =
         "convert it: mrd_hdf5_to_stream scan.h5 | mrd_to_ismrmrd | ismrmrd_stream_to_hdf5 --use-stdin -o new.h5"},
    {"a file of PyQMRI", IN_ROOT(is_pyqmri),
     .advice = "join 'real_dat' and 'imag_dat', and 'real_traj' and 'imag_traj', and " TO_PLAIN},
    {"4D flow data of CMRxRecon", IN_ROOT(is_4d_flow),
     .advice = "write each velocity encoding and frame of it in the plain layout with h5py (docs/scans.md)"},
    {"k-space without a description", IN_ROOT(is_bare),
     .advice = "the file has neither fastMRI's 'ismrmrd_header' with complex numbers of 3 or 4 axes nor MATLAB's "
               "{real, imag}; add 'ismrmrd_header', or " TO_PLAIN},
    {"an image", IN_ROOT(is_image), .advice = "mri_recon reads k-space, not images"},
    {"", IN_ROOT(is_anything), .read = refuse_anything},
};

bool scan_format_fits(const scan_format *row, const scan_file *f)
{
    return row->recognise ? row->recognise(f) : has_mark(f, &row->mark);
}
