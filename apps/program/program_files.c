#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>

#include "program.h"
#include "result.h"
#include "voxfield/append.h"
#include "voxfield/output.h"
#include "voxfield/timer.h"

/* Whether two names are the same file. A file that does not exist yet is identified by its directory and its name. */
static bool same_file(const char *a, const char *b)
{
    struct stat in_a, in_b;
    bool has_a = stat(a, &in_a) == 0, has_b = stat(b, &in_b) == 0;
    if (has_a != has_b)
        return false;
    if (!has_a) {
        const char *slash_a = strrchr(a, '/'), *slash_b = strrchr(b, '/');
        char *parent_a = slash_a ? strndup(a, (size_t)(slash_a - a) + 1) : strdup(".");
        char *parent_b = slash_b ? strndup(b, (size_t)(slash_b - b) + 1) : strdup(".");
        has_a = parent_a && parent_b && strcmp(slash_a ? slash_a + 1 : a, slash_b ? slash_b + 1 : b) == 0 &&
                stat(parent_a, &in_a) == 0 && stat(parent_b, &in_b) == 0;
        free(parent_a);
        free(parent_b);
    } else if (!S_ISREG(in_a.st_mode)) {
        return false; /* many outputs may go to /dev/null */
    }
    return has_a && in_a.st_dev == in_b.st_dev && in_a.st_ino == in_b.st_ino;
}

vf_status program_check_names(vf_context *ctx, const program_file *files, int count)
{
    for (int a = 0; a < count; a++)
        for (int b = a + 1; b < count; b++)
            if (files[a].path && files[b].path && !is_in_memory(files[a].path) &&
                same_file(files[a].path, files[b].path))
                return vf_fail(ctx, VF_ERR_ARGUMENT, "%s: %s and %s are the same file; use different names",
                               files[b].path, files[a].what, files[b].what);
    return VF_OK;
}

vf_status program_check_place(vf_context *ctx, const char *path, double bytes, const char *advice)
{
    const double sure = 0.7; /* compressed maps can turn out smaller than the estimate */
    struct stat existing;
    if (is_in_memory(path))
        return VF_OK;
    char need[32], have[32];
    if (stat(path, &existing) == 0 && !S_ISREG(existing.st_mode) && !S_ISDIR(existing.st_mode))
        return VF_OK; /* opening and closing a pipe would be seen at its other end */
    vf_output *probe = NULL;
    vf_status status = vf_output_open(ctx, path, &probe);
    if (status != VF_OK)
        return status;
    double space = (double)vf_output_space(probe);
    vf_output_discard(&probe);
    if (sure * bytes > space)
        return vf_fail(ctx, VF_ERR_OUTPUT,
                       "%s: not enough disk space: about %s needed, %s free; make room, write elsewhere, or %s", path,
                       vf_format_bytes(bytes, need, sizeof need), vf_format_bytes(space, have, sizeof have), advice);
    return VF_OK;
}

char *program_command(const program *p)
{
    size_t size = 1;
    for (int i = 0; i < p->argc; i++)
        size += strlen(p->argv[i]) + 1;
    char *text = calloc(1, size);
    for (int i = 0; text && i < p->argc; i++) {
        const option_scope scope = p->given.row[i] ? p->given.row[i]->scope : OPTION_OF_RESULT;
        if (scope != OPTION_OF_DIVISION && scope != OPTION_OF_KEEPING)
            vf_append(text, size, "%s%s", text[0] ? " " : "", p->argv[i]);
    }
    for (char *c = text; c && *c; c++)
        if ((unsigned char)*c < 0x20)
            *c = ' ';
    return text;
}

void program_time(char text[PROGRAM_TIME_TEXT])
{
    const char *fixed = getenv("SOURCE_DATE_EPOCH");
    char *end = NULL;
    time_t now = time(NULL);
    struct tm utc;
    const long long seconds = fixed ? strtoll(fixed, &end, 10) : 0;
    if (fixed && *fixed && *end == '\0' && seconds >= 0 && seconds < 253402300800) /* up to the year 9999 */
        now = (time_t)seconds;
    strftime(text, PROGRAM_TIME_TEXT, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
}

double program_file_bytes(const char *path)
{
    struct stat file;
    return stat(path, &file) == 0 && S_ISREG(file.st_mode) ? (double)file.st_size : 0;
}

void program_facts_of_warm_up(vf_context *ctx, facts *f)
{
    const vf_warm_up_state warm = vf_device_warm_up_state(ctx);
    if (!warm.begun)
        return;
    fact_begin(f, "gpu_start");
    fact_number(f, "seconds", warm.seconds);
    fact_number(f, "waited", warm.waited);
    fact_end(f);
}

char *program_replace_ending(const char *path, const char *const *endings, const char *ending)
{
    size_t stem = strlen(path);
    for (int e = 0; endings[e]; e++) {
        const size_t n = strlen(endings[e]);
        if (stem > n && strcasecmp(path + stem - n, endings[e]) == 0) {
            stem -= n;
            break;
        }
    }
    char *result = NULL;
    return asprintf(&result, "%.*s%s", (int)stem, path, ending) < 0 ? NULL : result;
}
