/* The conditions that every trajectory must meet, whatever bytes it was read from: if a file opens, its frames lie within
 * it, and each frame is read with finite coordinates or rejected. A rejected file leaves an error message and nothing
 * else. */
#ifndef FUZZ_TRAJECTORIES_H
#define FUZZ_TRAJECTORIES_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz_replay.h"
#include "trajectory/trajectory.h"

static char name[32]; /* of the file; messages begin with it */

static inline void check_text(void *user, vf_log_level level, const char *text)
{
    (void)user;
    (void)level;
    if (strncmp(text, "note: ", 6) == 0)
        text += 6;
    REQUIRE(strncmp(text, name, strlen(name)) == 0 && text[strlen(name)] == ':');
    for (; *text; text++)
        REQUIRE(*text >= ' ' && *text <= '~'); /* no control characters for a terminal */
}

/* Whether a frame can be read. The arrays are separate allocations, so that a sanitizer detects an extra atom. */
static inline bool read_frame(vf_context *ctx, const trajectory *t, int64_t frame)
{
    const int64_t n = trajectory_atoms(t);
    double *xyz[3];
    for (int a = 0; a < 3; a++) {
        xyz[a] = malloc((size_t)n * sizeof(double));
        REQUIRE(xyz[a]);
    }
    const vf_status status = trajectory_read(t, frame, xyz[0], xyz[1], xyz[2]);
    REQUIRE(status == VF_OK || status == VF_ERR_INPUT);
    for (int a = 0; a < 3; a++) {
        for (int64_t i = 0; status == VF_OK && i < n; i++)
            REQUIRE(isfinite(xyz[a][i]));
        free(xyz[a]);
    }
    unit_cell cell;
    if (status == VF_OK) {
        REQUIRE(trajectory_read_cell(t, frame, &cell) == VF_OK);
        const bool bad = cell.state == UNIT_CELL_NONE || cell.state == UNIT_CELL_BAD || cell.state == UNIT_CELL_RADIANS;
        for (int a = 0; !bad && a < 3; a++)
            REQUIRE(cell.lengths[a] > 0 && isfinite(cell.lengths[a]) && cell.angles[a] > 0 && cell.angles[a] < 180);
    } else {
        check_text(NULL, VF_LOG_NOTE, vf_context_message(ctx));
        vf_context_clear_error(ctx);
    }
    return status == VF_OK;
}

static inline vf_status fuzz_trajectory(const uint8_t *data, size_t size)
{
    enum { MOST_FRAMES = 64 };
    vf_context *ctx;
    trajectory *t = NULL;
    if (size >= 4 && memcmp(data, "\x89HDF", 4) == 0) /* another process reads HDF5 files; mutate_hdf5 has them */
        return VF_ERR_INPUT;
    if (vf_context_create(&ctx) != VF_OK)
        return VF_ERR_MEMORY;
    vf_context_set_log(ctx, check_text, NULL);
    const int fd = file_of(data, size, name, sizeof name);
    vf_status status = trajectory_open(ctx, name, &t);
    if (status == VF_OK) {
        const int64_t frames = trajectory_frames(t), atoms = trajectory_atoms(t);
        /* An atom takes at least 2 bits, in XTC files. */
        REQUIRE(frames >= 1 && atoms >= 1 && (uint64_t)atoms <= 4 * size && (uint64_t)frames <= size);
        for (int64_t f = 0; f < frames && f < MOST_FRAMES; f++)
            if (!read_frame(ctx, t, frames - 1 - f))
                status = VF_ERR_INPUT;
    } else {
        REQUIRE(!t && (status == VF_ERR_INPUT || status == VF_ERR_UNSUPPORTED));
        check_text(NULL, VF_LOG_NOTE, vf_context_message(ctx));
    }
    trajectory_close(t);
    close(fd);
    vf_context_destroy(ctx);
    return status;
}

#endif
