/* cionize: runs an input file of APBS (apbs_input.h). docs/solvent.md says what its energies are. */
#ifndef CIONIZE_APBS_RUN_H
#define CIONIZE_APBS_RUN_H

#include "cionize_settings.h"

/* Reads settings->input and the molecules that it names, by paths from the current folder as APBS does; solves the equation of each
 * ELEC section, one after another, writes its maps, and prints the sums of energies. Errors (each names the input file's line, where
 * one is at fault): those of read_apbs_input and read_molecule; VF_ERR_MEMORY (a grid that does not fit;
 * the message has one that does); VF_ERR_ARGUMENT (outputs of the same name); those of vf_solvent_create and potential_prepare. */
VF_MUST_CHECK vf_status apbs_run(vf_context *ctx, const cionize_settings *settings);

#endif
