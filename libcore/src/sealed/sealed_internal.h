/* Shared by the files of sealed.h: what parent and child say to each other. */
#ifndef VOXFIELD_SEALED_INTERNAL_H
#define VOXFIELD_SEALED_INTERNAL_H

#include <sys/types.h>

#include "sealed.h"

enum { SEALED_TEXT = 1024, SEALED_HALVES = 2 };

/* Messages keep their bounds (SOCK_SEQPACKET). The parent sends questions, and one byte for each piece that it has
 * copied; the child sends pieces, which lie in the halves of the window in turn, and then the end of the answer. */
typedef struct sealed_question {
    vf_sealed_answer answer;
    uint64_t most;
    char bytes[VF_SEALED_QUESTION];
} sealed_question;

typedef enum sealed_kind { SEALED_PIECE, SEALED_END } sealed_kind;

typedef struct sealed_message {
    int32_t kind;
    int32_t status; /* of the end: a vf_status */
    uint64_t bytes; /* of a piece */
    char text[SEALED_TEXT];
} sealed_message;

enum { SEALED_MESSAGE_HEAD = 16, SEALED_EXIT_CANNOT_ANSWER = 72 };

struct vf_sealed {
    vf_context *ctx, *inner; /* `inner` is the child's */
    char *name;
    char *window; /* [SEALED_HALVES][VF_SEALED_PIECE] shared */
    int socket;
    pid_t process; /* 0: ended */
    int64_t seconds;
    sealed_question *ahead; /* was sent, and its answer not asked for yet; NULL: none */
    size_t ahead_bytes;     /* of its text */
    int next;               /* the half of the next piece */
    int pending;            /* child: pieces that the parent has not copied yet */
    int error;              /* errno of talking to the child, if that failed while the child may live; else 0 */
    bool broken;
    vf_status ended;       /* how, if it is broken */
    char why[SEALED_TEXT]; /* and why */
};

/* Takes all rights away for good, except those to `socket` and `work`'s descriptor. Returns the number that this
 * descriptor now has; -1 on failure. */
int sealed_give_up_rights(const vf_sealed_work *work, int *socket);

/* The body of the child. */
_Noreturn void sealed_serve(vf_sealed *s, const vf_sealed_work *work, int socket);

/* Whether the kernel filters system calls here. */
bool sealed_has_filter(void);

#endif
