/* Shared by libcore's files that call HDF5; not installed. */
#ifndef VOXFIELD_HDF5_INTERNAL_H
#define VOXFIELD_HDF5_INTERNAL_H

#include <hdf5.h>
#include <stdbool.h>

#include "hdf5_sink.h"
#include "sealed/sealed.h"
#include "voxfield/hdf5_io.h"
#include "voxfield/output.h"

/* The dataset used last. It stays open between calls, because closing it would empty its cache of chunks. */
typedef struct vf_h5_dataset {
    hid_t id;
    char *name; /* NULL: none is open */
    vf_dtype type;
    bool plain; /* the file's type is the host's vf_dtype `type`, bit for bit */
    int rank;
    hsize_t dims[VF_H5_MAX_RANK];
    hsize_t chunk[VF_H5_MAX_RANK];
    int level; /* of deflate after shuffle; -1: stored differently */
} vf_h5_dataset;

/* What this process was told about a dataset of a file to read. It is asked only once: the sizes of arrays follow from
 * the answer, and a broken process could give another one later. */
typedef struct vf_h5_shape {
    struct vf_h5_shape *next;
    char *name;
    vf_dtype type;
    int rank;
    int64_t dims[VF_H5_MAX_RANK];
    int64_t at; /* where its numbers lie in the file as in memory; -1: they do not */
} vf_h5_shape;

struct vf_h5 {
    vf_context *ctx;
    char *path;
    vf_output *output; /* NULL: opened to read */
    vf_h5_sink sink;   /* writes to the output's temporary file, or reads */
    hid_t id;
    vf_h5_dataset current;
    vf_sealed *sealed;   /* the process that has the file open; NULL: this one */
    bool inside;         /* this is that process */
    bool own_descriptor; /* the sink's is not the output's */
    vf_h5_shape *shapes; /* known to this process */
    char *view;          /* for answers of this process to itself */
    void *slot;
    void (*free_slot)(void *kept);
};

/* HDF5's own error printing, as it was before this turned it off. */
typedef struct vf_h5_printing {
    H5E_auto2_t print;
    void *user;
    const char *library; /* for vf_foreign_leave */
} vf_h5_printing;

/* Every use of HDF5 lies between these two. They take the lock and silence HDF5. Leaving returns `status`, or the error
 * of a write that failed meanwhile. */
vf_h5_printing vf_h5_enter(void);
VF_MUST_CHECK vf_status vf_h5_leave(const vf_h5 *file, vf_h5_printing before, vf_status status);

/* Allocates a file that is not open yet, and frees any. NULL after an error. */
vf_h5 *vf_h5_allocate(vf_context *ctx, const char *path);
void vf_h5_release(vf_h5 *file);

/* What HDF5 may load or follow beyond the file itself is turned off. Done by vf_h5_enter. */
void vf_h5_restrict(void);

/* Closes the current dataset, which writes its cache. */
vf_status vf_h5_close_dataset(vf_h5 *file);

/* For the process that was just made by fork within enter and leave: ends that state. */
void vf_h5_forked(void);

/* A dataset's access properties: a cache for all chunks with the same first index, so that pieces that cut chunks do
 * not compress them repeatedly. */
hid_t vf_h5_access(size_t element, int rank, const hsize_t *dims, const hsize_t *chunk);
/* The size of these chunks. */
double vf_h5_row_bytes(size_t element, int rank, const hsize_t *dims, const hsize_t *chunk);
enum { VF_H5_CACHE_MOST = 256 << 20 };

/* Starts a file of which nothing is written yet. */
vf_status vf_h5_begin_output(vf_context *ctx, const char *path, vf_h5 **out);

/* Copies the name of an object into a question. False: it is too long. */
bool vf_h5_name(char *to, size_t size, const char *name);

/* Records an error together with its reason: the failed write, or else HDF5's innermost error. Call it between enter
 * and leave. */
vf_status vf_h5_fail(const vf_h5 *file, vf_status status, const char *format, ...) VF_PRINTF(3, 4);

/* VF_ERR_OUTPUT for a file being created, VF_ERR_INPUT for one being read. */
vf_status vf_h5_error(const vf_h5 *file);

/* Makes `name` the current dataset, if it is not already. Call it between enter and leave. */
VF_MUST_CHECK vf_status vf_h5_select(vf_h5 *file, const char *name);

/* HDF5 types, which the caller closes: of a vf_dtype in host memory (complex parts have the names of `stored`;
 * H5I_INVALID_HID: {r, i}), and as written to files. Negative on failure. */
hid_t vf_h5_memory_type(vf_dtype type, hid_t stored);
hid_t vf_h5_file_type(vf_dtype type);

/* The vf_dtype that holds the stored type, without loss if there is one. False if it is not numeric. */
bool vf_h5_closest_type(hid_t stored, vf_dtype *type);

/* Whether both are real, or both complex. */
bool vf_h5_same_kind(vf_dtype a, vf_dtype b);

#endif
