#include "voxfield/append.h"

#include <stdio.h>
#include <string.h>

size_t vf_append_args(char *text, size_t size, const char *format, va_list args)
{
    const size_t used = strnlen(text, size);
    if (used >= size) /* not terminated: no text of ours */
        return used;
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): version 14 loses sight of va_start in vf_append */
    const int more = vsnprintf(text + used, size - used, format, args);
    if (more < 0)
        text[used] = '\0';
    return more < 0 ? used : (size_t)more < size - used ? used + (size_t)more : size - 1;
}

size_t vf_append(char *text, size_t size, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const size_t length = vf_append_args(text, size, format, args);
    va_end(args);
    return length;
}
