/* Voxfield - numbers out of text, whole or not at all, in any locale. */
#ifndef VOXFIELD_PARSE_H
#define VOXFIELD_PARSE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Reads `least` to `most` finite decimal numbers separated by commas that make up the whole text; returns how many, or
 * 0 if the text is anything else. Hexadecimal numbers, inf and nan are refused. */
int vf_parse_doubles(const char *text, int least, int most, double *values);

/* The same for whole numbers in the range of int64_t. */
int vf_parse_integers(const char *text, int least, int most, int64_t *values);

#ifdef __cplusplus
}
#endif
#endif
