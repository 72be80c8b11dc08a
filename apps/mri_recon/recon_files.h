/* The names of a run's files. */
#ifndef RECON_FILES_H
#define RECON_FILES_H

#include "settings.h"

/* "a/b.h5" -> "a/b_image.h5"; BART's k-space (.cfl) makes an image of BART's. free() it; NULL: no memory. */
char *recon_default_output(const char *input);
/* Refuses two names that lead to one file; those of BART stand for two files each. */
VF_MUST_CHECK vf_status recon_check_names(vf_context *ctx, const recon_settings *settings, const char *output);

#endif
