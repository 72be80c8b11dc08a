/* What the files of this folder share. */
#ifndef RANKS_INTERNAL_H
#define RANKS_INTERNAL_H

#include "ranks_plugin.h"
#include "voxfield/ranks.h"

/* Loads the plugin of a library; the process keeps it. Errors: VF_ERR_UNSUPPORTED. */
VF_MUST_CHECK vf_status ranks_load(vf_context *ctx, vf_ranks_library library, const ranks_plugin **out);

#endif
