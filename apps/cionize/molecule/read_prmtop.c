/* Reads charges, radii and names from an AMBER parameter and topology file (prmtop, parm7), including those that
 * chamber converted from CHARMM files. The file consists of sections in any order: %FLAG with the name, %FORMAT with
 * a Fortran format, then the values. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "molecule_readers.h"
#include "voxfield/timer.h"

/* Charges in the file have this factor, so that q q / r is in kcal/mol. AMBER and CHARMM have different constants of Coulomb's law,
 * and chamber keeps CHARMM's: sqrt(332.0716). */
static const double amber_charge_unit = 18.2223, chamber_charge_unit = 18.222831832621406;

/* A required section: where its values begin, and their columns. */
typedef struct section {
    const char *name;
    const char *kinds; /* allowed Fortran edit descriptors, in capitals */
    bool optional, found;
    text_lines lines;
    size_t per_line, width;
} section;

enum { POINTERS, ATOM_NAME, CHARGE, RESIDUE_LABEL, RESIDUE_POINTER, RADII, BONDS, BOX, SECTIONS };

typedef struct prmtop_reader {
    molecule_reader *r;
    section sections[SECTIONS];
    double charge_unit;
    int64_t atoms, residues, bonds; /* bonds: of heavy atoms alone */
} prmtop_reader;

/* ---- sections ---- */

static bool begins(text_piece text, const char *start)
{
    return text.size >= strlen(start) && memcmp(text.at, start, strlen(start)) == 0;
}

/* A number up to `most`; 1 if there is none. *p moves behind it. */
static size_t scan_count(const char **p, const char *end, size_t most)
{
    size_t value = 0;
    const char *begin = *p;
    for (; *p < end && text_is_digit(**p); ++*p)
        value = value > most ? value : value * 10 + (size_t)(**p - '0');
    return *p == begin ? 1 : value;
}

/* "%FORMAT(5E16.8)": values per line, kind, width of a value, decimals of it. */
static vf_status read_format(const molecule_reader *r, text_piece line, section *s)
{
    enum { MOST = 1000 };
    char quoted[TEXT_QUOTE_SIZE];
    const char *p = memchr(line.at, '(', line.size), *end = line.at + line.size;
    char kind = '\0';
    bool closed = false;
    if (begins(line, "%FORMAT") && p) {
        p++;
        s->per_line = scan_count(&p, end, MOST);
        if (p < end)
            kind = (char)(*p >= 'a' ? *p - ('a' - 'A') : *p);
        p += p < end;
        s->width = scan_count(&p, end, MOST);
        if (p < end && *p == '.') {
            p++;
            (void)scan_count(&p, end, MOST);
        }
        closed = p < end && *p == ')';
    }
    if (!closed || !text_is_letter(kind) || !strchr(s->kinds, kind) || s->per_line < 1 || s->per_line > MOST ||
        s->width < 1 || s->width > MOST)
        return text_fail(r->ctx, r->name, r->lines.line,
                         "'%s': expected the %%FORMAT of section %s, such as (20a4), (10I8) or (5E16.8)",
                         text_quote(label_trim(line), quoted), s->name);
    return VF_OK;
}

/* Reads the lines between a section's name and its values. */
static vf_status read_section(molecule_reader *r, section *s)
{
    text_piece line;
    bool more;
    if (s->found)
        return text_fail(r->ctx, r->name, r->lines.line, "duplicate section %s", s->name);
    vf_status status;
    do
        status = reader_next(r, &line, &more);
    while (status == VF_OK && more && begins(line, "%COMMENT"));
    if (status != VF_OK)
        return status;
    status = read_format(r, more ? line : (text_piece){"", 0}, s);
    s->found = true;
    s->lines = r->lines;
    return status;
}

static vf_status find_sections(prmtop_reader *p)
{
    molecule_reader *r = p->r;
    text_piece line;
    bool more;
    vf_status status = reader_next(r, &line, &more);
    while (status == VF_OK && more) {
        text_words words;
        text_split(line, &words);
        if (begins(line, "%FLAG") && words.count >= 2) {
            text_piece name = words.word[1];
            if (begins(name, "AMOEBA_FORCEFIELD"))
                return text_fail(r->ctx, r->name, r->lines.line,
                                 "AMOEBA multipoles are not supported; only charges are");
            if (name.size == strlen("CTITLE") && begins(name, "CTITLE"))
                p->charge_unit = chamber_charge_unit;
            for (int i = 0; status == VF_OK && i < SECTIONS; i++)
                if (name.size == strlen(p->sections[i].name) && begins(name, p->sections[i].name))
                    status = read_section(r, &p->sections[i]);
        }
        VF_TRY(status, reader_next(r, &line, &more));
    }
    for (int i = 0; status == VF_OK && i < SECTIONS; i++)
        if (!p->sections[i].found && !p->sections[i].optional)
            return vf_fail(
                r->ctx, VF_ERR_INPUT,
                "%s: section %%FLAG %s is missing; copy the file again, or write it again with tleap or ParmEd",
                r->name, p->sections[i].name);
    return status;
}

/* ---- values ---- */

/* A position in a section's values. */
typedef struct cursor {
    const section *section;
    text_lines lines;
    text_piece line;
    size_t field; /* index of the next field on the line */
    int64_t done, count;
} cursor;

static cursor begin_section(const prmtop_reader *p, int which, int64_t count)
{
    const section *s = &p->sections[which];
    return (cursor){.section = s, .lines = s->lines, .field = s->per_line, .count = count};
}

/* The next line of the section. *more is false where the next section begins. Error messages then name that line. */
static vf_status next_line(molecule_reader *r, cursor *c, bool *more)
{
    vf_status status;
    r->lines = c->lines;
    do
        status = reader_next(r, &c->line, more);
    while (status == VF_OK && *more && begins(c->line, "%COMMENT"));
    c->lines = r->lines;
    c->field = 0;
    if (status == VF_OK && *more && begins(c->line, "%"))
        *more = false;
    return status;
}

/* The columns [*begin, *end) of the next value. */
static vf_status next_field(molecule_reader *r, cursor *c, size_t *begin, size_t *end)
{
    if (c->field == c->section->per_line) {
        bool more;
        vf_status status = next_line(r, c, &more);
        if (status != VF_OK)
            return status;
        if (!more)
            return text_fail(r->ctx, r->name, r->lines.line,
                             "section %s ends here after %" PRId64 " of %" PRId64 " value%s", c->section->name, c->done,
                             c->count, vf_plural(c->count));
    }
    r->lines = c->lines;
    *begin = c->field++ * c->section->width;
    *end = *begin + c->section->width;
    c->done++;
    return VF_OK;
}

static vf_status next_name(molecule_reader *r, cursor *c, char name[LABEL_SIZE])
{
    size_t begin = 0, end = 0;
    vf_status status = next_field(r, c, &begin, &end);
    if (status == VF_OK)
        label_copy(text_columns(c->line, begin, end), name);
    return status;
}

static vf_status next_number(molecule_reader *r, cursor *c, double *out)
{
    size_t begin = 0, end = 0;
    vf_status status = next_field(r, c, &begin, &end);
    return status == VF_OK ? reader_number(r, c->line, begin, end, -1, c->section->name, out) : status;
}

static vf_status next_integer(molecule_reader *r, cursor *c, int64_t *out)
{
    double value = 0;
    vf_status status = next_number(r, c, &value);
    *out = 0;
    if (status != VF_OK)
        return status;
    if (value == floor(value) && fabs(value) <= 1e15) {
        *out = (int64_t)value;
        return VF_OK;
    }
    return text_fail(r->ctx, r->name, r->lines.line, "section %s: %g is not an integer", c->section->name, value);
}

/* Checks that the section has no more values. */
static vf_status check_end(molecule_reader *r, cursor *c)
{
    bool more;
    text_piece rest = text_columns(c->line, c->field * c->section->width, c->line.size);
    vf_status status = VF_OK;
    if (text_all_blank(rest)) {
        do
            status = next_line(r, c, &more);
        while (status == VF_OK && more && text_all_blank(c->line));
        if (status != VF_OK || !more)
            return status;
    }
    return text_fail(r->ctx, r->name, r->lines.line, "section %s has more than the %" PRId64 " value%s expected",
                     c->section->name, c->count, vf_plural(c->count));
}

static vf_status read_pointers(prmtop_reader *p)
{
    enum { NATOM = 0, NRES = 11, NBONA = 12 };
    molecule_reader *r = p->r;
    const int needed = p->sections[BONDS].found ? NBONA + 1 : NRES + 1;
    cursor c = begin_section(p, POINTERS, needed);
    for (int i = 0; i < needed; i++) {
        int64_t value;
        vf_status status = next_integer(r, &c, &value);
        if (status != VF_OK)
            return status;
        if (i == NATOM)
            p->atoms = value;
        if (i == NRES)
            p->residues = value;
        if (i == NBONA)
            p->bonds = value;
    }
    if (p->atoms >= 1 && p->residues >= 1 && p->residues <= p->atoms)
        return VF_OK;
    return text_fail(r->ctx, r->name, r->lines.line,
                     "section POINTERS has %" PRId64 " atom%s in %" PRId64 " residue%s, which is impossible", p->atoms,
                     vf_plural(p->atoms), p->residues, vf_plural(p->residues));
}

static vf_status read_atoms(prmtop_reader *p)
{
    molecule_reader *r = p->r;
    molecule *m = r->out;
    bool radii = p->sections[RADII].found;
    double rest = 0;
    cursor names = begin_section(p, ATOM_NAME, p->atoms), charges = begin_section(p, CHARGE, p->atoms);
    cursor sizes = begin_section(p, RADII, p->atoms);
    while (m->atoms < p->atoms) {
        vf_status status = reader_add_atom(r);
        int64_t i = m->atoms - 1;
        VF_TRY(status, next_name(r, &names, m->labels[i].name));
        VF_TRY(status, next_number(r, &charges, &m->charge[i]));
        if (status == VF_OK && radii)
            status = next_number(r, &sizes, &m->radius[i]);
        if (status != VF_OK)
            return status;
        if (m->radius[i] < 0)
            return text_fail(r->ctx, r->name, r->lines.line, "section RADII: %g is negative", m->radius[i]);
        m->charge[i] /= p->charge_unit;
        molecule_add_charge(m, m->charge[i], &rest);
    }
    m->total_charge += rest;
    vf_status status = check_end(r, &names);
    VF_TRY(status, check_end(r, &charges));
    return status == VF_OK && radii ? check_end(r, &sizes) : status;
}

/* Every residue has a name and a first atom, in order. */
static vf_status read_residues(prmtop_reader *p)
{
    molecule_reader *r = p->r;
    atom_label *labels = r->out->labels, residue = {0};
    cursor names = begin_section(p, RESIDUE_LABEL, p->residues);
    cursor firsts = begin_section(p, RESIDUE_POINTER, p->residues);
    int64_t filled = 0; /* atoms with a residue so far */
    for (int64_t i = 0; i < p->residues; i++) {
        int64_t first;
        char name[LABEL_SIZE];
        vf_status status = next_name(r, &names, name);
        VF_TRY(status, next_integer(r, &firsts, &first));
        if (status != VF_OK)
            return status;
        if (first > p->atoms || (i == 0 ? first != 1 : first <= filled + 1))
            return text_fail(r->ctx, r->name, r->lines.line,
                             "section RESIDUE_POINTER: residue %" PRId64 " cannot begin with atom %" PRId64, i + 1,
                             first);
        for (; filled < first - 1; filled++) {
            memcpy(labels[filled].residue, residue.residue, LABEL_SIZE);
            labels[filled].residue_number = residue.residue_number;
        }
        memcpy(residue.residue, name, LABEL_SIZE);
        residue.residue_number = (int32_t)(i + 1);
    }
    for (; filled < p->atoms; filled++) {
        memcpy(labels[filled].residue, residue.residue, LABEL_SIZE);
        labels[filled].residue_number = residue.residue_number;
    }
    vf_status status = check_end(r, &names);
    return status == VF_OK ? check_end(r, &firsts) : status;
}

/* A file without chains has bonds instead: a chain ends where a residue that is bonded to others is not bonded to the next one,
 * and before the first such residue. Water and ions have no such bonds, and no ends. at[i]: bonds of residue i with others; next[i]:
 * with the one after it. */
static vf_status read_bonds(prmtop_reader *p, bool *at, bool *next)
{
    molecule_reader *r = p->r;
    atom_label *labels = r->out->labels;
    cursor c = begin_section(p, BONDS, 3 * p->bonds);
    for (int64_t b = 0; b < p->bonds; b++) {
        int64_t value[3] = {0, 0, 0}; /* three times the number of each atom, from 0; the bond's type */
        vf_status status = VF_OK;
        for (int k = 0; status == VF_OK && k < 3; k++)
            status = next_integer(r, &c, &value[k]);
        if (status != VF_OK)
            return status;
        if (value[0] < 0 || value[1] < 0 || value[0] / 3 >= p->atoms || value[1] / 3 >= p->atoms)
            return text_fail(r->ctx, r->name, r->lines.line,
                             "section BONDS_WITHOUT_HYDROGEN: bond %" PRId64 " is of an atom that there is not", b + 1);
        const int32_t one = labels[value[0] / 3].residue_number - 1, other = labels[value[1] / 3].residue_number - 1;
        if (one == other)
            continue;
        at[one] = at[other] = true;
        if (abs(one - other) == 1)
            next[one < other ? one : other] = true;
    }
    for (int64_t i = 0; i + 1 < p->atoms; i++) {
        const int32_t residue = labels[i].residue_number - 1;
        labels[i].ends_chain =
            labels[i + 1].residue_number - 1 != residue && !next[residue] && (at[residue] || at[residue + 1]);
    }
    return check_end(r, &c);
}

static vf_status divide_chains(prmtop_reader *p)
{
    if (!p->sections[BONDS].found || p->bonds <= 0)
        return VF_OK;
    bool *at = calloc((size_t)p->residues + 1, sizeof *at), *next = calloc((size_t)p->residues + 1, sizeof *next);
    const vf_status status = at && next ? read_bonds(p, at, next)
                                        : vf_fail(p->r->ctx, VF_ERR_MEMORY, "%s: no memory for %" PRId64 " residues",
                                                  p->r->name, p->residues);
    free(at);
    free(next);
    return status;
}

/* The angles of the box, without its lengths, which are those at the beginning of the simulation: the first number is beta.
 * That of a truncated octahedron is all three, and 60 means a rhombic dodecahedron, as in cpptraj. */
static vf_status read_box(prmtop_reader *p)
{
    enum { NUMBERS = 4 };
    const double octahedron = 109.4712206, close = 0.01;
    double *angles = p->r->out->cell.angles, beta = 90;
    cursor c = begin_section(p, BOX, NUMBERS);
    const vf_status status = p->sections[BOX].found ? next_number(p->r, &c, &beta) : VF_OK;
    if (fabs(beta - octahedron) < close)
        angles[0] = angles[1] = angles[2] = beta;
    else if (fabs(beta - 60) < close)
        angles[0] = angles[2] = 60, angles[1] = 90;
    else
        angles[0] = angles[2] = 90, angles[1] = beta > 0 ? beta : 90;
    return status;
}

vf_status read_prmtop(molecule_reader *r)
{
    prmtop_reader p = {.r = r,
                       .charge_unit = amber_charge_unit,
                       .sections = {[POINTERS] = {.name = "POINTERS", .kinds = "I"},
                                    [ATOM_NAME] = {.name = "ATOM_NAME", .kinds = "A"},
                                    [CHARGE] = {.name = "CHARGE", .kinds = "EF"},
                                    [RESIDUE_LABEL] = {.name = "RESIDUE_LABEL", .kinds = "A"},
                                    [RESIDUE_POINTER] = {.name = "RESIDUE_POINTER", .kinds = "I"},
                                    [RADII] = {.name = "RADII", .kinds = "EF", .optional = true},
                                    [BONDS] = {.name = "BONDS_WITHOUT_HYDROGEN", .kinds = "I", .optional = true},
                                    [BOX] = {.name = "BOX_DIMENSIONS", .kinds = "EF", .optional = true}}};
    vf_status status = find_sections(&p);
    VF_TRY(status, read_pointers(&p));
    VF_TRY(status, read_atoms(&p));
    VF_TRY(status, read_residues(&p));
    VF_TRY(status, divide_chains(&p));
    VF_TRY(status, read_box(&p));
    strcpy(r->out->dialect, "prmtop");
    return status;
}
