/* Whether a device lacks the precision of a type, as some OpenCL devices do; tests leave the type out then, and say so once. */
#ifndef DOUBLE_FIXTURE_H
#define DOUBLE_FIXTURE_H

#include <stdio.h>
#include <string.h>

#include "voxfield/device.h"

static inline bool lacks_double(const vf_device *of, vf_dtype type)
{
    static bool said;
    const bool lacks = (type == VF_F64 || type == VF_C128) && strstr(vf_device_traits(of), "no double precision");
    if (lacks && !said)
        printf("double precision is left out: %s has none\n", vf_device_spec(of));
    said = said || lacks;
    return lacks;
}

#endif
