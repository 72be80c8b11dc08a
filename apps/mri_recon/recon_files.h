/* The names of a run's files. */
#ifndef RECON_FILES_H
#define RECON_FILES_H

#include "settings.h"

extern const char *const recon_endings[]; /* of scans, which the names of outputs replace; up to NULL */

/* "a/b.h5" -> "a/b_image.h5"; "a/b.cfl" -> "a/b_image.cfl"; in `folder`, if that is not NULL. The caller frees it; NULL: no
 * memory. */
char *recon_default_output(const char *input, const char *folder);
/* Rejects two names for the same file. A BART name stands for two files, .cfl and .hdr. */
VF_MUST_CHECK vf_status recon_check_names(vf_context *ctx, const recon_settings *settings, const char *output);

#endif
