/* The layouts of HDF5 files, for the table of read_scan.c: what a file has, and what is read or refused. */
#ifndef SCAN_LAYOUTS_H
#define SCAN_LAYOUTS_H

#include "ismrmrd/ismrmrd_xml.h"
#include "scan_internal.h"

/* ---- list_datasets.c ---- */

enum { LISTED_NAME = 64, LISTED_MOST = 64 };

typedef enum listed_kind {
    LISTED_OTHER,   /* text, or numbers that cannot be read */
    LISTED_REAL,    /* real numbers */
    LISTED_COMPLEX, /* {r, i} or {re, im} */
    LISTED_MATLAB,  /* {real, imag}, as MATLAB and ISMRMRD write complex numbers */
    LISTED_GROUP
} listed_kind;

typedef struct listed_set {
    char name[LISTED_NAME];
    int32_t kind, rank; /* rank: -1 for groups */
    int64_t dims[VF_H5_MAX_RANK];
} listed_set;

/* What is in a file's root. */
typedef struct listing {
    int32_t count;
    listed_set set[LISTED_MOST]; /* further ones are not listed */
} listing;

/* Errors: VF_ERR_INPUT, VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status list_datasets(vf_context *ctx, const char *path, vf_h5 *file, listing *out);
/* The dataset or group of that name; NULL: there is none. */
const listed_set *listing_find(const listing *list, const char *name);
bool listed_complex(const listed_set *set); /* false for NULL */

/* ---- a file that is being recognised ---- */

typedef struct scan_file {
    vf_context *ctx;
    const char *path;
    vf_h5 *file;
    const scan_request *request;
    bool matlab;     /* a MATLAB file of version 7.3 */
    listing list;    /* empty if the layout was recognised without it */
    char found[256]; /* the group of an ISMRMRD scan */
} scan_file;

/* A layout that is read, or refused with a sentence. */
typedef struct scan_layout {
    const char *what; /* for messages: "a file of ..." */
    bool (*recognise)(const scan_file *file);
    vf_status (*read)(const scan_file *file, mri_scan *out); /* NULL: refused */
    const char *refuse;                                      /* what to do instead */
} scan_layout;

/* ---- scan_fastmri.c ---- */

bool scan_is_fastmri(const scan_file *file);
VF_MUST_CHECK vf_status scan_read_fastmri_file(const scan_file *file, mri_scan *out);
/* The same with a header that is parsed already. */
VF_MUST_CHECK vf_status scan_read_fastmri(vf_context *ctx, const plain_source *source, const ismrmrd_protocol *protocol,
                                          mri_scan *out);

/* ---- scan_cmrxrecon.c ---- */

bool scan_is_cmrxrecon(const scan_file *file);
VF_MUST_CHECK vf_status scan_read_cmrxrecon_file(const scan_file *file, mri_scan *out);
/* `name`: of the dataset with k-space; `mask` NULL: none. */
VF_MUST_CHECK vf_status scan_read_cmrxrecon(vf_context *ctx, const plain_source *source, const char *name,
                                            const char *mask, mri_scan *out);

/* ---- foreign_hdf5.c ---- */

/* Layouts that are refused, the most specific first; ends with a row without `recognise`. */
extern const scan_layout scan_refused_layouts[];

/* ---- read_scan.c ---- */

/* Reads a file by the functions of hdf5_io.h. */
plain_source scan_h5_source(const scan_file *file);

#endif
