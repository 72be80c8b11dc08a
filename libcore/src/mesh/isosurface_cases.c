/* The table of marching cubes, by a rule instead of a list.
 *
 * On a face, each run of corners below the level is cut off by a segment from the edge that enters the run to the edge that leaves
 * it, counterclockwise as seen from outside. Two cubes that share a face see the same corners, so they make the same segments, in
 * opposite directions. Each cut edge lies on two faces of the cube; on one the run begins there, on the other it ends. So segments form
 * loops, and no cut edge is in two of them. A loop becomes a fan of triangles. Its apex is such that no diagonal lies in a face, where
 * the neighbour could have the same one; every loop of the 256 cases has such an apex. */
#include "isosurface_cases.h"

#include <stdbool.h>
#include <string.h>

enum { NO_EDGE = CUBE_EDGES };

typedef struct cube {
    int corner[6][4];        /* of the faces, counterclockwise as seen from outside */
    unsigned on[CUBE_EDGES]; /* bit f: the edge is on face f */
} cube;

static int edge_between(int a, int b)
{
    const int axis = (a ^ b) == 1 ? 0 : (a ^ b) == 2 ? 1 : 2;
    const int lower = a & b, first = axis == 0 ? 1 : 0, second = axis == 2 ? 1 : 2;
    return 4 * axis + (lower >> first & 1) + 2 * (lower >> second & 1);
}

static void make_cube(cube *c)
{
    memset(c, 0, sizeof *c);
    for (int f = 0; f < 6; f++) {
        const int axis = f / 2, u = 1 << (axis + 1) % 3, v = 1 << (axis + 2) % 3, far = f % 2 << axis;
        const int around[4] = {far, far | u, far | u | v, far | v};
        for (int k = 0; k < 4; k++)
            c->corner[f][k] = around[f % 2 ? k : 3 - k];
        for (int k = 0; k < 4; k++)
            c->on[edge_between(c->corner[f][k], c->corner[f][(k + 1) % 4])] |= 1U << f;
    }
}

/* next[e]: where the segment that begins at edge e ends. */
static void find_segments(const cube *c, int below, int next[CUBE_EDGES])
{
    for (int e = 0; e < CUBE_EDGES; e++)
        next[e] = NO_EDGE;
    for (int f = 0; f < 6; f++) {
        const int *corner = c->corner[f];
        for (int k = 0; k < 4; k++) {
            int last = (k + 1) % 4;
            if (below >> corner[k] & 1 || !(below >> corner[last] & 1))
                continue;
            const int from = edge_between(corner[k], corner[last]);
            while (below >> corner[(last + 1) % 4] & 1)
                last = (last + 1) % 4;
            next[from] = edge_between(corner[last], corner[(last + 1) % 4]);
        }
    }
}

static bool is_apex(const cube *c, const int *loop, int count, int apex)
{
    for (int k = 2; k < count - 1; k++)
        if (c->on[loop[apex]] & c->on[loop[(apex + k) % count]])
            return false;
    return true;
}

static void add_fan(const cube *c, const int *loop, int count, int which, cube_cases *out)
{
    int apex = 0;
    while (!is_apex(c, loop, count, apex))
        apex++;
    for (int k = 1; k < count - 1; k++) {
        uint8_t *edge = out->edge[which][out->triangles[which]++];
        edge[0] = (uint8_t)loop[apex];
        edge[1] = (uint8_t)loop[(apex + k) % count];
        edge[2] = (uint8_t)loop[(apex + k + 1) % count];
    }
}

void cube_cases_make(cube_cases *cases)
{
    cube c;
    make_cube(&c);
    memset(cases, 0, sizeof *cases);
    for (int below = 0; below < CUBE_CASES; below++) {
        int next[CUBE_EDGES];
        find_segments(&c, below, next);
        for (int e = 0; e < CUBE_EDGES; e++) {
            int loop[CUBE_EDGES], count = 0;
            for (int at = e, to; (to = next[at]) != NO_EDGE; at = to) {
                next[at] = NO_EDGE;
                loop[count++] = at;
            }
            if (count > 0)
                add_fan(&c, loop, count, below, cases);
        }
    }
}
