/* Voxfield - numbers as text, fast and independent of the locale.
 *
 * For text files with very many values: printf takes a fifth of a microsecond a number and writes the locale's decimal
 * mark.
 */
#ifndef VOXFIELD_FORMAT_NUMBER_H
#define VOXFIELD_FORMAT_NUMBER_H

#ifdef __cplusplus
extern "C" {
#endif

enum {
    VF_NUMBER_TEXT = 32,      /* enough room for either function */
    VF_NUMBER_MAX_DIGITS = 17 /* a double survives with 17 significant digits, a float with 9 */
};

/* Writes a finite `x` with `digits` significant digits (1 to VF_NUMBER_MAX_DIGITS), correctly rounded (ties to even):
 * the same characters as printf("%.*e", digits - 1, x) in the "C" locale. Returns the number of characters, at most
 * digits + 7; no terminating zero is written. */
int vf_format_scientific(double x, int digits, char *text);

/* The same characters as printf("%.*g", digits, x) in the "C" locale, zero-terminated; also "inf" and "nan". Slow: for
 * single numbers. Returns `text`. */
const char *vf_format_general(double x, int digits, char text[VF_NUMBER_TEXT]);

#ifdef __cplusplus
}
#endif
#endif
