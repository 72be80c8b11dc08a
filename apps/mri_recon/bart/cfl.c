#include "cfl.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cfl_names.h"
#include "voxfield/append.h"
#include "voxfield/output.h"

enum { MOST_HEADER = 1 << 20 }; /* bytes: dimensions take about a hundred, command lines some thousands */

struct cfl_file {
    vf_context *ctx;
    char *path, *header; /* file names */
    char *text;          /* contents of the header */
    int64_t dims[CFL_DIMS], count;
    FILE *stream;
};

/* ---- shapes ---- */

const char *cfl_dim_name(int dim)
{
    static const char *const names[CFL_DIMS] = {"READ", "PHS1",   "PHS2", "COIL",  "MAPS",  "TE",    "COEFF", "COEFF2",
                                                "ITER", "CSHIFT", "TIME", "TIME2", "LEVEL", "SLICE", "AVG",   "BATCH"};
    return names[dim];
}

const char *cfl_shape(const int64_t dims[CFL_DIMS], char text[CFL_SHAPE_TEXT])
{
    int last = CFL_DIMS - 1;
    text[0] = '\0';
    while (last > 2 && dims[last] == 1)
        last--;
    for (int d = 0; d <= last; d++)
        vf_append(text, CFL_SHAPE_TEXT, "%s%" PRId64, d ? " x " : "", dims[d]);
    return text;
}

/* ---- the header ---- */

/* Reports that one of the pair NAME.hdr and NAME.cfl cannot be opened. */
static vf_status cannot_open(const cfl_file *f, const char *missing, const char *other)
{
    const int error = errno;
    struct stat about;
    const bool has_other = stat(other, &about) == 0;
    return vf_fail(f->ctx, VF_ERR_INPUT, "%s: cannot open: %s%s%s%s", missing, strerror(error),
                   error == ENOENT && has_other ? "; it is needed with " : "",
                   error == ENOENT && has_other ? other : "",
                   error == ENOENT && has_other ? ", because BART files come in pairs (.cfl and .hdr)" : "");
}

static vf_status read_header(cfl_file *f)
{
    struct stat about;
    vf_status status = VF_OK;
    const bool regular = stat(f->header, &about) != 0 || S_ISREG(about.st_mode); /* opening a pipe would wait */
    FILE *stream = regular ? fopen(f->header, "rb") : NULL;
    if (!stream && regular)
        return cannot_open(f, f->header, f->path);
    f->text = calloc(1, MOST_HEADER + 1);
    const size_t bytes = f->text && regular ? fread(f->text, 1, MOST_HEADER, stream) : 0;
    if (!f->text)
        status = vf_fail(f->ctx, VF_ERR_MEMORY, "%s: not enough memory to read the file", f->header);
    else if (!stream || ferror(stream))
        status = vf_fail(f->ctx, VF_ERR_INPUT, "%s: cannot read: not a regular file, or a read error", f->header);
    else if (bytes == MOST_HEADER || memchr(f->text, 0, bytes))
        status = vf_fail(f->ctx, VF_ERR_INPUT, "%s: not a BART header, which is a short text", f->header);
    if (stream)
        fclose(stream);
    return status;
}

const char *cfl_section(const cfl_file *f, const char *title)
{
    const size_t length = strlen(title);
    for (const char *line = f->text; line && *line;) {
        const char *end = strchr(line, '\n');
        const char *word = line + 1 + strspn(line + 1, " \t");
        if (line[0] == '#' && strncmp(word, title, length) == 0 && strspn(word + length, " \t\r\n") > 0)
            return end ? end + 1 : "";
        line = end ? end + 1 : NULL;
    }
    return NULL;
}

/* Parses one number of the line at *at; false at the line's end. */
static bool next_number(const char **at, int64_t *value, bool *valid)
{
    char *end;
    *at += strspn(*at, " \t\r");
    if (**at == '\n' || **at == '\0')
        return false;
    errno = 0;
    *value = strtoll(*at, &end, 10);
    *valid = isdigit((unsigned char)**at) && errno == 0 && *value >= 1 && strspn(end, " \t\r\n") + (*end == '\0') > 0;
    *at = end;
    return *valid;
}

static vf_status parse_header(cfl_file *f)
{
    const char *at = cfl_section(f, "Dimensions");
    bool valid = true;
    int64_t value, bytes = (int64_t)sizeof(float complex);
    int dims = 0;
    if (!at)
        return vf_fail(f->ctx, VF_ERR_INPUT, "%s: not a BART header: the line '# Dimensions' is missing", f->header);
    for (int d = 0; d < CFL_DIMS; d++)
        f->dims[d] = 1;
    for (; next_number(&at, &value, &valid); dims++) {
        if (dims >= CFL_DIMS && value != 1)
            return vf_fail(f->ctx, VF_ERR_INPUT, "%s: more than %d dimensions", f->header, CFL_DIMS);
        if (__builtin_mul_overflow(bytes, value, &bytes))
            return vf_fail(f->ctx, VF_ERR_INPUT, "%s: the product of the dimensions is too large", f->header);
        if (dims < CFL_DIMS)
            f->dims[dims] = value;
    }
    if (!valid)
        return vf_fail(f->ctx, VF_ERR_INPUT, "%s: dimension %d (counted from 0) is not a positive integer", f->header,
                       dims);
    if (dims == 0)
        return vf_fail(f->ctx, VF_ERR_INPUT, "%s: no numbers after '# Dimensions'", f->header);
    f->count = bytes / (int64_t)sizeof(float complex);
    return VF_OK;
}

/* ---- the numbers ---- */

static vf_status check_size(const cfl_file *f)
{
    struct stat about;
    char shape[CFL_SHAPE_TEXT];
    const int64_t bytes = f->count * (int64_t)sizeof(float complex);
    if (stat(f->path, &about) != 0)
        return cannot_open(f, f->path, f->header);
    if (!S_ISREG(about.st_mode))
        return vf_fail(f->ctx, VF_ERR_INPUT, "%s: not a regular file", f->path);
    if (about.st_size != bytes)
        return vf_fail(f->ctx, VF_ERR_INPUT,
                       "%s: the file has %lld bytes, but %s says %s complex numbers, which are %" PRId64
                       " bytes; the file is incomplete, or the two do not belong together",
                       f->path, (long long)about.st_size, f->header, cfl_shape(f->dims, shape), bytes);
    return VF_OK;
}

vf_status cfl_open(vf_context *ctx, const char *path, cfl_file **out)
{
    vf_status status = VF_OK;
    *out = NULL;
    cfl_file *f = calloc(1, sizeof *f);
    if (!f)
        return vf_fail(ctx, VF_ERR_MEMORY, "%s: not enough memory to open the file", path);
    f->ctx = ctx;
    f->path = cfl_file_name(path, ".cfl");
    f->header = cfl_file_name(path, ".hdr");
    if (!f->path || !f->header)
        status = vf_fail(ctx, VF_ERR_MEMORY, "%s: not enough memory to open the file", path);
    VF_TRY(status, read_header(f));
    VF_TRY(status, parse_header(f));
    VF_TRY(status, check_size(f));
    if (status == VF_OK) {
        f->stream = fopen(f->path, "rb");
        if (!f->stream)
            status = cannot_open(f, f->path, f->header);
    }
    if (status != VF_OK)
        cfl_close(&f);
    *out = f;
    return status;
}

const int64_t *cfl_dims(const cfl_file *file)
{
    return file->dims;
}

int64_t cfl_count(const cfl_file *file)
{
    return file->count;
}

const char *cfl_path(const cfl_file *file)
{
    return file->path;
}

static vf_status not_finite(const cfl_file *f, int64_t element, float complex value)
{
    char at[CFL_SHAPE_TEXT] = "";
    for (int d = 0; d < CFL_DIMS; d++) {
        vf_append(at, sizeof at, "%s%" PRId64, d ? ", " : "", element % f->dims[d]);
        element /= f->dims[d];
    }
    return vf_fail(f->ctx, VF_ERR_INPUT, "%s: element [%s] is %s; all values must be finite numbers", f->path, at,
                   isnan(crealf(value)) || isnan(cimagf(value)) ? "nan" : "infinite");
}

vf_status cfl_read(cfl_file *f, int64_t first, int64_t count, float complex *out)
{
    const off_t at = (off_t)first * (off_t)sizeof *out;
    errno = 0;
    if (fseeko(f->stream, at, SEEK_SET) != 0 || fread(out, sizeof *out, (size_t)count, f->stream) != (size_t)count)
        return vf_fail(f->ctx, VF_ERR_INPUT, "%s: cannot read: %s", f->path,
                       errno ? strerror(errno) : "the file is now shorter than when it was opened");
    for (int64_t i = 0; i < count; i++)
        if (!isfinite(crealf(out[i])) || !isfinite(cimagf(out[i])))
            return not_finite(f, first + i, out[i]);
    return VF_OK;
}

void cfl_close(cfl_file **file)
{
    cfl_file *f = *file;
    *file = NULL;
    if (!f)
        return;
    if (f->stream)
        fclose(f->stream);
    free(f->path);
    free(f->header);
    free(f->text);
    free(f);
}

/* ---- writing ---- */

struct cfl_output {
    vf_context *ctx;
    vf_output *data, *header;
    int64_t left; /* elements */
};

/* A name that is not a regular file, such as a pipe, cannot stand for two files. */
static vf_status open_both(cfl_output *o, const char *data, const char *header)
{
    vf_status status = vf_output_open(o->ctx, data, &o->data);
    VF_TRY(status, vf_output_open(o->ctx, header, &o->header));
    return status;
}

static vf_status write_header(cfl_output *o, const int64_t dims[CFL_DIMS], const char *sections)
{
    vf_status status = vf_output_printf(o->header, "# Dimensions\n");
    for (int d = 0; d < CFL_DIMS && status == VF_OK; d++) {
        status = vf_output_printf(o->header, "%" PRId64 "%s", dims[d], d == CFL_DIMS - 1 ? "\n" : " ");
        o->left *= dims[d];
    }
    return status == VF_OK ? vf_output_printf(o->header, "%s", sections) : status;
}

vf_status cfl_create(vf_context *ctx, const char *path, const int64_t dims[CFL_DIMS], const char *sections,
                     cfl_output **out)
{
    char *data = cfl_file_name(path, ".cfl"), *header = cfl_file_name(path, ".hdr");
    cfl_output *o = calloc(1, sizeof *o);
    vf_status status = VF_OK;
    if (!data || !header || !o) {
        status = vf_fail(ctx, VF_ERR_MEMORY, "%s: not enough memory to open the file", path);
        goto done;
    }
    *o = (cfl_output){.ctx = ctx, .left = 1};
    status = open_both(o, data, header);
    VF_TRY(status, write_header(o, dims, sections));
done:
    if (status != VF_OK)
        cfl_discard(&o);
    free(data);
    free(header);
    *out = o;
    return status;
}

vf_status cfl_append(cfl_output *o, const float complex *data, int64_t count)
{
    o->left -= count;
    return vf_output_write(o->data, data, (size_t)count * sizeof *data);
}

vf_status cfl_commit(cfl_output **output)
{
    cfl_output *o = *output;
    vf_status status = VF_OK;
    if (o->left != 0)
        status =
            vf_fail(o->ctx, VF_ERR_INTERNAL, "%s: %" PRId64 " elements are missing", vf_output_path(o->data), o->left);
    VF_TRY(status, vf_output_commit(&o->data));
    VF_TRY(status, vf_output_commit(&o->header));
    cfl_discard(output);
    return status;
}

void cfl_discard(cfl_output **output)
{
    cfl_output *o = *output;
    *output = NULL;
    if (!o)
        return;
    vf_output_discard(&o->data);
    vf_output_discard(&o->header);
    free(o);
}
