/* A temporary folder for the files of a test, which is empty again at its end, and the context. */
#ifndef FOLDER_FIXTURE_H
#define FOLDER_FIXTURE_H

#include <unistd.h>

#include "context_fixture.h"

enum { PATH_SIZE = 256 };

static char directory[200];

/* Makes the folder, named after the test, and the context. Returns 0, or 1 if that failed. */
static inline int open_folder(const char *test)
{
    const char *parent = getenv("TMPDIR");
    snprintf(directory, sizeof directory, "%.150s/%.40s.XXXXXX", parent ? parent : "/tmp", test);
    return !mkdtemp(directory) || open_context(NULL) != 0;
}

/* The path of a file in it. */
static inline char *path_of(const char *name, char path[PATH_SIZE])
{
    assert_true(snprintf(path, PATH_SIZE, "%s/%s", directory, name) < PATH_SIZE);
    return path;
}

/* Expects this error, with a message that begins with the file's path and contains these words, and clears it. */
static inline void expect_file_error(vf_status status, vf_status expected, const char *file, const char *words)
{
    if (strncmp(vf_context_message(ctx), file, strlen(file)) != 0)
        fail_msg("'%s' does not begin with '%s'", vf_context_message(ctx), file);
    expect_error(status, expected, words);
}

/* Removes the folder. Fails if a file is left in it, hidden or not. */
static inline int close_folder(void **state)
{
    close_context(state);
    return rmdir(directory);
}

#endif
