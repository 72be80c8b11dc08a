/* What the files of the binding share. */
#ifndef VOXFIELD_BINDING_SESSION_H
#define VOXFIELD_BINDING_SESSION_H

#include <stdatomic.h>
#include <stdbool.h>

#include "binding.h"
#include "voxfield/context.h"
#include "voxfield/device.h"

enum { BINDING_MESSAGE = 1024 };

struct binding_session {
    vf_context *ctx;
    vf_device *device;
    vf_queue *queue;
    char message[BINDING_MESSAGE];
};

/* Around each call that may take long: SIGINT cancels it. binding_end takes the message over, and returns the status. */
typedef struct binding_watch {
    vf_context *ctx, *outer;
    bool active, nested;
} binding_watch;
binding_watch binding_begin(binding_session *session);
int binding_end(binding_session *session, const binding_watch *watch, vf_status status);

/* Input and output in device memory: the caller's own, or copies. binding_unstage copies the output back and waits, or has the
 * caller's stream wait. Call it whatever binding_stage returned. */
typedef struct binding_staged {
    const void *in;
    void *out, *host_out;
    vf_array device_in, device_out;
    vf_queue *caller;
} binding_staged;
VF_MUST_CHECK vf_status binding_stage(binding_session *session, const binding_place *place, vf_dtype type,
                                      int64_t in_count, const void *in, int64_t out_count, void *out,
                                      binding_staged *staged);
VF_MUST_CHECK vf_status binding_unstage(binding_session *session, binding_staged *staged, vf_status status);

#endif
