/* cionize: periodic cells as files state them. Lengths in angstrom, angles in degrees. */
#ifndef CIONIZE_UNIT_CELL_H
#define CIONIZE_UNIT_CELL_H

#include "text/text_number.h"
#include "voxfield/grid.h"

typedef enum unit_cell_state {
    UNIT_CELL_NONE,    /* the file has no cell */
    UNIT_CELL_NUMBERS, /* it has one */
    UNIT_CELL_DUMMY,   /* CRYST1 of lengths 1 1 1: the PDB's convention for "no crystal" */
    UNIT_CELL_BAD,     /* it has one that cannot be read */
    UNIT_CELL_RADIANS, /* its angles are so small that they may be in radians */
    UNIT_CELL_TURNED   /* its first vector is not along x, or its second not in the plane of x and y */
} unit_cell_state;

/* All zero: none. */
typedef struct unit_cell {
    unit_cell_state state;
    double lengths[3]; /* a, b, c */
    double angles[3];  /* alpha, beta, gamma */
    char group[24];    /* name of the space group: "P 21 21 21"; empty: none stated */
    /* What cell_take_scale has found so far: rows of the matrix that have this cell's lengths, and another direction. */
    int rows_of_cell, rows_turned, rows_shifted;
    bool lengths_alone; /* the file states no angles, which are those of AMBER's prmtop file, or right */
} unit_cell;

/* Takes the name of a space group, without blanks around it. Names without a letter are none. */
void cell_take_group(unit_cell *cell, text_piece name);

/* Takes the lengths and angles of CRYST1 or of mmCIF's _cell, and sets the state. */
void cell_take_crystal(unit_cell *cell, const double numbers[6]);

/* Takes row 0, 1 or 2 of what makes fractional coordinates of positions, and the shift: SCALE of PDB files, _atom_sites of mmCIF. After
 * the last row the state is UNIT_CELL_TURNED if all three have the lengths of this cell, and some another direction: the
 * coordinates then belong to other axes, as in some old PDB entries. A matrix of another cell means nothing, since programs
 * leave that of the crystal beside their own box. */
void cell_take_scale(unit_cell *cell, int row, const double numbers[4]);

/* Whether the cell begins at another point than the coordinates do. To sums over lattices it does not matter. */
bool cell_is_shifted(const unit_cell *cell);

/* Whether all angles are at most those of a cell in radians. In degrees, no molecule fits such a cell. */
bool angles_in_radians(const double angles[3]);

/* The vectors of a cell, the first along x, the second in the plane of x and y. False if there is no such cell, or if its
 * angles are in radians. */
bool cell_of_shape(const double lengths[3], const double angles[3], vf_cell *out);

/* The state of a cell of these lengths and angles: UNIT_CELL_NUMBERS, _BAD or _RADIANS. */
unit_cell_state cell_state(const double lengths[3], const double angles[3]);

/* The cell of three vectors in lengths of `unit` angstrom. All 0: none. Vectors of a file that do not follow the convention
 * above give a turned cell; vectors that span no cell, or a left-handed one, a bad one. */
void cell_of_vectors(double vectors[3][3], double unit, unit_cell *out);

/* Whether a line is the record CRYST1 of PDB and PQR files, which sets *out; later ones are ignored. SCALE is taken, too, but
 * is another record. */
bool read_cryst1(text_piece line, locale_t c_locale, unit_cell *out);

/* The box in the last line of AMBER's coordinates: six numbers in columns of 12. Three numbers of older files, the
 * lengths, mean right angles. False if the line is none of these. */
bool read_amber_box(text_piece line, locale_t c_locale, unit_cell *out);

#endif
