/* HDF5 files for the tests of libcore: a folder with one, and the context, with three threads. */
#ifndef HDF5_FIXTURE_H
#define HDF5_FIXTURE_H

#include "folder_fixture.h"
#include "voxfield/hdf5_io.h"

static char path[PATH_SIZE];

static inline int set_up(void **state)
{
    (void)state;
    if (open_folder("test_hdf5") != 0)
        return 1;
    path_of("file.h5", path);
    return vf_context_set_threads(ctx, 3) != VF_OK;
}

static inline int tear_down(void **state)
{
    unlink(path);
    return close_folder(state);
}

#endif
