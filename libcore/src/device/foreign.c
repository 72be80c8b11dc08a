#include "voxfield/foreign.h"

#include <stddef.h>

static _Thread_local const char *volatile running;

const char *vf_foreign_enter(const char *library)
{
    const char *before = running;
    running = library;
    return before;
}

void vf_foreign_leave(const char *before)
{
    running = before;
}

const char *vf_foreign(void)
{
    return running;
}
