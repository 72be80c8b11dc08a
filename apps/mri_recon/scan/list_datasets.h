/* What is in the root of an HDF5 file: names, kinds and shapes, by which its format is recognised. */
#ifndef LIST_DATASETS_H
#define LIST_DATASETS_H

#include "voxfield/hdf5_io.h"

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

typedef struct listing {
    int32_t count;
    listed_set set[LISTED_MOST]; /* further ones are not listed */
} listing;

/* Errors: VF_ERR_INPUT, VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status list_datasets(vf_context *ctx, const char *path, vf_h5 *file, listing *out);
/* The dataset or group of that name; NULL: there is none. */
const listed_set *listing_find(const listing *list, const char *name);
bool listed_complex(const listed_set *set); /* false for NULL */

#endif
