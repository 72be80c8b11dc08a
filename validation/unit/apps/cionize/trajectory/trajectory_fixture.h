/* Trajectories that open, or are refused, and what is said of them. */
#ifndef TRAJECTORY_FIXTURE_H
#define TRAJECTORY_FIXTURE_H

#include "device_fixture.h"
#include "trajectory/trajectory.h"
#include "voxfield/append.h"

static char log_text[4096];

static inline void keep_log(void *user, vf_log_level level, const char *text)
{
    (void)user;
    (void)level;
    vf_append(log_text, sizeof log_text, "%s\n", text);
}

/* For run_on_device. */
static inline int set_up(void **state)
{
    (void)state;
    vf_context_set_log(ctx, keep_log, NULL);
    return 0;
}

static inline trajectory *open_path(const char *path)
{
    trajectory *t;
    log_text[0] = '\0';
    need(trajectory_open(ctx, path, &t));
    return t;
}

/* Expects this error, with a message that begins with the path and contains these words. */
static inline void assert_no_open(const char *path, vf_status status, const char *why)
{
    trajectory *t = (trajectory *)&t;
    const vf_status got = trajectory_open(ctx, path, &t);
    const char *message = vf_context_message(ctx);
    if (got != status || t || strncmp(message, path, strlen(path)) != 0 || !strstr(message, why))
        fail_msg("%s, not %s with '%s': %s", vf_status_name(got), vf_status_name(status), why, message);
    vf_context_clear_error(ctx);
}

#endif
