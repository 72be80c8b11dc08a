/* Reads molecules from mmCIF files (the PDBx/mmCIF dictionary of the wwPDB), and from the CIF of small molecules with
 * fractional coordinates. Chains, residues and atoms have the names of PDB files (auth_...), if the file states them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "mmcif_file.h"

static const char *const atom_items[] = {[ATOM_GROUP] = "group_PDB",
                                         [ATOM_ID] = "id",
                                         [ATOM_ELEMENT] = "type_symbol",
                                         [ATOM_AUTH_NAME] = "auth_atom_id",
                                         [ATOM_NAME] = "label_atom_id",
                                         [ATOM_PLAIN_LABEL] = "label",
                                         [ATOM_ALTERNATE] = "label_alt_id",
                                         [ATOM_DISORDER] = "disorder_group",
                                         [ATOM_AUTH_RESIDUE] = "auth_comp_id",
                                         [ATOM_RESIDUE] = "label_comp_id",
                                         [ATOM_AUTH_CHAIN] = "auth_asym_id",
                                         [ATOM_CHAIN] = "label_asym_id",
                                         [ATOM_AUTH_NUMBER] = "auth_seq_id",
                                         [ATOM_NUMBER] = "label_seq_id",
                                         [ATOM_INSERTION] = "pdbx_PDB_ins_code",
                                         [ATOM_X] = "Cartn_x",
                                         [ATOM_Y] = "Cartn_y",
                                         [ATOM_Z] = "Cartn_z",
                                         [ATOM_FRACTION_X] = "fract_x",
                                         [ATOM_FRACTION_Y] = "fract_y",
                                         [ATOM_FRACTION_Z] = "fract_z",
                                         [ATOM_OCCUPANCY] = "occupancy",
                                         [ATOM_MODEL] = "pdbx_PDB_model_num",
                                         [ATOM_PQR_CHARGE] = "pqr_partial_charge",
                                         [ATOM_PARTIAL_CHARGE] = "partial_charge",
                                         [ATOM_CHARGE] = "charge",
                                         [ATOM_PQR_RADIUS] = "pqr_radius",
                                         [ATOM_RADIUS] = "radius",
                                         [ATOM_B_FACTOR] = "B_iso_or_equiv",
                                         [ATOM_FORMAL_CHARGE] = "pdbx_formal_charge",
                                         NULL};
static const char *const cell_items[] = {"length_a",   "length_b",    "length_c", "angle_alpha",
                                         "angle_beta", "angle_gamma", NULL};
static const char *const scale_items[] = {"fract_transf_matrix[1][1]",
                                          "fract_transf_matrix[1][2]",
                                          "fract_transf_matrix[1][3]",
                                          "fract_transf_vector[1]",
                                          "fract_transf_matrix[2][1]",
                                          "fract_transf_matrix[2][2]",
                                          "fract_transf_matrix[2][3]",
                                          "fract_transf_vector[2]",
                                          "fract_transf_matrix[3][1]",
                                          "fract_transf_matrix[3][2]",
                                          "fract_transf_matrix[3][3]",
                                          "fract_transf_vector[3]",
                                          NULL};
static const char *const symmetry_items[] = {"space_group_name_H-M", "pdbx_full_space_group_name_H-M",
                                             "Int_Tables_number", "space_group_name_Hall", NULL};
static const char *const group_items[] = {"name_H-M_alt", "name_H-M_full", "IT_number", "name_Hall", NULL};
static const char *const symmetry_texts[] = {"pos_as_xyz", NULL};
static const char *const group_texts[] = {"operation_xyz", NULL};
static const char *const ncs_items[] = {"code", "matrix[1][1]", "matrix[2][2]", "matrix[3][3]", NULL};
static const char *const charge_items[] = {"type_id", "atom_id", "charge", NULL};
static const char *const bond_items[] = {"conn_type_id", NULL};
static const char *const meta_items[] = {"id", "type", "method", NULL};

static const cif_table wanted[MMCIF_TABLES] = {
    [MMCIF_ATOMS] = {.category = "_atom_site", .items = atom_items},
    [MMCIF_CELL] = {.category = "_cell", .items = cell_items},
    [MMCIF_SCALE] = {.category = "_atom_sites", .items = scale_items},
    [MMCIF_SYMMETRY] = {.category = "_symmetry", .items = symmetry_items},
    [MMCIF_GROUP] = {.category = "_space_group", .items = group_items},
    [MMCIF_SYMMETRY_TEXTS] = {.category = "_symmetry_equiv", .items = symmetry_texts},
    [MMCIF_GROUP_TEXTS] = {.category = "_space_group_symop", .items = group_texts},
    [MMCIF_NCS] = {.category = "_struct_ncs_oper", .items = ncs_items},
    [MMCIF_CHARGES] = {.category = "_sb_ncbr_partial_atomic_charges", .items = charge_items},
    [MMCIF_CHARGES_META] = {.category = "_sb_ncbr_partial_atomic_charges_meta", .items = meta_items},
    [MMCIF_PLAIN_CHARGES] = {.category = "_partial_atomic_charges", .items = charge_items},
    [MMCIF_PLAIN_CHARGES_META] = {.category = "_partial_atomic_charges_meta", .items = meta_items},
    [MMCIF_BONDS] = {.category = "_struct_conn", .items = bond_items}};

/* ---- values ---- */

/* Without the uncertainty in brackets: "1.234(5)". */
static text_piece without_uncertainty(text_piece text)
{
    const char *bracket = text.size > 0 ? memchr(text.at, '(', text.size) : NULL;
    if (bracket && bracket > text.at && text.at[text.size - 1] == ')')
        text.size = (size_t)(bracket - text.at);
    return text;
}

vf_status mmcif_number(const molecule_reader *r, const cif_word *word, const char *item, double *out)
{
    const double limit = 1e9; /* as for PQR files */
    char quoted[TEXT_QUOTE_SIZE];
    text_number number;
    const text_piece text = without_uncertainty(word->text);
    if (!cif_is_stated(word))
        return text_fail(r->ctx, r->name, word->line, "%s is missing ('%s')", item, text_quote(text, quoted));
    if (!text_read_number(text, r->c_locale, &number))
        return text_fail(r->ctx, r->name, word->line, "%s: '%s' %s", item, text_quote(text, quoted),
                         text_number_trouble(text));
    if (!(number.value >= -limit && number.value <= limit))
        return text_fail(r->ctx, r->name, word->line,
                         "%s: '%s' is beyond +-1e9; lengths are in angstrom, charges in elementary charges", item,
                         text_quote(text, quoted));
    *out = number.value;
    return VF_OK;
}

static text_piece first_stated(const cif_word *word, int preferred, int other)
{
    if (cif_is_stated(&word[preferred]))
        return word[preferred].text;
    return cif_is_stated(&word[other]) ? word[other].text : (text_piece){"", 0};
}

static char one_letter(const cif_word *word)
{
    return (char)(cif_is_stated(word) && word->text.at[0] > ' ' && word->text.at[0] <= '~' ? word->text.at[0] : '\0');
}

/* The element of "Na+" or "O2-". */
static text_piece letters_of(text_piece symbol)
{
    size_t size = 0;
    while (size < symbol.size && text_is_letter(symbol.at[size]))
        size++;
    return (text_piece){symbol.at, size};
}

static float number_or(molecule_reader *r, const cif_word *word, float otherwise)
{
    return reader_number_or(r, cif_is_stated(word) ? without_uncertainty(word->text) : (text_piece){"", 0}, word->line,
                            otherwise);
}

/* "2" or "-1" as PDB files have it: "2+", "1-". */
static void take_formal_charge(const cif_word *word, atom_label *label)
{
    int32_t charge;
    if (!cif_is_stated(word) || !label_number(word->text, &charge) || charge == 0 || abs(charge) > 9)
        return;
    label->formal_charge[0] = (char)('0' + abs(charge));
    label->formal_charge[1] = charge > 0 ? '+' : '-';
}

static void read_label(molecule_reader *r, const cif_word *word, atom_label *label)
{
    const text_piece residue = first_stated(word, ATOM_AUTH_NUMBER, ATOM_NUMBER);
    text_piece name = first_stated(word, ATOM_AUTH_NAME, ATOM_NAME);
    if (name.size == 0 && cif_is_stated(&word[ATOM_PLAIN_LABEL]))
        name = word[ATOM_PLAIN_LABEL].text;
    *label = (atom_label){.occupancy = 1};
    label->cut = label_copy(name, label->name);
    label->cut |= label_copy(first_stated(word, ATOM_AUTH_RESIDUE, ATOM_RESIDUE), label->residue);
    label->cut |= label_copy(first_stated(word, ATOM_AUTH_CHAIN, ATOM_CHAIN), label->chain);
    label_element(letters_of(word[ATOM_ELEMENT].text), label->element);
    label->insertion = one_letter(&word[ATOM_INSERTION]);
    label->alternate = one_letter(&word[ATOM_ALTERNATE]);
    label->hetero = cif_same_text(word[ATOM_GROUP].text, "HETATM");
    if (residue.size > 0 && !label_number(residue, &label->residue_number))
        label->cut |= label_copy(residue, label->number_text);
    label->occupancy = number_or(r, &word[ATOM_OCCUPANCY], 1);
    label->b_factor = number_or(r, &word[ATOM_B_FACTOR], 0);
    take_formal_charge(&word[ATOM_FORMAL_CHARGE], label);
}

/* ---- atoms ---- */

static vf_status read_position(const mmcif_file *f, const cif_word *word, const vf_cell *cell, double xyz[3])
{
    const bool fractions = !f->tables[MMCIF_ATOMS].has[ATOM_X];
    double value[3];
    vf_status status = VF_OK;
    for (int a = 0; status == VF_OK && a < 3; a++) {
        const int item = (fractions ? ATOM_FRACTION_X : ATOM_X) + a;
        status = mmcif_number(f->r, &word[item], atom_items[item], &value[a]);
    }
    for (int a = 0; status == VF_OK && a < 3; a++)
        xyz[a] = fractions
                     ? value[0] * cell->vectors[0][a] + value[1] * cell->vectors[1][a] + value[2] * cell->vectors[2][a]
                     : value[a];
    return status;
}

/* The first of two or three items that the table has; -1: none. */
static int present(const cif_table *t, int first, int last)
{
    for (int item = first; item <= last; item++)
        if (t->has[item])
            return item;
    return -1;
}

static vf_status read_charge(const mmcif_file *f, const cif_word *word, double *charge, double *radius)
{
    const cif_table *t = &f->tables[MMCIF_ATOMS];
    const int charges = present(t, ATOM_PQR_CHARGE, ATOM_CHARGE), radii = present(t, ATOM_PQR_RADIUS, ATOM_RADIUS);
    vf_status status = charges >= 0 ? mmcif_number(f->r, &word[charges], atom_items[charges], charge) : VF_OK;
    if (status == VF_OK && radii >= 0)
        status = mmcif_number(f->r, &word[radii], atom_items[radii], radius);
    if (status == VF_OK && *radius < 0)
        status = text_fail(f->r->ctx, f->r->name, word[radii].line, "%s: a radius of %g is negative", atom_items[radii],
                           *radius);
    return status;
}

static vf_status make_room(mmcif_file *f)
{
    if (f->ids >= f->r->capacity)
        return VF_OK;
    int64_t *ids = realloc(f->id, (size_t)f->r->capacity * sizeof *ids);
    f->id = ids ? ids : f->id;
    int64_t *lines = realloc(f->line, (size_t)f->r->capacity * sizeof *lines);
    f->line = lines ? lines : f->line;
    if (!ids || !lines)
        return vf_fail(f->r->ctx, VF_ERR_MEMORY, "%s: no memory for %" PRId64 " atoms", f->r->name, f->r->capacity);
    f->ids = f->r->capacity;
    return VF_OK;
}

/* Alternate locations have one letter. Those of small molecules have names of their own, so which atoms exclude each other cannot
 * be told from the names. */
static vf_status check_place(const mmcif_file *f, const cif_word *alternate, const cif_word *disorder, int64_t i)
{
    char quoted[TEXT_QUOTE_SIZE];
    if (cif_is_stated(alternate) && alternate->text.size > 1)
        return text_fail(f->r->ctx, f->r->name, f->line[i], "label_alt_id: '%s' has more than one letter; shorten it",
                         text_quote(alternate->text, quoted));
    if (!f->tables[MMCIF_ATOMS].has[ATOM_ALTERNATE] && cif_is_stated(disorder))
        return text_fail(
            f->r->ctx, f->r->name, f->line[i],
            "disorder_group: '%s' is one of several places of disordered atoms; leave one group in the file, without "
            "its disorder_group",
            text_quote(disorder->text, quoted));
    return VF_OK;
}

static vf_status read_atom(mmcif_file *f, const cif_word *word, const vf_cell *cell)
{
    molecule_reader *r = f->r;
    molecule *m = r->out;
    double xyz[3], charge = 0, radius = 0;
    int64_t id = 0;
    vf_status status = read_position(f, word, cell, xyz);
    VF_TRY(status, read_charge(f, word, &charge, &radius));
    VF_TRY(status, reader_add_atom(r));
    VF_TRY(status, make_room(f));
    if (status != VF_OK)
        return status;
    const int64_t i = m->atoms - 1;
    molecule_place(m, i, xyz);
    m->charge[i] = charge;
    m->radius[i] = radius;
    read_label(r, word, &m->labels[i]);
    f->id[i] = text_count(word[ATOM_ID].text, &id) ? id : -1;
    f->line[i] = word[f->tables[MMCIF_ATOMS].has[ATOM_X] ? ATOM_X : ATOM_FRACTION_X].line;
    if (!*m->labels[i].name)
        return text_fail(r->ctx, r->name, f->line[i], "this atom has no name (auth_atom_id or label_atom_id)");
    return check_place(f, &word[ATOM_ALTERNATE], &word[ATOM_DISORDER], i);
}

static bool same_text(text_piece a, text_piece b)
{
    return a.size == b.size && memcmp(a.at, b.at, a.size) == 0;
}

/* A polymer ends where its label_asym_id does; residues of polymers have a label_seq_id. */
static void end_polymer(molecule *m, const cif_word *word, bool *polymer, text_piece *chain, bool last)
{
    if (*polymer && m->atoms > 0 && (last || !same_text(word[ATOM_CHAIN].text, *chain)))
        m->labels[m->atoms - 1].ends_chain = true;
    *polymer = !last && cif_is_stated(&word[ATOM_CHAIN]) && cif_is_stated(&word[ATOM_NUMBER]);
    *chain = last ? (text_piece){"", 0} : word[ATOM_CHAIN].text;
}

static vf_status read_atoms(mmcif_file *f, const vf_cell *cell)
{
    const cif_table *t = &f->tables[MMCIF_ATOMS];
    molecule_reader *r = f->r;
    cif_rows rows = cif_rows_of(t);
    cif_word word[CIF_MOST_ITEMS];
    text_piece model = {0}, chain = {"", 0}, now;
    int64_t skipped = 0;
    bool polymer = false;
    vf_status status = VF_OK;
    while (status == VF_OK && cif_next_row(&rows, word)) {
        now = t->has[ATOM_MODEL] ? word[ATOM_MODEL].text : (text_piece){"", 0};
        if (!model.at)
            model = now;
        if (!same_text(now, model)) {
            skipped++;
            continue;
        }
        end_polymer(r->out, word, &polymer, &chain, false);
        status = read_atom(f, word, cell);
        if (rows.row % (1 << 16) == 0 && vf_cancelled(r->ctx))
            status = vf_fail(r->ctx, VF_ERR_CANCELLED, "%s: interrupted while reading", r->name);
    }
    end_polymer(r->out, word, &polymer, &chain, true);
    int64_t number;
    if (status == VF_OK && text_count(model, &number) && number <= INT32_MAX && skipped > 0)
        r->out->records.model_number = (int32_t)number;
    if (status == VF_OK && skipped > 0)
        vf_warn(r->ctx, "%s: only the first model is read; %" PRId64 " atom%s of others %s not", r->name, skipped,
                skipped == 1 ? "" : "s", skipped == 1 ? "is" : "are");
    return status;
}

/* ---- files ---- */

static vf_status find_tables(mmcif_file *f, text_piece text)
{
    molecule_reader *r = f->r;
    int64_t others;
    memcpy(f->tables, wanted, sizeof wanted);
    vf_status status = cif_find_tables(r->ctx, r->name, text, f->tables, MMCIF_TABLES, &others);
    VF_TRY(status, mmcif_read_crystal(f));
    if (status == VF_OK && others > 0)
        vf_warn(r->ctx, "%s: only the first data block is read; %" PRId64 " other%s ignored", r->name, others,
                others == 1 ? " is" : "s are");
    return status;
}

/* Whether the atoms have coordinates; without Cartesian ones, fractional ones need a cell. */
static vf_status check_coordinates(const mmcif_file *f, vf_cell *cell)
{
    const cif_table *t = &f->tables[MMCIF_ATOMS];
    const molecule_reader *r = f->r;
    const unit_cell *stated = &r->out->cell;
    if (!t->found || t->rows == 0)
        return vf_fail(
            r->ctx, VF_ERR_INPUT,
            "%s: an mmCIF file without atoms (_atom_site) in its first data block; a file of structure factors or "
            "of a chemical component has none",
            r->name);
    if (t->has[ATOM_X] && t->has[ATOM_Y] && t->has[ATOM_Z])
        return VF_OK;
    if (!t->has[ATOM_X] && t->has[ATOM_FRACTION_X] && t->has[ATOM_FRACTION_Y] && t->has[ATOM_FRACTION_Z]) {
        if (stated->state == UNIT_CELL_NUMBERS && cell_of_shape(stated->lengths, stated->angles, cell))
            return VF_OK;
        return vf_fail(r->ctx, VF_ERR_INPUT, "%s: the coordinates are fractional, and the file has %s", r->name,
                       stated->state == UNIT_CELL_RADIANS ? "a cell (_cell) whose angles may be in radians, not degrees"
                                                          : "no cell (_cell)");
    }
    return vf_fail(r->ctx, VF_ERR_INPUT, "%s: _atom_site lacks the coordinates Cartn_x, Cartn_y or Cartn_z", r->name);
}

/* In the CIF of small molecules, partly occupied sites are often alternatives that no disorder group tells apart. */
static void warn_of_partial_sites(const mmcif_file *f)
{
    const molecule *m = f->r->out;
    int64_t count = 0, first = 0;
    for (int64_t i = m->atoms - 1; i >= 0; i--)
        if (m->labels[i].occupancy < 0.995) {
            first = i;
            count++;
        }
    if (count > 0)
        vf_warn(f->r->ctx,
                "%s: %" PRId64
                " atom%s partly occupied (the first is %s, %g), but each counts with its whole charge; leave "
                "out those that are not there together with others",
                f->r->name, count, count == 1 ? " is" : "s are", m->labels[first].name,
                (double)m->labels[first].occupancy);
}

/* `alone`: the file must have charges. */
static vf_status read_file(mmcif_file *f, text_piece text, bool alone)
{
    vf_cell cell = {.kind = VF_CELL_NONE};
    molecule_reader *r = f->r;
    bool charged = false;
    vf_status status = find_tables(f, text);
    VF_TRY(status, check_coordinates(f, &cell));
    VF_TRY(status, read_atoms(f, &cell));
    if (status == VF_OK && alone)
        status = mmcif_read_charges(f, &charged);
    if (status == VF_OK && alone && !charged)
        return vf_fail(
            r->ctx, VF_ERR_INPUT,
            "%s: an mmCIF file without partial charges; give them (--charges molecule.psf, or .prmtop), or make a "
            "PQR file with pdb2pqr (pdb2pqr --ff=AMBER in.cif out.pqr)",
            r->name);
    if (status == VF_OK) {
        reader_warn_of_numbers(r);
        warn_of_cut_names(r->ctx, r->name, r->out);
        if (!f->tables[MMCIF_ATOMS].has[ATOM_X])
            warn_of_partial_sites(f);
    }
    if (status == VF_OK && f->tables[MMCIF_BONDS].rows > 0)
        vf_note(r->ctx, "note: %s: the %" PRId64 " bonds of _struct_conn are not kept", r->name,
                f->tables[MMCIF_BONDS].rows);
    strcpy(r->out->dialect, f->tables[MMCIF_ATOMS].has[ATOM_X] ? "mmCIF" : "CIF, fractional coordinates");
    return status;
}

static vf_status read_and_free(molecule_reader *r, bool alone)
{
    const text_piece text = {r->lines.next, (size_t)(r->lines.end - r->lines.next)};
    mmcif_file f = {.r = r};
    vf_status status = read_file(&f, text, alone);
    free(f.id);
    free(f.line);
    return status;
}

vf_status read_mmcif(molecule_reader *r)
{
    return read_and_free(r, false);
}

vf_status read_mmcif_with_charges(molecule_reader *r)
{
    vf_status status = read_and_free(r, true);
    if (status == VF_OK)
        say_of_charges(r->ctx, r->name, r->out);
    return status;
}

vf_status read_mmcif_cell(molecule_reader *r, text_piece text)
{
    mmcif_file f = {.r = r};
    return find_tables(&f, text);
}
