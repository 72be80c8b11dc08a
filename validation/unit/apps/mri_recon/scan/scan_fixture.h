/* Small k-space files, what the scan reader makes of them, and what it says. */
#ifndef SCAN_FIXTURE_H
#define SCAN_FIXTURE_H

#include "folder_fixture.h"
#include "ismrmrd/ismrmrd_types.h"
#include "scan/mri_scan.h"
#include "voxfield/append.h"
#include "voxfield/hdf5_io.h"

static char path[PATH_SIZE], said[4096];
static mri_scan s; /* the last scan read */

static inline void keep_log(void *user, vf_log_level level, const char *text)
{
    (void)user;
    vf_append(said, sizeof said, "%s%s\n", level == VF_LOG_WARNING ? "warning: " : "", text);
}

static inline int set_up(void **state)
{
    (void)state;
    if (open_folder("test_scan") != 0)
        return 1;
    path_of("scan.h5", path);
    vf_context_set_log(ctx, keep_log, NULL);
    said[0] = 0;
    memset(&s, 0, sizeof s);
    return 0;
}

static inline int tear_down(void **state)
{
    scan_free(&s);
    unlink(path);
    return close_folder(state);
}

/* Reads the file, which must be valid. */
static inline void read_it(const char *group, k_units units)
{
    scan_free(&s);
    said[0] = 0;
    need(read_scan(ctx, path, &(scan_request){.group = group, .units = units}, &s));
}

/* Reads the file, which must be rejected with a message that names the file and contains these words, without leaks. */
static inline void expect_refusal(const char *group, k_units units, vf_status expected, const char *words)
{
    static const mri_scan nothing;
    scan_free(&s);
    vf_status status = read_scan(ctx, path, &(scan_request){.group = group, .units = units}, &s);
    const char *text = vf_context_message(ctx);
    if (status != expected || !strstr(text, words) || !strstr(text, path))
        fail_msg("got %s, '%s', not %s, '%s'", vf_status_name(status), text, vf_status_name(expected), words);
    assert_memory_equal(&s, &nothing, sizeof s);
    vf_context_clear_error(ctx);
}

static inline void expect_said(const char *words)
{
    if (!strstr(said, words))
        fail_msg("'%s' is not in the messages: '%s'", words, said);
}

/* A test with a folder and a context of its own. */
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
