/* The format "memory": a map becomes an array of a call's result. */
#include <stdlib.h>
#include <string.h>

#include "map_format.h"
#include "result.h"

typedef struct memory_map {
    vf_context *ctx;
    const map_info *info;
    char *values; /* [z][y][x] */
} memory_map;

static vf_status begin_map(vf_context *ctx, const char *path, const map_info *info, void **state)
{
    const size_t bytes = (size_t)vf_grid_points(&info->grid) * vf_dtype_bytes(info->type);
    memory_map *map = malloc(sizeof *map);
    (void)path;
    *state = map;
    if (map)
        *map = (memory_map){ctx, info, malloc(bytes)};
    if (map && map->values)
        return VF_OK;
    free(map);
    *state = NULL;
    return vf_fail(ctx, VF_ERR_MEMORY, "no memory for a map of %lld points", (long long)vf_grid_points(&info->grid));
}

static vf_status write_layers(void *state, int64_t first, int64_t count, const void *values)
{
    memory_map *map = state;
    const int64_t *n = map->info->grid.counts;
    const size_t layer = (size_t)(n[0] * n[1]) * vf_dtype_bytes(map->info->type);
    memcpy(map->values + (size_t)first * layer, values, (size_t)count * layer);
    return VF_OK;
}

static vf_status commit_map(void *state, double minimum, double maximum, double mean, double rms)
{
    memory_map *map = state;
    const map_info *info = map->info;
    const int64_t dims[] = {info->grid.counts[2], info->grid.counts[1], info->grid.counts[0]}, three[] = {3};
    (void)minimum, (void)maximum, (void)mean, (void)rms;
    vf_status status = result_add(info->result, info->array, info->type, 3, dims, map->values);
    free(map);
    if (status == VF_OK && !vf_result_view(info->result, "origin").data) {
        status = result_copy(info->result, "origin", VF_F64, 1, three, info->grid.origin);
        VF_TRY(status, result_copy(info->result, "spacing", VF_F64, 1, three, info->grid.spacing));
    }
    return status;
}

static void discard_map(void *state)
{
    memory_map *map = state;
    if (map)
        free(map->values);
    free(map);
}

const map_format map_memory = {.name = "memory",
                               .extensions = "",
                               .order = MAP_X_FASTEST,
                               .begin = begin_map,
                               .write = write_layers,
                               .commit = commit_map,
                               .discard = discard_map};
