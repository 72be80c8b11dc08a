/* mri_recon: the table of options, read into the settings. */
#ifndef RECON_OPTIONS_H
#define RECON_OPTIONS_H

#include "options.h"

extern const program_option recon_options[];

#endif
