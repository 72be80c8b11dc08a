/* Makes allocations of our own code fail, one at a time, in programs that a sanitizer watches: linked in, with the linker's --wrap,
 * because fault_shim.c would replace the sanitizer's malloc. Allocations inside of shared libraries do not count.
 *
 * VOXFIELD_FAULT="memory:N" and "memory:N+", and VOXFIELD_FAULT_COUNTS, as in fault_shim.c. */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static atomic_long calls;
static long failing; /* 0: none */
static bool from_then_on;

__attribute__((constructor)) static void read_wish(void)
{
    const char *wish = getenv("VOXFIELD_FAULT");
    if (wish && strncmp(wish, "memory:", 7) == 0) {
        failing = strtol(wish + 7, NULL, 10);
        from_then_on = strchr(wish, '+');
    }
}

__attribute__((destructor)) static void write_counts(void)
{
    const char *path = getenv("VOXFIELD_FAULT_COUNTS");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (!file)
        return;
    (void)fprintf(file, "memory %ld\n", atomic_load(&calls));
    (void)fclose(file);
}

static bool fails(void)
{
    const long n = atomic_fetch_add(&calls, 1) + 1;
    const bool failed = failing > 0 && (n == failing || (from_then_on && n > failing));
    if (failed)
        errno = ENOMEM;
    return failed;
}

#define WRAP(result, name, parameters, arguments, failure)                                                             \
    result __real_##name parameters;                                                                                   \
    result __wrap_##name parameters;                                                                                   \
    result __wrap_##name parameters                                                                                    \
    {                                                                                                                  \
        return fails() ? (failure) : __real_##name arguments;                                                          \
    }
WRAP(void *, malloc, (size_t size), (size), NULL)
WRAP(void *, calloc, (size_t count, size_t size), (count, size), NULL)
WRAP(void *, realloc, (void *old, size_t size), (old, size), NULL)
WRAP(void *, aligned_alloc, (size_t alignment, size_t size), (alignment, size), NULL)
WRAP(int, posix_memalign, (void **out, size_t alignment, size_t size), (out, alignment, size), ENOMEM)
WRAP(char *, strdup, (const char *text), (text), NULL)
WRAP(char *, strndup, (const char *text, size_t most), (text, most), NULL)
