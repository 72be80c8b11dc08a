/* Voxfield - files in the user's cache: what can be made again, and takes time. */
#ifndef VOXFIELD_USER_CACHE_H
#define VOXFIELD_USER_CACHE_H

#include "voxfield/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The path of voxfield/NAME in $XDG_CACHE_HOME, or else in $HOME/.cache, for the caller to free; NULL if there is neither, or
 * not enough memory. */
char *vf_user_cache_path(const char *name);

/* Notes: what has been found out and stays true, by a name. Without a cache, nothing is noted. */
bool vf_user_cache_noted(const char *name);
void vf_user_cache_note(vf_context *ctx, const char *name);

/* Makes the folders of a path. What fails shows when the file is opened. */
void vf_user_cache_make_folders(const char *path);

#ifdef __cplusplus
}
#endif
#endif
