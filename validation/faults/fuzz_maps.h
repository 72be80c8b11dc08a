/* Feeds arbitrary bytes to a reader of maps, plain or compressed: FUZZED_READER, whose values take at least LEAST_BYTES
 * bytes. A map that is read has a valid grid and finite values, and not more of them than the file can hold. A rejected file leaves an
 * error message. fuzz_replay.c says how to run this. */
#ifndef VOXFIELD_FUZZ_MAPS_H
#define VOXFIELD_FUZZ_MAPS_H

#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz_replay.h"
#include "maps/map_reader.h"

/* Most text from a byte of a compressed file, beyond the first SMALL_TEXT (docs/formats.md). */
enum { MOST_EXPANSION = 200, SMALL_TEXT = 64 << 20 };

static char name[32]; /* of the file; messages begin with it */

static void check_text(void *user, vf_log_level level, const char *text)
{
    (void)user;
    (void)level;
    REQUIRE(strncmp(text, name, strlen(name)) == 0 && text[strlen(name)] == ':');
    require_text(text, strlen(text) + 1);
}

static void check_map(const loaded_map *map, size_t size, bool is_compressed)
{
    const int64_t points = vf_grid_points(&map->grid);
    REQUIRE(vf_grid_valid(&map->grid) && (map->type == VF_F32 || map->type == VF_F64));
    /* A value takes at least LEAST_BYTES bytes. */
    const size_t expanded = MOST_EXPANSION * size > SMALL_TEXT ? MOST_EXPANSION * size : SMALL_TEXT;
    REQUIRE((uint64_t)points <= ((is_compressed ? expanded : size) + 1) / LEAST_BYTES);
    for (int64_t i = 0; i < points; i++)
        REQUIRE(
            isfinite(map->type == VF_F32 ? (double)((const float *)map->values)[i] : ((const double *)map->values)[i]));
    for (int a = 0; a < 3; a++)
        REQUIRE(map->origin_slack[a] >= 0 && map->spacing_slack[a] >= 0);
    require_text(map->unit, sizeof map->unit);
}

vf_status fuzz_one(const uint8_t *data, size_t size)
{
    vf_context *ctx;
    if (vf_context_create(&ctx) != VF_OK)
        return VF_ERR_MEMORY;
    vf_context_set_log(ctx, check_text, NULL);
    const int fd = file_of(data, size, name, sizeof name);
    loaded_map map = {.path = strdup(name)};
    REQUIRE(map.path);
    const vf_status status = FUZZED_READER(ctx, &map);
    if (status == VF_OK) {
        check_map(&map, size, size >= 2 && data[0] == 0x1f && data[1] == 0x8b);
    } else {
        REQUIRE(status == VF_ERR_INPUT);
        check_text(NULL, VF_LOG_NOTE, vf_context_message(ctx));
    }
    map_free(&map);
    close(fd);
    vf_context_destroy(ctx);
    return status;
}

#endif
