#include "voxfield/append.h"

#include <stdio.h>
#include <string.h>

/* The length after vsnprintf has returned `more` for a text that had `used` characters. */
static size_t end_text(char *text, size_t size, size_t used, int more)
{
    if (more < 0)
        text[used] = '\0';
    return more < 0 ? used : (size_t)more < size - used ? used + (size_t)more : size - 1;
}

size_t vf_append_args(char *text, size_t size, const char *format, va_list args)
{
    const size_t used = strnlen(text, size);
    if (used >= size) /* not terminated: no text of ours */
        return used;
    return end_text(text, size, used, vsnprintf(text + used, size - used, format, args));
}

size_t vf_append(char *text, size_t size, const char *format, ...)
{
    const size_t used = strnlen(text, size);
    if (used >= size)
        return used;
    va_list args;
    va_start(args, format);
    const int more = vsnprintf(text + used, size - used, format, args);
    va_end(args);
    return end_text(text, size, used, more);
}
