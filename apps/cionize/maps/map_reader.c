/* What the readers of map files share (map_reader.h): memory for the values, and the texts in a map's header. */
#include "map_reader.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "molecule/unit_cell.h"

/* What is far outside of all molecules, in angstrom, is a mistake or an attack: a step of 1e-300 makes volumes 0. */
static const double LEAST_STEP = 1e-6, MOST_STEP = 1e6, MOST_ORIGIN = 1e9;

vf_status map_allocate(vf_context *ctx, loaded_map *map)
{
    const vf_grid *grid = &map->grid;
    uint64_t available, total;
    size_t bytes;
    for (int a = 0; a < 3; a++) {
        if (!(grid->spacing[a] >= LEAST_STEP && grid->spacing[a] <= MOST_STEP))
            return vf_fail(ctx, VF_ERR_INPUT, "%s: the map's step along %c is %g angstrom; expected %g to %g",
                           map->path, "xyz"[a], grid -> spacing[a], LEAST_STEP, MOST_STEP);
        if (!(fabs(grid->origin[a]) <= MOST_ORIGIN))
            return vf_fail(ctx, VF_ERR_INPUT, "%s: the map's origin along %c is %g angstrom; expected up to %g",
                           map->path, "xyz"[a], grid -> origin[a], MOST_ORIGIN);
    }
    if (!vf_grid_valid(grid))
        return vf_fail(ctx, VF_ERR_INPUT, "%s: invalid or too large grid of %lld x %lld x %lld points", map->path,
                       (long long)grid->counts[0], (long long)grid->counts[1], (long long)grid->counts[2]);
    vf_host_memory(&available, &total);
    if (__builtin_mul_overflow((size_t)vf_grid_points(grid), vf_dtype_bytes(map->type), &bytes) || bytes > available ||
        !(map->values = malloc(bytes)))
        return vf_fail(ctx, VF_ERR_MEMORY, "%s: no memory for the map's %lld values", map->path,
                       (long long)vf_grid_points(grid));
    return VF_OK;
}

static const char POTENTIAL[] = "electrostatic potential";

void map_quantity(int64_t ions, bool in_solvent, char text[MAP_QUANTITY_SIZE])
{
    const char *where = in_solvent ? " in solvent" : "";
    if (ions > 0)
        snprintf(text, MAP_QUANTITY_SIZE, "%s%s with %lld ion%s", POTENTIAL, where, (long long)ions,
                 ions == 1 ? "" : "s");
    else
        snprintf(text, MAP_QUANTITY_SIZE, "%s%s", POTENTIAL, where);
}

/* Titles of APBS, and of cube files by Gaussian, ORCA and PySCF, in any case. NULL: none of these. */
static const char *foreign_quantity(text_piece title)
{
    static const char *const titles[][2] = {{"charge distribution", "a charge distribution"},
                                            {"solvent accessibility", "the accessibility of the solvent"},
                                            {"ion accessibility", "the accessibility of ions"},
                                            {"x-shifted dielectric map", "a dielectric map"},
                                            {"y-shifted dielectric map", "a dielectric map"},
                                            {"z-shifted dielectric map", "a dielectric map"},
                                            {"kappa map", "a kappa map"},
                                            {"energy density", "an energy density"},
                                            {"potential laplacian", "the Laplacian of a potential"},
                                            {"ion number density", "an ion number density"},
                                            {"ion charge density", "an ion charge density"},
                                            {"electron density", "an electron density"},
                                            {"spin density", "a spin density"},
                                            {"mo coefficients", "an orbital"},
                                            {"orbital value", "an orbital"}};
    for (size_t n = 0; n < sizeof titles / sizeof *titles; n++) {
        const size_t size = strlen(titles[n][0]);
        if (title.size >= size && strncasecmp(title.at, titles[n][0], size) == 0)
            return titles[n][1];
    }
    return NULL;
}

const char *map_no_potential(text_piece quantity)
{
    if (text_take_prefix(&quantity, "what excludes ions"))
        return "a mask (what excludes ions)";
    if (text_take_prefix(&quantity, "electric field"))
        return "a component of the electric field";
    static const char *const others[] = {"relative permittivity", "ion accessibility",
                                         "distance from the surface of the molecule", "charge density"};
    for (size_t n = 0; n < sizeof others / sizeof *others; n++)
        if (text_take_prefix(&quantity, others[n]))
            return others[n];
    return text_take_prefix(&quantity, "standard deviation over frames") ? "a standard deviation over frames"
                                                                         : foreign_quantity(quantity);
}

bool map_potential(text_piece quantity, int64_t *ions, bool *in_solvent, text_piece *rest)
{
    *in_solvent = false;
    *ions = 0;
    *rest = quantity;
    if (!text_take_prefix(rest, POTENTIAL))
        return false;
    *in_solvent = text_take_prefix(rest, " in solvent");
    if (!text_take_prefix(rest, " with "))
        return true;
    for (; rest->size > 0 && text_is_digit(*rest->at) && *ions < INT32_MAX; rest->at++, rest->size--)
        *ions = 10 * *ions + (*rest->at - '0');
    return text_take_prefix(rest, " ions") || text_take_prefix(rest, " ion");
}

/* The number before a comma or blank; NAN if there is none. */
static double take_number(text_piece *text, locale_t c_locale)
{
    text_number number;
    size_t size = 0;
    while (size < text->size && text->at[size] != ' ' && text->at[size] != ',')
        size++;
    const bool read = text_read_number((text_piece){text->at, size}, c_locale, &number);
    *text = (text_piece){text->at + size, text->size - size};
    return read ? number.value : NAN;
}

static bool is_digest(text_piece text)
{
    size_t digits = 0;
    while (digits < text.size && text.at[digits] && strchr("0123456789abcdef", text.at[digits]))
        digits++;
    return digits == VF_DIGEST_TEXT - 1 && digits == text.size;
}

/* "60 60 80 90 90 90, tinfoil" */
static void take_cell(text_piece *line, locale_t c_locale, loaded_map *map)
{
    double shape[6];
    for (int i = 0; i < 6; i++) {
        shape[i] = take_number(line, c_locale);
        text_take_prefix(line, " ");
    }
    map->vacuum = text_take_prefix(line, ", vacuum");
    if (!cell_of_shape(shape, shape + 3, &map->grid.cell))
        map->grid.cell = (vf_cell){.kind = VF_CELL_NONE};
}

void map_constants(text_piece line, locale_t c_locale, loaded_map *map)
{
    if (text_take_prefix(&line, "SHA-256: ")) {
        if (is_digest(line)) /* it is printed in messages */
            memcpy(map->molecule, line.at, line.size);
    } else if (text_take_prefix(&line, "V = C sum q/(eps r), C = ")) {
        map->unit_constant = take_number(&line, c_locale);
        while (line.size > 0 && *line.at != ',') /* skip the unit */
            line.at++, line.size--;
        if (text_take_prefix(&line, ", T = "))
            map->temperature = take_number(&line, c_locale);
    } else if (text_take_prefix(&line, "eps = ")) {
        map->dielectric = take_number(&line, c_locale);
        map->distance_dielectric = text_take_prefix(&line, " r/Angstrom");
        if (text_take_prefix(&line, ", r at least "))
            map->r_min = take_number(&line, c_locale);
    } else if (text_take_prefix(&line, "of selected atoms: ")) {
        map->of_selection = true;
    } else if (text_take_prefix(&line, "periodic: ")) {
        take_cell(&line, c_locale, map);
    } else if (text_take_prefix(&line, "Gaussian charges: erf(r/(sqrt(2) sigma))/r instead of 1/r, sigma = ")) {
        map->sigma = take_number(&line, c_locale);
    } else if (text_take_prefix(&line, "cut off at ")) {
        map->cutoff = take_number(&line, c_locale);
    }
}

bool map_header_text(text_piece line, locale_t c_locale, loaded_map *map, char trouble[MAP_TROUBLE_SIZE])
{
    text_piece named;
    int64_t ions;
    bool in_solvent;
    const char *other = map_no_potential(line);
    if (other) {
        snprintf(trouble, MAP_TROUBLE_SIZE, "this is %s; use a map of the potential", other);
        return false;
    }
    named = line;
    map->pmepot = map->pmepot || (!*map->unit && text_take_prefix(&named, "PME potential (kT/e, T=300K)"));
    if (!*map->unit && (map->pmepot || text_take_prefix(&named, "POTENTIAL (kT/e)"))) /* of VMD's PMEPot, of APBS */
        memcpy(map->unit, "kT/e", sizeof "kT/e");
    if (map->pmepot)
        map->temperature = 300, map->dielectric = 1;
    else if (*map->unit)
        map_constants(line, c_locale, map);
    if (*map->unit || !map_potential(line, &ions, &in_solvent, &named) || !text_take_prefix(&named, " in ") ||
        named.size == 0)
        return true;
    const char *p = named.at;
    const text_piece unit = text_next_word(&p, named.at + named.size);
    if (unit.size >= sizeof map->unit)
        snprintf(trouble, MAP_TROUBLE_SIZE, "the unit in the comment is too long (%zu characters)", unit.size);
    else if (!map_is_printable(unit))
        snprintf(trouble, MAP_TROUBLE_SIZE, "the unit in the comment has characters that are not printable ASCII");
    else {
        memcpy(map->unit, unit.at, unit.size);
        map->ions = ions;
        map->in_solvent = in_solvent;
        return true;
    }
    return false;
}

bool map_is_printable(text_piece text)
{
    for (size_t i = 0; i < text.size; i++)
        if (text.at[i] < ' ' || text.at[i] > '~')
            return false;
    return true;
}
