/* For packages: Debian's static HDF5 is made for programs, whose own copy of `stderr` and `stdout` it reads by address. In a shared
 * library the linker refuses that, so the wheel's library has copies, which nobody else sees (library.map). */
#include <dlfcn.h>
#include <stdio.h>

#undef stderr
#undef stdout
__attribute__((visibility("hidden"))) FILE *stderr = NULL;
__attribute__((visibility("hidden"))) FILE *stdout = NULL;

__attribute__((constructor)) static void find_streams(void)
{
    FILE **errors = dlsym(RTLD_DEFAULT, "stderr"), **output = dlsym(RTLD_DEFAULT, "stdout");
    stderr = errors ? *errors : NULL;
    stdout = output ? *output : NULL;
}
