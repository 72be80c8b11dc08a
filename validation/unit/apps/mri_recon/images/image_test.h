/* Image files of every format in a temporary folder, and plain images of any size to write there. */
#ifndef IMAGE_TEST_H
#define IMAGE_TEST_H

#include <dirent.h>

#include "folder_fixture.h"
#include "image_fixture.h"
#include "images/image_files.h"

static const char *const all_names[] = {"image.h5", "image.nii", "image.nii.gz", "image.mrd"};
enum { ALL = sizeof all_names / sizeof *all_names };

static inline int set_up(void **state)
{
    (void)state;
    return open_folder("test_recon_images") != 0 || vf_context_set_threads(ctx, 3) != VF_OK;
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
