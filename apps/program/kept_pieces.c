#include "kept_pieces.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kept_names.h"
#include "program.h"
#include "voxfield/append.h"
#include "voxfield/digest.h"
#include "voxfield/timer.h"
#include "voxfield/version.h"

/* From here on the pieces are kept without being asked for. Writing them takes a small part of that. */
static const double seconds_to_keep = 120;

/* ---- options ---- */

const option_choice journal_modes[] = {{"auto", JOURNAL_AUTO, "if the run is expected to take two minutes or more"},
                                       {"yes", JOURNAL_YES, "always"},
                                       {"no", JOURNAL_NO, "never; a run that ends early begins anew"},
                                       {0}};

const option_choice mpi_libraries[] = {{"auto", VF_RANKS_AUTO, "the launcher's, as the environment shows"},
                                       {"no", VF_RANKS_NO, "none: each process works alone"},
                                       {"openmpi", VF_RANKS_OPENMPI, "Open MPI"},
                                       {"mpich", VF_RANKS_MPICH, "MPICH"},
                                       {0}};

/* Reads a number of parts and moves *text behind it. */
static bool read_number(const char **text, int *out)
{
    char *end;
    if (**text < '0' || **text > '9')
        return false;
    const long long value = strtoll(*text, &end, 10);
    *text = end;
    *out = value <= PIECES_MOST_PARTS ? (int)value : 0;
    return *out > 0;
}

/* "2", `between`, "4". */
static bool read_part(const char *text, const char *between, int *part, int *parts)
{
    const size_t length = strlen(between);
    if (!read_number(&text, part) || strncmp(text, between, length) != 0)
        return false;
    text += length;
    return read_number(&text, parts) && *text == '\0' && *part <= *parts;
}

vf_status parse_part(vf_context *ctx, const char *option, const char *text, pieces_settings *out)
{
    if (read_part(text, "/", &out->part, &out->parts))
        return VF_OK;
    return vf_fail(ctx, VF_ERR_ARGUMENT, "--%s '%s': a part is I/N, from 1/N to N/N, such as 2/4", option, text);
}

/* ---- what a result depends on ---- */

/* Continues a checksum with a file's bytes. False: it is no plain file. */
static bool add_file(const char *path, uint64_t *fingerprint)
{
    enum { PIECE = 1 << 20 };
    char *buffer = malloc(PIECE);
    struct stat status;
    const bool plain = stat(path, &status) == 0 && S_ISREG(status.st_mode);
    FILE *file = buffer && plain ? fopen(path, "rbe") : NULL;
    size_t got;
    while (file && (got = fread(buffer, 1, PIECE, file)) > 0)
        *fingerprint = vf_fingerprint(*fingerprint, buffer, got);
    const bool read = file && !ferror(file);
    if (file)
        (void)fclose(file);
    free(buffer);
    return read;
}

/* Continues a checksum with the other files of a pair: .hdr and .cfl of BART, or .hdr and .img, maybe packed. */
static void add_others_of_pair(const char *path, uint64_t *out)
{
    static const char *const endings[] = {".hdr", ".cfl", ".img", ".hdr.gz", ".img.gz"};
    enum { ENDINGS = sizeof endings / sizeof *endings };
    const size_t length = strlen(path);
    for (int own = 0; own < ENDINGS; own++) {
        const size_t dot = strlen(endings[own]);
        if (strcmp(endings[own], ".cfl") == 0 || length <= dot || strcmp(path + length - dot, endings[own]) != 0)
            continue;
        for (int other = 0; other < ENDINGS; other++) {
            char *name = NULL;
            if (other != own && asprintf(&name, "%.*s%s", (int)(length - dot), path, endings[other]) >= 0)
                (void)add_file(name, out);
            free(name);
        }
        return;
    }
}

/* The checksum of a file, or of both of a pair, of BART's even if it is named without an extension. False: there is no such
 * file. */
static bool file_fingerprint(const char *path, uint64_t *out)
{
    const size_t length = strlen(path), dot = strlen(".cfl");
    const bool named = length > dot && strcmp(path + length - dot, ".cfl") == 0;
    char *header = NULL, *data = NULL;
    const int stem = (int)(named ? length - dot : length);
    *out = 0;
    bool found = add_file(path, out);
    if (found)
        add_others_of_pair(path, out);
    if ((named || !found) && asprintf(&header, "%.*s.hdr", stem, path) >= 0 &&
        asprintf(&data, "%.*s.cfl", stem, path) >= 0)
        found = (found || add_file(data, out)) && add_file(header, out);
    free(header);
    free(data);
    return found;
}

static bool counts_for_key(const program_option *row)
{
    return row->scope == OPTION_OF_RESULT && row->kind != OPTION_GROUP && row->kind != OPTION_WRITE &&
           row->kind != OPTION_PICTURE && !option_asks(row->kind);
}

char *pieces_key(const struct program *p, const char *input)
{
    char *text = NULL;
    size_t size = 0;
    uint64_t fingerprint;
    FILE *to = open_memstream(&text, &size);
    if (!to)
        return NULL;
    fprintf(to, "program %s %s\n", p->name, VF_VERSION);
    if (file_fingerprint(input, &fingerprint))
        fprintf(to, "input with the checksum %016" PRIx64 "\n", fingerprint);
    for (const program_option *row = p->options; row->kind != OPTION_END; row++) {
        const char *value = p->given.text[row - p->options];
        if (!counts_for_key(row))
            continue;
        if (!value)
            fprintf(to, "no --%s\n", row->name);
        else if (file_fingerprint(value, &fingerprint))
            fprintf(to, "--%s with the checksum %016" PRIx64 "\n", row->name, fingerprint);
        else
            fprintf(to, "--%s%s%s\n", row->name, value[0] ? " " : "", value);
    }
    if (fclose(to) != 0) {
        free(text);
        text = NULL;
    }
    return text;
}

/* ---- names ---- */

static int rank_of(const pieces_settings *s)
{
    return s->ranks ? vf_ranks_rank(s->ranks) : 0;
}

int64_t pieces_part_begins(int64_t items, int part, int parts)
{
    return items / parts * (part - 1) + items % parts * (part - 1) / parts;
}

/* The same in whole groups, if there are enough. */
static int64_t part_begins(const kept_pieces *k, int part, int parts)
{
    const int64_t group = k->items / k->group < parts ? 1 : k->group;
    return group * pieces_part_begins(k->items / group, part, parts);
}

/* The number of parts, from the names in the folder of the output. Errors: VF_ERR_INPUT (none, or several). */
static vf_status count_parts(vf_context *ctx, const char *output, int *parts)
{
    static const char before[] = ".part-";
    const char *slash = strrchr(output, '/'), *name = slash ? slash + 1 : output;
    char *folder = slash ? strndup(output, (size_t)(slash - output) + 1) : strdup(".");
    DIR *files = folder ? opendir(folder) : NULL;
    const size_t length = strlen(name);
    const struct dirent *entry;
    int part, of, others = 0;
    *parts = 0;
    while (files && (entry = readdir(files)))
        if (strncmp(entry->d_name, name, length) == 0 && strncmp(entry->d_name + length, before, strlen(before)) == 0 &&
            read_part(entry->d_name + length + strlen(before), "-of-", &part, &of) && of != *parts) {
            others = *parts;
            *parts = of;
        }
    if (files)
        closedir(files);
    free(folder);
    if (*parts < 1 || *parts > PIECES_MOST_PARTS)
        return vf_fail(ctx, VF_ERR_INPUT, "%s.part-1-of-N: there are no parts to join; make them with --part 1/N, ...",
                       output);
    if (others)
        return vf_fail(ctx, VF_ERR_INPUT, "%s: there are parts of %d and parts of %d; delete those that are not wanted",
                       output, others, *parts);
    return VF_OK;
}

/* ---- parts that are joined ---- */

/* Names the parts that are not complete. */
static vf_status check_complete(const kept_pieces *k, const char *what)
{
    char text[600] = "";
    int bad = 0;
    for (int p = 1; p <= k->files; p++) {
        const int64_t first = part_begins(k, p, k->files), behind = part_begins(k, p + 1, k->files);
        const int64_t there = vf_pieces_count(k->pieces, first, behind);
        if (there < behind - first && ++bad <= 5)
            vf_append(text, sizeof text, "%s part %d has %" PRId64 " of %" PRId64, bad > 1 ? "," : "", p, there,
                      behind - first);
    }
    if (vf_pieces_count(k->pieces, 0, k->items) == k->items)
        return VF_OK;
    return vf_fail(k->ctx, VF_ERR_INPUT, "%s: not all %ss are there:%s%s; run these parts again with --resume",
                   k->output, what, text, bad > 5 ? ", ..." : "");
}

static vf_status gather(kept_pieces *k, const vf_pieces_result *result)
{
    vf_status status = count_parts(k->ctx, k->output, &k->files);
    const char **paths = status == VF_OK ? calloc((size_t)k->files, sizeof *paths) : NULL;
    for (int n = 0; paths && n < k->files; n++) {
        char *path = kept_part_path(k->output, n + 1, k->files);
        if (!path)
            status = vf_fail(k->ctx, VF_ERR_MEMORY, "no memory");
        else if (status == VF_OK && access(path, F_OK) != 0)
            status = vf_fail(k->ctx, VF_ERR_INPUT, "%s is missing; make it with --part %d/%d", path, n + 1, k->files);
        paths[n] = path;
    }
    if (status == VF_OK && !paths)
        status = vf_fail(k->ctx, VF_ERR_MEMORY, "no memory for %d names", k->files);
    VF_TRY(status, vf_pieces_gather(k->ctx, k->files, paths, result, &k->pieces));
    for (int n = 0; paths && n < k->files; n++)
        free((char *)paths[n]);
    free(paths);
    return status == VF_OK ? check_complete(k, k->what) : status;
}

/* ---- one run's pieces ---- */

static vf_pieces_result result_of(const kept_pieces *k)
{
    return (vf_pieces_result){.key = k->key,
                              .maker = k->maker,
                              .items = k->items,
                              .item_bytes = k->item_bytes,
                              .data = k->data,
                              .data_begin = k->data_begin,
                              .makes_data = rank_of(&k->asked) == 0};
}

static bool is_special(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && !S_ISREG(status.st_mode);
}

/* Makes the file, if there is a place for it. A run that was not asked to keep its pieces does without. */
static vf_status create(kept_pieces *k, const vf_pieces_result *result, bool wanted)
{
    const double bytes = k->data ? 0 : (double)result->item_bytes * (double)(k->behind - k->first);
    vf_status status =
        program_check_place(k->ctx, k->path, bytes, wanted ? "use a larger disk" : "it is not needed: --journal no");
    VF_TRY(status, vf_pieces_create(k->ctx, k->path, result, &k->pieces));
    if (status == VF_OK || wanted)
        return status;
    if (k->data && access(k->path, F_OK) != 0) /* otherwise it is that of a run that began at the same moment */
        (void)unlink(k->data);
    free(k->data);
    k->data = NULL;
    vf_warn(k->ctx, "%s; so the run cannot be resumed", vf_context_message(k->ctx));
    vf_context_clear_error(k->ctx);
    return VF_OK;
}

static bool asks(const pieces_settings *s)
{
    return s->parts > 0 || s->resume || s->journal == JOURNAL_YES || s->ranks;
}

bool kept_wanted(const pieces_settings *s, const char *output, double seconds)
{
    return asks(s) || s->join || (s->journal == JOURNAL_AUTO && seconds >= seconds_to_keep && !is_special(output));
}

/* Moves the pieces of another rank into this run's file. The rank may have been killed before its file's header was whole. */
static vf_status adopt(kept_pieces *k, const vf_pieces_result *result, const char *path)
{
    vf_pieces *other;
    char *item = malloc(result->item_bytes);
    vf_status status =
        item ? vf_pieces_resume(k->ctx, path, result, &other) : vf_fail(k->ctx, VF_ERR_MEMORY, "no memory");
    for (int64_t n = 0; status == VF_OK && n < result->items; n++) {
        if (vf_pieces_count(other, n, n + 1) == 0 || vf_pieces_count(k->pieces, n, n + 1) > 0)
            continue;
        status = vf_pieces_get(other, n, item);
        VF_TRY(status, vf_pieces_add(k->pieces, n, 1, item));
    }
    free(item);
    VF_TRY(status, vf_pieces_sync(k->pieces));
    if (status == VF_OK)
        vf_pieces_remove(&other);
    else if (item && vf_pieces_close(&other) != VF_OK)
        vf_warn(k->ctx, "%s may not be on the disk", path);
    return status;
}

static vf_status open_or_create(kept_pieces *k, const vf_pieces_result *result)
{
    const pieces_settings *s = &k->asked;
    const bool wanted = asks(s);
    if (wanted && is_special(k->output))
        return vf_fail(k->ctx, VF_ERR_ARGUMENT, "%s: --part, --resume and --journal need an output that is a file",
                       k->output);
    char *other = s->parts > 0 || rank_of(s) > 0 ? NULL : kept_rank_file(k->output);
    const bool is_there = access(k->path, F_OK) == 0;
    vf_status status = VF_OK;
    if ((is_there || other) && !s->resume)
        status = vf_fail(k->ctx, VF_ERR_OUTPUT,
                         "%s is there, from an earlier run; go on from it with --resume, or delete it",
                         is_there ? k->path : other);
    else
        status = is_there ? vf_pieces_resume(k->ctx, k->path, result, &k->pieces) : create(k, result, wanted);
    while (status == VF_OK && other && k->pieces) {
        status = adopt(k, result, other);
        free(other);
        other = status == VF_OK ? kept_rank_file(k->output) : NULL;
    }
    free(other);
    return status;
}

vf_status kept_plan(vf_context *ctx, const pieces_settings *asked, const char *output, int64_t items, int64_t group,
                    const char *what, kept_pieces *k)
{
    *k = (kept_pieces){.ctx = ctx, .asked = *asked, .what = what, .items = items, .group = group, .behind = items};
    k->output = strdup(output);
    if (asked->parts > 0) {
        k->path = kept_part_path(output, asked->part, asked->parts);
        k->first = part_begins(k, asked->part, asked->parts);
        k->behind = part_begins(k, asked->part + 1, asked->parts);
    } else if (rank_of(asked) > 0 ? asprintf(&k->path, "%s.pieces-%d", output, rank_of(asked)) < 0
                                  : asprintf(&k->path, "%s.pieces", output) < 0) {
        k->path = NULL;
    }
    return k->output && k->path ? VF_OK : vf_fail(ctx, VF_ERR_MEMORY, "no memory");
}

vf_status kept_begin(vf_context *ctx, const pieces_settings *asked, const char *output, const vf_pieces_result *result,
                     int64_t group, const char *what, kept_pieces *k)
{
    vf_status status = kept_plan(ctx, asked, output, result->items, group, what, k);
    k->key = strdup(result->key);
    k->maker = strdup(result->maker);
    k->item_bytes = result->item_bytes;
    k->data_begin = result->data_begin;
    k->data = k->data_begin > 0 ? kept_data_path(output) : NULL;
    if (status == VF_OK && (!k->key || !k->maker || (k->data_begin > 0 && !k->data)))
        status = vf_fail(ctx, VF_ERR_MEMORY, "no memory");
    const vf_pieces_result own = result_of(k);
    VF_TRY(status, asked->join ? gather(k, &own) : open_or_create(k, &own));
    k->before = status == VF_OK && k->pieces ? vf_pieces_count(k->pieces, k->first, k->behind) : 0;
    return status;
}

bool kept_is_part(const kept_pieces *k)
{
    return k->asked.parts > 0 || rank_of(&k->asked) > 0;
}

bool kept_only(const kept_pieces *k)
{
    return k->asked.parts > 0 || k->asked.ranks;
}

vf_status kept_collect(kept_pieces *k, vf_status status)
{
    if (!k->asked.ranks || rank_of(&k->asked) > 0 || !k->pieces)
        return status;
    status = vf_ranks_collect(k->asked.ranks, status);
    return status == VF_OK && vf_ranks_offered(k->asked.ranks) ? kept_gather_ranks(k) : status;
}

vf_status kept_gather_ranks(kept_pieces *k)
{
    const int size = vf_ranks_size(k->asked.ranks);
    vf_status status = vf_pieces_close(&k->pieces);
    const char **paths = status == VF_OK ? calloc((size_t)size, sizeof *paths) : NULL;
    int files = 0;
    for (int n = 0; paths && n < size; n++) {
        char *path = NULL;
        if ((n == 0 ? asprintf(&path, "%s.pieces", k->output) : asprintf(&path, "%s.pieces-%d", k->output, n)) < 0)
            status = vf_fail(k->ctx, VF_ERR_MEMORY, "no memory");
        else if (n == 0 || access(path, F_OK) == 0)
            paths[files++] = path;
        else
            free(path);
    }
    if (status == VF_OK && !paths)
        status = vf_fail(k->ctx, VF_ERR_MEMORY, "no memory");
    const vf_pieces_result result = result_of(k);
    VF_TRY(status, vf_pieces_gather(k->ctx, files, paths, &result, &k->pieces));
    if (status == VF_OK && vf_pieces_count(k->pieces, 0, k->items) < k->items)
        status = vf_fail(k->ctx, VF_ERR_INPUT,
                         "%s and the files of the other ranks beside it do not have all %ss; do all ranks see the same "
                         "folder? --resume goes on from what is there",
                         paths[0], k->what);
    for (int n = 0; n < files; n++)
        free((char *)paths[n]);
    free(paths);
    return status;
}

bool kept_is_joined(const kept_pieces *k)
{
    return k->files > 0;
}

int64_t kept_missing(const kept_pieces *k)
{
    return k->behind - k->first - k->before;
}

/* ---- the end ---- */

/* After a failure: nothing that was made is lost, but a file without pieces is of no use. */
static void keep(kept_pieces *k)
{
    const int64_t there = vf_pieces_count(k->pieces, k->first, k->behind);
    const bool others = k->asked.ranks && k->items > 1 && rank_of(&k->asked) == 0 && vf_ranks_offered(k->asked.ranks);
    if (there == 0)
        vf_pieces_remove(&k->pieces);
    char *other = kept_rank_file(k->output);
    if (there == 0 && !other && k->data && rank_of(&k->asked) == 0)
        (void)unlink(k->data);
    free(other);
    if (others)
        vf_warn(k->ctx,
                "%s* keep what is done; the same command with --resume, with ranks or without, goes on from there",
                k->path);
    else if (there > 0)
        vf_warn(k->ctx, "%s keeps %" PRId64 " of %" PRId64 " %ss; the same command with --resume goes on from there",
                k->path, there, k->behind - k->first, k->what);
}

vf_status kept_end(kept_pieces *k, vf_status status)
{
    if (k->pieces && !kept_is_joined(k) && status != VF_OK)
        keep(k);
    if (k->pieces && !kept_is_joined(k) && !kept_is_part(k) && status == VF_OK)
        vf_pieces_remove(&k->pieces);
    if (status == VF_OK)
        status = vf_pieces_close(&k->pieces);
    else if (vf_pieces_close(&k->pieces) != VF_OK)
        vf_warn(k->ctx, "%s may not be on the disk", k->path);
    free(k->path);
    free(k->output);
    free(k->key);
    free(k->maker);
    free(k->data);
    *k = (kept_pieces){0};
    return status;
}
