/* Nearest neighbours by their definition: all distances, and a sorted list. One thread. */
#include <stdlib.h>
#include <string.h>

#include "neighbour_keys.h"
#include "neighbours_plan.h"

static const char *const names[] = {"ref", NULL};

static vf_status create(vf_neighbours *plan, const float *points)
{
    const size_t count = (size_t)plan->n * (size_t)plan->dimensions;
    plan->state = malloc((count + 1) * sizeof *points);
    if (!plan->state)
        return vf_fail(vf_device_context(plan->device), VF_ERR_MEMORY, "not enough memory for %lld points",
                       (long long)plan->n);
    if (count > 0)
        memcpy(plan->state, points, count * sizeof *points);
    return VF_OK;
}

static void destroy(vf_neighbours *plan)
{
    free(plan->state);
}

/* Whether a is nearer than b: distance, index. */
static bool is_nearer(float a, int64_t i, float b, int32_t j)
{
    return a < b || (a == b && (j < 0 || i < j));
}

static void search_one(const vf_neighbours *plan, const float *q, int64_t self, int k, int32_t *index, float *squared)
{
    const float *points = plan->state;
    const bool can = vf_can_search(plan->dimensions, q);
    for (int j = 0; j < k; j++) {
        index[j] = -1;
        squared[j] = can ? INFINITY : NAN;
    }
    for (int64_t i = 0; can && i < plan->n; i++) {
        const float distance = vf_squared_distance(plan->dimensions, q, points + i * plan->dimensions);
        int j = k;
        if (i == self || !is_nearer(distance, i, squared[k - 1], index[k - 1]))
            continue;
        for (; j > 1 && is_nearer(distance, i, squared[j - 2], index[j - 2]); j--) {
            index[j - 1] = index[j - 2];
            squared[j - 1] = squared[j - 2];
        }
        index[j - 1] = (int32_t)i;
        squared[j - 1] = distance;
    }
}

static vf_status search(const vf_neighbours *plan, vf_queue *queue, const vf_neighbour_search *s)
{
    const float *queries = s->queries ? s->queries : plan->state;
    (void)queue;
    for (int64_t i = 0; i < s->count; i++)
        search_one(plan, queries + i * plan->dimensions, s->queries ? -1 : i, s->k, s->index + i * s->k,
                   s->squared + i * s->k);
    return VF_OK;
}

const vf_neighbours_ops vf_neighbours_ops_ref = {{VF_DEVICE_CPU, names}, create, destroy, search};
