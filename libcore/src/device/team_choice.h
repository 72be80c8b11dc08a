/* Whether the iterations of a solver have all threads or one; not installed.
 *
 * A solver of a small problem runs some hundred short parallel regions a second and thread. If another process uses one of the
 * cores, a region ends when the scheduler lets the last of its threads run: a team is then slower than one thread, two to three
 * times with two cores. How busy the machine is changes during a run, so it is measured: some iterations have one thread,
 * and the faster way is kept. The bits of results do not depend on it, as on no number of threads. */
#ifndef VOXFIELD_TEAM_CHOICE_H
#define VOXFIELD_TEAM_CHOICE_H

#include <stdatomic.h>

#include "thread_delays.h"
#include "voxfield/device.h"

enum { VF_ITERATION_KINDS = 4 };

/* What a context's next solver starts with. */
typedef struct vf_team_memory {
    atomic_int solvers; /* that are running. The only one may use the rest */
    bool alone;
    int threads;
    int64_t count;
    double ratio, since, when;
} vf_team_memory;

typedef struct vf_team_choice {
    int threads;                           /* of a team */
    bool alone;                            /* the iteration has one thread */
    bool looks;                            /* only to see whether it is faster so */
    double seconds[2][VF_ITERATION_KINDS]; /* of an iteration with a team, and alone; 0: unknown */
    double ratio;                          /* of the two; 0: unknown */
    double since;                          /* seconds of iterations since the other way was tried */
    double begin;                          /* of the iteration */
    double sampled;                        /* when `delays` were read */
    double passed, waited;                 /* seconds, and how long threads waited for a processor */
    int64_t count;                         /* of the problem's unknowns */
    const vf_context *ctx;
    vf_team_memory *memory; /* NULL: the choice is off */
    bool first;             /* no other solver of the context was running */
    vf_thread_delays delays;
} vf_team_choice;

/* Begins a solver's iterations on vectors of `count` elements. On GPUs, with several devices, with one thread, for problems too
 * small for teams, and while another solver of the context runs, all iterations have the team: times mean nothing if several
 * solvers take turns. Call vf_team_choice_end afterwards in any case. */
void vf_team_choice_begin(vf_team_choice *choice, vf_device *device, int64_t count);
void vf_team_choice_end(vf_team_choice *choice);

/* Around an iteration, without the caller's functions. Iterations of a kind, in [0, VF_ITERATION_KINDS) or more, which are left
 * out, do the same work. */
void vf_iteration_begins(vf_team_choice *choice);
void vf_iteration_ends(vf_team_choice *choice, int kind);

/* The choice for the next iteration, after one of `seconds`. disturbed: threads have waited long for a processor. */
void vf_team_choice_judge(vf_team_choice *choice, int kind, double seconds, bool disturbed);

#endif
