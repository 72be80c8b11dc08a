/* cionize: reads input files of APBS (Baker, Sept, Joseph, Holst and McCammon, PNAS 98 (2001) 10037) of the common kind: molecules in
 * PQR files, ELEC blocks that multigrid solves, sums of their energies. It runs nothing. docs/solvent.md has the words. Lengths are
 * in angstrom, concentrations in mol/L, temperatures in kelvin, as in APBS. */
#ifndef CIONIZE_APBS_INPUT_H
#define CIONIZE_APBS_INPUT_H

#include <stddef.h>
#include <stdint.h>

#include "voxfield/context.h"

/* Where a grid is centred: at the centre of a molecule's bounds, or at a place. */
typedef struct apbs_centre {
    bool on_molecule;
    int64_t molecule; /* its number, from 0 */
    double at[3];
} apbs_centre;

enum { APBS_MOST_IONS = 10 };
typedef struct apbs_ion {
    double charge, concentration, radius;
} apbs_ion;

typedef struct apbs_write {
    int64_t line;
    char *stem; /* of the file's name */
    bool gzip;  /* STEM.dx.gz, else STEM.dx */
} apbs_write;

typedef enum apbs_energies { APBS_ENERGIES_NO, APBS_ENERGIES_TOTAL, APBS_ENERGIES_COMPS } apbs_energies;

/* One ELEC block. */
typedef struct apbs_elec {
    int64_t line;
    char *name;      /* NULL: none */
    bool automatic;  /* mg-auto: there is a coarse grid, too */
    bool non_linear; /* npbe */
    int64_t equation_line;
    int64_t molecule;  /* its number, from 0 */
    int64_t counts[3]; /* dime */
    double lengths[3], coarse_lengths[3];
    apbs_centre centre, coarse_centre;
    double molecule_dielectric, solvent_dielectric;
    int focus;    /* bcfl focus: the section before gives the boundary in APBS */
    int smooth;   /* srfm smol: the dielectric is smoothed across the surface */
    double probe; /* srad; 0: the van der Waals surface */
    double temperature;
    int64_t ions;
    apbs_ion ion[APBS_MOST_IONS];
    int energies; /* an apbs_energies */
    int64_t writes;
    apbs_write *write; /* [writes] maps of the potential */
} apbs_elec;

/* One PRINT: the sum of energies, each once added or subtracted. */
typedef struct apbs_term {
    int64_t elec; /* its number, from 0 */
    bool minus;
} apbs_term;

typedef struct apbs_print {
    int64_t line;
    int64_t terms; /* >= 1 */
    apbs_term *term;
} apbs_print;

typedef struct apbs_input {
    int64_t molecules;
    char **path; /* [molecules] PQR files */
    int64_t elecs;
    apbs_elec *elec;
    int64_t prints;
    apbs_print *print;
} apbs_input;

/* Reads a file. `out` is overwritten; free it with apbs_input_free. A note says once of each word that is ignored, why. Errors (each
 * names file and line, the word, and what to do): VF_ERR_INPUT; VF_ERR_UNSUPPORTED (what APBS can do and cionize cannot);
 * VF_ERR_MEMORY, VF_ERR_CANCELLED. */
VF_MUST_CHECK vf_status read_apbs_input(vf_context *ctx, const char *path, apbs_input *out);

/* The same from memory; `name` replaces the path in messages. The fuzzer calls this. */
VF_MUST_CHECK vf_status parse_apbs_input(vf_context *ctx, const char *name, const char *text, size_t bytes,
                                         apbs_input *out);
void apbs_input_free(apbs_input *input);

/* The sum of concentration times charge^2 over 2, mol/L; the largest radius of an ion. */
double apbs_ionic_strength(const apbs_elec *elec);
double apbs_ion_radius(const apbs_elec *elec);

#endif
