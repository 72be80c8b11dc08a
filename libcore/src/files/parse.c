#include "voxfield/parse.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static locale_t c_locale;

static void make_c_locale(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

/* Reads one number at *text and moves *text behind it. */
static bool take_double(const char **text, double *value)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_c_locale);
    const char *first = *text + (**text == '-' || **text == '+');
    if ((*first < '0' || *first > '9') && *first != '.')
        return false; /* rejects white space, inf, nan */
    if (first[0] == '0' && (first[1] == 'x' || first[1] == 'X'))
        return false;
    char *end;
    *value = c_locale ? strtod_l(*text, &end, c_locale) : strtod(*text, &end);
    bool taken = end != *text && isfinite(*value);
    *text = end;
    return taken;
}

static bool take_integer(const char **text, int64_t *value)
{
    const char *first = *text + (**text == '-' || **text == '+');
    if (*first < '0' || *first > '9')
        return false;
    char *end;
    errno = 0;
    *value = strtoll(*text, &end, 10);
    *text = end;
    return errno == 0;
}

int vf_parse_doubles(const char *text, int least, int most, double *values)
{
    int n = 0;
    while (n < most && take_double(&text, &values[n])) {
        n++;
        if (*text == '\0')
            return n >= least ? n : 0;
        if (*text++ != ',')
            return 0;
    }
    return 0;
}

int vf_parse_integers(const char *text, int least, int most, int64_t *values)
{
    int n = 0;
    while (n < most && take_integer(&text, &values[n])) {
        n++;
        if (*text == '\0')
            return n >= least ? n : 0;
        if (*text++ != ',')
            return 0;
    }
    return 0;
}
