#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tune_launch.h"
#include "voxfield/output.h"
#include "voxfield/user_cache.h"

enum { MOST_ROWS = 64, MOST_NAME = 128, MOST_LINE = 256 };
static const char first_line[] = "Voxfield: launches of the direct Fourier sum, version 1\n";
static const char *const trig_words[] = {[VF_TRIG_ACCURATE] = "accurate", [VF_TRIG_HARDWARE] = "hardware"};

typedef struct launch_row {
    vf_trig trig;
    vf_fourier_tuning launch;
    char device[MOST_NAME];
} launch_row;

char *launch_table_path(void)
{
    return vf_user_cache_path("launches.txt");
}

static bool read_row(const char *line, launch_row *row)
{
    char word[16], end;
    int at = 0;
    vf_fourier_tuning *t = &row->launch;
    int *const numbers[3] = {&t->threads, &t->chunk, &t->unroll};
    if (sscanf(line, "%15s%n", word, &at) != 1)
        return false;
    for (int n = 0; n < 3; n++) {
        char *after;
        const long number = strtol(line + at, &after, 10);
        if (after == line + at || number < 0 || number > 99999)
            return false;
        *numbers[n] = (int)number;
        at = (int)(after - line);
    }
    if (sscanf(line + at, " %127[^\n]%c", row->device, &end) != 2 || end != '\n')
        return false;
    for (int trig = 0; trig < 2; trig++)
        if (strcmp(word, trig_words[trig]) == 0) {
            row->trig = (vf_trig)trig;
            return vf_fourier_tuning_valid(t, t->chunk);
        }
    return false;
}

/* Reads all rows; returns their number, 0 without a file, -1 if the table is damaged. */
static int read_rows(const char *path, launch_row rows[MOST_ROWS])
{
    char line[MOST_LINE];
    FILE *file = fopen(path, "r");
    int count = 0;
    if (!file)
        return 0;
    bool good = fgets(line, sizeof line, file) && strcmp(line, first_line) == 0;
    while (good && fgets(line, sizeof line, file))
        good = count < MOST_ROWS && read_row(line, &rows[count]) && ++count;
    good = good && !ferror(file);
    fclose(file);
    return good ? count : -1;
}

static launch_row *find_row(launch_row *rows, int count, const char *device, vf_trig trig)
{
    for (int i = 0; i < count; i++)
        if (rows[i].trig == trig && strcmp(rows[i].device, device) == 0)
            return &rows[i];
    return NULL;
}

launch_found launch_table_find(const char *path, const char *device, vf_trig trig, vf_fourier_tuning *launch)
{
    launch_row rows[MOST_ROWS];
    const int count = read_rows(path, rows);
    const launch_row *row = find_row(rows, count, device, trig);
    if (row)
        *launch = row->launch;
    return count < 0 ? LAUNCH_DAMAGED : row ? LAUNCH_FOUND : LAUNCH_MISSING;
}

vf_status launch_table_store(vf_context *ctx, const char *path, const char *device, vf_trig trig,
                             const vf_fourier_tuning *launch)
{
    launch_row rows[MOST_ROWS];
    vf_output *output = NULL;
    int count = read_rows(path, rows);
    count = count < 0 ? 0 : count;
    launch_row *row = find_row(rows, count, device, trig);
    if (!row) /* a full table loses its last row */
        row = &rows[count < MOST_ROWS ? count++ : MOST_ROWS - 1];
    *row = (launch_row){.trig = trig, .launch = *launch};
    snprintf(row->device, sizeof row->device, "%s", device);
    vf_user_cache_make_folders(path);
    vf_status status = vf_output_open(ctx, path, &output);
    VF_TRY(status, vf_output_printf(output, "%s", first_line));
    for (int i = 0; i < count; i++)
        VF_TRY(status, vf_output_printf(output, "%s %d %d %d %s\n", trig_words[rows[i].trig], rows[i].launch.threads,
                                        rows[i].launch.chunk, rows[i].launch.unroll, rows[i].device));
    VF_TRY(status, vf_output_commit(&output));
    vf_output_discard(&output);
    return status;
}
