/* Reads coordinates and names from a PDB file by the fixed columns of wwPDB format 3.3. Names may be blank or touch
 * their neighbours, so splitting at blanks would be a guess. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "molecule_readers.h"
#include "pqr_lines.h"
#include "voxfield/timer.h"

/* From 0. Each field ends where the next begins, except for the gaps in the format. The residue name has three
 * columns in the format; molecular dynamics programs also use the free column after it (TIP3). */
enum {
    NAME = 12,
    ALTERNATE = 16,
    RESIDUE = 17,
    CHAIN = 21,
    NUMBER = 22,
    CODE = 26,
    X = 30,
    COORDINATE_WIDTH = 8,
    COORDINATE_DECIMALS = 3,
    ELEMENT = 76,
    ELEMENT_END = 78
};

typedef struct pdb_reader {
    molecule_reader *r;
    char *alternate; /* [r->capacity] the atoms' alternate locations; ' ': only one */
    int64_t alternates_capacity;
    bool has_alternates, stopped;
    int64_t models, atoms_after_end, end_line;
    int64_t unknown, first_unknown;
    char unknown_word[TEXT_QUOTE_SIZE];
} pdb_reader;

/* ---- records ---- */

static char column(text_piece line, size_t at)
{
    return at < line.size ? line.at[at] : ' ';
}

static vf_status read_label(const molecule_reader *r, text_piece line, atom_label *label)
{
    char quoted[TEXT_QUOTE_SIZE];
    text_piece number = text_columns(line, NUMBER, CODE);
    char code = column(line, CODE);
    label_copy(text_columns(line, NAME, ALTERNATE), label->name);
    label_copy(text_columns(line, RESIDUE, CHAIN), label->residue);
    label_copy(text_columns(line, CHAIN, NUMBER), label->chain);
    label_element(text_columns(line, ELEMENT, ELEMENT_END), label->element);
    label->hetero = *line.at == 'H';
    if (!*label->name)
        return text_fail(r->ctx, r->name, r->lines.line, "columns %d-%d (atom name) are blank", NAME + 1, ALTERNATE);
    if (!label_number(label_trim(number), &label->residue_number))
        return text_fail(r->ctx, r->name, r->lines.line,
                         "columns %d-%d (residue number): '%s' is neither a decimal nor a hybrid-36 (A000) number",
                         NUMBER + 1, CODE, text_quote(number, quoted));
    if (code != ' ' && !text_is_letter(code))
        return text_fail(r->ctx, r->name, r->lines.line,
                         "column %d (insertion code): '%s' is not a letter; the line is shifted, or a residue number "
                         "is longer than its columns",
                         CODE + 1, text_quote((text_piece){&code, 1}, quoted));
    label->insertion = (char)(code == ' ' ? '\0' : code);
    return VF_OK;
}

static vf_status read_atom(pdb_reader *p, text_piece line)
{
    static const char *const names[3] = {"x", "y", "z"};
    molecule_reader *r = p->r;
    molecule *m = r->out;
    double xyz[3];
    atom_label label = {0};
    vf_status status = read_label(r, line, &label);
    for (int a = 0; status == VF_OK && a < 3; a++) {
        size_t begin = X + (size_t)a * COORDINATE_WIDTH;
        status = reader_number(r, line, begin, begin + COORDINATE_WIDTH, COORDINATE_DECIMALS, names[a], &xyz[a]);
    }
    if (status == VF_OK)
        status = reader_add_atom(r);
    if (status != VF_OK)
        return status;
    if (p->alternates_capacity < r->capacity) {
        char *larger = realloc(p->alternate, (size_t)r->capacity);
        if (!larger)
            return vf_fail(r->ctx, VF_ERR_MEMORY, "%s: no memory for %" PRId64 " atoms", r->name, r->capacity);
        p->alternate = larger;
        p->alternates_capacity = r->capacity;
    }
    int64_t i = m->atoms - 1;
    molecule_place(m, i, xyz);
    m->labels[i] = label;
    p->alternate[i] = column(line, ALTERNATE);
    p->has_alternates |= p->alternate[i] != ' ';
    return VF_OK;
}

/* Stops reading. Later atoms are only counted. */
static void stop(pdb_reader *p)
{
    p->stopped = true;
    p->end_line = p->r->lines.line;
}

static void note_unknown(pdb_reader *p, text_piece line)
{
    const char *at = line.at;
    if (p->unknown++ > 0)
        return;
    p->first_unknown = p->r->lines.line;
    text_quote(text_next_word(&at, line.at + line.size), p->unknown_word);
}

static vf_status read_line(pdb_reader *p, text_piece line)
{
    const molecule_reader *r = p->r;
    if (!p->stopped && !read_cryst1(line, r->c_locale, &r->out->cell))
        symmetry_read_record(line, r->c_locale, &r->out->symmetry);
    switch (pqr_line_kind(line)) {
    case PQR_ATOM:
        if (p->stopped)
            p->atoms_after_end++;
        else if (*line.at == ' ' || *line.at == '\t')
            return text_fail(r->ctx, r->name, r->lines.line,
                             "a record must begin in column 1, but this one is shifted");
        else
            return read_atom(p, line);
        break;
    case PQR_MODEL:
        p->models++;
        if (!p->stopped && (p->models > 1 || r->out->atoms > 0))
            stop(p);
        break;
    case PQR_END:
    case PQR_ENDMDL:
        if (!p->stopped)
            stop(p);
        break;
    case PQR_MMCIF:
        return text_fail(r->ctx, r->name, r->lines.line,
                         "this line belongs to an mmCIF file, but the file does not begin like one; remove the lines "
                         "before data_");
    case PQR_ATOM_CASE:
    case PQR_UNKNOWN:
        if (!p->stopped)
            note_unknown(p, line);
        break;
    default:
        break;
    }
    return VF_OK;
}

/* ---- alternate locations ---- */

static uint64_t hash_bytes(uint64_t hash, const void *data, size_t bytes)
{
    const unsigned char *p = data;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ p[i]) * UINT64_C(0x100000001b3); /* FNV-1a */
    return hash;
}

static bool same_place(const atom_label *a, const atom_label *b, bool name)
{
    return a->residue_number == b->residue_number && a->insertion == b->insertion && strcmp(a->chain, b->chain) == 0 &&
           (!name || strcmp(a->name, b->name) == 0);
}

/* A set of atoms, keyed by residue or by residue and name. */
typedef struct place_set {
    int64_t *slots; /* [size] atom + 1; 0: free */
    uint64_t size;
    bool name;
} place_set;

/* The atom stored first under the key of `label`. If there is none, stores and returns `atom`. */
static int64_t find_or_put(place_set *set, const molecule *m, const atom_label *label, int64_t atom)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    hash = hash_bytes(hash, &label->residue_number, sizeof label->residue_number);
    hash = hash_bytes(hash, &label->insertion, 1);
    hash = hash_bytes(hash, label->chain, strlen(label->chain));
    if (set->name)
        hash = hash_bytes(hash, label->name, strlen(label->name));
    uint64_t slot = (hash ^ hash >> 32) & (set->size - 1);
    for (; set->slots[slot]; slot = (slot + 1) & (set->size - 1))
        if (same_place(&m->labels[set->slots[slot] - 1], label, set->name))
            return set->slots[slot] - 1;
    set->slots[slot] = atom + 1;
    return atom;
}

/* Keeps the first location of each atom. If two residue names share a position, the first name is kept. */
static int64_t drop_alternates(pdb_reader *p, place_set *residues, place_set *names)
{
    molecule *m = p->r->out;
    int64_t kept = 0;
    for (int64_t i = 0; i < m->atoms; i++) {
        /* Kept atoms have moved to the front, where the sets look them up. So this one must move there before the
         * lookup. */
        const double xyz[3] = {m->x[i], m->y[i], m->z[i]};
        m->labels[kept] = m->labels[i];
        p->alternate[kept] = p->alternate[i];
        const atom_label *label = &m->labels[kept];
        int64_t residue = find_or_put(residues, m, label, kept);
        bool other = p->alternate[kept] != ' ';
        if (other && strcmp(m->labels[residue].residue, label->residue) != 0)
            continue;
        int64_t first = find_or_put(names, m, label, kept);
        if (other && p->alternate[first] != p->alternate[kept])
            continue;
        molecule_place(m, kept++, xyz);
    }
    int64_t dropped = m->atoms - kept;
    m->atoms = kept;
    return dropped;
}

static vf_status choose_locations(pdb_reader *p)
{
    const molecule_reader *r = p->r;
    if (!p->has_alternates)
        return VF_OK;
    place_set residues = {.size = 16}, names = {.name = true};
    while (residues.size < 2 * (uint64_t)r->out->atoms)
        residues.size *= 2;
    names.size = residues.size;
    residues.slots = calloc(residues.size, sizeof *residues.slots);
    names.slots = calloc(names.size, sizeof *names.slots);
    bool room = residues.slots && names.slots;
    int64_t dropped = room ? drop_alternates(p, &residues, &names) : 0;
    free(residues.slots);
    free(names.slots);
    if (!room)
        return vf_fail(r->ctx, VF_ERR_MEMORY, "%s: not enough memory to choose among alternate locations", r->name);
    if (dropped > 0)
        vf_warn(r->ctx, "%s: using the first location of each atom; %" PRId64 " alternate location%s ignored", r->name,
                dropped, dropped == 1 ? "" : "s");
    return VF_OK;
}

/* ---- the file ---- */

static void warn_of_omissions(const pdb_reader *p)
{
    const molecule_reader *r = p->r;
    if (p->models > 1)
        vf_warn(r->ctx, "%s: only the first of %" PRId64 " models is read", r->name, p->models);
    else if (p->atoms_after_end > 0)
        vf_warn(r->ctx, "%s:%" PRId64 ": the molecule ends here; %" PRId64 " later atom%s not read", r->name,
                p->end_line, p->atoms_after_end, p->atoms_after_end == 1 ? " is" : "s are");
    if (p->unknown > 0)
        vf_warn(r->ctx, "%s:%" PRId64 ": '%s' is not a record of a PDB file; %" PRId64 " such line%s ignored", r->name,
                p->first_unknown, p->unknown_word, p->unknown, p->unknown == 1 ? "" : "s");
}

static vf_status finish(pdb_reader *p)
{
    molecule_reader *r = p->r;
    if (r->out->atoms == 0 && p->atoms_after_end > 0)
        return text_fail(r->ctx, r->name, p->end_line,
                         "the file or its first model ends here without atoms, but %" PRId64
                         " atom%s; remove the lines before them",
                         p->atoms_after_end, p->atoms_after_end == 1 ? " follows" : "s follow");
    if (r->out->atoms == 0)
        return vf_fail(r->ctx, VF_ERR_INPUT,
                       "%s: no atoms: none of its %" PRId64 " line%s begins with ATOM or HETATM; coordinates are read "
                       "from PDB and mmCIF files, GROMACS's .gro files, and AMBER's inpcrd and rst7 files",
                       r->name, r->lines.line, vf_plural(r->lines.line));
    vf_status status = choose_locations(p);
    if (status == VF_OK)
        warn_of_omissions(p);
    strcpy(r->out->dialect, "PDB");
    return status;
}

vf_status read_pdb(molecule_reader *r)
{
    pdb_reader p = {.r = r};
    text_piece line;
    bool more;
    vf_status status = reader_next(r, &line, &more);
    while (status == VF_OK && more) {
        status = read_line(&p, line);
        if (status == VF_OK)
            status = reader_next(r, &line, &more);
    }
    if (status == VF_OK)
        status = finish(&p);
    free(p.alternate);
    return status;
}
