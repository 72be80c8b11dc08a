/* A molecule in arrays of a caller (cionize.h) instead of a file. */
#ifndef CIONIZE_MOLECULE_MEMORY_H
#define CIONIZE_MOLECULE_MEMORY_H

#include "cionize.h"
#include "molecule.h"

/* What stands for the file's name in messages and reports. */
extern const char molecule_memory_name[];

/* Reads the arrays. `out` is overwritten; free it with molecule_free. Errors: VF_ERR_INPUT, VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status read_molecule_memory(vf_context *ctx, const vf_molecule *given, molecule *out);

/* Number `i` of an array of real numbers, and whether an array has this shape (second axis 0: none) of VF_F32 or VF_F64. */
double view_number(const vf_view *view, int64_t i);
bool view_is(const vf_view *view, int64_t count, int64_t second);

#endif
