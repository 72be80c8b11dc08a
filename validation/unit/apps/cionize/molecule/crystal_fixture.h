/* Crystals: the chiral space groups, with unit cells that they fit. */
#ifndef CRYSTAL_FIXTURE_H
#define CRYSTAL_FIXTURE_H

#include <math.h>

#include "molecule_fixture.h"

static const unit_cell monoclinic = {.state = UNIT_CELL_NUMBERS, .lengths = {31, 37, 43}, .angles = {90, 101.3, 90}},
                       orthorhombic = {.state = UNIT_CELL_NUMBERS, .lengths = {31, 37, 43}, .angles = {90, 90, 90}},
                       tetragonal = {.state = UNIT_CELL_NUMBERS, .lengths = {31, 31, 43}, .angles = {90, 90, 90}},
                       hexagonal = {.state = UNIT_CELL_NUMBERS, .lengths = {31, 31, 43}, .angles = {90, 90, 120}},
                       rhombohedral = {.state = UNIT_CELL_NUMBERS, .lengths = {31, 31, 31}, .angles = {77, 77, 77}},
                       cubic = {.state = UNIT_CELL_NUMBERS, .lengths = {31, 31, 31}, .angles = {90, 90, 90}};

/* The 65 groups without mirrors or inversions, which are those of chiral molecules (International Tables A), with the number of
 * general positions in the conventional cell. */
static const struct {
    const char *name;
    const unit_cell *cell;
    int order;
} chiral[] = {{"P 1", &monoclinic, 1},
              {"P 1 2 1", &monoclinic, 2},
              {"P 1 21 1", &monoclinic, 2},
              {"C 1 2 1", &monoclinic, 4},
              {"P 2 2 2", &orthorhombic, 4},
              {"P 2 2 21", &orthorhombic, 4},
              {"P 21 21 2", &orthorhombic, 4},
              {"P 21 21 21", &orthorhombic, 4},
              {"C 2 2 21", &orthorhombic, 8},
              {"C 2 2 2", &orthorhombic, 8},
              {"F 2 2 2", &orthorhombic, 16},
              {"I 2 2 2", &orthorhombic, 8},
              {"I 21 21 21", &orthorhombic, 8},
              {"P 4", &tetragonal, 4},
              {"P 41", &tetragonal, 4},
              {"P 42", &tetragonal, 4},
              {"P 43", &tetragonal, 4},
              {"I 4", &tetragonal, 8},
              {"I 41", &tetragonal, 8},
              {"P 4 2 2", &tetragonal, 8},
              {"P 4 21 2", &tetragonal, 8},
              {"P 41 2 2", &tetragonal, 8},
              {"P 41 21 2", &tetragonal, 8},
              {"P 42 2 2", &tetragonal, 8},
              {"P 42 21 2", &tetragonal, 8},
              {"P 43 2 2", &tetragonal, 8},
              {"P 43 21 2", &tetragonal, 8},
              {"I 4 2 2", &tetragonal, 16},
              {"I 41 2 2", &tetragonal, 16},
              {"P 3", &hexagonal, 3},
              {"P 31", &hexagonal, 3},
              {"P 32", &hexagonal, 3},
              {"H 3", &hexagonal, 9},
              {"P 3 1 2", &hexagonal, 6},
              {"P 3 2 1", &hexagonal, 6},
              {"P 31 1 2", &hexagonal, 6},
              {"P 31 2 1", &hexagonal, 6},
              {"P 32 1 2", &hexagonal, 6},
              {"P 32 2 1", &hexagonal, 6},
              {"H 3 2", &hexagonal, 18},
              {"P 6", &hexagonal, 6},
              {"P 61", &hexagonal, 6},
              {"P 65", &hexagonal, 6},
              {"P 62", &hexagonal, 6},
              {"P 64", &hexagonal, 6},
              {"P 63", &hexagonal, 6},
              {"P 6 2 2", &hexagonal, 12},
              {"P 61 2 2", &hexagonal, 12},
              {"P 65 2 2", &hexagonal, 12},
              {"P 62 2 2", &hexagonal, 12},
              {"P 64 2 2", &hexagonal, 12},
              {"P 63 2 2", &hexagonal, 12},
              {"P 2 3", &cubic, 12},
              {"F 2 3", &cubic, 48},
              {"I 2 3", &cubic, 24},
              {"P 21 3", &cubic, 12},
              {"I 21 3", &cubic, 24},
              {"P 4 3 2", &cubic, 24},
              {"P 42 3 2", &cubic, 24},
              {"F 4 3 2", &cubic, 96},
              {"F 41 3 2", &cubic, 96},
              {"I 4 3 2", &cubic, 48},
              {"P 43 3 2", &cubic, 24},
              {"P 41 3 2", &cubic, 24},
              {"I 41 3 2", &cubic, 48}};
enum { CHIRAL = sizeof chiral / sizeof *chiral };

static inline void need_tables(void)
{
    symmetry_group group;
    if (space_group_named("P 21 21 21", &orthorhombic, &group) == SPACE_GROUP_NO_TABLES) {
        print_message("skipped: built without spglib\n");
        skip();
    }
}

static inline unit_cell named(const unit_cell *cell, const char *name)
{
    unit_cell out = *cell;
    cell_take_group(&out, (text_piece){name, strlen(name)});
    return out;
}

/* x = axes f: the columns are the cell's vectors. */
static inline void axes_of(const unit_cell *cell, double axes[3][3], double inverse[3][3])
{
    vf_cell vectors;
    assert_true(cell_of_shape(cell->lengths, cell->angles, &vectors));
    for (int i = 0; i < 9; i++)
        axes[i / 3][i % 3] = vectors.vectors[i % 3][i / 3];
    symmetry_invert(axes, inverse);
}

static inline void add_texts(const char *const *texts, int count, listed_symmetry *out)
{
    *out = (listed_symmetry){0};
    for (int n = 0; n < count; n++)
        symmetry_read_text((text_piece){texts[n], strlen(texts[n])}, out);
}

#endif
