/* Decimal numbers as text files hold them, for all their readers. */
#ifndef CIONIZE_TEXT_NUMBER_H
#define CIONIZE_TEXT_NUMBER_H

#include <locale.h>
#include <stdbool.h>
#include <stddef.h>

/* A piece of the file; not zero-terminated. */
typedef struct text_piece {
    const char *at;
    size_t size;
} text_piece;

typedef struct text_number {
    double value;
    int decimals; /* digits after the decimal point; those the exponent takes away or adds are counted so */
    bool point;   /* whether there was a decimal point */
} text_number;

static inline bool text_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Reads a number that is the whole of `text`: sign, digits with or without a point, exponent (e or E). Correctly
 * rounded. False for all else, and for what is not finite: nan, inf, hexadecimal, Fortran's D, and numbers beyond
 * double. `c_locale` is a locale whose decimal point is a point. */
bool text_read_number(text_piece text, locale_t c_locale, text_number *out);

/* What is wrong with a text that is no number, as the end of a sentence: "is not a number". */
const char *text_number_trouble(text_piece text);

/* Takes run-together numbers apart: "-12.345-100.123" at the sign, "1999.3232998.770" where three decimals end (then
 * *by_decimals becomes true). Returns the number of pieces, each of which has a decimal point; 0 if the text is not
 * made of numbers or there are more than `room`. A single number is one piece. */
int text_take_apart(text_piece text, text_piece *pieces, int room, bool *by_decimals);

#endif
