#include "batch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "job.h"
#include "program.h"
#include "voxfield/timer.h"
#include "voxfield/workpool.h"

extern char **environ;

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* ---- the inputs ---- */

typedef struct batch {
    vf_context *ctx;
    program *p;
    int64_t count;
    const char **input; /* [count] */
    char *list;         /* the text of --list */
    int64_t first, behind;
    pieces_settings asked;
    kept_pieces kept;
    int64_t failed;
    vf_status worst;
} batch;

static vf_status add_input(batch *b, const char *name)
{
    const char **longer = realloc(b->input, ((size_t)b->count + 1) * sizeof *longer);
    if (!longer)
        return vf_fail(b->ctx, VF_ERR_MEMORY, "no memory for %" PRId64 " inputs", b->count + 1);
    b->input = longer;
    b->input[b->count++] = name;
    return VF_OK;
}

static vf_status read_list(batch *b, const char *path)
{
    const bool standard = strcmp(path, "-") == 0;
    FILE *file = standard ? stdin : fopen(path, "re");
    char *line = NULL, *all = NULL;
    size_t room = 0, size = 0;
    ssize_t length;
    static const char mark[] = "\xef\xbb\xbf"; /* UTF-8 byte order mark, which editors of Windows write */
    bool first = true;
    FILE *to = open_memstream(&all, &size);
    if (!file || !to) {
        const int error = errno;
        if (to)
            (void)fclose(to);
        free(all);
        return vf_fail(b->ctx, VF_ERR_INPUT, "--list %s: cannot read: %s", path, strerror(error));
    }
    while ((length = getline(&line, &room, file)) >= 0) {
        while (length > 0 && (line[length - 1] == '\n' || line[length - 1] == '\r'))
            line[--length] = '\0';
        const size_t skip = first && strncmp(line, mark, strlen(mark)) == 0 ? strlen(mark) : 0;
        first = false;
        if ((size_t)length > skip && line[skip] != '#')
            (void)fwrite(line + skip, 1, (size_t)length + 1 - skip, to);
    }
    free(line);
    if (!standard)
        (void)fclose(file);
    vf_status status = fclose(to) == 0 ? VF_OK : vf_fail(b->ctx, VF_ERR_MEMORY, "no memory for the list %s", path);
    b->list = all;
    for (size_t at = 0; status == VF_OK && at < size; at += strlen(all + at) + 1)
        status = add_input(b, all + at);
    return status;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The name with its folder's real path; free() the result. NULL: there is no such folder. */
static char *whole_name(const char *path)
{
    const char *name = file_name(path);
    char *folder = name > path ? strndup(path, (size_t)(name - path)) : strdup("."), *whole = NULL;
    char *real = folder ? realpath(folder, NULL) : NULL;
    if (real && asprintf(&whole, "%s/%s", real, name) < 0)
        whole = NULL;
    free(folder);
    free(real);
    return whole;
}

/* Inputs whose outputs would have the same names. */
static vf_status check_collisions(const batch *b)
{
    const char *folder = option_text(b->p->options, &b->p->given, "output-dir");
    char **name = calloc((size_t)b->count + 1, sizeof *name);
    vf_status status = name ? VF_OK : vf_fail(b->ctx, VF_ERR_MEMORY, "no memory");
    for (int64_t n = 0; status == VF_OK && n < b->count; n++) {
        char *whole = folder ? NULL : whole_name(b->input[n]);
        name[n] = batch_output_name(folder, whole ? whole : b->input[n], b->p->endings, "");
        free(whole);
        if (!name[n])
            status = vf_fail(b->ctx, VF_ERR_MEMORY, "no memory");
    }
    if (status == VF_OK)
        qsort(name, (size_t)b->count, sizeof *name, by_name);
    for (int64_t n = 0; status == VF_OK && n + 1 < b->count; n++)
        if (strcmp(name[n], name[n + 1]) == 0)
            status = vf_fail(b->ctx, VF_ERR_ARGUMENT,
                             "two inputs would have the same outputs, %s with an extension; rename one, or use another "
                             "folder",
                             name[n]);
    for (int64_t n = 0; name && n < b->count; n++)
        free(name[n]);
    free(name);
    return status;
}

/* Outputs with one name for all. */
static vf_status check_outputs(const batch *b)
{
    const program *p = b->p;
    for (const program_option *row = p->options; row->kind != OPTION_END; row++) {
        const char *value = row->kind == OPTION_GROUP ? NULL : p->given.text[row - p->options];
        const bool writes = batch_writes(row) || (row->name && strcmp(row->name, "output") == 0);
        if (value && writes && !batch_is_extension(value))
            return vf_fail(b->ctx, VF_ERR_ARGUMENT,
                           "--%s %s: all %" PRId64 " inputs would write this file; give its extension alone, such as "
                           "%s, and it is named after each input",
                           row->name, value, b->count, strrchr(value, '.') ? strrchr(value, '.') : ".h5");
        if (value && row->name && strcmp(row->name, "join") == 0)
            return vf_fail(b->ctx, VF_ERR_ARGUMENT, "--join makes one output; several inputs need none");
        if (value && row->name && strcmp(row->name, "script") == 0)
            return vf_fail(b->ctx, VF_ERR_ARGUMENT, "--script names its files, so it takes one input");
    }
    return VF_OK;
}

/* ---- one input ---- */

static bool is_input(const program *p, const char *word)
{
    for (int n = 0; n < p->given.inputs; n++)
        if (word == p->given.input[n])
            return true;
    return false;
}

/* The command line of a run for one input; free() the result. */
static char **command_of(const batch *b, const char *input)
{
    const program *p = b->p;
    char **argv = calloc((size_t)p->argc + 4, sizeof *argv);
    int count = 0;
    for (int n = 0; argv && n < p->argc; n++) {
        const option_scope scope = p->given.row[n] ? p->given.row[n]->scope : OPTION_OF_RESULT;
        if (scope != OPTION_OF_BATCH && scope != OPTION_OF_DIVISION && !is_input(p, p->argv[n]) &&
            strcmp(p->argv[n], "--") != 0)
            argv[count++] = p->argv[n];
    }
    if (argv) {
        argv[count++] = (char *)"--mpi=no"; /* a run of its own */
        argv[count++] = (char *)"--";
        argv[count] = (char *)input;
    }
    return argv;
}

/* Waits; an interrupt ends the child as well. */
static int wait_for(const vf_context *ctx, pid_t child)
{
    struct timespec pause = {.tv_nsec = 500000};
    bool told = false;
    int how = 0;
    while (waitpid(child, &how, WNOHANG) == 0) {
        if (vf_cancelled(ctx) && !told)
            told = kill(child, SIGTERM) == 0;
        (void)nanosleep(&pause, NULL);
        if (pause.tv_nsec < 20000000)
            pause.tv_nsec *= 2;
    }
    return how;
}

/* Runs the program for one input; its messages but for warnings and errors are not shown. *code: its exit status. */
static vf_status run_one(const batch *b, const char *input, int *code)
{
    char **argv = command_of(b, input);
    posix_spawn_file_actions_t actions;
    pid_t child = 0;
    int error = argv ? posix_spawn_file_actions_init(&actions) : ENOMEM;
    if (error == 0) {
        if (!program_given(b->p, "dry-run")) /* plans are all that it makes */
            error = posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
        if (error == 0)
            error = posix_spawn(&child, "/proc/self/exe", &actions, NULL, argv, environ);
        (void)posix_spawn_file_actions_destroy(&actions);
    }
    free(argv);
    if (error != 0)
        return vf_fail(b->ctx, VF_ERR_MEMORY, "%s: cannot start a process: %s", input, strerror(error));
    const int how = wait_for(b->ctx, child);
    *code = WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
    if (WIFSIGNALED(how))
        vf_warn(b->ctx, "%s: the run was ended by signal %d (%s)", input, WTERMSIG(how), strsignal(WTERMSIG(how)));
    return VF_OK;
}

static vf_status status_of(int code)
{
    for (vf_status s = VF_OK; s < VF_STATUS_COUNT; s++)
        if (vf_status_exit_code(s) == code)
            return s;
    return VF_ERR_INTERNAL;
}

/* ---- all inputs ---- */

/* What tells a file from its later versions: the item of an input that is done. */
typedef struct file_stamp {
    int64_t size, seconds, nanoseconds;
} file_stamp;

static file_stamp stamp_of(const char *path)
{
    struct stat file;
    if (stat(path, &file) != 0)
        return (file_stamp){.size = -1};
    return (file_stamp){(int64_t)file.st_size, (int64_t)file.st_mtim.tv_sec, (int64_t)file.st_mtim.tv_nsec};
}

/* A run that is resumed leaves out the inputs that are done: the options, and the inputs' names, make its key. */
static vf_status keep(batch *b)
{
    const program *p = b->p;
    const pieces_settings asked = {.resume = b->asked.resume, .ranks = b->asked.ranks};
    const char *folder = option_text(p->options, &p->given, "output-dir"),
               *part = option_text(p->options, &p->given, "part");
    char *key = NULL, *output = NULL, *options = NULL;
    size_t size = 0;
    if (!asked.resume || program_given(p, "dry-run"))
        return VF_OK;
    FILE *to = open_memstream(&key, &size);
    options = pieces_key(p, "");
    if (to && options)
        fputs(options, to);
    for (const program_option *row = p->options; to && row->kind != OPTION_END; row++)
        if ((batch_writes(row) || row->scope == OPTION_OF_REPORT) && p->given.text[row - p->options])
            fprintf(to, "--%s %s\n", row->name, p->given.text[row - p->options]);
    for (int64_t n = 0; to && n < b->count; n++)
        fprintf(to, "input %s\n", b->input[n]);
    const bool made = to && fclose(to) == 0 && options &&
                      asprintf(&output, "%s/%s-batch%s%.*s", folder ? folder : ".", p->name, part ? "-part-" : "",
                               part ? (int)strcspn(part, "/") : 0, part ? part : "") >= 0;
    const vf_pieces_result result = {.key = key, .maker = "", .items = b->count, .item_bytes = sizeof(file_stamp)};
    vf_status status = made ? kept_begin(b->ctx, &asked, output, &result, 1, "input", &b->kept)
                            : vf_fail(b->ctx, VF_ERR_MEMORY, "no memory");
    free(key);
    free(options);
    if (made)
        free(output);
    return status;
}

/* False also if the input has changed since. */
static bool is_done(const batch *b, int64_t n)
{
    file_stamp then, now = stamp_of(b->input[n]);
    return b->kept.pieces && vf_pieces_count(b->kept.pieces, n, n + 1) > 0 &&
           vf_pieces_get(b->kept.pieces, n, &then) == VF_OK && memcmp(&then, &now, sizeof now) == 0;
}

/* Runs the program for input n. Errors of the input are counted, and are no errors of the batch. */
static vf_status run_input(batch *b, int64_t n)
{
    const double began = vf_now();
    const file_stamp stamp = stamp_of(b->input[n]);
    char text[32];
    int code = 0;
    vf_status status = run_one(b, b->input[n], &code);
    if (status == VF_OK && vf_cancelled(b->ctx))
        status = vf_fail(b->ctx, VF_ERR_CANCELLED, "interrupted");
    if (status != VF_OK)
        return status;
    if (code == 0 && b->kept.pieces)
        status = vf_pieces_add(b->kept.pieces, n, 1, &stamp);
    b->failed += code != 0;
    if (code != 0 && vf_status_exit_code(status_of(code)) > vf_status_exit_code(b->worst))
        b->worst = status_of(code);
    if (code != 0 && b->asked.ranks)
        vf_ranks_failed(b->asked.ranks, vf_status_exit_code(status_of(code)));
    if (!b->p->quiet && !job_is_other(&b->asked))
        printf("%" PRId64 " of %" PRId64 "  %s  %s\n", n - b->first + 1, b->behind - b->first, b->input[n],
               code == 0 ? vf_format_seconds(vf_now() - began, text, sizeof text) : "failed");
    return status;
}

static vf_status run_all(batch *b)
{
    vf_status status = VF_OK;
    for (int64_t n = b->first; status == VF_OK && n < b->behind; n++)
        if (!is_done(b, n))
            status = run_input(b, n);
    return status;
}

/* ---- as a rank of an MPI job ---- */

/* Rank 0 opens the list of finished inputs, and tells the others which are left. */
static vf_status share_inputs(batch *b, int64_t *left, int64_t *count)
{
    char *text = NULL, *got = NULL, *at;
    size_t size = 0;
    vf_ranks *ranks = b->asked.ranks;
    *count = 0;
    if (vf_ranks_rank(ranks) == 0) {
        vf_status status = keep(b);
        FILE *to = status == VF_OK ? open_memstream(&text, &size) : NULL;
        for (int64_t n = 0; to && n < b->count; n++)
            if (!is_done(b, n)) {
                left[(*count)++] = n;
                fprintf(to, "%" PRId64 "\n", n);
            }
        if (status == VF_OK && (!to || fclose(to) != 0))
            status = vf_fail(b->ctx, VF_ERR_MEMORY, "no memory");
        VF_TRY(status, vf_ranks_offer(ranks, *count, NULL));
        VF_TRY(status, vf_ranks_share(ranks, 0, text, &got));
        free(text);
        return status;
    }
    vf_status status = vf_ranks_share(ranks, 0, NULL, &got);
    for (at = got; at && *at && *count < b->count; at++)
        left[(*count)++] = strtoll(at, &at, 10);
    free(got);
    return status == VF_OK ? keep(b) : status;
}

static vf_ranks_library mpi_library(const program *p)
{
    const char *name = option_text(p->options, &p->given, "mpi");
    const option_choice *choice = mpi_libraries;
    while (name && choice->word && strcmp(choice->word, name) != 0)
        choice++;
    return name && choice->word ? (vf_ranks_library)choice->value : VF_RANKS_AUTO;
}

/* Runs get this rank's share of the machine. */
static vf_status pass_threads(vf_context *ctx)
{
    char text[16];
    (void)snprintf(text, sizeof text, "%d", vf_context_threads(ctx));
    return setenv("OMP_NUM_THREADS", text, 1) == 0 ? VF_OK : vf_fail(ctx, VF_ERR_MEMORY, "no memory");
}

static vf_status run_shared(batch *b)
{
    vf_ranks *ranks = b->asked.ranks;
    const struct timespec pause = {.tv_nsec = 10000000};
    int64_t item, count = 0, *left = calloc((size_t)b->count + 1, sizeof *left);
    vf_status status = left ? share_inputs(b, left, &count) : vf_fail(b->ctx, VF_ERR_MEMORY, "no memory");
    while (status == VF_OK && (item = vf_ranks_next(ranks)) != VF_NEXT_NONE) {
        if (item >= 0 && item < count)
            status = run_input(b, left[item]);
        else
            (void)nanosleep(&pause, NULL); /* another rank may fail */
        if (status == VF_OK && item >= 0)
            vf_ranks_done(ranks, item);
        if (status == VF_OK && vf_cancelled(b->ctx))
            status = vf_fail(b->ctx, VF_ERR_CANCELLED, "interrupted");
    }
    free(left);
    if (vf_ranks_rank(ranks) > 0)
        return status;
    status = vf_ranks_collect(ranks, status);
    const int64_t worst = vf_ranks_worst(ranks, &b->failed);
    b->worst = b->failed > 0 ? status_of((int)worst) : VF_OK;
    return status == VF_OK && b->failed == 0 && b->kept.pieces ? kept_gather_ranks(&b->kept) : status;
}

static vf_status sum_up(const batch *b)
{
    const int64_t all = b->behind - b->first;
    if (b->failed == 0 && !b->p->quiet)
        printf("done       all %" PRId64 " inputs\n", all);
    return b->failed == 0
               ? VF_OK
               : vf_fail(b->ctx, b->worst, "%" PRId64 " of %" PRId64 " inputs failed; see above", b->failed, all);
}

bool batch_asked(const program *p)
{
    return p->endings && (p->given.inputs > 1 || program_given(p, "list"));
}

vf_status batch_run(vf_context *ctx, program *p)
{
    batch b = {.ctx = ctx, .p = p, .asked = {.resume = program_given(p, "resume")}};
    bool idle = false;
    const char *list = option_text(p->options, &p->given, "list"), *part = option_text(p->options, &p->given, "part");
    pieces_settings share = {0};
    vf_status status = VF_OK;
    for (int n = 0; status == VF_OK && n < p->given.inputs; n++)
        status = add_input(&b, p->given.input[n]);
    if (status == VF_OK && list)
        status = read_list(&b, list);
    if (status == VF_OK && b.count == 0)
        status = vf_fail(ctx, VF_ERR_INPUT, "--list %s: there are no names in it", list);
    VF_TRY(status, check_outputs(&b));
    VF_TRY(status, check_collisions(&b));
    if (status == VF_OK && part)
        status = parse_part(ctx, "part", part, &share);
    b.behind = b.count;
    if (part) {
        b.first = pieces_part_begins(b.count, share.part, share.parts);
        b.behind = pieces_part_begins(b.count, share.part + 1, share.parts);
    }
    b.asked.mpi = mpi_library(p);
    b.asked.parts = share.parts;
    VF_TRY(status, batch_make_folder(ctx, p));
    VF_TRY(status, job_begin(ctx, p, &b.asked, &idle));
    if (status == VF_OK && b.asked.ranks)
        status = pass_threads(ctx);
    if (status == VF_OK && b.asked.ranks)
        status = run_shared(&b);
    if (status == VF_OK && !b.asked.ranks && !idle)
        status = keep(&b);
    if (status == VF_OK && !b.asked.ranks && !idle)
        status = run_all(&b);
    if (status == VF_OK && !idle && !job_is_other(&b.asked))
        status = batch_write_index(ctx, p, b.input, b.count);
    if (status == VF_OK && !idle && !job_is_other(&b.asked))
        status = sum_up(&b);
    status = kept_end(&b.kept, status);
    free(b.input);
    free(b.list);
    return job_end(ctx, p, &b.asked, status);
}
