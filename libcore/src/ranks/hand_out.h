/* Which rank makes which item. */
#ifndef HAND_OUT_H
#define HAND_OUT_H

#include "voxfield/ranks.h"
#include "voxfield/workpool.h"

typedef struct hand_out {
    int64_t items;
    int *owner;       /* [items] a rank, or one of the two below */
    double *cost;     /* [items] */
    int64_t first;    /* no item before it is free */
    int64_t left;     /* items that are not done */
    double done, all; /* costs */
} hand_out;

enum { HAND_OUT_FREE = -1, HAND_OUT_DONE = -2 };

/* `cost`: NULL: equal. Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status hand_out_create(vf_context *ctx, int64_t items, const double *cost, hand_out *out);
void hand_out_free(hand_out *list);

/* The first free item, which is the rank's then; VF_NEXT_NONE if all are done; VF_NEXT_LATER. */
int64_t hand_out_take(hand_out *list, int rank);

/* False: it is not the rank's. */
bool hand_out_done(hand_out *list, int rank, int64_t item);

/* The rank's items that are not done are free again. Returns their number. */
int64_t hand_out_give_back(hand_out *list, int rank);

#endif
