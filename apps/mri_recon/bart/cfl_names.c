#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cfl.h"
#include "voxfield/append.h"
#include "voxfield/output.h"

const char *cfl_dim_name(int dim)
{
    static const char *const names[CFL_DIMS] = {"READ", "PHS1",   "PHS2", "COIL",  "MAPS",  "TE",    "COEFF", "COEFF2",
                                                "ITER", "CSHIFT", "TIME", "TIME2", "LEVEL", "SLICE", "AVG",   "BATCH"};
    return names[dim];
}

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

const char *cfl_shape(const int64_t dims[CFL_DIMS], char text[CFL_SHAPE_TEXT])
{
    int last = CFL_DIMS - 1;
    text[0] = '\0';
    while (last > 2 && dims[last] == 1)
        last--;
    for (int d = 0; d <= last; d++)
        vf_append(text, CFL_SHAPE_TEXT, "%s%" PRId64, d ? " x " : "", dims[d]);
    return text;
}
