/* Reads a molecule from two files: one with the atoms' positions, one with their charges. The atoms must be the same
 * in the same order, or atoms would get others' charges. So their names are compared. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "amber_netcdf.h"
#include "binary_coordinates.h"
#include "crd_text.h"
#include "gro_text.h"
#include "molecule_readers.h"
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

typedef vf_status (*choose_function)(const molecule_reader *r, text_piece text, reader_function *out);

/* Reads one of the two files. */
static vf_status read_part(vf_context *ctx, const named_text *from, locale_t c_locale, choose_function choose,
                           molecule *out)
{
    text_piece text = {from->text, from->bytes};
    reader_function read;
    molecule_reader binary = {.ctx = ctx, .name = from->name, .c_locale = c_locale, .out = out};
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
                         .out = out};
    status = choose(&r, text, &read);
    return status == VF_OK ? read(&r) : status;
}

/* ---- one molecule ---- */

/* Moves leading digits of a name to its end: PDB files put them in front to fill their columns (1HB is HB1). */
static void unrotate(const char *name, char out[LABEL_SIZE])
{
    size_t digits = strspn(name, "0123456789");
    snprintf(out, LABEL_SIZE, "%s%.*s", name + digits, (int)digits, name);
}

static bool same_name(const char *a, const char *b)
{
    char plain_a[LABEL_SIZE], plain_b[LABEL_SIZE];
    if (strcmp(a, b) == 0)
        return true;
    unrotate(a, plain_a);
    unrotate(b, plain_b);
    return strcmp(plain_a, plain_b) == 0;
}

static vf_status compare(vf_context *ctx, const char *coordinates, const molecule *places, const char *charges,
                         const molecule *charged)
{
    static const char advice[] = "both must have the same atoms in the same order";
    if (places->atoms != charged->atoms)
        return vf_fail(ctx, VF_ERR_INPUT, "%s has %" PRId64 " atom%s, but %s has %" PRId64 "; %s", coordinates,
                       places->atoms, vf_plural(places->atoms), charges, charged->atoms, advice);
    for (int64_t i = 0; i < places->atoms; i++) {
        const atom_label *a = &places->labels[i], *b = &charged->labels[i];
        if (*a->name && !same_name(a->name, b->name))
            return vf_fail(ctx, VF_ERR_INPUT,
                           "%s: atom %" PRId64 " is '%s' (%s %" PRId32 "), but in %s it is '%s' (%s %" PRId32 "); %s",
                           coordinates, i + 1, a->name, a->residue, a->residue_number, charges, b->name, b->residue,
                           b->residue_number, advice);
    }
    return VF_OK;
}

/* Labels come from the file of coordinates. The file of charges adds what is missing. */
static void complete_label(atom_label *label, const atom_label *other)
{
    if (!*label->name) {
        *label = *other;
        return;
    }
    if (!*label->residue)
        memcpy(label->residue, other->residue, sizeof label->residue);
    if (!*label->chain)
        memcpy(label->chain, other->chain, sizeof label->chain);
}

/* Moves the charges and radii of `charged` into `out`, which has the coordinates. */
static void join(molecule *out, molecule *charged)
{
    char dialect[sizeof out->dialect];
    for (int64_t i = 0; i < out->atoms; i++)
        complete_label(&out->labels[i], &charged->labels[i]);
    free(out->charge);
    free(out->radius);
    out->charge = charged->charge;
    out->radius = charged->radius;
    charged->charge = charged->radius = NULL;
    out->total_charge = charged->total_charge;
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

vf_status parse_molecule_with_charges(vf_context *ctx, const named_text *coordinates, const named_text *charges,
                                      molecule *out)
{
    molecule charged = {0};
    memset(out, 0, sizeof *out);
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c_locale)
        return vf_fail(ctx, VF_ERR_MEMORY, "%s: no memory to read numbers", coordinates->name);
    vf_status status = read_part(ctx, coordinates, c_locale, choose_coordinates, out);
    if (status == VF_OK)
        status = read_part(ctx, charges, c_locale, choose_charges, &charged);
    if (status == VF_OK)
        status = compare(ctx, coordinates->name, out, charges->name, &charged);
    if (status == VF_OK) {
        join(out, &charged);
        status = digest_both(ctx, coordinates, charges, out);
    }
    if (status == VF_OK && !molecule_resize(out, out->atoms))
        status = vf_fail(ctx, VF_ERR_MEMORY, "%s: no memory", coordinates->name);
    if (status == VF_OK)
        say_of_charges(ctx, charges->name, out);
    freelocale(c_locale);
    molecule_free(&charged);
    if (status != VF_OK)
        molecule_free(out);
    return status;
}

vf_status parse_coordinates(vf_context *ctx, const named_text *coordinates, molecule *out)
{
    memset(out, 0, sizeof *out);
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c_locale)
        return vf_fail(ctx, VF_ERR_MEMORY, "%s: no memory to read numbers", coordinates->name);
    const vf_status status = read_part(ctx, coordinates, c_locale, choose_coordinates, out);
    freelocale(c_locale);
    if (status != VF_OK)
        molecule_free(out);
    return status;
}

vf_status read_molecule_with_charges(vf_context *ctx, const char *coordinates, const char *charges, molecule *out)
{
    input_text places = {0}, values = {0};
    memset(out, 0, sizeof *out);
    vf_status status = input_text_read(ctx, coordinates, &places);
    if (status == VF_OK)
        status = input_text_read(ctx, charges, &values);
    if (status == VF_OK)
        status = parse_molecule_with_charges(ctx, &(named_text){coordinates, places.data, places.size},
                                             &(named_text){charges, values.data, values.size}, out);
    input_text_free(&places);
    input_text_free(&values);
    return status;
}
