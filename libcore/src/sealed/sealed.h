/* A sealed process: a child without rights that works on data from strangers with a library that such data can break.
 * It may read one descriptor (or write one), and answers questions of the parent; it can open, send and start nothing,
 * and its memory and processor time are limited. If it dies, the data are damaged. Not installed.
 *
 * The child is a fork of the program, so questions name functions, and it sees the program's memory as it was at the
 * start. It must not use what other threads of the program may have locked then: it calls no OpenMP, no GPU, no stdio
 * streams, and of libcore only vf_fail on its own context. malloc is usable (glibc and musl see to that in fork).
 *
 * The parent trusts nothing that the child says: it checks every size and status, and copies texts and numbers before
 * it looks at them.
 */
#ifndef VOXFIELD_SEALED_H
#define VOXFIELD_SEALED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "voxfield/context.h"

enum {
    VF_SEALED_QUESTION = 4096, /* bytes of a question at most */
    VF_SEALED_PIECE = 2 << 20  /* bytes that an answer can hand over at once; a larger one has several pieces */
};

typedef struct vf_sealed vf_sealed;
typedef struct vf_reply vf_reply;

/* Answers a question: puts bytes into the reply, or fails with vf_fail on the child's context. */
typedef vf_status (*vf_sealed_answer)(void *state, const void *question, vf_reply *reply);

typedef struct vf_sealed_work {
    const char *name;                                            /* of the data, for messages */
    int reads, writes;                                           /* descriptors; -1: none */
    uint64_t memory;                                             /* bytes that the child may allocate at first */
    uint64_t most_memory;                                        /* and after vf_sealed_more_memory */
    int64_t seconds;                                             /* of processor time */
    void *state;                                                 /* for answers */
    void (*begin)(void *state, vf_context *ctx, int descriptor); /* in the child; `descriptor` replaces the one above */
} vf_sealed_work;

/* Whether this system has such processes. Tests can say no. */
bool vf_sealed_possible(void);
void vf_sealed_forbid(bool forbidden);

/* How strangers' data are read on this system, for --version: "in a process of its own without rights (seccomp)". */
const char *vf_sealed_text(void);

/* Starts the child. Errors: VF_ERR_MEMORY (no memory or no process). */
VF_MUST_CHECK vf_status vf_sealed_start(vf_context *ctx, const vf_sealed_work *work, vf_sealed **out);

/* Asks `question` (of `bytes`). The reply goes to `reply`, which has room for `most` bytes, and *got is its size. With
 * `reply` NULL, the reply may have one piece only, and *view points to it until the next question; the child can change
 * it at any time, so copy before checking. Errors: VF_ERR_INPUT if the child died or broke these rules, now or earlier;
 * VF_ERR_MEMORY if messages to it or from it fail; VF_ERR_CANCELLED; those of the answer. */
VF_MUST_CHECK vf_status vf_sealed_ask(vf_sealed *sealed, vf_sealed_answer answer, const void *question, size_t bytes,
                                      void *reply, size_t most, size_t *got, const void **view);

/* Has the child answer a question meanwhile that vf_sealed_ask is likely to ask next, with the same `most`, which is at
 * most VF_SEALED_PIECE. A view from before stays valid until vf_sealed_ask. One question at a time: a second one does
 * nothing. Costs nothing but the child's time if another question comes. */
void vf_sealed_ahead(vf_sealed *sealed, vf_sealed_answer answer, const void *question, size_t bytes, size_t most);

/* Ends the child. NULL is allowed; *sealed becomes NULL. */
void vf_sealed_stop(vf_sealed **sealed);

/* ---- for answers ---- */

/* A reply outside of a child: into memory. */
struct vf_reply {
    vf_sealed *child; /* NULL: memory */
    char *memory;
    size_t most, used;
};

/* Memory for the next `bytes` of the reply, at most VF_SEALED_PIECE; NULL if the asker has no room for them. */
void *vf_reply_room(vf_reply *reply, size_t bytes);
/* Hands them over. Do not touch them afterwards. */
void vf_reply_sent(vf_reply *reply, size_t bytes);
/* Both, for a copy of `data` of any size. False: no room. */
bool vf_reply_put(vf_reply *reply, const void *data, size_t bytes);

/* Lets the child allocate `bytes` more until its answer ends. False if that is more than it may have. True outside of a
 * child. */
bool vf_sealed_more_memory(uint64_t bytes);

#endif
