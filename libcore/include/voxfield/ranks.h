/* Voxfield - one job of several processes (ranks), started by an MPI launcher: mpirun, mpiexec, srun.
 *
 * All ranks run the same program on the same input. Rank 0 hands out numbered items to whoever is free, itself
 * included, and its verdict ends the job. A rank that fails gives its items back. For this, ranks exchange nothing but
 * numbers and short texts: results go through files (pieces.h).
 *
 * The program is not linked with MPI. A plugin that is (ranks_plugin.h; one for Open MPI, one for MPICH) is loaded if a
 * launcher of that kind has started the process, as its environment variables show. The plugins are in lib/voxfield
 * beside or one or two folders above the program.
 *
 * Every rank must call, in this order: vf_ranks_start; vf_ranks_offer on rank 0; vf_ranks_share; vf_ranks_next and vf_ranks_done any number of
 * times; vf_ranks_collect; vf_ranks_end. After an error, vf_ranks_end may follow at once. vf_ranks_next and
 * vf_ranks_done may be called by two threads at a time, one each.
 */
#ifndef VOXFIELD_RANKS_H
#define VOXFIELD_RANKS_H

#include <stdint.h>

#include "voxfield/context.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vf_ranks vf_ranks;

typedef enum vf_ranks_library { VF_RANKS_AUTO, VF_RANKS_NO, VF_RANKS_OPENMPI, VF_RANKS_MPICH } vf_ranks_library;

/* What the environment says about this process. */
typedef struct vf_ranks_launch {
    vf_ranks_library library; /* VF_RANKS_NO: there is one process */
    int rank, size;           /* size 0: not known before MPI starts */
} vf_ranks_launch;

/* Errors: VF_ERR_ARGUMENT (several processes that cannot know of each other: srun without MPI). */
VF_MUST_CHECK vf_status vf_ranks_find(vf_context *ctx, vf_ranks_library wish, vf_ranks_launch *out);

/* Starts MPI. *out is NULL if there is one process. Errors: VF_ERR_UNSUPPORTED (no plugin for this MPI: the message has
 * the places where it was looked for), VF_ERR_INTERNAL (MPI's), VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status vf_ranks_start(vf_context *ctx, const vf_ranks_launch *launch, vf_ranks **out);

int vf_ranks_rank(const vf_ranks *ranks);
int vf_ranks_size(const vf_ranks *ranks);
void vf_ranks_on_node(const vf_ranks *ranks, int *rank, int *size); /* this rank among those of its machine */
const char *vf_ranks_library_name(const vf_ranks *ranks);           /* "Open MPI v4.1.4" */

/* Gives all ranks a text of rank 0: what they must agree on. There are VF_RANKS_TEXTS of them, by number. Rank 0: `text`.
 * Others: wait for it. *out: free() it; NULL on rank 0. Errors: VF_ERR_CANCELLED (also if rank 0 has failed),
 * VF_ERR_MEMORY, VF_ERR_INTERNAL. */
enum { VF_RANKS_TEXTS = 2 };
VF_MUST_CHECK vf_status vf_ranks_share(vf_ranks *ranks, int number, const char *text, char **out);

/* Rank 0, before the text that tells others what the items are: how many there are, and their costs in any unit (NULL:
 * equal). Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status vf_ranks_offer(vf_ranks *ranks, int64_t items, const double *cost);

/* The next item of this rank; VF_NEXT_NONE or VF_NEXT_LATER (workpool.h): all are done, or all that are not done are at work
 * elsewhere. */
int64_t vf_ranks_next(vf_ranks *ranks);

/* The item's result is kept: nobody needs to make it again, whatever happens. */
void vf_ranks_done(vf_ranks *ranks, int64_t item);

/* The item is done, but without success: for items that fail each on their own. `code`: larger is worse. On rank 0,
 * vf_ranks_worst returns the worst code of all ranks, and how many there were; after vf_ranks_collect. */
void vf_ranks_failed(vf_ranks *ranks, int64_t code);
int64_t vf_ranks_worst(const vf_ranks *ranks, int64_t *count);

/* Rank 0: whether there were items to hand out. */
bool vf_ranks_offered(vf_ranks *ranks);

/* Rank 0: the share of all costs that is done, 0 to 1. */
double vf_ranks_part(vf_ranks *ranks);

/* Ends this rank's work, with its status; the context has the message. Rank 0: waits until all others have ended theirs. If
 * some ranks failed, but all items are done, warnings name them, and the status is VF_OK. Otherwise it is the status of
 * this rank or, on rank 0, the first of those that failed. Call it after files are closed. */
VF_MUST_CHECK vf_status vf_ranks_collect(vf_ranks *ranks, vf_status status);

/* Ends the job. Rank 0: all ranks get its status. Others: wait, and return rank 0's; the context has a message. Stops MPI and
 * frees *ranks, which may be NULL. */
VF_MUST_CHECK vf_status vf_ranks_end(vf_ranks **ranks, vf_status status);

/* On rank 0, after vf_ranks_collect: a rank's machine, how many items it has done, and its error (NULL: none). */
void vf_ranks_about(const vf_ranks *ranks, int rank, const char **host, int64_t *done, const char **error);

#ifdef __cplusplus
}
#endif
#endif
