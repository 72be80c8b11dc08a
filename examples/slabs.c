/* A map larger than memory, written to a file slab by slab. usage: slabs [DEVICE], for example cpu or cuda:0,1. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <voxfield/voxfield.h>

enum { N = 160, LAYERS = 10, SLAB = N * N * LAYERS, ATOMS = 100 }; /* the map is 16 times as large as a slab */
static const vf_grid grid = {.spacing = {0.5, 0.5, 0.5}, .counts = {N, N, N}};
static const vf_coulomb_options options = {.scale = 332.063713, .r_min = 0.1, .precision = VF_F32}; /* kcal/mol/e */
static double x[ATOMS], y[ATOMS], z[ATOMS], charge[ATOMS];

typedef struct job {
    vf_coulomb *plan[64]; /* one for each device */
    FILE *file;
} job;

/* Runs on a thread of the device: puts the work into the queue, and sets the number of bytes to copy back. */
static vf_status compute(void *user, const vf_pipeline_piece *piece, size_t *bytes)
{
    const job *j = user;
    const vf_box slab = {{0, 0, piece->number * LAYERS}, {N, N, (piece->number + 1) * LAYERS}};
    *bytes = SLAB * sizeof(float);
    return vf_coulomb_execute(j->plan[piece->device], piece->queue, &slab, piece->memory);
}

/* Runs on the caller's thread, in the order of the slabs. */
static vf_status store(void *user, const vf_pipeline_piece *piece)
{
    return fwrite(piece->host, sizeof(float), SLAB, ((const job *)user)->file) == SLAB ? VF_OK : VF_ERR_OUTPUT;
}

/* Compares a value of the file with the sum in double precision. Allowed, with u = 2^-24: 100 additions and 15 other
 * roundings per term; and rounded positions, up to 20 angstrom, which change a term by its slope |term| / r. */
static vf_status check(const job *j, int nx, int ny, int nz)
{
    float value = 0;
    double sum = 0, allowed = 0;
    for (int a = 0; a < ATOMS; a++) {
        const double dx = 0.5 * nx - x[a], dy = 0.5 * ny - y[a], dz = 0.5 * nz - z[a];
        const double r = fmax(sqrt(dx * dx + dy * dy + dz * dz), options.r_min), term = options.scale * charge[a] / r;
        sum += term;
        allowed += fabs(term) * (115 + 41 / r) * 0x1p-24; /* 41: from both ends of r, and 1 % of second order */
    }
    const bool read = fseek(j->file, ((nz * N + ny) * N + nx) * (long)sizeof value, SEEK_SET) == 0 &&
                      fread(&value, sizeof value, 1, j->file) == 1;
    return read && fabs(value - sum) <= allowed ? VF_OK : VF_ERR_INTERNAL;
}

int main(int argc, char **argv)
{
    const vf_coulomb_atoms atoms = {.count = ATOMS, .x = x, .y = y, .z = z, .charge = charge};
    job j = {.file = tmpfile()};
    vf_context *ctx = NULL;
    vf_pipeline *pipeline = NULL;
    for (int a = 0; a < ATOMS; a++) {
        x[a] = 80.0 * rand() / RAND_MAX, y[a] = 80.0 * rand() / RAND_MAX, z[a] = 80.0 * rand() / RAND_MAX;
        charge[a] = a % 2 ? 1 : -1;
    }
    if (!j.file || vf_context_create(&ctx) != VF_OK)
        return 1;
    vf_status status = vf_context_set_devices(ctx, argc > 1 ? argv[1] : "cpu");
    const int devices = vf_context_device_count(ctx); /* at most 64 */
    const vf_pipeline_options plan = {
        .devices = devices, .stages = 2, .buffers = 2 * devices, .bytes = SLAB * sizeof(float)};
    const vf_pipeline_work work = {.pieces = N / LAYERS, .user = &j, .compute = compute, .store = store};
    for (int d = 0; d < devices && status == VF_OK; d++)
        status = vf_coulomb_create(vf_context_device(ctx, d), &grid, &atoms, &options, &j.plan[d]);
    status = status == VF_OK ? vf_pipeline_create(ctx, &plan, &pipeline) : status;
    status = status == VF_OK ? vf_pipeline_run(pipeline, &work) : status;
    for (int n = 0; n < 100 && status == VF_OK; n++)
        status = check(&j, rand() % N, rand() % N, rand() % N);
    printf("%d slabs of %d layers: %s %s\n", N / LAYERS, LAYERS, vf_status_text(status), vf_context_message(ctx));
    vf_pipeline_destroy(pipeline);
    for (int d = 0; d < devices; d++)
        vf_coulomb_destroy(j.plan[d]);
    vf_context_destroy(ctx);
    return vf_status_exit_code(status);
}
