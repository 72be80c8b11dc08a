#include "voxfield/user_cache.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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
