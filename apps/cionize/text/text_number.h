/* Decimal numbers in text files, for all readers. */
#ifndef CIONIZE_TEXT_NUMBER_H
#define CIONIZE_TEXT_NUMBER_H

#include <locale.h>
#include <stdbool.h>
#include <stddef.h>

/* A piece of the file, not zero-terminated. */
typedef struct text_piece {
    const char *at;
    size_t size;
} text_piece;

typedef struct text_number {
    double value;
    int decimals; /* digits after the decimal point, adjusted by the exponent */
    bool point;   /* whether it has a decimal point */
} text_number;

static inline bool text_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Parses a number that is all of `text`: sign, digits with or without a point, exponent (e or E). Correctly rounded.
 * False for anything else, including NaN, infinity, hexadecimal, Fortran's D, and numbers beyond double. `c_locale`
 * is a locale with a decimal point. */
bool text_read_number(text_piece text, locale_t c_locale, text_number *out);

/* Explains why a text is not a number, as the end of a sentence: "is not a number". */
const char *text_number_trouble(text_piece text);

/* Splits numbers that run together: "-12.345-100.123" at the sign, "1999.3232998.770" after three decimals
 * (*by_decimals becomes true). Returns the number of pieces, each with a decimal point; 0 if the text does not
 * consist of numbers or has more than `room`. A single number is one piece. */
int text_take_apart(text_piece text, text_piece *pieces, int room, bool *by_decimals);

#endif
