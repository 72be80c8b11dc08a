/* Reads charges and names from a PSF file of CHARMM, X-PLOR, NAMD or VMD. The first line tells the form of the atom
 * lines: names in columns of four characters, or of eight (EXT); NAMD uses only blanks as separators. Additions by
 * CHEQ and DRUDE follow the masses and are not needed.
 *
 * A line is split at blanks if that gives a consistent record, because VMD lets long names push the rest to the
 * right. Otherwise it is split by columns, because names may be blank. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "molecule_readers.h"
#include "residue_labels.h"
#include "voxfield/timer.h"

/* Where the fields of an atom begin, from 0. A blank follows every name. */
typedef struct layout {
    size_t segment, number, residue, name, type, charge;
} layout;
static const layout standard_layout = {9, 14, 19, 24, 29, 34};
static const layout extended_layout = {11, 20, 29, 38, 47, 52};
static const layout extended_wide_types = {11, 20, 29, 38, 47, 54}; /* X-PLOR files of CHARMM 36 and later */
enum { CHARGE_WIDTH = 14, MASS_WIDTH = 14 };

typedef struct psf_reader {
    molecule_reader *r;
    bool extended, xplor, free_form;
    int64_t count;
    double rest; /* compensation for the rounding of the total charge */
} psf_reader;

static bool word_begins(text_piece word, const char *text)
{
    return word.size >= strlen(text) && memcmp(word.at, text, strlen(text)) == 0;
}

/* "   15 !NATOM", "   15 !NATOM: atoms" */
static bool is_heading(text_piece line, const char *name, int64_t *count)
{
    text_words words;
    text_split(line, &words);
    return words.count >= 2 && text_count(words.word[0], count) && word_begins(words.word[1], name);
}

static vf_status read_flags(psf_reader *p)
{
    molecule_reader *r = p->r;
    molecule *m = r->out;
    text_words words;
    text_piece line;
    bool more;
    vf_status status = reader_next(r, &line, &more);
    if (status != VF_OK)
        return status;
    text_split(more ? line : (text_piece){"", 0}, &words);
    if (words.count == 0 || !word_is(words.word[0], "PSF"))
        return text_fail(r->ctx, r->name, r->lines.line, "a PSF file begins with the word PSF");
    for (int i = 1; i < words.count; i++) {
        p->extended |= word_is(words.word[i], "EXT");
        p->xplor |= word_is(words.word[i], "XPLOR");
        p->free_form |= word_is(words.word[i], "NAMD");
    }
    snprintf(m->dialect, sizeof m->dialect, "PSF%s%s%s", p->extended ? " EXT" : "", p->xplor ? " XPLOR" : "",
             p->free_form ? " NAMD" : "");
    return VF_OK;
}

/* Skips the titles up to the number of atoms. Title lines are counted, because they may contain any text. */
static vf_status find_atoms(psf_reader *p)
{
    molecule_reader *r = p->r;
    char quoted[TEXT_QUOTE_SIZE];
    int64_t titles = 0;
    for (;;) {
        text_piece line;
        bool more;
        vf_status status = reader_next(r, &line, &more);
        if (status != VF_OK)
            return status;
        if (!more)
            return vf_fail(r->ctx, VF_ERR_INPUT, "%s: the file ends before a line such as '1234 !NATOM'; copy it again",
                           r->name);
        if (titles > 0) {
            titles--;
            continue;
        }
        const char *at = line.at;
        text_piece word = text_next_word(&at, line.at + line.size);
        if (word.size == 0 || word_is(word, "REMARKS") || *word.at == '*' || is_heading(line, "!NTITLE", &titles))
            continue;
        if (!is_heading(line, "!NATOM", &p->count))
            return text_fail(r->ctx, r->name, r->lines.line, "'%s': expected the number of atoms and !NATOM",
                             text_quote(label_trim(line), quoted));
        if (p->count == 0)
            return text_fail(r->ctx, r->name, r->lines.line, "the file has no atoms");
        return VF_OK;
    }
}

/* The fields used, as pieces of the line. */
typedef struct fields {
    text_piece segment, number, residue, name;
    size_t charge, charge_end; /* columns */
} fields;

/* Serial, segment, number, residue, name, type, charge, mass, an integer. The kinds match only if nothing is
 * shifted. */
static bool split_words(text_piece line, locale_t c_locale, fields *out)
{
    enum { SERIAL, SEGMENT, NUMBER, RESIDUE, NAME, TYPE, CHARGE, MASS, FIXED, LEAST };
    text_words words;
    text_number number;
    int64_t serial, fixed;
    text_split(line, &words);
    const text_piece *word = words.word;
    if (words.count < LEAST || !text_count(word[SERIAL], &serial) || !label_is_plausible(word[NUMBER]) ||
        !text_read_number(word[CHARGE], c_locale, &number) || !text_read_number(word[MASS], c_locale, &number))
        return false;
    text_piece last = word[FIXED];
    if (last.size > 1 && *last.at == '-') /* -1 is a lone pair */
        last.at++, last.size--;
    size_t charge = (size_t)(word[CHARGE].at - line.at);
    *out = (fields){word[SEGMENT], word[NUMBER], word[RESIDUE], word[NAME], charge, charge + word[CHARGE].size};
    return text_count(last, &fixed);
}

/* Splits by columns; the format's separators must be blank. The mass must lie in its columns, which begin with a blank in
 * all programs' files: where it does not, the line is shifted, and the charge cut. */
static bool split_columns(text_piece line, const layout *at, locale_t c_locale, fields *out)
{
    const size_t begins[] = {at->segment, at->number, at->residue, at->name, at->type, at->charge};
    const size_t mass = at->charge + CHARGE_WIDTH;
    text_number number;
    if (line.size <= mass || line.at[mass] != ' ')
        return false;
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (line.at[begins[i] - 1] != ' ')
            return false;
    *out = (fields){text_columns(line, at->segment, at->number),
                    text_columns(line, at->number, at->residue),
                    text_columns(line, at->residue, at->name),
                    text_columns(line, at->name, at->type),
                    at->charge,
                    at->charge + CHARGE_WIDTH};
    return text_read_number(label_trim(text_columns(line, mass, mass + MASS_WIDTH)), c_locale, &number);
}

/* Whether the columns have a number with a decimal point. */
static bool has_charge(text_piece line, const fields *from, locale_t c_locale)
{
    text_number number;
    return text_read_number(label_trim(text_columns(line, from->charge, from->charge_end)), c_locale, &number) &&
           number.point;
}

static bool split_line(const psf_reader *p, text_piece line, fields *out)
{
    if (split_words(line, p->r->c_locale, out))
        return true;
    if (p->free_form)
        return false;
    if (!p->extended)
        return split_columns(line, &standard_layout, p->r->c_locale, out);
    /* With XPLOR, types have four or six columns, depending on the program's version. */
    return (p->xplor && split_columns(line, &extended_wide_types, p->r->c_locale, out) &&
            has_charge(line, out, p->r->c_locale)) ||
           split_columns(line, &extended_layout, p->r->c_locale, out);
}

static vf_status read_atom(psf_reader *p, text_piece line)
{
    molecule_reader *r = p->r;
    atom_label label = {.occupancy = 1};
    fields from;
    double charge;
    if (!split_line(p, line, &from))
        return text_fail(
            r->ctx, r->name, r->lines.line,
            "not an atom line: expected serial, segment, residue number, residue, name, type, charge, mass "
            "and an integer, separated by blanks%s",
            p->free_form ? "" : " or in the columns that the first line specifies");
    label_keep_number(from.number, '\0', &label);
    label.cut = label_copy(from.name, label.name);
    label.cut |= label_copy(from.residue, label.residue);
    label.cut |= label_copy(from.segment, label.segment);
    memcpy(label.chain, label.segment, sizeof label.chain);
    if (!*label.name)
        return text_fail(r->ctx, r->name, r->lines.line, "the atom has no name");
    vf_status status = reader_number(r, line, from.charge, from.charge_end, -1, "charge", &charge);
    VF_TRY(status, reader_add_atom(r));
    if (status != VF_OK)
        return status;
    r->out->charge[r->out->atoms - 1] = charge;
    r->out->labels[r->out->atoms - 1] = label;
    molecule_add_charge(r->out, charge, &p->rest);
    return VF_OK;
}

vf_status read_psf(molecule_reader *r)
{
    psf_reader p = {.r = r};
    vf_status status = read_flags(&p);
    VF_TRY(status, find_atoms(&p));
    while (status == VF_OK && r->out->atoms < p.count) {
        text_piece line;
        bool more;
        status = reader_next(r, &line, &more);
        if (status == VF_OK && !more)
            return vf_fail(r->ctx, VF_ERR_INPUT,
                           "%s: the file ends after %" PRId64 " of the %" PRId64
                           " atom%s stated by !NATOM; copy it again",
                           r->name, r->out->atoms, p.count, vf_plural(p.count));
        VF_TRY(status, read_atom(&p, line));
    }
    r->out->total_charge += p.rest;
    r->own_numbers = true;
    if (status == VF_OK)
        warn_of_cut_names(r->ctx, r->name, r->out);
    if (status == VF_OK)
        r->plain_numbers = label_resolve_numbers(r->out->labels, r->out->atoms, true);
    return status;
}
