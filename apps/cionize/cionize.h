/* Voxfield - cionize as functions: the potential of a molecule on a grid or at points, energies in a solvent, and ions, in arrays.
 *
 * Lengths in angstrom, charges in elementary charges, potentials in the unit of the option "units" (kT/e), energies of ions in that
 * unit times e, energies in a solvent in kJ/mol.
 */
#ifndef VOXFIELD_CIONIZE_H
#define VOXFIELD_CIONIZE_H

#include "programs.h"

#ifdef __cplusplus
extern "C" {
#endif
VF_API_BEGIN

/* A molecule: a file, or arrays. Zero-initialise; what is not known stays empty. Numbers are VF_F32 or VF_F64, computed with in
 * double precision; NaN and infinite ones are refused. The arrays are only read, and only during the call. */
typedef struct vf_molecule {
    const char *
        file; /* any that cionize reads, with the option "charges" if it needs one; then all else is empty. NULL: the arrays */
    vf_view positions; /* [atom][3] */
    vf_view charges;   /* [atom] */
    vf_view radii;     /* [atom], >= 0; empty: 0. For "solvent" and "from-surface" */
    double cell[6];    /* periodic cell for {"cell", "input"}: lengths, then angles in degrees; all 0: none */
    /* [atom] each; NULL: not known. For selections, and to find water: */
    const char *const *names, *const *residues, *const *chains, *const *elements;
    const int32_t *residue_numbers;
    /* NULL: the arrays have all atoms of the cell. Otherwise they are the asymmetric unit of a crystal of this space group, as
     * vf_molecule_read says, and are refused in the crystal's cell, unless {"symmetry", "none"} says that they are all atoms. */
    const char *space_group;
} vf_molecule;

/* Does what cionize does with these options. `points` (NULL: none): [n][3], at which the potential is asked for, instead of a file
 * for the option "points"; {"field", NULL} adds the field. If neither points, energies nor ions are asked for, there is a map. The
 * result has, as far as asked for,
 *
 *     "map"          VF_F32, or VF_F64 with {"precision", "double"}: [z][y][x]; also with {"map", "memory"}
 *     "deviation"    likewise, over the frames of a trajectory, with {"deviation", "memory"}
 *     "mask"         VF_F32 [z][y][x], what excludes ions, with {"mask", "memory"}
 *     "origin", "spacing"   VF_F64 [3] along x, y, z, of these
 *     "points"       VF_F64 [n][3]; "potential" VF_F64 [n]; "field" VF_F64 [n][3], in the potential's unit per angstrom; of a
 *                    trajectory, means over the frames
 *     "ions"         VF_F64 [ion][3] positions in the order of placement, "ion_charges", "ion_energies" VF_F64 [ion], "ion_names" VF_U8
 *                    [ion][8], characters with zeros behind, with "place", "neutralize" or "concentration"
 *     "reaction", "coulomb"  VF_F64 [frame][part], one part or, if something binds, three (the complex and its partners), with
 *                    {"solvent", NULL}, {"energies", "memory"}; without a trajectory also "atom_reaction", "atom_coulomb" VF_F64 [atom]
 *     "report"       text: JSON, as of the option report
 *
 * If not all ions fitted, the status is VF_ERR_INCOMPLETE, and *out has those that did. After other errors it is NULL: those of
 * the program, with its messages; VF_ERR_ARGUMENT for options that functions do not have. `options` may be NULL. */
VF_MUST_CHECK vf_status vf_cionize(vf_context *ctx, const vf_molecule *mol, const vf_view *points,
                                   const vf_option *options, vf_result **out);

/* Reads a molecule of any format, with the options "charges", "altloc", "radii" and "symmetry". The result has "positions" VF_F64 [atom][3],
 * "charges" and "radii" VF_F64 [atom]; "names", "residues", "chains", "segments", "elements" VF_U8 [atom][8], characters with zeros
 * behind; "residue_numbers" VF_I32 [atom]; "cell" VF_F64 [6] as above, if the file has one. Of a crystal whose cell has more copies, it has
 * them all with {"symmetry", "expand"}; without the option only the file's atoms, and the text "space_group". Errors: those of the
 * program; VF_ERR_ARGUMENT for other options. */
VF_MUST_CHECK vf_status vf_molecule_read(vf_context *ctx, const char *file, const vf_option *options, vf_result **out);

VF_API_END
#ifdef __cplusplus
}
#endif
#endif
