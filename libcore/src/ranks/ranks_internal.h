/* What the files of this folder share. */
#ifndef RANKS_INTERNAL_H
#define RANKS_INTERNAL_H

#include "ranks_plugin.h"
#include "voxfield/ranks.h"

/* Requests, and the answers to them: TEXT to HELLO, ITEM to NEXT, VERDICT to END; DONE and FAILED have none. */
typedef enum message_kind { HELLO, NEXT, DONE, FAILED, END, TEXT, ITEM, VERDICT } message_kind;

typedef struct message {
    int64_t number; /* an item, or a status */
    int32_t kind, length;
    char text[];
} message;

/* Loads the plugin of a library; the process keeps it. Errors: VF_ERR_UNSUPPORTED. */
VF_MUST_CHECK vf_status ranks_load(vf_context *ctx, vf_ranks_library library, const ranks_plugin **out);

#endif
