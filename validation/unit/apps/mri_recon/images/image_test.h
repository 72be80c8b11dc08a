/* Shared by the tests of image files: a directory and a context. */
#ifndef IMAGE_TEST_H
#define IMAGE_TEST_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

#include "image_fixture.h"
#include "images/image_files.h"

enum { PATH_SIZE = 300 };

static char directory[256];
static vf_context *ctx;
static const char *const all_names[] = {"image.h5", "image.nii", "image.nii.gz", "image.mrd"};
enum { ALL = sizeof all_names / sizeof *all_names };

static inline int set_up(void **state)
{
    (void)state;
    const char *parent = getenv("TMPDIR");
    snprintf(directory, sizeof directory, "%.200s/test_recon_images.XXXXXX", parent ? parent : "/tmp");
    if (!mkdtemp(directory) || vf_context_create(&ctx) != VF_OK)
        return 1;
    return vf_context_set_threads(ctx, 3) != VF_OK;
}

static inline int tear_down(void **state)
{
    (void)state;
    vf_context_destroy(ctx);
    return rmdir(directory); /* no file may be left, hidden or not */
}

static inline char *path_of(const char *name, char path[PATH_SIZE])
{
    snprintf(path, PATH_SIZE, "%.200s/%s", directory, name);
    return path;
}

static inline int files_left(void)
{
    int count = -2; /* . and .. */
    DIR *list = opendir(directory);
    while (readdir(list))
        count++;
    closedir(list);
    return count;
}

static inline void must(vf_status status)
{
    if (status != VF_OK)
        fail_msg("%s: %s", vf_status_name(status), vf_context_message(ctx));
}

static inline void expect_error(vf_status status, vf_status expected, const char *part, const char *other)
{
    if (status != expected || !strstr(vf_context_message(ctx), part) || !strstr(vf_context_message(ctx), other))
        fail_msg("got %s, '%s', not %s, '%s', '%s'", vf_status_name(status), vf_context_message(ctx),
                 vf_status_name(expected), part, other);
    vf_context_clear_error(ctx);
}

/* A phantom of any size, independent of scenes. */
static inline recon_image plain_image(int frames, int64_t nx, int64_t ny, int64_t nz)
{
    const int64_t total = frames * nx * ny * nz;
    recon_image image = {.frames = frames,
                         .counts = {nx, ny, nz},
                         .voxel = {1, 1, 1},
                         .geometry.direction = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
                         .data = malloc((size_t)total * sizeof(float complex)),
                         .method = "adjoint"};
    for (int64_t i = 0; i < total; i++)
        image.data[i] = complex_of(sinf((float)i), (float)(i % 1000) / 1000);
    return image;
}

#endif
