/* Reads scripts of VMD's cionize. Keywords and the meaning of their numbers follow plugins/cionize of VMD 1.9.3. That
 * program skips lines it does not understand; this one stops with an error. */
#include "script.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "text/text_words.h"
#include "voxfield/append.h"
#include "voxfield/input.h"
#include "voxfield/output.h"
#include "voxfield/parse.h"

enum { MAX_BYTES = 1 << 20, MAX_WORDS = 8, NUMBER_SIZE = 64 };

typedef struct reader {
    vf_context *ctx;
    const char *name;
    script *out;
    int64_t line;
    const struct keyword *keyword; /* of the current line */
    text_piece word[MAX_WORDS];    /* words of the current line, the keyword first */
    int words;
    int64_t begin_line, exit_line; /* 0: not seen yet */
    int64_t multigrid_line, dielectric_line;
    int64_t placed_line; /* line of the last PLACEION without SAVEION; 0: none */
    bool placed;
    uint32_t given; /* bit set of keywords seen */
    int64_t given_line[16];
    int64_t capacity; /* allocated length of out->command */
} reader;

typedef enum part { SETTING, COMMAND, ANYWHERE } part;

struct keyword {
    const char *name;
    part part;
    int least, most;    /* number of arguments */
    const char *expect; /* "R_ION_SOLUTE DISTANCE" */
    vf_status (*read)(reader *r);
};

static vf_status VF_PRINTF(2, 3) fail_at(reader *r, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return vf_fail(r->ctx, VF_ERR_INPUT, "%s:%" PRId64 ": %s", r->name, r->line, text);
}

/* ---- words ---- */

static bool is_keyword(text_piece word, const char *keyword)
{
    return word.size == strlen(keyword) && strncasecmp(word.at, keyword, word.size) == 0;
}

/* Copies word `n` as a string; false if it is too long for a number or a name. */
static bool copy_word(const reader *r, int n, char text[NUMBER_SIZE])
{
    if (r->word[n].size >= NUMBER_SIZE)
        return false;
    memcpy(text, r->word[n].at, r->word[n].size);
    text[r->word[n].size] = '\0';
    return true;
}

static vf_status read_number(reader *r, int n, double least, double most, const char *unit, double *value)
{
    char text[NUMBER_SIZE], quoted[TEXT_QUOTE_SIZE];
    if (!copy_word(r, n, text) || !vf_parse_doubles(text, 1, 1, value))
        return fail_at(r, "%s: '%s' is not a number; expected %s", r->keyword->name, text_quote(r->word[n], quoted),
                       r->keyword->expect);
    if (!(*value >= least && *value <= most))
        return fail_at(r, "%s: %s is out of range; expected %g to %g %s", r->keyword->name, text, least, most, unit);
    return VF_OK;
}

static vf_status read_path(reader *r, int n, char **path)
{
    const text_piece word = r->word[n];
    for (size_t i = 0; i < word.size; i++)
        if ((unsigned char)word.at[i] < ' ' || word.at[i] == 0x7f)
            return fail_at(r, "%s: the file name contains a control character", r->keyword->name);
    *path = malloc(word.size + 1);
    if (!*path)
        return vf_fail(r->ctx, VF_ERR_MEMORY, "%s: no memory for a file name", r->name);
    memcpy(*path, word.at, word.size);
    (*path)[word.size] = '\0';
    return VF_OK;
}

/* ---- settings ---- */

static vf_status read_distance(reader *r, bool *has, double *value)
{
    *has = true;
    return read_number(r, 1, 0, 1e5, "angstrom", value);
}

static vf_status read_ion_solute(reader *r)
{
    return read_distance(r, &r->out->has_ion_solute, &r->out->ion_solute);
}

static vf_status read_ion_ion(reader *r)
{
    return read_distance(r, &r->out->has_ion_ion, &r->out->ion_ion);
}

static vf_status read_border(reader *r)
{
    return read_distance(r, &r->out->has_border, &r->out->border);
}

static vf_status read_spacing(reader *r)
{
    r->out->has_spacing = true;
    return read_number(r, 1, 1e-3, 1e4, "angstrom", &r->out->spacing);
}

static vf_status read_grid_file(reader *r)
{
    r->out->grid_file_line = r->line;
    return read_path(r, 1, &r->out->grid_file);
}

/* In VMD's order: all minima, then all maxima. */
static vf_status read_box(reader *r)
{
    r->out->has_box = true;
    for (int n = 0; n < 6; n++) {
        vf_status status =
            read_number(r, n + 1, -1e5, 1e5, "angstrom", n < 3 ? &r->out->box_lo[n] : &r->out->box_hi[n - 3]);
        if (status != VF_OK)
            return status;
    }
    for (int a = 0; a < 3; a++)
        if (r->out->box_lo[a] > r->out->box_hi[a])
            return fail_at(r, "XYZDIM: the maximum of %c is below its minimum (%g to %g); expected %s", "xyz"[a],
                           r -> out -> box_lo[a], r -> out -> box_hi[a], r -> keyword -> expect);
    return VF_OK;
}

/* VMD's program skips one of the two with a warning, depending on their order. */
static vf_status fail_methods(reader *r, const char *other, int64_t line)
{
    return fail_at(r,
                   "DDD and MULTIGRID cannot be combined, and %s is in line %" PRId64 "; leave out MULTIGRID for a "
                   "distance-dependent dielectric, or DDD for none",
                   other, line);
}

static vf_status read_dielectric(reader *r)
{
    if (r->multigrid_line > 0)
        return fail_methods(r, "MULTIGRID", r->multigrid_line);
    r->dielectric_line = r->line;
    r->out->has_distance_dielectric = true;
    return read_number(r, 1, 1e-3, 1e6, "1/angstrom", &r->out->distance_dielectric);
}

static vf_status read_multigrid(reader *r)
{
    if (r->dielectric_line > 0)
        return fail_methods(r, "DDD", r->dielectric_line);
    r->multigrid_line = r->line;
    vf_note(r->ctx,
            "%s:%" PRId64
            ": note: MULTIGRID (multilevel summation) is ignored; --method chooses between the exact sum and a fast "
            "one",
            r->name, r->line);
    return VF_OK;
}

/* ---- commands ---- */

static vf_status add_command(reader *r, script_verb verb, script_command **out)
{
    script *s = r->out;
    if (s->commands == r->capacity) {
        const int64_t capacity = r->capacity ? 2 * r->capacity : 16;
        script_command *larger = realloc(s->command, (size_t)capacity * sizeof *larger);
        if (!larger)
            return vf_fail(r->ctx, VF_ERR_MEMORY, "%s: no memory for %" PRId64 " commands", r->name, capacity);
        s->command = larger;
        r->capacity = capacity;
    }
    *out = &s->command[s->commands++];
    **out = (script_command){.verb = verb, .line = r->line};
    return VF_OK;
}

static vf_status read_begin(reader *r)
{
    r->begin_line = r->line;
    return VF_OK;
}

static vf_status read_exit(reader *r)
{
    r->exit_line = r->line;
    return VF_OK;
}

static vf_status read_savegrid(reader *r)
{
    script_command *command = NULL;
    vf_status status = add_command(r, SCRIPT_SAVEGRID, &command);
    return status == VF_OK ? read_path(r, 1, &command->path) : status;
}

static void warn_unsaved(const reader *r)
{
    if (r->placed_line > 0)
        vf_warn(r->ctx,
                "%s:%" PRId64 ": the ions of this PLACEION are never saved; add a SAVEION before the next "
                "PLACEION",
                r->name, r->placed_line);
}

static vf_status read_placeion(reader *r)
{
    char name[NUMBER_SIZE], count[NUMBER_SIZE], where[256], quoted[TEXT_QUOTE_SIZE];
    script_command *command = NULL;
    double charge = 0;
    vf_status status = add_command(r, SCRIPT_PLACEION, &command);
    if (status != VF_OK)
        return status;
    if (!copy_word(r, 2, count) || !vf_parse_integers(count, 1, 1, &command->request.count) ||
        command->request.count < 0 || command->request.count > ION_MOST)
        return fail_at(r, "PLACEION: '%s' is not an integer from 0 to %d; expected %s", text_quote(r->word[2], quoted),
                       ION_MOST, r->keyword->expect);
    if ((status = read_number(r, 3, -1e6, 1e6, "elementary charges", &charge)) != VF_OK)
        return status;
    if (charge == 0)
        return fail_at(r, "PLACEION: the charge must not be 0; expected %s", r->keyword->expect);
    const char *trouble = copy_word(r, 1, name) ? ion_name_trouble(name) : "is too long for an ion name";
    if (trouble)
        return fail_at(r, "PLACEION: '%s' %s", text_quote(r->word[1], quoted), trouble);
    warn_unsaved(r);
    r->placed = true;
    r->placed_line = r->line;
    snprintf(where, sizeof where, "%.200s:%" PRId64, r->name, r->line);
    return ion_kind_with_charge(r->ctx, where, name, charge, &command->request.kind);
}

/* SAVEION [FORMAT] FILE. write_ions takes the format from the extension, so FORMAT must agree with it. */
static vf_status read_saveion(reader *r)
{
    char ending[TEXT_QUOTE_SIZE + 1], quoted[TEXT_QUOTE_SIZE];
    script_command *command = NULL;
    if (!r->placed)
        return fail_at(r, "SAVEION: there are no ions yet; add a PLACEION before it");
    vf_status status = add_command(r, SCRIPT_SAVEION, &command);
    VF_TRY(status, read_path(r, r->words - 1, &command->path));
    if (status != VF_OK)
        return status;
    snprintf(ending, sizeof ending, ".%s", text_quote(r->word[1], quoted));
    if (r->words == 3 && !vf_path_has_extension(command->path, ending))
        return fail_at(r,
                       "SAVEION: the format '%s' does not match the file's extension, which selects the format; "
                       "use a file name that ends with %s (file names cannot contain blanks)",
                       quoted, ending);
    r->placed_line = 0;
    return VF_OK;
}

static vf_status read_interactive(reader *r)
{
    vf_note(r->ctx, "%s:%" PRId64 ": note: %s is for interactive use and has no effect here", r->name, r->line,
            r->keyword->name);
    return VF_OK;
}

/* ---- lines ---- */

static const struct keyword keywords[] = {
    {"R_ION_SOLUTE", SETTING, 1, 1, "R_ION_SOLUTE DISTANCE", read_ion_solute},
    {"R_ION_ION", SETTING, 1, 1, "R_ION_ION DISTANCE", read_ion_ion},
    {"BORDERSIZE", SETTING, 1, 1, "BORDERSIZE DISTANCE", read_border},
    {"GRIDSPACING", SETTING, 1, 1, "GRIDSPACING DISTANCE", read_spacing},
    {"GRIDFILE", SETTING, 1, 1, "GRIDFILE FILE", read_grid_file},
    {"XYZDIM", SETTING, 6, 6, "XYZDIM XMIN YMIN ZMIN XMAX YMAX ZMAX", read_box},
    {"DDD", SETTING, 1, 1, "DDD C, the c of the permittivity c r in 1/angstrom", read_dielectric},
    {"MULTIGRID", SETTING, 0, 0, "MULTIGRID", read_multigrid},
    {"BEGIN", SETTING, 0, 0, "BEGIN", read_begin},
    {"SAVEGRID", COMMAND, 1, 1, "SAVEGRID FILE", read_savegrid},
    {"PLACEION", COMMAND, 3, 3, "PLACEION NAME NUMBER CHARGE", read_placeion},
    {"SAVEION", COMMAND, 1, 2, "SAVEION [FORMAT] FILE", read_saveion},
    {"EXIT", COMMAND, 0, 0, "EXIT", read_exit},
    {"HELP", ANYWHERE, 0, 0, "HELP", read_interactive},
    {"SHOWOPT", ANYWHERE, 0, 0, "SHOWOPT", read_interactive},
};
enum { KEYWORDS = sizeof keywords / sizeof *keywords };

static vf_status fail_unknown(reader *r)
{
    char quoted[TEXT_QUOTE_SIZE], known[256] = "";
    for (int k = 0; k < KEYWORDS; k++)
        if ((keywords[k].part == COMMAND) == (r->begin_line > 0))
            vf_append(known, sizeof known, "%s%s", known[0] ? ", " : "", keywords[k].name);
    return fail_at(r, "unknown keyword '%s'; expected one of: %s", text_quote(r->word[0], quoted), known);
}

/* Checks that the line's keyword is allowed here and has the right number of words. */
static vf_status check_line(reader *r)
{
    const struct keyword *k = r->keyword;
    const int number = (int)(k - keywords);
    char quoted[TEXT_QUOTE_SIZE];
    if (k->part == SETTING && r->begin_line > 0)
        return fail_at(r, "%s must come before BEGIN, which is in line %" PRId64, k->name, r->begin_line);
    if (k->part == COMMAND && r->begin_line == 0)
        return fail_at(r, "%s must come after BEGIN, which is missing so far", k->name);
    if (r->words - 1 < k->least)
        return fail_at(r, "%s: %d %s missing; expected %s", k->name, k->least - r->words + 1,
                       k->least - r->words == 0 ? "word is" : "words are", k->expect);
    if (r->words - 1 > k->most)
        return fail_at(r, "%s: unexpected '%s'; expected %s%s", k->name, text_quote(r->word[k->most + 1], quoted),
                       k->expect, strstr(k->expect, "FILE") ? " (file names cannot contain blanks)" : "");
    if (k->part != SETTING)
        return VF_OK;
    if (r->given & 1U << number)
        return fail_at(r, "%s was already given in line %" PRId64 "; keep one of them", k->name, r->given_line[number]);
    r->given |= 1U << number;
    r->given_line[number] = r->line;
    return VF_OK;
}

static vf_status read_line(reader *r, text_piece line)
{
    const char *p = line.at, *end = line.at + line.size;
    r->words = 0;
    for (text_piece word = text_next_word(&p, end); word.size > 0 && word.at[0] != '#';
         word = text_next_word(&p, end)) {
        if (r->words == MAX_WORDS)
            break; /* more words than any keyword takes; check_line reports the first unexpected one */
        r->word[r->words++] = word;
    }
    if (r->words == 0)
        return VF_OK;
    r->keyword = NULL;
    for (int k = 0; k < KEYWORDS; k++)
        if (is_keyword(r->word[0], keywords[k].name))
            r->keyword = &keywords[k];
    if (!r->keyword)
        return fail_unknown(r);
    vf_status status = check_line(r);
    return status == VF_OK ? r->keyword->read(r) : status;
}

/* The next line without its end (LF, CR LF, or CR alone). */
static text_piece take_line(const char **next, const char *end)
{
    text_piece line = {*next, 0};
    while (line.at + line.size < end && line.at[line.size] != '\n' && line.at[line.size] != '\r')
        line.size++;
    *next = line.at + line.size;
    if (*next < end && (*next)++[0] == '\r' && *next < end && **next == '\n')
        ++*next;
    return line;
}

static vf_status read_lines(reader *r, const char *next, const char *end)
{
    vf_status status = VF_OK;
    while (next < end && r->exit_line == 0 && status == VF_OK) {
        text_piece line = take_line(&next, end);
        r->line++;
        status = read_line(r, line);
    }
    if (status != VF_OK)
        return status;
    if (r->begin_line == 0)
        return vf_fail(r->ctx, VF_ERR_INPUT,
                       "%s: BEGIN is missing; it separates the settings from the commands and is needed even if there "
                       "are no settings or commands",
                       r->name);
    warn_unsaved(r);
    if (r->exit_line == 0)
        vf_note(r->ctx, "%s: note: EXIT is missing at the end of the script", r->name);
    while (next < end && strchr(" \t\v\f\r\n", *next))
        next++;
    if (next < end)
        vf_warn(r->ctx, "%s:%" PRId64 ": the lines after EXIT are ignored", r->name, r->exit_line);
    return VF_OK;
}

vf_status parse_script(vf_context *ctx, const char *name, const char *text, size_t bytes, script *out)
{
    static const char mark[] = "\xef\xbb\xbf"; /* UTF-8 byte order mark */
    reader r = {.ctx = ctx, .name = name, .out = out};
    memset(out, 0, sizeof *out);
    if (bytes > MAX_BYTES)
        return vf_fail(ctx, VF_ERR_INPUT, "%s: not a script: larger than %d MiB", name, MAX_BYTES >> 20);
    if (bytes > 0 && memchr(text, '\0', bytes))
        return vf_fail(ctx, VF_ERR_INPUT,
                       "%s: not a plain text file: it contains zero bytes; save the script as plain text", name);
    const size_t skip = bytes >= 3 && memcmp(text, mark, 3) == 0 ? 3 : 0;
    vf_status status = bytes > 0 ? read_lines(&r, text + skip, text + bytes) : read_lines(&r, mark, mark);
    if (status != VF_OK)
        script_free(out);
    return status;
}

vf_status read_script(vf_context *ctx, const char *path, script *out)
{
    const bool standard = strcmp(path, "-") == 0;
    const char *name = standard ? "standard input" : path;
    int fd = -1;
    memset(out, 0, sizeof *out);
    vf_status status = standard ? VF_OK : vf_input_open(ctx, path, &fd);
    if (status != VF_OK)
        return status;
    FILE *file = standard ? stdin : fdopen(fd, "rb");
    if (!file) {
        close(fd);
        return vf_fail(ctx, VF_ERR_MEMORY, "%s: no memory to read it", name);
    }
    char *text = malloc(MAX_BYTES + 1);
    errno = 0;
    const size_t bytes = text ? fread(text, 1, MAX_BYTES + 1, file) : 0;
    if (!text)
        status = vf_fail(ctx, VF_ERR_MEMORY, "%s: no memory to read it", name);
    else if (ferror(file))
        status = vf_fail(ctx, VF_ERR_INPUT, "%s: cannot read: %s", name, strerror(errno));
    else
        status = parse_script(ctx, name, text, bytes, out);
    free(text);
    if (!standard)
        fclose(file);
    return status;
}

void script_free(script *s)
{
    for (int64_t i = 0; i < s->commands; i++)
        free(s->command[i].path);
    free(s->command);
    free(s->grid_file);
    memset(s, 0, sizeof *s);
}
