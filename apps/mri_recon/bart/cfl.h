/* BART's files (Berkeley Advanced Reconstruction Toolbox): an array of up to 16 dimensions, the first one fastest, of
 * complex numbers of single precision, in two files. NAME.cfl has the numbers (real, imaginary; little-endian) and
 * nothing else; NAME.hdr is text: sections that begin with a line "# Title", of which "# Dimensions" is followed by a
 * line of the dimensions. Trailing dimensions of 1 may be missing.
 *
 * Format: BART's src/misc/io.c and https://bart-doc.readthedocs.io/en/latest/data.html.
 */
#ifndef CFL_H
#define CFL_H

#include <complex.h>
#include <stdbool.h>
#include <stdint.h>

#include "voxfield/context.h"

enum { CFL_DIMS = 16 };

/* What BART's tools mean by a dimension. */
typedef enum cfl_dim {
    CFL_READ,
    CFL_PHS1,
    CFL_PHS2,
    CFL_COIL,
    CFL_MAPS,
    CFL_TE,
    CFL_COEFF,
    CFL_COEFF2,
    CFL_ITER,
    CFL_CSHIFT,
    CFL_TIME,
    CFL_TIME2,
    CFL_LEVEL,
    CFL_SLICE,
    CFL_AVG,
    CFL_BATCH
} cfl_dim;
/* "TIME", as BART's list of dimensions has it. */
const char *cfl_dim_name(int dim);

/* ---- names: cfl_names.c ---- */

/* Whether a name ends in .cfl or .hdr, which stand for the pair of files. */
bool cfl_is_name(const char *path);
/* "a/b.hdr" or "a/b.cfl" -> "a/b.cfl" or "a/b.hdr", as `extension` (".cfl") says; free() it. NULL: no memory. */
char *cfl_file_name(const char *path, const char *extension);

/* "64 x 64 x 1 x 8", without trailing dimensions of 1 behind the third. */
enum { CFL_SHAPE_TEXT = 352 };
const char *cfl_shape(const int64_t dims[CFL_DIMS], char text[CFL_SHAPE_TEXT]);

/* ---- reading and writing: cfl.c ---- */

typedef struct cfl_file cfl_file;

/* Opens the pair of files that `path` (either name) stands for, and checks the size of one against the header of the
 * other. Errors, each naming the file: VF_ERR_INPUT (one is missing; no valid dimensions; of another size than they
 * say), VF_ERR_MEMORY; *out is NULL then. */
VF_MUST_CHECK vf_status cfl_open(vf_context *ctx, const char *path, cfl_file **out);
const int64_t *cfl_dims(const cfl_file *file); /* [CFL_DIMS], each >= 1; their product times 8 bytes fits an int64_t */
int64_t cfl_count(const cfl_file *file);       /* their product */
const char *cfl_path(const cfl_file *file);    /* of the .cfl */
/* The line behind "# Title" of the header, or NULL. */
const char *cfl_section(const cfl_file *file, const char *title);

/* Reads elements [first, first + count) into `out` and checks that they are finite. Errors: VF_ERR_INPUT, with the
 * element's indices. */
VF_MUST_CHECK vf_status cfl_read(cfl_file *file, int64_t first, int64_t count, float complex *out);
void cfl_close(cfl_file **file); /* NULL is allowed; *file becomes NULL */

/* Two files that appear under their names when both are whole, the header last. */
typedef struct cfl_output cfl_output;
/* `sections`: what the header has besides the dimensions, "# Creator\nmri_recon\n". Errors: VF_ERR_OUTPUT,
 * VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status cfl_create(vf_context *ctx, const char *path, const int64_t dims[CFL_DIMS],
                                   const char *sections, cfl_output **out);
VF_MUST_CHECK vf_status cfl_append(cfl_output *output, const float complex *data, int64_t count);
/* Errors: VF_ERR_OUTPUT; VF_ERR_INTERNAL if fewer or more elements came than the dimensions say. *output becomes NULL
 * either way. */
VF_MUST_CHECK vf_status cfl_commit(cfl_output **output);
void cfl_discard(cfl_output **output); /* NULL is allowed; *output becomes NULL */

#endif
