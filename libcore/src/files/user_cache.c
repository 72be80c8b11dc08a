#include "voxfield/user_cache.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device/context_internal.h"
#include "voxfield/output.h"

char *vf_user_cache_path(const char *name)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    const bool has_cache = cache && cache[0] == '/'; /* others are invalid by the XDG's rules */
    if (!has_cache && !(home && *home))
        return NULL;
    const char *folder = has_cache ? cache : home, *rest = has_cache ? "" : "/.cache";
    const size_t size = strlen(folder) + strlen(rest) + sizeof "/voxfield/" + strlen(name);
    char *path = malloc(size);
    if (path)
        snprintf(path, size, "%s%s/voxfield/%s", folder, rest, name);
    return path;
}

void vf_user_cache_make_folders(const char *path)
{
    char *part = strdup(path);
    for (char *slash = part ? strchr(part + 1, '/') : NULL; slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        (void)mkdir(part, 0777);
        *slash = '/';
    }
    free(part);
}

bool vf_user_cache_noted(const char *name)
{
    char *path = vf_user_cache_path(name);
    const bool noted = path && access(path, F_OK) == 0;
    free(path);
    return noted;
}

void vf_user_cache_note(vf_context *ctx, const char *name)
{
    char *path = vf_user_cache_path(name);
    vf_output *output = NULL;
    vf_caught caught;
    vf_caught *before = vf_catch(ctx, &caught);
    if (path) {
        vf_user_cache_make_folders(path);
        vf_status status = vf_output_open(ctx, path, &output);
        VF_TRY(status, vf_output_commit(&output));
        vf_output_discard(&output);
        (void)status;
    }
    vf_catch_end(before);
    free(path);
}
