#include "cgroup_limits.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Names of the files of a group. */
typedef struct version {
    const char *type;            /* of its file system */
    const char *limit[2];        /* the kernel ends processes above the first, and slows them down above the second */
    const char *used, *cache[2]; /* cache: keys in memory.stat; counted in `used`, and freed on demand */
    const char *quota, *period;  /* of processor time, in microseconds; period NULL: the quota's second number */
} version;
static const version versions[] = {
    {"cgroup2", {"memory.max", "memory.high"}, "memory.current", {"inactive_file ", "active_file "}, "cpu.max", NULL},
    {"cgroup",
     {"memory.limit_in_bytes", NULL},
     "memory.usage_in_bytes",
     {"total_inactive_file ", "total_active_file "},
     "cpu.cfs_quota_us",
     "cpu.cfs_period_us"}};
enum { VERSIONS = 2, LINE = 2 * PATH_MAX };

bool vf_read_field(const char *path, const char *key, char *value, size_t size)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    char line[512];
    bool found = false;
    while (!found && fgets(line, sizeof line, file)) {
        if (strncmp(line, key, strlen(key)) != 0)
            continue;
        const char *text = line + strlen(key);
        text += strspn(text, " \t:");
        snprintf(value, size, "%.*s", (int)strcspn(text, "\n"), text);
        found = true;
    }
    fclose(file);
    return found;
}

/* A number in a file of a group; UINT64_MAX for "max", or if there is none. */
static uint64_t read_number(const char *folder, const char *name, const char *key)
{
    char path[LINE + 32], text[64] = "";
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (!vf_read_field(path, key, text, sizeof text) || text[0] < '0' || text[0] > '9')
        return UINT64_MAX;
    return strtoull(text, NULL, 10);
}

/* What the limits of the groups leave; the caller begins with what there is. */
typedef struct limits {
    uint64_t free_bytes, total_bytes;
    int cores;
} limits;

static void apply_memory(const version *v, const char *folder, limits *to)
{
    uint64_t limit = read_number(folder, v->limit[0], "");
    const uint64_t slow = v->limit[1] ? read_number(folder, v->limit[1], "") : UINT64_MAX;
    limit = slow < limit ? slow : limit;
    if (limit == UINT64_MAX)
        return;
    uint64_t used = read_number(folder, v->used, "");
    used = used == UINT64_MAX ? 0 : used;
    for (int c = 0; c < 2; c++) {
        const uint64_t cached = read_number(folder, "memory.stat", v->cache[c]);
        if (cached != UINT64_MAX)
            used -= cached < used ? cached : used;
    }
    const uint64_t left = limit > used ? limit - used : 0;
    to->total_bytes = limit < to->total_bytes ? limit : to->total_bytes;
    to->free_bytes = left < to->free_bytes ? left : to->free_bytes;
}

/* "max 100000" in version 2 and -1 in version 1 are no quota. */
static void apply_cores(const version *v, const char *folder, limits *to)
{
    char path[LINE + 32], text[64] = "";
    snprintf(path, sizeof path, "%s/%s", folder, v->quota);
    if (!vf_read_field(path, "", text, sizeof text) || text[0] < '0' || text[0] > '9')
        return;
    char *rest;
    const uint64_t quota = strtoull(text, &rest, 10);
    const uint64_t period = v->period ? read_number(folder, v->period, "") : strtoull(rest, NULL, 10);
    if (period == 0 || period == UINT64_MAX || quota / period >= INT_MAX)
        return;
    const int cores = (int)(quota / period) + (quota % period > 0 || quota == 0);
    to->cores = cores < to->cores ? cores : to->cores;
}

/* Whether `word` is in a list with commas. */
static bool has_word(const char *list, const char *word)
{
    const size_t length = strlen(word);
    for (; list; list = strchr(list, ',')) {
        list += *list == ',';
        if (strncmp(list, word, length) == 0 && (list[length] == ',' || list[length] == '\0'))
            return true;
    }
    return false;
}

/* The path of the process's group: "0::/path" in version 2, "4:memory:/path" in version 1. */
static bool find_group(const char *groups, const version *v, const char *controller, char *path, size_t size)
{
    char line[LINE];
    bool found = false;
    FILE *file = fopen(groups, "re");
    while (file && !found && fgets(line, sizeof line, file)) {
        char *controllers = strchr(line, ':'), *where = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!where)
            continue;
        *where++ = '\0';
        found = v == &versions[0] ? controllers[1] == '\0' : has_word(controllers + 1, controller);
        if (found)
            snprintf(path, size, "%.*s", (int)strcspn(where, "\n"), where);
    }
    if (file)
        fclose(file);
    return found;
}

/* "\040" stands for a blank. */
static void undo_escapes(char *text)
{
    char *to = text;
    for (const char *from = text; *from; to++)
        if (from[0] == '\\' && strspn(from + 1, "01234567") >= 3) {
            *to = (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0'));
            from += 4;
        } else {
            *to = *from++;
        }
    *to = '\0';
}

/* Where the groups with a controller's limits are mounted, and which of them is there: "ID PARENT DEVICE ROOT FOLDER OPTIONS
 * ... - TYPE SOURCE OPTIONS". root, folder: [PATH_MAX] */
static bool find_mount(const char *mounts, const version *v, const char *controller, char *root, char *folder)
{
    char line[LINE], type[16], options[512];
    bool found = false;
    FILE *file = fopen(mounts, "re");
    _Static_assert(PATH_MAX == 4096, "the widths below");
    while (file && !found && fgets(line, sizeof line, file)) {
        const char *rest = strstr(line, " - ");
        found = rest && sscanf(line, "%*s %*s %*s %4095s %4095s", root, folder) == 2 &&
                sscanf(rest, " - %15s %*s %511s", type, options) == 2 && strcmp(type, v->type) == 0 &&
                (v == &versions[0] || has_word(options, controller));
    }
    if (file)
        fclose(file);
    if (found) {
        undo_escapes(root);
        undo_escapes(folder);
    }
    return found;
}

typedef void apply(const version *v, const char *folder, limits *to);

static void apply_groups(const char *groups, const char *mounts, const char *controller, apply *one, limits *to)
{
    char group[PATH_MAX], root[PATH_MAX], folder[PATH_MAX], path[LINE + 2];
    for (int i = 0; i < VERSIONS; i++) {
        const version *v = &versions[i];
        if (!find_group(groups, v, controller, group, sizeof group) || !find_mount(mounts, v, controller, root, folder))
            continue;
        /* In a container, the mount may begin at the container's group, of which the path has the full name. */
        const size_t skip = strcmp(root, "/") == 0 ? 0 : strlen(root);
        const bool below = strncmp(group, root, skip) == 0 && (group[skip] == '/' || group[skip] == '\0');
        const char *inside = below ? group + skip : "";
        snprintf(path, sizeof path, "%s%s", folder, strcmp(inside, "/") == 0 ? "" : inside);
        for (;;) { /* the group, and those above it */
            one(v, path, to);
            char *slash = strrchr(path, '/');
            if (strlen(path) <= strlen(folder) || !slash)
                break;
            *slash = '\0';
        }
    }
}

void vf_cgroup_memory(const char *groups, const char *mounts, uint64_t *free_bytes, uint64_t *total_bytes)
{
    limits left = {.free_bytes = *free_bytes, .total_bytes = *total_bytes};
    apply_groups(groups, mounts, "memory", apply_memory, &left);
    *free_bytes = left.free_bytes;
    *total_bytes = left.total_bytes;
}

int vf_cgroup_cores(const char *groups, const char *mounts)
{
    limits left = {.cores = INT_MAX};
    apply_groups(groups, mounts, "cpu", apply_cores, &left);
    return left.cores;
}
