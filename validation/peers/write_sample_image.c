/* Writes an image of the tests (image_fixture.h) with the writers of mri_recon, for other programs to read.
 *
 * usage: write_sample_image SCENE FILE [SCAN]
 *        (SCAN: an ISMRMRD file; FILE becomes a copy of it with the images added)
 */
#include <stdio.h>

#include "apps/mri_recon/images/image_fixture.h"

int main(int argc, char **argv)
{
    vf_context *ctx = NULL;
    const scene *s = argc == 3 || argc == 4 ? scene_named(argv[1]) : NULL;
    if (!s || vf_context_create(&ctx) != VF_OK) {
        fprintf(stderr, "usage: write_sample_image SCENE FILE [SCAN]\n");
        return 2;
    }
    recon_image image = scene_image(s);
    image.copy_of = argc == 4 ? argv[3] : NULL;
    vf_status status = image.data ? write_image(ctx, &image, argv[2]) : VF_ERR_MEMORY;
    if (status != VF_OK)
        fprintf(stderr, "%s\n", vf_context_message(ctx));
    recon_image_free(&image);
    vf_context_destroy(ctx);
    return status != VF_OK;
}
