/* Numbers in a locale that writes them with a decimal comma. */
#ifndef LOCALE_FIXTURE_H
#define LOCALE_FIXTURE_H

#include <locale.h>
#include <stdbool.h>

#include "test_main.h"

/* Sets such a locale, or skips the test if none is installed. The test ends with setlocale(LC_ALL, "C"). */
static inline void begin_decimal_comma(void)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "nl_NL.UTF-8", "ru_RU.UTF-8"};
    bool comma = false;
    for (size_t i = 0; i < sizeof names / sizeof *names && !comma; i++)
        comma = setlocale(LC_ALL, names[i]) && *localeconv()->decimal_point == ',';
    if (!comma) {
        print_message("SKIP: no locale with a decimal comma is installed\n");
        skip();
    }
}

#endif
