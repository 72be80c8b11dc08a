/* What the files of this folder share. */
#ifndef RANKS_INTERNAL_H
#define RANKS_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "hand_out.h"
#include "ranks_plugin.h"
#include "voxfield/ranks.h"

/* Requests, and the answers to them: TEXT to HELLO, ITEM to NEXT, VERDICT to END; DONE and FAILED have none. */
typedef enum message_kind { HELLO, NEXT, DONE, FAILED, END, TEXT, ITEM, VERDICT } message_kind;

typedef struct message {
    int64_t number; /* an item, or a status */
    int32_t kind, length;
    char text[];
} message;

/* Rank 0's knowledge of another rank. */
typedef struct rank_state {
    int waits;  /* for a text: its number + 1; 0: for none */
    bool ended; /* waits for the verdict */
    bool told;  /* has it */
    int64_t done;
    vf_status status;
    char *host, *error;
} rank_state;

struct vf_ranks {
    vf_context *ctx;
    const ranks_plugin *plugin;
    ranks_place place;
    pthread_mutex_t mpi;  /* held by the thread that is in MPI */
    pthread_mutex_t lock; /* guards all below, on rank 0 */
    atomic_bool failed;   /* MPI itself */
    /* rank 0 only: */
    pthread_t thread;
    bool running;
    char *text[VF_RANKS_TEXTS]; /* NULL: not yet known */
    bool offered;               /* there is a list: */
    hand_out list;
    rank_state *of; /* [size] */
    int64_t failures, worst;
    bool has_verdict;
    vf_status verdict;
    char said[1000]; /* its message */
};

/* Loads the plugin of a library; the process keeps it. Errors: VF_ERR_UNSUPPORTED. */
VF_MUST_CHECK vf_status ranks_load(vf_context *ctx, vf_ranks_library library, const ranks_plugin **out);

#endif
