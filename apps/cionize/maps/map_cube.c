/* Gaussian cube files: lengths in bohr, z fastest, every row of z on its own lines, as cubegen writes them. */
#include <string.h>

#include "map_common.h"
#include "molecule/atom_element.h"
#include "voxfield/format_number.h"

enum {
    DIGITS = 6, /* E13.5 */
    WIDTH = 13,
    PER_LINE = 6,
    GRID_DIGITS = 12,
    PART_SIZE = 110, /* VMD reads 255 characters of a comment line; three parts are joined, two of them below 80 */
    ATOM_LINE = 160
};

/* CODATA 2022: 0.529 177 210 544 (82) angstrom. */
static const double bohr = 0.529177210544;

/* Formats a length in bohr, from angstrom. */
static const char *length(double angstrom, char *text)
{
    return vf_format_general(angstrom / bohr, GRID_DIGITS, text);
}

static vf_status write_comments(text_map *state)
{
    /* Lines of map_provenance, without method and command, which do not fit. The first of each group always exists. */
    static const int lines[2][3] = {{0, 1, 6}, {2, 7, 3}};
    static const char SELECTED[] = "of selected atoms";
    enum { ERROR_SIZE = 60 }; /* without its last words, which VMD might cut */
    char part[PART_SIZE];
    vf_status status = VF_OK;
    for (int line = 0; line < 2; line++) {
        for (int n = 0; status == VF_OK && n < 3; n++)
            if (map_provenance(state->map.info, lines[line][n], part, sizeof part))
                status = map_text_printf(state->text, "%s%s", n > 0 ? "; " : "", part);
        if (status == VF_OK && line == 0)
            status = text_map_error_line(state, "; ", ERROR_SIZE, "");
        for (int n = 8; status == VF_OK && line == 1 && map_provenance(state->map.info, n, part, sizeof part); n++)
            if (strncmp(part, SELECTED, strlen(SELECTED)) == 0)
                status = map_text_printf(state->text, "; %s", part);
        VF_TRY(status, map_text_append(state->text, "\n"));
    }
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

/* The number of atoms is positive: readers take 0 and less for a list of orbitals. Where the element is not known, the
 * atomic number is 0, which readers take for a dummy atom. The second column has the atom's charge. */
static vf_status write_atoms(text_map *state)
{
    const molecule *solute = state->map.info->molecule;
    char charge[VF_NUMBER_TEXT], x[VF_NUMBER_TEXT], y[VF_NUMBER_TEXT], z[VF_NUMBER_TEXT];
    vf_status status = VF_OK;
    for (int64_t i = 0; status == VF_OK && i < solute->atoms; i++)
        status = map_text_printf(state->text, "%5d %s %s %s %s\n", number_of(solute, i),
                                 vf_format_general(solute->charge[i], GRID_DIGITS, charge), length(solute->x[i], x),
                                 length(solute->y[i], y), length(solute->z[i], z));
    return status;
}

static vf_status write_header(text_map *state)
{
    const map_info *info = state->map.info;
    const vf_grid *grid = &info->grid;
    char x[VF_NUMBER_TEXT], y[VF_NUMBER_TEXT], z[VF_NUMBER_TEXT];
    vf_status status = write_comments(state);
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
