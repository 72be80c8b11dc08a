/* A queue of the device, for the group of tests. */
#ifndef QUEUE_FIXTURE_H
#define QUEUE_FIXTURE_H

#include "device_fixture.h"

static vf_queue *queue;

/* For run_on_device. */
static inline int make_queue(void **state)
{
    (void)state;
    return vf_queue_create(device, &queue) != VF_OK;
}

static inline int drop_queue(void **state)
{
    (void)state;
    vf_queue_destroy(queue);
    return 0;
}

#endif
