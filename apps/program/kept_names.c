#include "kept_names.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kept_pieces.h"

char *kept_part_path(const char *output, int part, int parts)
{
    char *path = NULL;
    return asprintf(&path, "%s.part-%d-of-%d", output, part, parts) < 0 ? NULL : path;
}

char *kept_data_path(const char *output)
{
    char *path = NULL;
    return asprintf(&path, "%s.pieces-map", output) < 0 ? NULL : path;
}

char *kept_rank_file(const char *output)
{
    glob_t found = {0};
    char *pattern = NULL, *path = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&pattern, &length);
    for (const char *c = output; to && *c; c++) /* names may have the pattern's own characters */
        fprintf(to, strchr("*?[\\", *c) ? "\\%c" : "%c", *c);
    if (to && (fputs(".pieces-[1-9]*", to), fclose(to)) == 0 && glob(pattern, GLOB_NOSORT, NULL, &found) == 0) {
        for (size_t n = 0; n < found.gl_pathc && !path; n++) {
            const char *text = found.gl_pathv[n] + strlen(output) + strlen(".pieces-");
            if (text[strspn(text, "0123456789")] == '\0')
                path = strdup(found.gl_pathv[n]);
        }
        globfree(&found);
    }
    free(pattern);
    return path;
}

bool kept_places(const pieces_settings *s, const char *output)
{
    struct stat status;
    char *data = kept_data_path(output), *kept = NULL, *other = s->resume ? kept_rank_file(output) : NULL;
    const bool named = data && asprintf(&kept, "%s.pieces", output) >= 0;
    bool places = named && (!s->resume || access(data, F_OK) == 0 || (!other && access(kept, F_OK) != 0));
    if (s->parts > 0 || s->join || (lstat(output, &status) == 0 && !S_ISREG(status.st_mode)))
        places = false;
    free(data);
    free(kept);
    free(other);
    return places;
}
