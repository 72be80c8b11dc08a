/* Reads a molecule from two files: one with the atoms' positions, one with their charges. The atoms must be the same
 * in the same order, or atoms would get others' charges. So their names are compared. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "amber_netcdf.h"
#include "binary_coordinates.h"
#include "check_positions.h"
#include "choose_conformer.h"
#include "crd_text.h"
#include "gro_text.h"
#include "molecule_readers.h"
#include "residue_kinds.h"
#include "text/cif_words.h"
#include "voxfield/timer.h"

typedef vf_status (*reader_function)(molecule_reader *r);

/* ---- which file is which ---- */

/* The reader for a file of charges; NULL: not a file of charges. */
static reader_function charges_reader(text_piece text)
{
    static const text_signature psf[] = {{"PSF", 3, "PSF"}, {NULL, 0, NULL}};
    static const text_signature prmtop[] = {
        {"%VERSION", 8, "prmtop"}, {"%FLAG", 5, "prmtop"}, {"%COMMENT", 8, "prmtop"}, {NULL, 0, NULL}};
    while (text.size > 0 && (*text.at == ' ' || *text.at == '\n' || *text.at == '\r'))
        text.at++, text.size--;
    if (text_find_signature(text, psf))
        return read_psf;
    return text_find_signature(text, prmtop) ? read_prmtop : NULL;
}

static vf_status choose_coordinates(const molecule_reader *r, text_piece text, reader_function *out)
{
    *out = is_cif(text)                   ? read_mmcif
           : is_gro(text)                 ? read_gro
           : is_inpcrd(text, r->c_locale) ? read_inpcrd
           : is_crd(text)                 ? read_crd
                                          : read_pdb;
    if (charges_reader(text))
        return vf_fail(
            r->ctx, VF_ERR_INPUT,
            "%s: this file has charges but no coordinates; give the file with the coordinates (PDB, mmCIF, .gro, "
            ".crd, .coor, inpcrd, rst7, ncrst) as the molecule, and this one after --charges",
            r->name);
    return VF_OK;
}

static vf_status choose_charges(const molecule_reader *r, text_piece text, reader_function *out)
{
    *out = charges_reader(text);
    if (!*out)
        return vf_fail(r->ctx, VF_ERR_INPUT,
                       "%s: neither a PSF file, which begins with PSF, nor an AMBER prmtop file, which begins with "
                       "%%VERSION (convert older prmtop files with ParmEd)",
                       r->name);
    return VF_OK;
}

/* One of the two files, and what its reader found out. */
typedef struct file_part {
    const char *name;
    molecule m;
    bool plain_numbers, own_numbers;
} file_part;

typedef vf_status (*choose_function)(const molecule_reader *r, text_piece text, reader_function *out);

static vf_status read_part(vf_context *ctx, const named_text *from, locale_t c_locale, choose_function choose,
                           file_part *out)
{
    text_piece text = {from->text, from->bytes};
    reader_function read;
    molecule_reader binary = {.ctx = ctx, .name = from->name, .c_locale = c_locale, .out = &out->m};
    out->name = from->name;
    if (choose == choose_coordinates && is_netcdf(from->text, from->bytes))
        return read_ncrst(&binary, from->text, from->bytes);
    if (choose == choose_coordinates && is_namdbin(from->name, from->text, from->bytes))
        return read_namdbin(&binary, from->text, from->bytes);
    vf_status status = text_check(ctx, from->name, &text);
    if (status != VF_OK)
        return status;
    molecule_reader r = {.ctx = ctx,
                         .name = from->name,
                         .lines = {.next = text.at, .end = text.at + text.size},
                         .c_locale = c_locale,
                         .out = &out->m};
    status = choose(&r, text, &read);
    VF_TRY(status, read(&r));
    out->plain_numbers = r.plain_numbers;
    out->own_numbers = r.own_numbers;
    return status;
}

/* ---- one molecule ---- */

/* Moves leading digits of a name to its end: PDB files put them in front to fill their columns (1HB is HB1). */
static void unrotate(const char *name, char out[LABEL_SIZE])
{
    size_t digits = strspn(name, "0123456789");
    snprintf(out, LABEL_SIZE, "%s%.*s", name + digits, (int)digits, name);
}

/* Formats for files of coordinates have room for four letters of a name, or five. */
static bool is_cut_name(const char *a, const char *b)
{
    const size_t size = strlen(a);
    return (size == 4 || size == 5) && strlen(b) > size && strncmp(a, b, size) == 0;
}

static bool same_name(const char *a, const char *b)
{
    char plain_a[LABEL_SIZE], plain_b[LABEL_SIZE];
    if (strcmp(a, b) == 0)
        return true;
    unrotate(a, plain_a);
    unrotate(b, plain_b);
    return strcmp(plain_a, plain_b) == 0 || is_cut_name(a, b);
}

/* Programs rename residues, but no amino acid becomes another. Models with one bead for a residue, or backbones, have the same
 * names of atoms in all of them. */
static void warn_of_residues(vf_context *ctx, const file_part *places, const file_part *charges)
{
    const atom_label *last[2] = {NULL, NULL};
    int64_t count = 0, first = 0;
    bool other = false;
    for (int64_t i = 0; i < places->m.atoms; i++) {
        const atom_label *a = &places->m.labels[i], *b = &charges->m.labels[i];
        if (!last[0] || strcmp(a->residue, last[0]->residue) != 0 || strcmp(b->residue, last[1]->residue) != 0) {
            const bool same = strcmp(a->residue, b->residue) == 0;
            const char *one = same ? NULL : residue_amino_acid(a->residue),
                       *two = one ? residue_amino_acid(b->residue) : NULL;
            other = one && two && strcmp(one, two) != 0;
        }
        last[0] = a;
        last[1] = b;
        first = other && count == 0 ? i : first;
        count += other;
    }
    if (count > 0)
        vf_warn(ctx,
                "%s: %" PRId64 " atom%s %s of another amino acid than in %s: atom %" PRId64 " is of %s %" PRId32
                " here, and of %s %" PRId32
                " there; charges go by the order of atoms, so check that both files have the same",
                places->name, count, vf_plural(count), count == 1 ? "is" : "are", charges->name, first + 1,
                places->m.labels[first].residue, places->m.labels[first].residue_number,
                charges->m.labels[first].residue, charges->m.labels[first].residue_number);
}

static vf_status compare(vf_context *ctx, const file_part *places, const file_part *charges)
{
    static const char advice[] = "both must have the same atoms in the same order";
    if (places->m.atoms != charges->m.atoms)
        return vf_fail(ctx, VF_ERR_INPUT, "%s has %" PRId64 " atom%s, but %s has %" PRId64 "; %s", places->name,
                       places->m.atoms, vf_plural(places->m.atoms), charges->name, charges->m.atoms, advice);
    for (int64_t i = 0; i < places->m.atoms; i++) {
        const atom_label *a = &places->m.labels[i], *b = &charges->m.labels[i];
        if (*a->name && !same_name(a->name, b->name))
            return vf_fail(ctx, VF_ERR_INPUT,
                           "%s: atom %" PRId64 " is '%s' (%s %" PRId32 "), but in %s it is '%s' (%s %" PRId32 "); %s",
                           places->name, i + 1, a->name, a->residue, a->residue_number, charges->name, b->name,
                           b->residue, b->residue_number, advice);
    }
    warn_of_residues(ctx, places, charges);
    return VF_OK;
}

/* The letters of alternate locations are the fifth letters of names if the other file has these names. */
static bool letters_are_of_names(const file_part *places, const file_part *charges)
{
    bool any = false;
    if (places->m.atoms != charges->m.atoms)
        return false;
    for (int64_t i = 0; i < places->m.atoms; i++) {
        const atom_label *a = &places->m.labels[i];
        char name[LABEL_SIZE + 1];
        snprintf(name, sizeof name, "%s%c", a->name, a->alternate);
        if (a->alternate && strcmp(name, charges->m.labels[i].name) != 0)
            return false;
        any |= a->alternate != '\0';
    }
    return any;
}

static vf_status choose_locations(vf_context *ctx, conformer_choice choice, file_part *places, const file_part *charges)
{
    if (!letters_are_of_names(places, charges))
        return choose_conformers(ctx, places->name, choice, &places->m);
    for (int64_t i = 0; i < places->m.atoms; i++)
        places->m.labels[i].alternate = '\0';
    return VF_OK;
}

/* Labels come from the file of coordinates. The file of charges adds what is missing, and what was cut. */
static void complete_label(atom_label *label, const atom_label *other)
{
    if (!*label->name) {
        *label = *other;
        return;
    }
    if (is_cut_name(label->name, other->name))
        memcpy(label->name, other->name, sizeof label->name);
    if (!*label->residue)
        memcpy(label->residue, other->residue, sizeof label->residue);
    if (!*label->segment && strcmp(label->chain, other->segment) != 0)
        memcpy(label->segment, other->segment, sizeof label->segment);
    if (!*label->chain)
        memcpy(label->chain, other->chain, sizeof label->chain);
}

/* Whether `other` says nothing new of a residue's number: the same one, with the same insertion code or none. */
static bool is_number_of(const atom_label *label, const atom_label *other)
{
    return label->residue_number == other->residue_number && strcmp(label->number_text, other->number_text) == 0 &&
           (!other->insertion || label->insertion == other->insertion);
}

/* Residue numbers of a PSF file are the system's own. Those of a prmtop file only count residues: they replace numbers that
 * are not plain, or start again, and are left alone if the coordinates have none of their own. */
static void take_numbers(vf_context *ctx, file_part *places, const file_part *charges)
{
    const bool records = places->m.records.lines != NULL;
    int64_t changed = 0;
    if (!charges->own_numbers && places->plain_numbers)
        return;
    for (int64_t i = 0; i < places->m.atoms; i++) {
        atom_label *label = &places->m.labels[i];
        const atom_label *other = &charges->m.labels[i];
        if (*other->number_text || is_number_of(label, other))
            continue;
        changed++;
        label->residue_number = other->residue_number;
        label->insertion = other->insertion;
        memcpy(label->number_text, other->number_text, sizeof label->number_text);
    }
    if (changed > 0 && records)
        vf_note(ctx,
                "note: %s: the residue numbers of %" PRId64
                " atom%s are taken from %s, which has others; the records of "
                "the structure still have the old ones",
                places->name, changed, vf_plural(changed), charges->name);
}

/* Moves the charges and radii of `charges` into `places`. */
static void join(vf_context *ctx, file_part *places, file_part *charges)
{
    molecule *out = &places->m, *charged = &charges->m;
    char dialect[sizeof out->dialect];
    bool divided = false; /* the coordinates say where chains end */
    take_numbers(ctx, places, charges);
    for (int64_t i = 0; i < out->atoms; i++)
        divided |= out->labels[i].ends_chain || *out->labels[i].chain;
    for (int64_t i = 0; i < out->atoms; i++) {
        complete_label(&out->labels[i], &charged->labels[i]);
        out->labels[i].ends_chain = divided ? out->labels[i].ends_chain : charged->labels[i].ends_chain;
    }
    free(out->charge);
    free(out->radius);
    out->charge = charged->charge;
    out->radius = charged->radius;
    charged->charge = charged->radius = NULL;
    out->total_charge = charged->total_charge;
    if (out->cell.lengths_alone && charged->cell.angles[0] > 0) {
        memcpy(out->cell.angles, charged->cell.angles, sizeof out->cell.angles);
        out->cell.state = cell_state(out->cell.lengths, out->cell.angles);
    }
    snprintf(dialect, sizeof dialect, "%.30s with charges of %.30s", out->dialect, charged->dialect);
    memcpy(out->dialect, dialect, sizeof dialect);
}

void say_of_charges(vf_context *ctx, const char *charges, const molecule *m)
{
    const double tolerance = 0.01; /* far above the rounding of charges with six decimals, even for a million atoms */
    double distance = fabs(m->total_charge - nearbyint(m->total_charge));
    bool zero = true, radii = false;
    for (int64_t i = 0; i < m->atoms; i++) {
        zero &= m->charge[i] == 0;
        radii |= m->radius[i] > 0;
    }
    if (zero)
        vf_warn(ctx, "%s: all charges are 0, so the potential is 0 everywhere", charges);
    else if (distance > tolerance)
        vf_warn(ctx, "%s: the total charge, %+.4f e, is %.4f e from an integer; check for missing atoms", charges,
                m->total_charge, distance);
    if (!radii)
        vf_note(ctx, "note: %s has no radii; using 0", charges);
}

/* The digest of the two texts, one after the other. */
static vf_status digest_both(vf_context *ctx, const named_text *coordinates, const named_text *charges, molecule *out)
{
    size_t bytes = coordinates->bytes + charges->bytes;
    char *both = malloc(bytes);
    if (!both)
        return vf_fail(ctx, VF_ERR_MEMORY, "%s: no memory for %zu MiB of text", charges->name, bytes >> 20);
    memcpy(both, coordinates->text, coordinates->bytes);
    memcpy(both + coordinates->bytes, charges->text, charges->bytes);
    vf_digest(both, bytes, out->digest);
    free(both);
    return VF_OK;
}

static vf_status read_both(vf_context *ctx, const named_text *coordinates, const named_text *charges,
                           conformer_choice choice, locale_t c_locale, file_part *places, file_part *charged)
{
    vf_status status = read_part(ctx, coordinates, c_locale, choose_coordinates, places);
    VF_TRY(status, read_part(ctx, charges, c_locale, choose_charges, charged));
    VF_TRY(status, choose_locations(ctx, choice, places, charged));
    VF_TRY(status, compare(ctx, places, charged));
    if (status == VF_OK) {
        join(ctx, places, charged);
        status = check_positions(ctx, coordinates->name, &places->m, NULL);
    }
    VF_TRY(status, digest_both(ctx, coordinates, charges, &places->m));
    if (status == VF_OK && !molecule_resize(&places->m, places->m.atoms))
        status = vf_fail(ctx, VF_ERR_MEMORY, "%s: no memory", coordinates->name);
    return status;
}

static const conformer_choice by_occupancy = {CONFORMER_BY_OCCUPANCY, '\0'};

vf_status parse_molecule_with_charges(vf_context *ctx, const named_text *coordinates, const named_text *charges,
                                      molecule *out)
{
    return parse_molecule_choosing(ctx, coordinates, charges, by_occupancy, out);
}

vf_status parse_molecule_choosing(vf_context *ctx, const named_text *coordinates, const named_text *charges,
                                  conformer_choice choice, molecule *out)
{
    file_part places = {.name = NULL}, charged = {.name = NULL};
    memset(out, 0, sizeof *out);
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c_locale)
        return vf_fail(ctx, VF_ERR_MEMORY, "%s: no memory to read numbers", coordinates->name);
    const vf_status status = read_both(ctx, coordinates, charges, choice, c_locale, &places, &charged);
    freelocale(c_locale);
    molecule_free(&charged.m);
    if (status != VF_OK) {
        molecule_free(&places.m);
        return status;
    }
    *out = places.m;
    say_of_charges(ctx, charges->name, out);
    return VF_OK;
}

vf_status parse_coordinates(vf_context *ctx, const named_text *coordinates, molecule *out)
{
    file_part part = {.name = NULL};
    memset(out, 0, sizeof *out);
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c_locale)
        return vf_fail(ctx, VF_ERR_MEMORY, "%s: no memory to read numbers", coordinates->name);
    const vf_status status = read_part(ctx, coordinates, c_locale, choose_coordinates, &part);
    freelocale(c_locale);
    if (status != VF_OK) {
        molecule_free(&part.m);
        return status;
    }
    *out = part.m;
    return VF_OK;
}

static vf_status read_two(vf_context *ctx, const char *coordinates, const char *charges, conformer_choice choice,
                          molecule *out)
{
    input_text places = {0}, values = {0};
    memset(out, 0, sizeof *out);
    vf_status status = input_text_read(ctx, coordinates, &places);
    VF_TRY(status, input_text_read(ctx, charges, &values));
    if (status == VF_OK)
        status = parse_molecule_choosing(ctx, &(named_text){coordinates, places.data, places.size},
                                         &(named_text){charges, values.data, values.size}, choice, out);
    input_text_free(&places);
    input_text_free(&values);
    return status;
}

vf_status read_molecule_with_charges(vf_context *ctx, const char *coordinates, const char *charges, molecule *out)
{
    return read_two(ctx, coordinates, charges, by_occupancy, out);
}

vf_status read_molecule_choosing(vf_context *ctx, const char *path, const char *charges, conformer_choice choice,
                                 molecule *out)
{
    return charges ? read_two(ctx, path, charges, choice, out) : read_pqr_choosing(ctx, path, choice, out);
}
