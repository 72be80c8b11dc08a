/* Numbers in files must be finite: which one is not. */
#ifndef SCAN_VALUES_H
#define SCAN_VALUES_H

#include <stdint.h>

#include "voxfield/context.h"

/* The index of the first NaN or infinite value, or -1. With the context's threads. */
int64_t scan_first_not_finite(const vf_context *ctx, const float *values, int64_t count);
const char *scan_not_finite_name(float value); /* "nan" or "infinite" */

#endif
