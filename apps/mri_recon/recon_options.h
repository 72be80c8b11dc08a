/* mri_recon: the table of options, read into recon_settings. */
#ifndef RECON_OPTIONS_H
#define RECON_OPTIONS_H

#include "options.h"
#include "settings.h"

extern const program_option recon_options[];

#endif
