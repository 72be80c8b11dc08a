/* Problems for multigrid whose coefficients jump. */
#ifndef MULTIGRID_FIXTURE_H
#define MULTIGRID_FIXTURE_H

#include "stencil_fixture.h"
#include "voxfield/multigrid.h"
#include "voxfield/solver.h"
#include "voxfield/vector.h"

/* Coefficients between 1 and 2, of which a tenth is 40 times larger. Bit a of `periodic`: whether axis a is. */
static inline problem jumping_in(vf_dtype type, form kind, const int64_t counts[3], int periodic)
{
    const bool ends[3] = {periodic & 1, periodic & 2, periodic & 4};
    problem p = make_problem(queue, type, kind, counts, ends);
    for (int a = 0; a < 3; a++) {
        p.options.spacing[a] = 1 + 0.1 * a;
        for (int64_t f = 0; f < p.faces[a].count; f++)
            put(&p.faces[a], f, (uniform() < 0.1 ? 40 : 1) * uniform_between(1, 2));
        upload(queue, &p.faces[a]);
    }
    for (int64_t i = 0; kind == REACTION && i < p.points; i++)
        put(&p.reaction, i, uniform_between(0, 0.3));
    if (kind == REACTION)
        upload(queue, &p.reaction);
    return p;
}

static inline problem jumping(vf_dtype type, form kind, const int64_t counts[3])
{
    return jumping_in(type, kind, counts, 0);
}

#endif
