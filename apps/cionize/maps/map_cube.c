/* Gaussian cube files: lengths in bohr, z fastest, every row of z on its own lines, as cubegen writes them. */
#include <stdlib.h>
#include <string.h>

#include "map_common.h"
#include "molecule/atom_element.h"
#include "voxfield/append.h"
#include "voxfield/format_number.h"
#include "voxfield/team_size.h"

enum {
    DIGITS = 6, /* E13.5 */
    WIDTH = 13,
    PER_LINE = 6,
    GRID_DIGITS = 12,
    LINE_SIZE = 250, /* VMD reads 255 characters of a comment line */
    PART_SIZE = 110, /* three are joined in the first, two of them below 80 */
    ATOM_LINE = 160,
    ATOM_BLOCK = 1024, /* atoms that a thread formats at a time */
    ATOM_WORK = 2000   /* about ns of one */
};

/* CODATA 2022: 0.529 177 210 544 (82) angstrom. */
static const double bohr = 0.529177210544;

/* Formats a length in bohr, from angstrom. */
static const char *length(double angstrom, char *text)
{
    return vf_format_general(angstrom / bohr, GRID_DIGITS, text);
}

/* Lines of map_provenance that fit, without method and command. */
static vf_status write_first_comment(text_map *state)
{
    static const int lines[] = {0, 1, 6}; /* the first always exists */
    enum { ERROR_SIZE = 60 };             /* without its last words, which VMD might cut */
    char part[PART_SIZE];
    vf_status status = VF_OK;
    for (int n = 0; status == VF_OK && n < 3; n++)
        if (map_provenance(state->map.info, lines[n], part, sizeof part))
            status = map_text_printf(state->text, "%s%s", n > 0 ? "; " : "", part);
    if (status == VF_OK)
        status = text_map_error_line(state, "; ", ERROR_SIZE, "");
    VF_TRY(status, map_text_append(state->text, "\n"));
    return status;
}

/* The molecule, its digest, and what one must know to go on with the map: the dielectric, the cell, Gaussian charges, the selection. If the
 * line is too long, the digest goes, and the molecule is cut. */
static vf_status write_second_comment(text_map *state)
{
    enum { MOLECULE, DIGEST, NEEDED, LINES = 6 };
    static const int lines[LINES] = {2, 3, 7, 8, 9, 10};
    char part[LINES][PART_SIZE];
    size_t needed = 0, last = NEEDED;
    for (int n = 0; n < LINES; n++) {
        if (!map_provenance(state->map.info, lines[n], part[n], sizeof part[n]))
            part[n][0] = '\0';
        else if (n >= NEEDED) {
            needed += strlen("; ") + strlen(part[n]);
            last = (size_t)n;
        }
    }
    if (needed > LINE_SIZE) { /* without the selection, which is the last, they fit */
        part[last][strlen(part[last]) - (needed - LINE_SIZE)] = '\0';
        needed = LINE_SIZE;
    }
    const size_t room = needed < LINE_SIZE ? LINE_SIZE - needed : 0;
    part[MOLECULE][strnlen(part[MOLECULE], room)] = '\0';
    if (strlen(part[MOLECULE]) + strlen("; ") + strlen(part[DIGEST]) > room)
        part[DIGEST][0] = '\0';
    vf_status status = map_text_append(state->text, part[MOLECULE]);
    for (int n = NEEDED; status == VF_OK && n <= LINES; n++) {
        const char *text = part[n < LINES ? n : DIGEST];
        if (*text)
            status = map_text_printf(state->text, "; %s", text);
    }
    VF_TRY(status, map_text_append(state->text, "\n"));
    return status;
}

static int number_of(const molecule *solute, int64_t i)
{
    char symbol[3];
    if (!solute->labels)
        return 0;
    const atom_label *label = &solute->labels[i];
    (void)atom_element(label->name, label->residue, label->element, symbol);
    return atomic_number(symbol);
}

/* Atoms [first, behind), a line each, as text. The second column has the atom's charge. */
static void format_atoms(const molecule *solute, int64_t first, int64_t behind, char *to)
{
    char charge[VF_NUMBER_TEXT], x[VF_NUMBER_TEXT], y[VF_NUMBER_TEXT], z[VF_NUMBER_TEXT];
    *to = '\0';
    for (int64_t i = first; i < behind; i++)
        to += vf_append(to, ATOM_LINE, "%5d %s %s %s %s\n", number_of(solute, i),
                        vf_format_general(solute->charge[i], GRID_DIGITS, charge), length(solute->x[i], x),
                        length(solute->y[i], y), length(solute->z[i], z));
}

/* The number of atoms is positive: readers take 0 and less for a list of orbitals. Where the element is not known, the
 * atomic number is 0, which readers take for a dummy atom. All threads format, a block each; the calling thread writes. */
static vf_status write_atoms(text_map *state)
{
    vf_context *ctx = state->map.ctx;
    const molecule *solute = state->map.info->molecule;
    const int64_t atoms = solute->atoms, most = atoms / ATOM_BLOCK + 1;
    const int blocks = (int)(most < vf_context_threads(ctx) ? most : vf_context_threads(ctx));
    const size_t room = (size_t)ATOM_BLOCK * ATOM_LINE;
    char *text = malloc((size_t)blocks * room);
    if (!text)
        return vf_fail(ctx, VF_ERR_MEMORY, "no memory for the map's list of atoms");
    vf_status status = VF_OK;
    for (int64_t first = 0; first < atoms && status == VF_OK; first += (int64_t)blocks * ATOM_BLOCK) {
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(ctx, (int64_t)blocks *ATOM_BLOCK *ATOM_WORK))
        for (int b = 0; b < blocks; b++) {
            const int64_t from = first + (int64_t)b * ATOM_BLOCK, end = from + ATOM_BLOCK;
            format_atoms(solute, from, end < atoms ? end : atoms, text + (size_t)b * room);
        }
        for (int b = 0; b < blocks && status == VF_OK; b++)
            status = map_text_append(state->text, text + (size_t)b * room);
    }
    free(text);
    return status;
}

static vf_status write_header(text_map *state)
{
    const map_info *info = state->map.info;
    const vf_grid *grid = &info->grid;
    char x[VF_NUMBER_TEXT], y[VF_NUMBER_TEXT], z[VF_NUMBER_TEXT];
    vf_status status = write_first_comment(state);
    VF_TRY(status, write_second_comment(state));
    VF_TRY(status, map_text_printf(state->text, "%5lld %s %s %s\n", (long long)info->molecule->atoms,
                                   length(grid->origin[0], x), length(grid->origin[1], y), length(grid->origin[2], z)));
    VF_TRY(status,
           map_text_printf(state->text, "%5lld %s 0 0\n%5lld 0 %s 0\n%5lld 0 0 %s\n", (long long)grid->counts[0],
                           length(grid->spacing[0], x), (long long)grid->counts[1], length(grid->spacing[1], y),
                           (long long)grid->counts[2], length(grid->spacing[2], z)));
    VF_TRY(status, write_atoms(state));
    return status;
}

static vf_status cube_begin(vf_context *ctx, const char *path, const map_info *info, void **out)
{
    const map_text_layout layout = {
        .digits = DIGITS, .per_line = PER_LINE, .row = info->grid.counts[2], .width = WIDTH};
    const double most = 9.999994e99; /* largest number with two digits in the exponent */
    return text_map_begin(ctx, &map_cube, path, info, layout, most, write_header, out);
}

static vf_status cube_commit(void *state, double minimum, double maximum, double mean, double rms)
{
    (void)minimum;
    (void)maximum;
    (void)mean;
    (void)rms;
    return text_map_commit(state, "");
}

const map_format map_cube = {.name = "Gaussian cube",
                             .extensions = ".cube .cub",
                             .order = MAP_Z_FASTEST,
                             .max_points = INT32_MAX,
                             .max_reason =
                                 "readers of cube files count in 32 bits; write .h5 or .mrc, or use a coarser grid",
                             .bytes_per_value = {13.2, 13.2},
                             .bytes_per_atom = 54,
                             .bytes_besides = 340,
                             .begin = cube_begin,
                             .write = text_map_write,
                             .commit = cube_commit,
                             .discard = text_map_discard};
