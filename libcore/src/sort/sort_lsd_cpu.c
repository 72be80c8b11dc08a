/* A sort on the CPU by a few bits per pass, from the lowest up: Knuth, The Art of Computer Programming 3, section 5.2.5.
 */
#include "backend/thread_shares.h"
#include "sort_team.h"

/* A pass sorts by up to SORT_MOST_BITS bits, or up to NARROW of few pairs. */
enum { NARROW = 8 };

static vf_status create(vf_sort *plan)
{
    return sort_team_create(plan, plan->high - plan->low > NARROW);
}

static vf_status execute(const vf_sort *plan, vf_queue *queue, int64_t n, const void *keys, const void *values,
                         void *keys_out, void *values_out)
{
    (void)queue;
    const sort_team *team = plan->state;
    const sort_arrays out = {keys_out, values_out}, between = {team->keys.data, team->values.data};
    sort_arrays from = sort_arrays_read(keys, values);
    const int parts = vf_parts_of(team->threads, n), bits = plan->high - plan->low;
    /* More bits save passes. But without lines more digits are more than the caches take, unless one pass is left. One
     * thread adds up the counts of all digits and parts: they must be few beside a part's pairs. */
    const bool wide = (sort_team_uses_lines(plan, n, out) || bits <= SORT_MOST_BITS) &&
                      n / parts >= (int64_t)2 * SORT_MOST_DIGITS * parts;
    const int widest = wide ? SORT_MOST_BITS : NARROW;
    const int passes = (bits + widest - 1) / widest, width = (bits + passes - 1) / passes;
    for (int p = 0; p < passes; p++) {
        const sort_arrays to = (passes - p) % 2 ? out : between; /* the last pass goes to `out` */
        const int low = p * width, left = bits - low;
        sort_team_pass(plan, 0, n, plan->low + low, left < width ? left : width, from, to, NULL);
        from = to;
    }
    return VF_OK;
}

static const char *const names[] = {"lsd", NULL};

const vf_sort_ops vf_sort_ops_lsd = {{VF_DEVICE_CPU, names}, create, sort_team_destroy, execute};
