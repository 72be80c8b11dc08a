/* The names of BART's pairs of files. */
#ifndef CFL_NAMES_H
#define CFL_NAMES_H

#include <stdbool.h>

/* Whether a name ends in .cfl or .hdr. Either stands for the pair of files. */
bool cfl_is_name(const char *path);
/* Replaces the extension of "a/b.hdr" or "a/b.cfl" by `extension` (".cfl"); free() the result. NULL: no memory. */
char *cfl_file_name(const char *path, const char *extension);

#endif
