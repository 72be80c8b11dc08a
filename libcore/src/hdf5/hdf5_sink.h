/* An HDF5 file by its descriptor: the destination of a new one, which hides write errors from HDF5, or one to read; not
 * installed. */
#ifndef VOXFIELD_HDF5_SINK_H
#define VOXFIELD_HDF5_SINK_H

#include <hdf5.h>

#include "voxfield/output.h"

/* HDF5 cannot close a file whose writes fail: it keeps the file open, and loops when the program exits. So the sink
 * records the first error and pretends success from then on. Check `error` after every call of HDF5.
 */
typedef struct vf_h5_sink {
    int descriptor;    /* open for reading and writing; not closed by HDF5 */
    int error;         /* errno of the first failure, or 0; if it is nonzero, the sink drops all writes */
    vf_output *output; /* the output that the file belongs to; NULL: a file to read */
    uint64_t size;     /* of a file that exists */
} vf_h5_sink;

/* Creates an HDF5 file in the sink, which must be empty, or opens the file in it, for reading and writing. The sink
 * must outlive the file. Returns the file's identifier; negative on failure. */
hid_t vf_h5_sink_create(vf_h5_sink *sink);
hid_t vf_h5_sink_open(vf_h5_sink *sink);
/* The same for a file to read. No other file is opened, whatever the file says. */
hid_t vf_h5_source_open(vf_h5_sink *source);

#endif
