/* mri_phantom: the table of options, which fills phantom_settings. */
#ifndef PHANTOM_OPTIONS_H
#define PHANTOM_OPTIONS_H

#include "mri_phantom.h"
#include "options.h"

extern const program_option phantom_options[];

/* The body of main(): mri_phantom_call.c. */
int mri_phantom_main(int argc, char **argv);

#endif
