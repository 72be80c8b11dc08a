/* A potential map whose values all differ, with its molecule and grids of every shape, for the tests of map files. */
#ifndef MAP_FIXTURE_H
#define MAP_FIXTURE_H

#include <float.h>
#include <math.h>

#include "folder_fixture.h"
#include "maps/map_format.h"

static double atom_x[] = {1.5, -2.25}, atom_y[] = {0.125, 3}, atom_z[] = {-7.75, 100.5};
static double atom_charge[] = {0.5, -1.25}, atom_radius[] = {1.5, 2};
static const molecule solute = {.atoms = 2,
                                .x = atom_x,
                                .y = atom_y,
                                .z = atom_z,
                                .charge = atom_charge,
                                .radius = atom_radius,
                                .total_charge = -0.75,
                                .digest = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"};

static inline map_info describe(vf_grid grid, vf_dtype type)
{
    return (map_info){.grid = grid,
                      .type = type,
                      .quantity = "electrostatic potential",
                      .unit = "kT/e",
                      .program = "cionize (Voxfield) 0.1.0",
                      .command = "cionize m\xc3\xb6lecule.pqr -o map.dx --tab\there",
                      .created = "2026-01-02T03:04:05Z",
                      .method = "exact:cpu, single precision",
                      .input = "m\xc3\xb6lecule.pqr",
                      .unit_constant = 560.459343,
                      .temperature = 298.15,
                      .dielectric = 78.5,
                      .r_min = 0.125,
                      .molecule = &solute};
}

/* A reproducible value without symmetry: mostly of usual size, now and then zero, minus zero, tiny or huge. */
static inline float sample(int64_t i, int64_t j, int64_t k)
{
    uint64_t h = (uint64_t)i * 0x9e3779b97f4a7c15 ^ (uint64_t)(j + 1) * 0xc2b2ae3d27d4eb4f ^
                 (uint64_t)(k + 7) * 0x165667b19e3779f9;
    h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9;
    h ^= h >> 32;
    switch (h % 61) {
    case 0:
        return 0;
    case 1:
        return -0.0f;
    case 2:
        return FLT_TRUE_MIN * (float)(h >> 50);
    case 3:
        return (h & 64 ? -1.0f : 1.0f) * FLT_MAX / (float)(1 + (h >> 60));
    default:
        return (float)((double)(h >> 11) * 0x1p-53 - 0.4) * (h & 64 ? 1e-3f : 250.0f);
    }
}

/* In double precision the values are of usual size and have more digits than a float. */
static inline double sample_double(int64_t i, int64_t j, int64_t k)
{
    return (double)(float)sin((double)(i + 2 * j + 5 * k)) * 12.3 + (double)i / 3 - (double)j / 7 + (double)k / 11;
}

/* Layers [first, first + count) in the form that a format needs. */
static inline void *make_layers(const map_info *info, map_order order, int64_t first, int64_t count)
{
    const int64_t *n = info->grid.counts;
    int slow = order == MAP_X_FASTEST ? 2 : 0, fast = 2 - slow;
    void *values = malloc((size_t)(count * n[1] * n[fast]) * vf_dtype_bytes(info->type));
    assert_non_null(values);
    int64_t at[3], v = 0;
    for (at[slow] = first; at[slow] < first + count; at[slow]++)
        for (at[1] = 0; at[1] < n[1]; at[1]++)
            for (at[fast] = 0; at[fast] < n[fast]; at[fast]++, v++) {
                if (info->type == VF_F32)
                    ((float *)values)[v] = sample(at[0], at[1], at[2]);
                else
                    ((double *)values)[v] = sample_double(at[0], at[1], at[2]);
            }
    return values;
}

/* Writes layers 0, 1-2, 3-6, 7-9, ... in thicknesses of 1, 2, 4, 3, 21 in turn. So a piece may be smaller or larger
 * than a chunk of an HDF5 file, and may end anywhere in one. */
static inline vf_status write_layers(const map_format *format, const map_info *info, void *state)
{
    static const int64_t thickness[] = {1, 2, 4, 3, 21};
    const int64_t layers = info->grid.counts[format->order == MAP_X_FASTEST ? 2 : 0];
    vf_status status = VF_OK;
    int64_t count;
    for (int64_t first = 0, turn = 0; first < layers && status == VF_OK; first += count, turn++) {
        count = thickness[turn % 5] < layers - first ? thickness[turn % 5] : layers - first;
        void *values = make_layers(info, format->order, first, count);
        status = format->write(state, first, count, values);
        free(values);
    }
    return status;
}

/* Writes the whole map; returns the first error. */
static inline vf_status write_map(const map_info *info, const char *path)
{
    const map_format *format;
    void *state;
    vf_status status = map_format_for(ctx, path, &format);
    if (status == VF_OK)
        status = format->begin(ctx, path, info, &state);
    if (status != VF_OK)
        return status;
    status = write_layers(format, info, state);
    if (status == VF_OK)
        return format->commit(state, -3.5, 4.25, 0.125, 1.5);
    format->discard(state);
    return status;
}

static inline void must_write(const map_info *info, const char *path)
{
    vf_status status = write_map(info, path);
    if (status != VF_OK)
        fail_msg("%s: %s", vf_status_name(status), vf_context_message(ctx));
}

/* The number of files in the directory, including hidden and partial ones. */
static inline int files_left(void)
{
    char command[PATH_SIZE + 32];
    snprintf(command, sizeof command, "ls -A '%s' | wc -l", directory);
    FILE *pipe = popen(command, "r");
    int n = -1;
    assert_int_equal(fscanf(pipe, "%d", &n), 1);
    pclose(pipe);
    return n;
}

static inline char *slurp(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *bytes = (size_t)ftell(file);
    rewind(file);
    char *content = malloc(*bytes + 1);
    assert_non_null(content);
    assert_int_equal(fread(content, 1, *bytes, file), *bytes);
    content[*bytes] = '\0';
    fclose(file);
    return content;
}

static inline int set_up(void **state)
{
    (void)state;
    return open_folder("test_map_files") != 0 || vf_context_set_threads(ctx, 3) != VF_OK;
}

/* One point; axes of length one; more points than a chunk or a block of text; and steps of different lengths. */
static const vf_grid grids[] = {
    {.origin = {0, 0, 0}, .spacing = {1, 1, 1}, .counts = {1, 1, 1}},
    {.origin = {-1.5, 2.5, -30}, .spacing = {0.5, 0.25, 0.75}, .counts = {1, 7, 5}},
    {.origin = {-10, 0, 10}, .spacing = {0.5, 0.5, 0.5}, .counts = {5, 1, 7}},
    {.origin = {3, -4, 6}, .spacing = {1, 0.5, 2}, .counts = {7, 5, 1}},
    {.origin = {-12.5, -8.25, 100}, .spacing = {0.5, 0.75, 1.25}, .counts = {13, 11, 6}},
    {.origin = {-7, 3.5, 0.5}, .spacing = {0.5, 0.5, 0.5}, .counts = {2, 3, 70}},
    {.origin = {-27 * 0.123456789, 1003 * 0.0987654321, 0},
     .spacing = {0.123456789, 0.0987654321, 0.5},
     .counts = {4, 120, 5}},
    {.origin = {-20, -20, -20}, .spacing = {0.4, 0.4, 0.4}, .counts = {67, 41, 35}},
};
enum { GRIDS = sizeof grids / sizeof *grids };

#endif
