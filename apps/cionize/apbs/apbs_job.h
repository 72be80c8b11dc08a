/* A run of an input file of APBS. Private to this folder. */
#ifndef CIONIZE_APBS_JOB_H
#define CIONIZE_APBS_JOB_H

#include "apbs_input.h"
#include "apbs_run.h"
#include "program.h"
#include "solvent/dissolve.h"

/* The grid that is asked for, and the one on which the equation is solved, which has all its points. */
typedef struct apbs_grids {
    vf_grid asked, solved;
    int64_t offset[3]; /* of the asked grid's first point in the solved one */
    bool around_atoms; /* it was made larger, because the molecule comes near to the rim */
    bool further;      /* or larger than that, for a better boundary */
} apbs_grids;

/* An ELEC section. */
typedef struct apbs_block {
    const apbs_elec *elec;
    const molecule *molecule;
    apbs_grids grids;
    bool left_out; /* nobody asks for more than a boundary of the next section, which needs none */
    bool uniform;  /* the solvent is as the molecule, without salt: there is nothing to solve */
    char **path;   /* [elec->writes] of maps */
    vf_solvent_result outcome;
    bool solved;
    solvent_energy energy;
    atom_energies atoms; /* for calcenergy comps; else of NULL */
} apbs_block;

typedef struct apbs_job {
    vf_context *ctx;
    cionize_settings settings;
    apbs_input input;
    molecule *molecule;  /* [molecules] */
    int64_t molecules;   /* that are read */
    apbs_block *block;   /* [input.elecs] */
    double *sum, *selfs; /* [input.prints] energies, kJ/mol; what is left of the charges' own energies, 0 to 1 */
    char *command, created[PROGRAM_TIME_TEXT];
    vf_stages stages;
} apbs_job;

/* ---- apbs_grids.c ---- */

/* Places the grids of a section. APBS's points lie at centre - length / 2 + i length / (dime - 1). The solved grid is the same,
 * made larger by whole spacings: so that the rim keeps from the atoms' spheres; and for mg-auto towards the coarse grid, for a solvent
 * less polarisable than the molecule, or the non-linear equation, away from it, as far as that takes no more than twice the points. Errors: VF_ERR_MEMORY. `name`: the
 * input file's. */
VF_MUST_CHECK vf_status apbs_place_grids(vf_context *ctx, const char *name, const apbs_elec *elec,
                                         const molecule *molecules, apbs_grids *out);

/* ---- apbs_block.c ---- */

/* The surface of a section's molecule, in words, too. */
vf_surface_kind apbs_surface(const apbs_elec *elec);
const char *apbs_surface_name(const apbs_elec *elec);
bool apbs_is_uniform(const apbs_elec *elec);

/* Solves a section, sums its energies and writes its maps. Errors: see apbs_run. */
VF_MUST_CHECK vf_status apbs_solve(apbs_job *job, apbs_block *block);

/* ---- apbs_facts.c ---- */

/* "solvated", or "2": the name of a section for people. */
const char *apbs_label(const apbs_job *job, int64_t elec, char text[64]);

/* Prints the plan; the results of section n; the sums. With a report: writes it. Errors: VF_ERR_MEMORY. */
typedef enum apbs_moment { APBS_TELL_PLAN, APBS_TELL_BLOCK, APBS_TELL_SUMS, APBS_TELL_REPORT } apbs_moment;
VF_MUST_CHECK vf_status apbs_tell(const apbs_job *job, apbs_moment moment, int64_t n, vf_report *report);

#endif
