/* The XML header of an ISMRMRD file as text, in any of the types that programs write it in. */
#ifndef SCAN_ISMRMRD_TEXT_H
#define SCAN_ISMRMRD_TEXT_H

#include "voxfield/hdf5_io.h"

/* Reads the text of a dataset: strings, or arrays of characters, bytes or UTF-16; the first string of several. The
 * result is UTF-8 if the file has UTF-16, and tidy; free it also after a failure. Errors: VF_ERR_INPUT, VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status ismrmrd_read_text(vf_context *ctx, const char *place, vf_h5 *file, const char *name,
                                          char **out);
/* Takes away what XML may not have before its first line: a byte-order mark, white space; and an encoding that is
 * declared with two bytes a character, which text with one byte each cannot have. */
void ismrmrd_tidy_xml(char *text);

#endif
