#include "cfl_names.h"

#include <stdlib.h>
#include <string.h>

#include "voxfield/output.h"

bool cfl_is_name(const char *path)
{
    return vf_path_has_extension(path, ".cfl .hdr");
}

char *cfl_file_name(const char *path, const char *extension)
{
    const size_t length = strlen(path) - (cfl_is_name(path) ? strlen(".cfl") : 0);
    char *name = malloc(length + strlen(extension) + 1);
    if (name) {
        memcpy(name, path, length);
        strcpy(name + length, extension);
    }
    return name;
}
