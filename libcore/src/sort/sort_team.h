/* A pass of a sort on the CPU by all threads; not installed. */
#ifndef VOXFIELD_SORT_TEAM_H
#define VOXFIELD_SORT_TEAM_H

#include "sort_pieces.h"

/* The state of a plan: [most] keys and values between two passes, and for each thread counts and, if needed, lines of each
 * digit. */
typedef struct sort_team {
    const sort_pieces *pieces;
    int threads;
    vf_array keys, values;
    int64_t *counts;
    char *lines;
    char *scratch; /* msd: a bucket's pairs for each thread */
} sort_team;

/* Make and free plan->state. `between`: whether there may be two passes. */
VF_MUST_CHECK vf_status sort_team_create(vf_sort *plan, bool between);
void sort_team_destroy(vf_sort *plan);

/* The work of sorting n keys, for vf_threads_of_plan. */
int64_t sort_team_work(const vf_sort *plan, int64_t n);

/* Whether a pass of n keys into `out` writes whole lines. */
bool sort_team_uses_lines(const vf_sort *plan, int64_t n, sort_arrays out);

/* Moves pairs [at, end) to the same places of `out`, stably sorted by `width` <= SORT_MOST_BITS bits from bit `low` on.
 * ends [2^width], NULL or where each digit ends. */
void sort_team_pass(const vf_sort *plan, int64_t at, int64_t end, int low, int width, sort_arrays from, sort_arrays out,
                    int64_t *ends);

#endif
