/* The unavoidable parts of cionize on the CPU, each by itself, for time_cionize.py: reading the molecule's bytes,
 * the sum over the default grid in one call of the kernel, and writing the bytes of a finished map.
 *
 * usage: time_cionize_parts MOLECULE.pqr MAP COPY REPORT.json
 *
 * MAP is an existing map. Its bytes are written to COPY as cionize writes: synced, then renamed.
 */
#include "bench_device.h"
#include "coulomb_sum.h"
#include "potential/plan_grid.h"
#include "voxfield/output.h"

/* Reads a file's bytes, and measures the seconds. */
static char *read_bytes(const char *path, size_t *bytes, double *seconds)
{
    const double began = vf_now();
    FILE *file = fopen(path, "rb");
    long size = -1;
    if (file && fseek(file, 0, SEEK_END) == 0)
        size = ftell(file);
    if (size < 0 || fseek(file, 0, SEEK_SET) != 0) {
        fprintf(stderr, "%s: cannot read %s\n", program, path);
        exit(1);
    }
    char *data = room((size_t)size + 1, 1);
    *bytes = fread(data, 1, (size_t)size, file);
    fclose(file);
    *seconds = vf_now() - began;
    return data;
}

static double time_writing(const char *path, const char *data, size_t bytes)
{
    vf_output *output = NULL;
    const double began = vf_now();
    need(vf_output_open(ctx, path, &output));
    need(vf_output_write(output, data, bytes));
    need(vf_output_commit(&output));
    return vf_now() - began;
}

/* The whole grid in one call. A small call starts the threads first; the memory is touched before. */
static double time_kernel(const molecule *m, double *evaluations)
{
    const cionize_settings settings = {.spacing = {0.5, 0.5, 0.5}, .border = 10};
    const vf_coulomb_atoms atoms = {.count = m->atoms, .x = m->x, .y = m->y, .z = m->z, .charge = m->charge};
    const vf_coulomb_options options = {.scale = potential_constant("kT/e", 298.15), .r_min = 0.1};
    vf_grid grid;
    vf_coulomb *plan;
    vf_array values = {0};
    need(plan_grid(ctx, &settings, m, &grid));
    need(vf_coulomb_create(device, &grid, &atoms, &options, &plan));
    need(vf_array_create(device, VF_SPACE_DEVICE, VF_F32, vf_grid_points(&grid), &values));
    memset(values.data, 0, (size_t)values.count * sizeof(float));
    const vf_box all = vf_grid_box(&grid);
    vf_box some = all;
    some.hi[2] = grid.counts[2] < 8 ? grid.counts[2] : 8;
    need(vf_coulomb_execute(plan, queue, &some, values.data));
    const double began = vf_now();
    need(vf_coulomb_execute(plan, queue, &all, values.data));
    const double seconds = vf_now() - began;
    *evaluations = (double)m->atoms * (double)vf_grid_points(&grid);
    vf_array_free(&values);
    vf_coulomb_destroy(plan);
    return seconds;
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr, "usage: time_cionize_parts MOLECULE.pqr MAP COPY REPORT.json\n");
        return 2;
    }
    const int ended = begin("time_cionize_parts", "cpu", argv[4]);
    if (ended >= 0)
        return ended;
    molecule m;
    double reading, evaluations, map_reading;
    size_t bytes, map_bytes;
    char *text = read_bytes(argv[1], &bytes, &reading);
    char *map = read_bytes(argv[2], &map_bytes, &map_reading);
    need(read_molecule(ctx, argv[1], &m));
    vf_report_number(report, "kernel", time_kernel(&m, &evaluations));
    vf_report_number(report, "read", reading);
    vf_report_number(report, "write", time_writing(argv[3], map, map_bytes));
    vf_report_number(report, "evaluations", evaluations);
    vf_report_integer(report, "threads", vf_context_threads(ctx));
    molecule_free(&m);
    free(text);
    free(map);
    return end();
}
