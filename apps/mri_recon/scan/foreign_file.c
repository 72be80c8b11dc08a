/* Recognises other kinds of files by their first bytes or their names, and says how to convert them. HDF5 files of
 * any name pass. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "scan_internal.h"
#include "voxfield/output.h"

enum { HEAD = 1024 };

typedef struct foreign {
    int at; /* offset of `bytes` in the file; -1: anywhere in the head, which is then text */
    const char *bytes;
    size_t length;          /* 0: recognised by name only */
    const char *extensions; /* "" : any */
    const char *what, *advice;
} foreign;

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
static const char BRUKER[] = "raw data of a Bruker scanner",
                  BY_BRUKER[] = "convert it: bruker_to_ismrmrd, or read it in Python (brukerapi) and write the plain "
                                "layout with h5py (docs/scans.md)";

static const char MRD2[] = "MRD of version 2",
                  BY_MRD2[] = "convert it: mrd_to_ismrmrd < scan.mrd | ismrmrd_stream_to_hdf5 --use-stdin -o scan.h5";

static const foreign known[] = {
    {344, "n+1", 4, "", NIFTI, AN_IMAGE},
    {344, "ni1", 4, "", NIFTI, AN_IMAGE},
    {4, "n+2\0\r\n\032\n", 8, "", NIFTI, AN_IMAGE},
    {0, "\037\213", 2, ".nii.gz", NIFTI, AN_IMAGE},
    {128, "DICM", 4, "", DICOM, AN_IMAGE},
    {0, "MATLAB 5.0 MAT-file", 19, "", MATLAB, BY_MATLAB},
    {0, "\223NUMPY", 6, "", NPY, BY_H5PY},
    {0, "PK\003\004", 4, ".npz", NPY, BY_H5PY},
    {0, "rawarray", 8, "", "a RawArray file (.ra)",
     "read it in Python, and write the plain layout with h5py (docs/scans.md)"},
    {0, "yardl", 5, "", MRD2, BY_MRD2},
    {0, "{\"yardl\":", 9, "", "MRD of version 2 as text (ndjson)",
     "write it as a binary MRD stream (mrd package), and convert that: mrd_to_ismrmrd < scan.mrd | "
     "ismrmrd_stream_to_hdf5 --use-stdin -o scan.h5"},
    {6, "<?xml", 5, "", "an ISMRMRD stream", "convert it: ismrmrd_stream_to_hdf5 -i scan.bin -o scan.h5"},
    {-1, "[VERSION]", 9, ".seq", "a Pulseq sequence",
     "it has no samples; write its trajectory (pypulseq: seq.calculate_kspace) into the scan of its data with h5py "
     "(docs/scans.md)"},
    {0, "", 0, ".dat", SIEMENS, BY_SIEMENS},
    {0, "", 0, ".raw .lab .sin .list .data", PHILIPS, BY_PHILIPS},
    {0, "", 0, ".7", "raw data of a GE scanner (P-file)", "convert it: ge_to_ismrmrd (ge2ismrmrd -v P12345.7)"},
    {0, "", 0, ".dcm .ima", DICOM, AN_IMAGE},
    {0, "", 0, ".nii .nii.gz", NIFTI, AN_IMAGE},
    {0, "", 0, ".mat", MATLAB, BY_MATLAB},
};

static vf_status refuse(vf_context *ctx, const char *path, const char *what, const char *advice)
{
    return vf_fail(ctx, VF_ERR_INPUT, "%s: not a supported scan; this seems to be %s; %s", path, what, advice);
}

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

static vf_status refuse_folder(vf_context *ctx, const char *path)
{
    const bool bruker =
        has_file(path, "/", "acqp") || has_file(path, "/", "fid") || has_file(path, "/", "rawdata.job0");
    return bruker ? refuse(ctx, path, BRUKER, BY_BRUKER) : VF_OK;
}

/* HDF5 signatures may be at 0, 512, 1024, ... */
static bool is_hdf5(const char *head, size_t bytes)
{
    static const char signature[] = "\211HDF\r\n\032\n";
    for (size_t at = 0; at + 8 <= bytes; at += 512)
        if (memcmp(head + at, signature, 8) == 0)
            return true;
    return false;
}

static bool matches(const foreign *f, const char *path, const char *head, size_t bytes)
{
    const size_t last = bytes < f->length ? 0 : bytes - f->length + 1; /* one more than the last possible offset */
    const size_t first = f->at < 0 ? 0 : (size_t)f->at, end = f->at < 0 ? last : first + 1;
    bool found = f->length == 0;
    if (f->extensions[0] && !vf_path_has_extension(path, f->extensions))
        return false;
    for (size_t at = first; !found && at < end && at < last; at++)
        found = memcmp(head + at, f->bytes, f->length) == 0;
    return found;
}

/* Siemens files of version VD and later begin with 0 (or a version below 10,000) and the number of measurements, at
 * most 64, both little-endian. Their names end in .dat; this recognises renamed ones. */
static bool is_twix(const char *head, size_t bytes)
{
    uint32_t version, count, measurement;
    if (bytes < HEAD)
        return false;
    memcpy(&version, head, sizeof version);
    memcpy(&count, head + 4, sizeof count);
    memcpy(&measurement, head + 8, sizeof measurement);
    return version < 10000 && count >= 1 && count <= 64 && measurement > 0;
}

static size_t read_head(const char *path, char head[HEAD])
{
    FILE *stream = fopen(path, "rb");
    const size_t bytes = stream ? fread(head, 1, HEAD, stream) : 0;
    if (stream)
        fclose(stream);
    return bytes;
}

vf_status refuse_foreign_file(vf_context *ctx, const char *path)
{
    struct stat about;
    char head[HEAD] = "";
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (stat(path, &about) != 0)
        return has_file(path, ".", "cfl") || has_file(path, "", "cfl")
                   ? vf_fail(ctx, VF_ERR_INPUT, "%s: no such file; give BART files with their extension: %s%scfl", path,
                             path, path[0] && path[strlen(path) - 1] == '.' ? "" : ".")
                   : VF_OK;
    if (S_ISDIR(about.st_mode))
        return refuse_folder(ctx, path);
    const size_t bytes = S_ISREG(about.st_mode) ? read_head(path, head) : 0;
    if (bytes == 0 || is_hdf5(head, bytes))
        return VF_OK;
    for (size_t f = 0; f < sizeof known / sizeof *known; f++)
        if (matches(&known[f], path, head, bytes))
            return refuse(ctx, path, known[f].what, known[f].advice);
    if (strcmp(name, "fid") == 0 || strcmp(name, "rawdata.job0") == 0)
        return refuse(ctx, path, BRUKER, BY_BRUKER);
    return is_twix(head, bytes) ? refuse(ctx, path, SIEMENS, BY_SIEMENS) : VF_OK;
}

bool scan_is_matlab(const char *path)
{
    char head[HEAD] = "";
    static const char begin[] = "MATLAB 7.3 MAT-file";
    return read_head(path, head) >= sizeof begin && memcmp(head, begin, sizeof begin - 1) == 0;
}

const char *scan_matlab_advice(const char *path)
{
    if (!scan_is_matlab(path))
        return "";
    return "; this is a MATLAB file; write the plain layout with h5py or h5write: /scan/data, /scan/trajectory, and "
           "the attributes matrix and fov_mm of /scan (docs/scans.md)";
}
