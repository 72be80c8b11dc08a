/* The table of formats: what a scan's file can be, how that is recognised, and what reads or refuses it.
 *
 * A new format is a file scan_NAME.c with its two functions, which are declared below, and a row in scan_formats.c. */
#ifndef SCAN_FORMATS_H
#define SCAN_FORMATS_H

#include "list_datasets.h"
#include "mri_scan.h"

/* What there is to see of a file. Each costs more than the one before: read_scan.c looks when the first row of the table
 * needs it. */
typedef enum scan_clue {
    CLUE_HEAD,     /* its name, whether it is a file, and the first bytes */
    CLUE_CONTENTS, /* it is opened as HDF5, and datasets can be looked up. Other files fail here */
    CLUE_GROUPS,   /* the group with an ISMRMRD scan */
    CLUE_LISTING   /* all that is in the root */
} scan_clue;

/* What comes with a scan of BART, whose files hold numbers alone. */
typedef struct scan_companions {
    const char *trajectory;    /* the file of --trajectory; NULL: the scan is Cartesian */
    const int64_t *matrix;     /* [3] of --matrix; NULL: not given */
    const int64_t *map_matrix; /* [3] of the coil maps; NULL: there are none */
} scan_companions;

enum { SCAN_HEAD = 1024 };

/* A file that is being recognised and read. */
typedef struct scan_file {
    vf_context *ctx;
    const char *path; /* of BART's pairs, the .cfl */
    const scan_request *request;
    scan_companions with;
    bool missing, folder;
    char head[SCAN_HEAD];
    size_t head_bytes; /* 0: empty, or not a regular file */
    bool hdf5;         /* the head has its signature */
    bool matlab;       /* a MATLAB file of version 7.3, which is HDF5 */
    vf_h5 *file;
    char found[256]; /* the group of an ISMRMRD scan; "": none */
    listing list;
} scan_file;

/* Bytes in a file's head and extensions of its name; both must be there. */
typedef struct file_mark {
    int at; /* offset of `bytes`; -1: anywhere in the head, which is then text */
    const char *bytes;
    size_t length;          /* 0: recognised by its name only */
    const char *extensions; /* "" : any */
} file_mark;

typedef struct scan_format {
    const char *name;                         /* for messages: "a file of ..." */
    bool (*recognise)(const scan_file *file); /* NULL: by `mark`; never HDF5 */
    file_mark mark;
    vf_status (*read)(const scan_file *file, mri_scan *out); /* NULL: refused with `advice` */
    const char *advice;                                      /* what to do instead */
    scan_clue clue;                                          /* what `recognise` looks at */
    bool on_grid;                                            /* k has no units */
} scan_format;

/* The first row that recognises a file decides; the last one recognises any. */
extern const scan_format scan_formats[];
bool scan_format_fits(const scan_format *row, const scan_file *file);

/* ---- the functions of rows ---- */

bool scan_is_bart(const scan_file *file);
VF_MUST_CHECK vf_status scan_read_bart(const scan_file *file, mri_scan *out);

bool scan_is_plain(const scan_file *file);
VF_MUST_CHECK vf_status scan_read_plain_file(const scan_file *file, mri_scan *out);

bool scan_is_ismrmrd(const scan_file *file);
VF_MUST_CHECK vf_status scan_read_ismrmrd(const scan_file *file, mri_scan *out);

bool scan_is_fastmri(const scan_file *file);
VF_MUST_CHECK vf_status scan_read_fastmri_file(const scan_file *file, mri_scan *out);

bool scan_is_cmrxrecon(const scan_file *file);
VF_MUST_CHECK vf_status scan_read_cmrxrecon_file(const scan_file *file, mri_scan *out);

#endif
