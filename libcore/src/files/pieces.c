#include "voxfield/pieces.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "exact_io.h"
#include "voxfield/timer.h"

/* The file: a header, the texts of key and maker, records: each a header and, unless they are in a file apart, the items. */
typedef struct file_header {
    char magic[8];
    uint32_t version, order; /* ORDER in the machine's byte order */
    int64_t items;
    uint64_t item_bytes;
    uint32_t key_bytes, maker_bytes;
    uint32_t checksum; /* of the members before, and of the texts */
    uint32_t unused;
} file_header;

typedef struct record_header {
    uint32_t magic;
    uint32_t data_checksum;
    int64_t first, count;
    uint32_t unused;
    uint32_t checksum; /* of the members before */
} record_header;

static const char magic[8] = {'V', 'F', 'P', 'I', 'E', 'C', 'E', 'S'};
enum { VERSION = 1, VERSION_APART = 2, MOST_TEXT = 1 << 20 };  /* 2: the items are in a file apart */
static const uint32_t ORDER = 0x01020304, RECORD = 0x43504656; /* "VFPC" */

typedef struct piece_file {
    int fd;
    char *path;
    char *key, *maker; /* as in the file */
    off_t end;         /* behind the last whole record */
} piece_file;

struct vf_pieces {
    vf_context *ctx;
    int64_t items;
    size_t item_bytes;
    int data;           /* the file apart; -1: none */
    int64_t data_begin; /* of item 0 in it */
    char *maker;
    int files; /* the first is the one that grows */
    piece_file *file;
    struct {
        off_t at; /* 0: not there */
        int file;
    } * place; /* [items] */
    double synced;
};

static uint32_t checksum(uint32_t before, const void *data, size_t bytes)
{
    return (uint32_t)crc32_z(before, data, bytes);
}

static uint32_t header_checksum(const file_header *h, const char *key, const char *maker)
{
    uint32_t sum = checksum(0, h, offsetof(file_header, checksum));
    sum = checksum(sum, key, h->key_bytes);
    return checksum(sum, maker, h->maker_bytes);
}

static vf_status cannot_write(const vf_pieces *p, int error)
{
    return vf_fail(p->ctx, VF_ERR_OUTPUT, "%s: cannot write: %s", p->file[0].path, strerror(error));
}

static vf_status cannot_read(const vf_pieces *p, const piece_file *f, int error)
{
    return vf_fail(p->ctx, VF_ERR_INPUT, "%s: %s%s", f->path, error ? "cannot read: " : "it ends too early",
                   error ? strerror(error) : "");
}

/* ---- the header ---- */

static vf_status write_header(vf_pieces *p, const vf_pieces_result *result)
{
    piece_file *f = &p->file[0];
    file_header h = {.version = result->data ? VERSION_APART : VERSION,
                     .order = ORDER,
                     .items = result->items,
                     .item_bytes = result->item_bytes,
                     .key_bytes = (uint32_t)strlen(result->key),
                     .maker_bytes = (uint32_t)strlen(result->maker)};
    memcpy(h.magic, magic, sizeof magic);
    h.checksum = header_checksum(&h, result->key, result->maker);
    f->end = (off_t)(sizeof h + h.key_bytes + h.maker_bytes);
    if (ftruncate(f->fd, 0) != 0 || !write_at(f->fd, 0, &h, sizeof h) ||
        !write_at(f->fd, sizeof h, result->key, h.key_bytes) ||
        !write_at(f->fd, (off_t)(sizeof h + h.key_bytes), result->maker, h.maker_bytes) || fdatasync(f->fd) != 0)
        return cannot_write(p, errno);
    f->key = strdup(result->key);
    f->maker = strdup(result->maker);
    return f->key && f->maker ? VF_OK : vf_fail(p->ctx, VF_ERR_MEMORY, "no memory");
}

static char *read_text(int fd, off_t at, size_t bytes)
{
    char *text = calloc(1, bytes + 1);
    if (text && !read_at(fd, at, text, bytes)) {
        free(text);
        text = NULL;
    }
    return text;
}

/* *begun: false if the run that made the file was killed before the header was whole. */
static vf_status read_header(vf_pieces *p, piece_file *f, const vf_pieces_result *result, bool *begun)
{
    file_header h = {0};
    struct stat status;
    *begun = true;
    if (fstat(f->fd, &status) != 0)
        return cannot_read(p, f, errno);
    if (!read_at(f->fd, 0, &h, sizeof h)) {
        if (errno)
            return cannot_read(p, f, errno);
        const size_t some = status.st_size < (off_t)sizeof magic ? (size_t)status.st_size : sizeof magic;
        *begun = memcmp(h.magic, magic, some) != 0; /* part of our header: begin anew */
        return *begun ? vf_fail(p->ctx, VF_ERR_INPUT, "%s is not a file of pieces", f->path) : VF_OK;
    }
    if (memcmp(h.magic, magic, sizeof magic) != 0)
        return vf_fail(p->ctx, VF_ERR_INPUT, "%s is not a file of pieces", f->path);
    if (h.version != (result->data ? VERSION_APART : VERSION) || h.order != ORDER)
        return vf_fail(p->ctx, VF_ERR_INPUT, "%s was written by another version, or on another kind of machine",
                       f->path);
    if (h.key_bytes > MOST_TEXT || h.maker_bytes > MOST_TEXT)
        return vf_fail(p->ctx, VF_ERR_INPUT, "%s is damaged: its header has impossible sizes", f->path);
    f->end = (off_t)(sizeof h + h.key_bytes + h.maker_bytes);
    if (status.st_size < f->end) {
        *begun = false;
        return VF_OK;
    }
    f->key = read_text(f->fd, sizeof h, h.key_bytes);
    f->maker = read_text(f->fd, (off_t)(sizeof h + h.key_bytes), h.maker_bytes);
    if (!f->key || !f->maker)
        return vf_fail(p->ctx, VF_ERR_MEMORY, "no memory");
    if (h.checksum != header_checksum(&h, f->key, f->maker))
        return vf_fail(p->ctx, VF_ERR_INPUT, "%s is damaged: its header does not match its checksum", f->path);
    if (strcmp(f->key, result->key) == 0 && (h.items != result->items || h.item_bytes != result->item_bytes))
        return vf_fail(p->ctx, VF_ERR_INPUT, "%s has %" PRId64 " pieces of %" PRIu64 " bytes, not %" PRId64 " of %zu",
                       f->path, h.items, h.item_bytes, result->items, result->item_bytes);
    return VF_OK;
}

/* Compares texts line by line; the message has the first lines that differ. */
static vf_status compare(const vf_pieces *p, const piece_file *f, const char *there, const char *here)
{
    if (strcmp(there, here) == 0)
        return VF_OK;
    size_t n = 0;
    while (there[n] == here[n])
        n++;
    while (n > 0 && there[n - 1] != '\n')
        n--;
    const int long_there = (int)strcspn(there + n, "\n"), long_here = (int)strcspn(here + n, "\n");
    return vf_fail(p->ctx, VF_ERR_INPUT,
                   "%s does not fit: it was made with '%.*s', and this run has '%.*s'; use the options and the input "
                   "that it was made with, or delete it",
                   f->path, long_there < 200 ? long_there : 200, there + n, long_here < 200 ? long_here : 200,
                   here + n);
}

/* ---- records ---- */

/* The file that has the items whose records are in `f`. */
static int items_of(const vf_pieces *p, const piece_file *f)
{
    return p->data < 0 ? f->fd : p->data;
}

/* Where the items of a record are whose header begins at `at`. */
static off_t data_of(const vf_pieces *p, off_t at, int64_t first)
{
    return p->data < 0 ? at + (off_t)sizeof(record_header) : (off_t)(p->data_begin + first * (int64_t)p->item_bytes);
}

/* The bytes of a record. */
static off_t record_bytes(const vf_pieces *p, int64_t count)
{
    return (off_t)sizeof(record_header) + (p->data < 0 ? (off_t)((size_t)count * p->item_bytes) : 0);
}

static bool data_matches(vf_pieces *p, const piece_file *f, const record_header *h, off_t at, char *buffer)
{
    uint32_t sum = 0;
    for (int64_t n = 0; n < h->count; n++) {
        if (!read_at(items_of(p, f), at + (off_t)((size_t)n * p->item_bytes), buffer, p->item_bytes))
            return false;
        sum = checksum(sum, buffer, p->item_bytes);
    }
    return sum == h->data_checksum;
}

/* Finds the records of a file; what comes after the last whole one is not counted to it. */
static vf_status find_records(vf_pieces *p, int number)
{
    piece_file *f = &p->file[number];
    struct stat status;
    record_header h;
    int64_t bad = 0;
    char *buffer = malloc(p->item_bytes);
    if (!buffer)
        return vf_fail(p->ctx, VF_ERR_MEMORY, "no memory");
    if (fstat(f->fd, &status) != 0) {
        free(buffer);
        return cannot_read(p, f, errno);
    }
    while (read_at(f->fd, f->end, &h, sizeof h) && h.magic == RECORD &&
           h.checksum == checksum(0, &h, offsetof(record_header, checksum)) && h.first >= 0 && h.count > 0 &&
           h.count <= p->items - h.first && !vf_cancelled(p->ctx)) {
        const off_t data = data_of(p, f->end, h.first), end = f->end + record_bytes(p, h.count);
        if (end > status.st_size)
            break;
        const bool good = data_matches(p, f, &h, data, buffer);
        bad += good ? 0 : h.count;
        for (int64_t n = 0; good && n < h.count; n++)
            if (p->place[h.first + n].at == 0) {
                p->place[h.first + n].at = data + (off_t)((size_t)n * p->item_bytes);
                p->place[h.first + n].file = number;
            }
        f->end = end;
    }
    free(buffer);
    if (bad > 0)
        vf_warn(p->ctx, "%s: %" PRId64 " piece%s left out, because of wrong checksums", f->path, bad, vf_plural(bad));
    return vf_cancelled(p->ctx) ? vf_fail(p->ctx, VF_ERR_CANCELLED, "interrupted") : VF_OK;
}

/* ---- opening ---- */

static vf_status allocate(vf_context *ctx, const vf_pieces_result *result, int files, vf_pieces **out)
{
    vf_pieces *p = *out = calloc(1, sizeof *p);
    if (p) {
        *p = (vf_pieces){.ctx = ctx,
                         .items = result->items,
                         .item_bytes = result->item_bytes,
                         .data = -1,
                         .data_begin = result->data_begin,
                         .files = files,
                         .synced = vf_now()};
        p->place = calloc((size_t)result->items, sizeof *p->place);
        p->file = calloc((size_t)files, sizeof *p->file);
        p->maker = strdup(result->maker);
    }
    for (int n = 0; p && p->file && n < files; n++)
        p->file[n].fd = -1;
    return p && p->place && p->file && p->maker
               ? VF_OK
               : vf_fail(ctx, VF_ERR_MEMORY, "no memory for %" PRId64 " pieces", result->items);
}

/* False: another run holds the file, and not only because it is still ending. */
static bool lock(int fd, int how)
{
    const struct timespec pause = {.tv_nsec = 50000000};
    const double until = vf_now() + 0.5;
    int failed;
    while ((failed = flock(fd, how | LOCK_NB)) != 0 && errno == EWOULDBLOCK && vf_now() < until)
        (void)nanosleep(&pause, NULL);
    return failed == 0 || errno != EWOULDBLOCK;
}

/* `how`: the flags of open(). Writers exclude all others, readers writers; where there are no locks, nothing does. */
static vf_status open_file(vf_pieces *p, piece_file *f, const char *path, int how)
{
    const bool writes = (how & O_ACCMODE) != O_RDONLY;
    f->path = strdup(path);
    if (!f->path)
        return vf_fail(p->ctx, VF_ERR_MEMORY, "no memory");
    f->fd = open(path, how | O_CLOEXEC, 0666);
    if (f->fd < 0)
        return vf_fail(p->ctx, writes ? VF_ERR_OUTPUT : VF_ERR_INPUT, "%s: cannot open: %s", path, strerror(errno));
    if (!lock(f->fd, writes ? LOCK_EX : LOCK_SH))
        return vf_fail(p->ctx, writes ? VF_ERR_OUTPUT : VF_ERR_INPUT,
                       "%s: another run is %s it; wait for its end, or stop it", path,
                       writes ? "using" : "still writing");
    return VF_OK;
}

/* The file apart has its final size at once. Not before it is certain that the file of pieces is that of this result. */
static vf_status open_data(vf_pieces *p, const vf_pieces_result *result)
{
    const int64_t bytes = result->data_begin + result->items * (int64_t)result->item_bytes;
    if (!result->data)
        return VF_OK;
    p->data = open(result->data, O_RDWR | O_CLOEXEC | (result->makes_data ? O_CREAT : 0), 0666);
    if (p->data < 0 || ftruncate(p->data, bytes) != 0)
        return vf_fail(p->ctx, VF_ERR_OUTPUT, "%s: cannot write: %s", result->data, strerror(errno));
    return VF_OK;
}

static void release(vf_pieces **pieces)
{
    vf_pieces *p = *pieces;
    *pieces = NULL;
    for (int n = 0; p && p->file && n < p->files; n++) {
        if (p->file[n].fd >= 0)
            close(p->file[n].fd);
        free(p->file[n].path);
        free(p->file[n].key);
        free(p->file[n].maker);
    }
    if (p) {
        if (p->data >= 0)
            close(p->data);
        free(p->file);
        free(p->place);
        free(p->maker);
    }
    free(p);
}

static vf_status end_opening(vf_status status, vf_pieces **out)
{
    if (status != VF_OK)
        release(out);
    return status;
}

vf_status vf_pieces_create(vf_context *ctx, const char *path, const vf_pieces_result *result, vf_pieces **out)
{
    vf_status status = allocate(ctx, result, 1, out);
    VF_TRY(status, open_file(*out, &(*out)->file[0], path, O_RDWR | O_CREAT | O_EXCL));
    if (status == VF_OK && (status = open_data(*out, result)) != VF_OK)
        (void)unlink(path);
    VF_TRY(status, write_header(*out, result));
    return end_opening(status, out);
}

vf_status vf_pieces_resume(vf_context *ctx, const char *path, const vf_pieces_result *result, vf_pieces **out)
{
    bool begun = true;
    vf_status status = allocate(ctx, result, 1, out);
    piece_file *f = status == VF_OK ? &(*out)->file[0] : NULL;
    VF_TRY(status, open_file(*out, f, path, O_RDWR));
    VF_TRY(status, read_header(*out, f, result, &begun));
    if (status == VF_OK && begun)
        status = compare(*out, f, f->key, result->key);
    if (status == VF_OK && begun)
        status = compare(*out, f, f->maker, result->maker);
    VF_TRY(status, open_data(*out, result));
    if (status == VF_OK && !begun)
        return end_opening(write_header(*out, result), out);
    VF_TRY(status, find_records(*out, 0));
    if (status == VF_OK && ftruncate(f->fd, f->end) != 0)
        status = cannot_write(*out, errno);
    return end_opening(status, out);
}

vf_status vf_pieces_gather(vf_context *ctx, int count, const char *const *paths, const vf_pieces_result *result,
                           vf_pieces **out)
{
    vf_status status = allocate(ctx, result, count, out);
    for (int n = 0; status == VF_OK && n < count; n++) {
        bool begun = true;
        piece_file *f = &(*out)->file[n];
        status = open_file(*out, f, paths[n], O_RDONLY);
        VF_TRY(status, read_header(*out, f, result, &begun));
        if (status == VF_OK && !begun)
            status = cannot_read(*out, f, 0);
        VF_TRY(status, compare(*out, f, f->key, result->key));
        if (status == VF_OK && n > 0)
            status = compare(*out, f, f->maker, (*out)->file[0].maker);
        if (status == VF_OK && n == 0)
            status = open_data(*out, result);
        VF_TRY(status, find_records(*out, n));
    }
    return end_opening(status, out);
}

/* ---- use ---- */

const char *vf_pieces_maker(const vf_pieces *p)
{
    return p->file[0].maker;
}

int64_t vf_pieces_count(const vf_pieces *p, int64_t first, int64_t behind)
{
    int64_t count = 0;
    for (int64_t n = first; n < behind; n++)
        count += p->place[n].at > 0;
    return count;
}

bool vf_pieces_next(const vf_pieces *p, bool there, int64_t from, int64_t behind, int64_t *first, int64_t *end)
{
    while (from < behind && (p->place[from].at > 0) != there)
        from++;
    *first = *end = from;
    while (*end < behind && (p->place[*end].at > 0) == there)
        ++*end;
    return *end > *first;
}

vf_status vf_pieces_sync(vf_pieces *p)
{
    p->synced = vf_now();
    const bool items = p->data < 0 || fdatasync(p->data) == 0; /* first: a record says that they are there */
    return items && fdatasync(p->file[0].fd) == 0 ? VF_OK : cannot_write(p, errno);
}

static vf_status add_record(vf_pieces *p, int64_t first, int64_t count, const void *data)
{
    piece_file *f = &p->file[0];
    const size_t bytes = (size_t)count * p->item_bytes;
    record_header h = {.magic = RECORD, .data_checksum = checksum(0, data, bytes), .first = first, .count = count};
    h.checksum = checksum(0, &h, offsetof(record_header, checksum));
    const off_t at = data_of(p, f->end, first);
    if (!write_at(items_of(p, f), at, data, bytes) || !write_at(f->fd, f->end, &h, sizeof h)) {
        const int error = errno;
        const int cut = ftruncate(f->fd, f->end); /* if this fails, too, the next run does it */
        (void)cut;
        return cannot_write(p, error);
    }
    for (int64_t n = 0; n < count; n++)
        if (p->place[first + n].at == 0)
            p->place[first + n].at = at + (off_t)((size_t)n * p->item_bytes);
    f->end += record_bytes(p, count);
    return vf_now() - p->synced >= VF_PIECES_SYNC_SECONDS ? vf_pieces_sync(p) : VF_OK;
}

vf_status vf_pieces_add(vf_pieces *p, int64_t first, int64_t count, const void *data)
{
    int64_t from, end;
    vf_status status = VF_OK;
    if (p->data < 0)
        return add_record(p, first, count, data);
    for (int64_t at = first; status == VF_OK && vf_pieces_next(p, false, at, first + count, &from, &end); at = end)
        status = add_record(p, from, end - from, (const char *)data + (size_t)(from - first) * p->item_bytes);
    return status;
}

vf_status vf_pieces_get(vf_pieces *p, int64_t item, void *data)
{
    if (item < 0 || item >= p->items || p->place[item].at == 0)
        return vf_fail(p->ctx, VF_ERR_INTERNAL, "piece %" PRId64 " is not there", item);
    const piece_file *f = &p->file[p->place[item].file];
    return read_at(items_of(p, f), p->place[item].at, data, p->item_bytes) ? VF_OK : cannot_read(p, f, errno);
}

vf_status vf_pieces_close(vf_pieces **pieces)
{
    vf_status status = VF_OK;
    if (*pieces && (fcntl((*pieces)->file[0].fd, F_GETFL) & O_ACCMODE) != O_RDONLY)
        status = vf_pieces_sync(*pieces);
    release(pieces);
    return status;
}

void vf_pieces_remove(vf_pieces **pieces)
{
    for (int n = 0; *pieces && n < (*pieces)->files; n++)
        (void)unlink((*pieces)->file[n].path);
    release(pieces);
}
