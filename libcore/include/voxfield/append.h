/* Voxfield - texts made of pieces, in arrays of fixed size.
 *
 * snprintf returns the length that a text would have had, so `used += snprintf(text + used, size - used, ...)` leaves
 * the array when a piece does not fit. These functions cannot.
 */
#ifndef VOXFIELD_APPEND_H
#define VOXFIELD_APPEND_H

#include <stdarg.h>
#include <stddef.h>

#include "voxfield/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Appends to the zero-terminated text in an array of `size` bytes. What does not fit is cut off, and the text stays
 * terminated. Returns the new length, at most size - 1. */
size_t vf_append(char *text, size_t size, const char *format, ...) VF_PRINTF(3, 4);
size_t vf_append_args(char *text, size_t size, const char *format, va_list args) VF_PRINTF(3, 0);

#ifdef __cplusplus
}
#endif
#endif
