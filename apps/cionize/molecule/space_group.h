/* cionize: the symmetry of a crystal: the space group that a file names, the operators that it lists, and those that follow. */
#ifndef CIONIZE_SPACE_GROUP_H
#define CIONIZE_SPACE_GROUP_H

#include <stdint.h>

#include "text/text_number.h"
#include "unit_cell.h"
#include "voxfield/context.h"

enum { SYMMETRY_MOST = 192 }; /* operators of a space group in its conventional cell */

/* x' = turn x + shift, of fractional coordinates. */
typedef struct symmetry_operator {
    int turn[3][3];
    double shift[3]; /* in [0, 1) */
} symmetry_operator;

/* The operators of a crystal; the first is the identity. */
typedef struct symmetry_group {
    int count;
    symmetry_operator op[SYMMETRY_MOST];
} symmetry_group;

/* Operators as a file lists them: REMARK 290 of PDB files, of coordinates in angstrom; or texts such as -x,y+1/2,-z. All
 * zero: none. */
typedef struct listed_symmetry {
    int count;
    bool cartesian;
    bool broken;            /* a line or text could not be read, or there are more than SYMMETRY_MOST */
    bool leaves_out;        /* the file lacks copies by non-crystallographic symmetry */
    double (*matrix)[3][4]; /* [SYMMETRY_MOST] turn and shift; NaN: a row that the file lacks */
} listed_symmetry;

void symmetry_free(listed_symmetry *listed);

/* ---- listed_symmetry.c ---- */

/* Takes a line of a PDB file if it is an operator of REMARK 290 (SMTRY1 to SMTRY3), or of MTRIX1 to MTRIX3. A lack of memory
 * sets `broken`. */
void symmetry_read_record(text_piece line, locale_t c_locale, listed_symmetry *out);

/* Adds an operator as text: "-x,y+1/2,-z". Sets `broken` if it is none. */
void symmetry_read_text(text_piece text, listed_symmetry *out);

/* Whether a name, with the operators listed, is that of a crystal whose cell has one copy: P 1, or nothing. */
bool symmetry_is_trivial(const char *group, const listed_symmetry *listed);

/* Refuses a file that leaves out copies by non-crystallographic symmetry. VF_ERR_INPUT. */
VF_MUST_CHECK vf_status symmetry_check_copies(vf_context *ctx, const char *path, const listed_symmetry *listed);

/* The operators of a crystal: those listed, or else those of the group's name (space_group_named). Checks that they are
 * a group, with the identity, and that they leave the lattice as it is. `path` is for messages. Errors: VF_ERR_INPUT,
 * VF_ERR_UNSUPPORTED. */
VF_MUST_CHECK vf_status symmetry_operators(vf_context *ctx, const char *path, const unit_cell *cell,
                                           const listed_symmetry *listed, symmetry_group *out);

/* How many operators the crystal has; 0: not known here. */
int symmetry_order(const unit_cell *cell, const listed_symmetry *listed);

/* Whether the operators leave the lengths and angles of the cell as they are, within 0.5 % of the lengths' products. */
bool symmetry_fits(const symmetry_group *group, const unit_cell *cell);

/* The inverse of a matrix that has one. */
void symmetry_invert(double m[3][3], double out[3][3]);

/* ---- name_space_group.c ---- */

typedef enum space_group_search {
    SPACE_GROUP_FOUND,
    SPACE_GROUP_UNKNOWN,  /* no group has this name */
    SPACE_GROUP_NO_FIT,   /* the group's operators do not fit the cell */
    SPACE_GROUP_TWO,      /* the name has two origins, and does not say which */
    SPACE_GROUP_NO_TABLES /* built without spglib */
} space_group_search;

/* The operators of a group by its Hermann-Mauguin name, as PDB files and mmCIF write it: "P 21 21 21", "P 1 21 1", "P 21",
 * "H 3", "R 3 :H", "I 1 2 1". Of several settings of one name, the first that fits the cell. From spglib's tables
 * of the 530 settings in International Tables A. */
space_group_search space_group_named(const char *name, const unit_cell *cell, symmetry_group *out);

#endif
