#include "hand_out.h"

#include <inttypes.h>
#include <stdlib.h>

vf_status hand_out_create(vf_context *ctx, int64_t items, const double *cost, hand_out *h)
{
    *h = (hand_out){.items = items, .left = items};
    h->owner = malloc((size_t)(items + 1) * sizeof *h->owner);
    h->cost = malloc((size_t)(items + 1) * sizeof *h->cost);
    if (!h->owner || !h->cost) {
        hand_out_free(h);
        return vf_fail(ctx, VF_ERR_MEMORY, "no memory for a list of %" PRId64 " items", items);
    }
    for (int64_t n = 0; n < items; n++) {
        h->owner[n] = HAND_OUT_FREE;
        h->cost[n] = cost ? cost[n] : 1;
        h->all += h->cost[n];
    }
    return VF_OK;
}

void hand_out_free(hand_out *h)
{
    free(h->owner);
    free(h->cost);
    *h = (hand_out){0};
}

int64_t hand_out_take(hand_out *h, int rank)
{
    while (h->first < h->items && h->owner[h->first] != HAND_OUT_FREE)
        h->first++;
    if (h->first == h->items)
        return h->left == 0 ? VF_NEXT_NONE : VF_NEXT_LATER;
    h->owner[h->first] = rank;
    return h->first++;
}

bool hand_out_done(hand_out *h, int rank, int64_t item)
{
    if (item < 0 || item >= h->items || h->owner[item] != rank)
        return false;
    h->owner[item] = HAND_OUT_DONE;
    h->left--;
    h->done += h->cost[item];
    return true;
}

int64_t hand_out_give_back(hand_out *h, int rank)
{
    int64_t count = 0;
    for (int64_t n = h->items - 1; n >= 0; n--)
        if (h->owner[n] == rank) {
            h->owner[n] = HAND_OUT_FREE;
            h->first = n < h->first ? n : h->first;
            count++;
        }
    return count;
}
