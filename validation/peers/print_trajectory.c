/* Prints the contents of a trajectory as its reader finds them: atoms and frames, then for each frame the box (zeros
 * if unknown) and each atom's coordinates, exactly.
 *
 * usage: print_trajectory FILE
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "trajectory/trajectory.h"

static void warn(void *user, vf_log_level level, const char *text)
{
    (void)user;
    (void)level;
    fprintf(stderr, "%s\n", text);
}

static vf_status print_frame(const trajectory *t, int64_t frame, double *xyz)
{
    const int64_t n = trajectory_atoms(t);
    unit_cell c;
    vf_status status = trajectory_read(t, frame, xyz, xyz + n, xyz + 2 * n);
    if (status == VF_OK)
        status = trajectory_read_cell(t, frame, &c);
    if (status != VF_OK)
        return status;
    printf("%a %a %a %a %a %a\n", c.lengths[0], c.lengths[1], c.lengths[2], c.angles[0], c.angles[1], c.angles[2]);
    for (int64_t i = 0; i < n; i++)
        printf("%a %a %a\n", xyz[i], xyz[n + i], xyz[2 * n + i]);
    return VF_OK;
}

int main(int argc, char **argv)
{
    vf_context *ctx;
    trajectory *t = NULL;
    double *xyz = NULL;
    if (argc != 2 || vf_context_create(&ctx) != VF_OK)
        return 2;
    vf_context_set_log(ctx, warn, NULL);
    vf_status status = trajectory_open(ctx, argv[1], &t);
    if (status == VF_OK) {
        printf("%" PRId64 " %" PRId64 "\n", trajectory_atoms(t), trajectory_frames(t));
        xyz = malloc(3 * (size_t)trajectory_atoms(t) * sizeof *xyz);
        if (!xyz)
            status = vf_fail(ctx, VF_ERR_MEMORY, "no memory");
    }
    for (int64_t f = 0; status == VF_OK && f < trajectory_frames(t); f++)
        status = print_frame(t, f, xyz);
    if (status != VF_OK)
        fprintf(stderr, "%s\n", vf_context_message(ctx));
    free(xyz);
    trajectory_close(t);
    vf_context_destroy(ctx);
    return vf_status_exit_code(status);
}
