/* Voxfield - numbers from text, in any locale. The whole text must match. */
#ifndef VOXFIELD_PARSE_H
#define VOXFIELD_PARSE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Reads `least` to `most` finite decimal numbers, separated by commas, and nothing else. Returns how many, or 0 for any
 * other text. Hexadecimal numbers, inf and nan are invalid. */
int vf_parse_doubles(const char *text, int least, int most, double *values);

/* The same for integers in the range of int64_t. */
int vf_parse_integers(const char *text, int least, int most, int64_t *values);

#ifdef __cplusplus
}
#endif
#endif
