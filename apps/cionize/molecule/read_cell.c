/* The periodic cell of a file that is read for its cell alone. */
#include "amber_netcdf.h"
#include "binary_coordinates.h"
#include "gro_text.h"
#include "molecule_readers.h"
#include "pqr_lines.h"
#include "text/cif_words.h"
#include "xsc_text.h"

static vf_status find_cell(molecule_reader *r, text_piece text)
{
    if (is_gro(text))
        return read_gro(r);
    if (is_cif(text))
        return read_mmcif_cell(r, text);
    if (is_xsc(text))
        return read_xsc(r);
    if (is_inpcrd(text, r->c_locale))
        return read_inpcrd(r);
    text_piece line;
    bool more = true, atoms = false; /* CRYST1 and SCALE come before the atoms */
    vf_status status = VF_OK;
    while (status == VF_OK && more && !(atoms && r->out->cell.state != UNIT_CELL_NONE)) {
        status = reader_next(r, &line, &more);
        atoms |= status == VF_OK && more && pqr_line_kind(line) == PQR_ATOM;
        if (status == VF_OK && more && !read_cryst1(line, r->c_locale, &r->out->cell))
            symmetry_read_record(line, r->c_locale, &r->out->symmetry); /* which comes before CRYST1 */
    }
    return status;
}

vf_status parse_cell(vf_context *ctx, const char *name, const char *text, size_t bytes, unit_cell *out,
                     listed_symmetry *symmetry)
{
    text_piece rest = {text, bytes};
    molecule found = {0};
    *out = (unit_cell){0};
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c_locale)
        return vf_fail(ctx, VF_ERR_MEMORY, "%s: no memory to read numbers", name);
    const bool netcdf = is_netcdf(text, bytes);
    vf_status status = netcdf ? VF_OK : text_check(ctx, name, &rest);
    molecule_reader r = {.ctx = ctx,
                         .name = name,
                         .lines = {.next = rest.at, .end = rest.at + rest.size},
                         .c_locale = c_locale,
                         .out = &found};
    VF_TRY(status, netcdf ? read_ncrst(&r, text, bytes) : find_cell(&r, rest));
    if (status == VF_OK)
        *out = found.cell;
    if (status == VF_OK && symmetry) {
        *symmetry = found.symmetry;
        found.symmetry = (listed_symmetry){0};
    }
    molecule_free(&found);
    freelocale(c_locale);
    return status;
}

vf_status read_cell_of_file(vf_context *ctx, const char *path, unit_cell *out, listed_symmetry *symmetry)
{
    input_text text = {0};
    *out = (unit_cell){0};
    vf_status status = input_text_read(ctx, path, &text);
    VF_TRY(status, parse_cell(ctx, path, text.data, text.size, out, symmetry));
    input_text_free(&text);
    return status;
}
