/* Where a new HDF5 file is written to: a file descriptor whose failures HDF5 is not told of; not installed. */
#ifndef VOXFIELD_HDF5_SINK_H
#define VOXFIELD_HDF5_SINK_H

#include <hdf5.h>

#include "voxfield/output.h"

/* HDF5 cannot close a file that it cannot write to its end: it keeps it open, and runs in circles when the program
 * exits. So the sink takes note of the first error and pretends from then on; look at `error` after every call of HDF5.
 */
typedef struct vf_h5_sink {
    int descriptor;    /* open for reading and writing; not closed by HDF5 */
    int error;         /* errno of the first failure, or 0; any other value makes the sink drop what comes */
    vf_output *output; /* that the file is */
} vf_h5_sink;

/* Creates an HDF5 file in the sink, which must be empty, or opens the one that it has, to read and write. The sink must
 * outlive the file. Returns its identifier; negative on failure. */
hid_t vf_h5_sink_create(vf_h5_sink *sink);
hid_t vf_h5_sink_open(vf_h5_sink *sink);

#endif
