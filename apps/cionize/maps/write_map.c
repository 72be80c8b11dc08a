/* The formats of map files, chosen by the extension. */
#include <stdio.h>

#include "map_format.h"
#include "result.h"
#include "voxfield/append.h"
#include "voxfield/output.h"

/* Order matters: ".dx.gz" comes before any format that might match ".gz". */
static const map_format *const formats[] = {&map_dx_gz, &map_dx, &map_mrc, &map_cube, &map_h5};
enum { FORMATS = sizeof formats / sizeof *formats, EXTENSIONS_SIZE = 256 };

vf_status map_format_for(vf_context *ctx, const char *path, const map_format **out)
{
    char known[EXTENSIONS_SIZE] = "";
    *out = is_in_memory(path) ? &map_memory : NULL;
    if (*out)
        return VF_OK;
    for (int f = 0; f < FORMATS; f++) {
        if (vf_path_has_extension(path, formats[f]->extensions)) {
            *out = formats[f];
            return VF_OK;
        }
        vf_append(known, sizeof known, "%s%s", f ? " " : "", formats[f]->extensions);
    }
    return vf_fail(ctx, VF_ERR_ARGUMENT, "%s: unknown file extension; for a map, use one of %s", path, known);
}
