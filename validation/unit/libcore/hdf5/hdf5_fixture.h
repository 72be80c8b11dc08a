/* Shared by the tests of libcore's HDF5 files: a directory, the name of a file in it, and checks of a status. */
#ifndef HDF5_FIXTURE_H
#define HDF5_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "voxfield/hdf5_io.h"

enum { PATH_SIZE = 256 };

static char directory[PATH_SIZE], path[PATH_SIZE];
static vf_context *ctx;

static inline int set_up(void **state)
{
    (void)state;
    const char *parent = getenv("TMPDIR");
    snprintf(directory, sizeof directory, "%.200s/test_hdf5.XXXXXX", parent ? parent : "/tmp");
    if (!mkdtemp(directory) || vf_context_create(&ctx) != VF_OK)
        return 1;
    snprintf(path, sizeof path, "%.200s/file.h5", directory);
    return vf_context_set_threads(ctx, 3) != VF_OK;
}

static inline int tear_down(void **state)
{
    (void)state;
    vf_context_destroy(ctx);
    unlink(path);
    return rmdir(directory); /* no other file may be left, hidden or not */
}

static inline void must(vf_status status)
{
    if (status != VF_OK)
        fail_msg("%s: %s", vf_status_name(status), vf_context_message(ctx));
}

static inline void expect_error(vf_status status, vf_status expected, const char *part)
{
    if (status != expected || !strstr(vf_context_message(ctx), part))
        fail_msg("got %s, '%s', not %s, '%s'", vf_status_name(status), vf_context_message(ctx),
                 vf_status_name(expected), part);
    vf_context_clear_error(ctx);
}

#endif
