/* vf_espirit for scripts: estimate_maps X Y Z  BX BY BZ  COILS  BLOCK MAPS. The arguments are the matrix, the
 * block's size, and files of raw complex floats, [coil][z][y][x]. The settings are those of mri_recon for Cartesian
 * scans. Prints seconds and quality. */
#include <complex.h>
#include <stdio.h>
#include <stdlib.h>

#include "espirit.h"
#include "voxfield/timer.h"

static int run(vf_context *ctx, const vf_espirit_task *task, FILE *out, int64_t voxels)
{
    vf_espirit_quality q;
    const size_t count = (size_t)voxels * (size_t)task->coils;
    float complex *maps = malloc(count * sizeof *maps);
    const double begin = vf_now();
    int failed = !maps || vf_espirit(ctx, task, maps, NULL, &q) != VF_OK;
    if (failed)
        fprintf(stderr, "%s\n", vf_context_message(ctx));
    else
        printf("%.3f s, %d virtual coils, sigma %g, explained %.4f, second %.4f\n", vf_now() - begin, q.virtual_coils,
               q.sigma, q.explained, q.second_share);
    failed = failed || fwrite(maps, sizeof *maps, count, out) != count;
    free(maps);
    return failed;
}

int main(int argc, char **argv)
{
    if (argc != 10)
        return 2;
    vf_espirit_task task = {.coils = atoi(argv[7]), .sets = 1, .truncation = 3e-5};
    int64_t samples = 1, voxels = 1;
    for (int a = 0; a < 3; a++) {
        voxels *= task.matrix[a] = atoi(argv[1 + a]);
        samples *= task.block[a] = atoi(argv[4 + a]);
    }
    const size_t count = (size_t)samples * (size_t)task.coils;
    float complex *data = malloc(count * sizeof *data);
    FILE *in = fopen(argv[8], "rb"), *out = fopen(argv[9], "wb");
    vf_context *ctx = NULL;
    int failed = !data || !in || !out || fread(data, sizeof *data, count, in) != count || vf_context_create(&ctx);
    task.data = data;
    failed = failed || run(ctx, &task, out, voxels);
    vf_context_destroy(ctx);
    if (in)
        fclose(in);
    if (out)
        failed = fclose(out) || failed;
    free(data);
    return failed;
}
