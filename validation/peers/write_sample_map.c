/* Writes a small map without symmetry with the writers of cionize, and the expected result of reading it.
 *
 * usage: write_sample_map FILE f32|f64 ORIGIN*3 SPACING*3 COUNT*3 EXPECTED
 *
 * EXPECTED becomes a text file: "counts", "origin" and "spacing" with three numbers each, then "values" and one
 * value per line, x fastest. Used by read_map.py. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "maps/map_format.h"

enum { ARGUMENTS = 13 };

static double sample(const vf_grid *grid, int64_t i, int64_t j, int64_t k)
{
    double x = grid->origin[0] + (double)i * grid->spacing[0], y = grid->origin[1] + (double)j * grid->spacing[1];
    double z = grid->origin[2] + (double)k * grid->spacing[2];
    return 30 / sqrt((x - 0.3) * (x - 0.3) + (y + 1.1) * (y + 1.1) + (z - 2.2) * (z - 2.2) + 0.1) - 0.7 * x +
           0.05 * y * z;
}

/* All values in the file's order. */
static void *make_values(const map_info *info, map_order order)
{
    const int64_t *n = info->grid.counts;
    int slow = order == MAP_X_FASTEST ? 2 : 0, fast = 2 - slow;
    void *values = malloc((size_t)vf_grid_points(&info->grid) * sizeof(double));
    int64_t at[3], v = 0;
    if (!values)
        return NULL;
    for (at[slow] = 0; at[slow] < n[slow]; at[slow]++)
        for (at[1] = 0; at[1] < n[1]; at[1]++)
            for (at[fast] = 0; at[fast] < n[fast]; at[fast]++, v++) {
                double value = sample(&info->grid, at[0], at[1], at[2]);
                if (info->type == VF_F32)
                    ((float *)values)[v] = (float)value;
                else
                    ((double *)values)[v] = value;
            }
    return values;
}

/* Lowest and highest value, mean, and deviation from it. */
static void statistics(const map_info *info, const void *values, double out[4])
{
    const int64_t n = vf_grid_points(&info->grid);
    double sum = 0, squares = 0;
    out[0] = INFINITY;
    out[1] = -INFINITY;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t v = 0; v < n; v++) {
            double value = info->type == VF_F32 ? (double)((const float *)values)[v] : ((const double *)values)[v];
            out[0] = fmin(out[0], value);
            out[1] = fmax(out[1], value);
            sum += pass ? 0 : value;
            squares += pass ? (value - sum / (double)n) * (value - sum / (double)n) : 0;
        }
    out[2] = sum / (double)n;
    out[3] = sqrt(squares / (double)n);
}

static vf_status write_map(vf_context *ctx, const map_info *info, const char *path)
{
    const map_format *format;
    void *state = NULL, *values = NULL;
    double s[4];
    vf_status status = map_format_for(ctx, path, &format);
    if (status != VF_OK)
        return status;
    status = format->begin(ctx, path, info, &state);
    if (status != VF_OK)
        return status;
    values = make_values(info, format->order);
    if (!values) {
        status = vf_fail(ctx, VF_ERR_MEMORY, "no memory for the map");
        goto done;
    }
    status = format->write(state, 0, info->grid.counts[format->order == MAP_X_FASTEST ? 2 : 0], values);
    if (status != VF_OK)
        goto done;
    statistics(info, values, s);
    status = format->commit(state, s[0], s[1], s[2], s[3]);
    state = NULL;
done:
    free(values);
    format->discard(state);
    return status;
}

static int write_expected(const map_info *info, const char *path)
{
    const vf_grid *g = &info->grid;
    FILE *file = fopen(path, "w");
    if (!file)
        return 1;
    fprintf(file, "counts %lld %lld %lld\n", (long long)g->counts[0], (long long)g->counts[1], (long long)g->counts[2]);
    fprintf(file, "origin %.17g %.17g %.17g\n", g->origin[0], g->origin[1], g->origin[2]);
    fprintf(file, "spacing %.17g %.17g %.17g\nvalues\n", g->spacing[0], g->spacing[1], g->spacing[2]);
    for (int64_t k = 0; k < g->counts[2]; k++)
        for (int64_t j = 0; j < g->counts[1]; j++)
            for (int64_t i = 0; i < g->counts[0]; i++) {
                double value = sample(g, i, j, k);
                fprintf(file, "%.17g\n", info->type == VF_F32 ? (double)(float)value : value);
            }
    return fclose(file) != 0;
}

int main(int argc, char **argv)
{
    double x[] = {1, -2}, y[] = {0.5, 2}, z[] = {-1.25, 3}, charge[] = {0.55, -1}, radius[] = {1.5, 2};
    const molecule solute = {.atoms = 2,
                             .x = x,
                             .y = y,
                             .z = z,
                             .charge = charge,
                             .radius = radius,
                             .total_charge = -0.45,
                             .digest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"};
    map_info info = {.quantity = "electrostatic potential",
                     .unit = "kT/e",
                     .program = "cionize (Voxfield) 0.1.0",
                     .command = "cionize object 1 class gridpositions counts 9 9 9 # origin.pqr",
                     .created = "2026-01-02T03:04:05Z",
                     .method = "exact:cpu, single precision",
                     .input = "a molecule of \xc3\xa5ngstr\xc3\xb6ms.pqr",
                     .unit_constant = 560.459343,
                     .temperature = 298.15,
                     .dielectric = 1,
                     .r_min = 0.1,
                     .molecule = &solute};
    vf_context *ctx = NULL;
    if (argc != ARGUMENTS || vf_context_create(&ctx) != VF_OK) {
        fprintf(stderr, "usage: write_sample_map FILE f32|f64 ORIGIN*3 SPACING*3 COUNT*3 EXPECTED\n");
        return 2;
    }
    info.type = strcmp(argv[2], "f64") == 0 ? VF_F64 : VF_F32;
    for (int a = 0; a < 3; a++) {
        info.grid.origin[a] = strtod(argv[3 + a], NULL);
        info.grid.spacing[a] = strtod(argv[6 + a], NULL);
        info.grid.counts[a] = strtoll(argv[9 + a], NULL, 10);
    }
    vf_status status = write_map(ctx, &info, argv[1]);
    if (status != VF_OK)
        fprintf(stderr, "%s\n", vf_context_message(ctx));
    vf_context_destroy(ctx);
    if (status == VF_OK && write_expected(&info, argv[12]) != 0)
        status = VF_ERR_OUTPUT;
    return vf_status_exit_code(status);
}
