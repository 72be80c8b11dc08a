#include "team_choice.h"

#include <math.h>

#include "context_internal.h"
#include "voxfield/team_size.h"
#include "voxfield/timer.h"

/* A way is faster if it takes less than this of the other's time; less is noise. */
static const double FASTER = 0.9;
/* Trying the way that is probably slower may cost this share of the time since it was tried. */
static const double SHARE = 0.02;
/* Of the time: if threads have waited longer for a processor, others want it, too. Threads that sleep between regions wait some
 * microseconds each time they wake. The time is the last WINDOW seconds or two, so that one short wait does not count. */
static const double DISTURBED = 0.2, WINDOW = 0.05;
/* Of the mean time, what the last iteration counts. */
static const double LAST = 0.25;
/* Seconds of an iteration with a team, from which on its regions are long enough to be worth it on busy machines, too. */
static const double LONG = 0.05;
/* A unit of work of the smallest problem, relative to that which is worth a team: operators take longer than vectors. */
enum { WORK_PER_ELEMENT = 4 };
/* How long the choice of a solver is good for the next: seconds, and a factor between their sizes. */
static const double RECENT = 5;
enum { ALIKE = 4 };
/* After a solver that has ended alone, regions of less work, in nanoseconds, have one thread for these seconds: between
 * solvers, a program prepares the next with regions as short as theirs. */
enum { SMALL = 1000000 };
static const double STILL = 1;

void vf_team_choice_judge(vf_team_choice *c, int kind, double seconds, bool disturbed)
{
    double *now = &c->seconds[c->alone][kind];
    const double measured = c->seconds[!c->alone][kind];
    *now += (c->looks || *now == 0 ? 1 : LAST) * (seconds - *now);
    c->since += seconds;
    if (measured > 0)
        c->ratio = c->alone ? measured / *now : *now / measured;
    if (c->looks) {
        c->looks = false;
        c->since = 0;
        if (measured == 0 || seconds >= FASTER * measured)
            c->alone = !c->alone;
        return;
    }
    const double other = measured > 0 || c->ratio == 0 ? measured : c->alone ? *now * c->ratio : *now / c->ratio;
    /* One thread takes at most as many times longer as the team has threads. */
    const double cost = other > 0 ? fmax(other - *now, *now) : (c->threads - 1) * *now;
    const bool promising = other > 0 ? other < FASTER * *now : disturbed;
    if ((promising || c->since * SHARE >= cost) && (c->alone || *now < LONG)) {
        c->alone = !c->alone;
        c->looks = true;
    }
}

static bool only_solver(const vf_team_choice *c)
{
    return c->first && atomic_load(&c->memory->solvers) == 1;
}

void vf_team_choice_begin(vf_team_choice *c, vf_device *device, int64_t count)
{
    vf_context *ctx = vf_device_context(device);
    *c = (vf_team_choice){.ctx = ctx, .count = count, .threads = vf_context_threads(ctx)};
    if (c->threads < 2 || WORK_PER_ELEMENT * count < vf_context_team_work(ctx) || !vf_device_is_host(device) ||
        vf_context_device_count(ctx) > 1)
        return;
    c->memory = vf_context_team_memory(ctx);
    c->first = atomic_fetch_add(&c->memory->solvers, 1) == 0;
    const vf_team_memory *m = c->memory;
    if (!c->first)
        return;
    if (m->alone && m->threads == c->threads && vf_now() - m->when < RECENT && count <= ALIKE * m->count &&
        m->count <= ALIKE * count) {
        c->alone = true;
        c->ratio = m->ratio;
        c->since = m->since;
    } else {
        (void)vf_thread_delays_most(&c->delays);
        c->sampled = vf_now();
    }
}

void vf_team_choice_end(vf_team_choice *c)
{
    vf_team_memory *m = c->memory;
    if (!m)
        return;
    if (c->first)
        vf_team_alone(c->ctx, 0, 0);
    if (only_solver(c)) {
        m->alone = c->alone != c->looks; /* a trial that has not ended says nothing */
        m->threads = c->threads;
        m->count = c->count;
        m->ratio = c->ratio;
        m->since = c->since;
        m->when = vf_now();
        if (m->alone)
            vf_team_alone(c->ctx, SMALL, m->when + STILL);
    }
    atomic_fetch_sub(&m->solvers, 1);
    c->memory = NULL;
}

void vf_iteration_begins(vf_team_choice *c)
{
    if (!c->memory || !c->first)
        return;
    vf_team_alone(c->ctx, c->alone && only_solver(c) ? INT64_MAX : 0, 0);
    c->begin = vf_now();
}

/* Whether threads have waited for a processor. Nobody asks once both ways have been measured. */
static bool disturbed(vf_team_choice *c, double now)
{
    const double passed = now - c->sampled;
    if (c->alone || c->ratio > 0 || passed < 100 * c->delays.cost) /* so that it costs no more than 1 % */
        return false;
    if (c->passed > WINDOW) {
        c->passed /= 2;
        c->waited /= 2;
    }
    c->passed += passed;
    c->waited += vf_thread_delays_most(&c->delays);
    c->sampled = vf_now();
    return c->waited > DISTURBED * c->passed;
}

void vf_iteration_ends(vf_team_choice *c, int kind)
{
    if (!c->memory || !c->first)
        return;
    vf_team_alone(c->ctx, 0, 0);
    const double now = vf_now();
    if (only_solver(c) && kind < VF_ITERATION_KINDS)
        vf_team_choice_judge(c, kind, now - c->begin, disturbed(c, now));
}
