/* A map larger than the memory it is made in: slab after slab into a file. usage: slabs [DEVICE], as cpu or cuda:0,1.
 */
#include <stdio.h>
#include <stdlib.h>

#include <voxfield/voxfield.h>

enum { N = 160, ATOMS = 100, MEMORY = 1 << 20 }; /* bytes of a slab at most: the map has 16 times as many */

typedef struct job {
    vf_grid grid;
    int64_t layers;       /* of a slab, but the last, which may have fewer */
    vf_coulomb *plan[64]; /* one a device */
    FILE *file;
} job;

static vf_box slab_of(const job *j, int64_t number)
{
    vf_box box = vf_grid_box(&j->grid);
    box.lo[2] = number * j->layers;
    box.hi[2] = box.lo[2] + j->layers < N ? box.lo[2] + j->layers : N;
    return box;
}

/* On a thread of the device's: puts the work into the queue, and says how many bytes are to be brought back. */
static vf_status compute(void *user, const vf_pipeline_piece *piece, size_t *bytes)
{
    const job *j = user;
    const vf_box box = slab_of(j, piece->number);
    *bytes = (size_t)vf_box_points(&box) * sizeof(float);
    return vf_coulomb_execute(j->plan[piece->device], piece->queue, &box, piece->memory);
}

/* On the caller's thread: slabs in their order. */
static vf_status store(void *user, const vf_pipeline_piece *piece)
{
    const job *j = user;
    const vf_box box = slab_of(j, piece->number);
    const size_t points = (size_t)vf_box_points(&box);
    return fwrite(piece->host, sizeof(float), points, j->file) == points ? VF_OK : VF_ERR_OUTPUT;
}

int main(int argc, char **argv)
{
    static double x[ATOMS], y[ATOMS], z[ATOMS], charge[ATOMS];
    const vf_coulomb_atoms atoms = {.count = ATOMS, .x = x, .y = y, .z = z, .charge = charge};
    const vf_coulomb_options options = {.scale = 332.063713, .r_min = 0.1, .precision = VF_F32}; /* kcal/mol/e */
    job j = {.grid = {.spacing = {0.5, 0.5, 0.5}, .counts = {N, N, N}}, .layers = MEMORY / (N * N * sizeof(float))};
    vf_context *ctx = NULL;
    vf_pipeline *pipeline = NULL;
    for (int a = 0; a < ATOMS; a++) {
        x[a] = 80.0 * rand() / RAND_MAX, y[a] = 80.0 * rand() / RAND_MAX, z[a] = 80.0 * rand() / RAND_MAX;
        charge[a] = a % 2 ? 1 : -1;
    }
    if (vf_context_create(&ctx) != VF_OK)
        return 1;
    vf_status status = vf_context_set_devices(ctx, argc > 1 ? argv[1] : "cpu");
    const int devices = vf_context_device_count(ctx); /* at most 64 */
    const vf_pipeline_options plan = {.devices = devices, .stages = 2, .buffers = 2 * devices, .bytes = MEMORY};
    const vf_pipeline_work work = {
        .pieces = (N + j.layers - 1) / j.layers, .user = &j, .compute = compute, .store = store};
    j.file = tmpfile();
    for (int d = 0; d < devices && status == VF_OK; d++)
        status = vf_coulomb_create(vf_context_device(ctx, d), &j.grid, &atoms, &options, &j.plan[d]);
    if (status == VF_OK)
        status = vf_pipeline_create(ctx, &plan, &pipeline);
    if (status == VF_OK)
        status = vf_pipeline_run(pipeline, &work);
    if (status == VF_OK)
        printf("%lld slabs of %lld layers: %ld bytes\n", (long long)work.pieces, (long long)j.layers, ftell(j.file));
    else
        fprintf(stderr, "slabs: %s: %s\n", vf_status_text(status), vf_context_message(ctx));
    vf_pipeline_destroy(pipeline);
    for (int d = 0; d < devices; d++)
        vf_coulomb_destroy(j.plan[d]);
    vf_context_destroy(ctx);
    return vf_status_exit_code(status);
}
