/* For packages: what libexpat.a of Debian 12 takes from glibc 2.36, by what older systems have. Only a hash table's salt. */
#include <stddef.h>
#include <sys/random.h>

void arc4random_buf(void *memory, size_t bytes);

void arc4random_buf(void *memory, size_t bytes)
{
    unsigned char *at = memory;
    while (bytes > 0) {
        const size_t some = bytes < 256 ? bytes : 256; /* such a read is never cut short */
        if (getrandom(at, some, 0) != (ssize_t)some)
            return;
        at += some;
        bytes -= some;
    }
}
