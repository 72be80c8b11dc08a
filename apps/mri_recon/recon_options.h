/* mri_recon: the table of options, read into the settings. */
#ifndef RECON_OPTIONS_H
#define RECON_OPTIONS_H

#include "options.h"

extern const program_option recon_options[];

/* ---- recon_call.c ---- */

/* The body of main(). */
int mri_recon_main(int argc, char **argv);

#endif
