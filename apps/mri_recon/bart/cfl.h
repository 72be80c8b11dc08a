/* BART files (Berkeley Advanced Reconstruction Toolbox): an array of complex numbers in single precision with up to
 * 16 dimensions, the first one fastest, in two files. NAME.cfl has only the numbers (real, imaginary;
 * little-endian). NAME.hdr is text in sections that begin with a line "# Title"; after "# Dimensions" comes a line
 * with the dimensions. Trailing dimensions of 1 may be missing.
 *
 * Format: BART's src/misc/io.c and https://bart-doc.readthedocs.io/en/latest/data.html. */
#ifndef CFL_H
#define CFL_H

#include <complex.h>
#include <stdbool.h>
#include <stdint.h>

#include "voxfield/context.h"

enum { CFL_DIMS = 16 };

/* The meaning of dimensions in BART's tools. */
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
/* The name in BART's list of dimensions: "TIME". */
const char *cfl_dim_name(int dim);

/* "64 x 64 x 1 x 8", without trailing dimensions of 1 after the third. */
enum { CFL_SHAPE_TEXT = 352 };
const char *cfl_shape(const int64_t dims[CFL_DIMS], char text[CFL_SHAPE_TEXT]);

typedef struct cfl_file cfl_file;

/* Opens the pair of files of `path` (either name) and checks the size of the .cfl against the header. Errors (each
 * names the file; *out is then NULL): VF_ERR_INPUT (a file is missing; invalid dimensions; wrong size),
 * VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status cfl_open(vf_context *ctx, const char *path, cfl_file **out);
const int64_t *cfl_dims(const cfl_file *file); /* [CFL_DIMS], each >= 1; their product times 8 bytes fits an int64_t */
int64_t cfl_count(const cfl_file *file);       /* their product */
const char *cfl_path(const cfl_file *file);    /* of the .cfl */
/* The line after "# Title" in the header, or NULL. */
const char *cfl_section(const cfl_file *file, const char *title);

/* Reads elements [first, first + count) into `out` and checks that they are finite. Errors: VF_ERR_INPUT, with the
 * indices of the element. */
VF_MUST_CHECK vf_status cfl_read(cfl_file *file, int64_t first, int64_t count, float complex *out);
void cfl_close(cfl_file **file); /* NULL is allowed; *file becomes NULL */

/* Two files that get their names when both are complete, the header last. */
typedef struct cfl_output cfl_output;
/* `sections`: what the header has besides the dimensions, such as the section "# Creator". Errors: VF_ERR_OUTPUT,
 * VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status cfl_create(vf_context *ctx, const char *path, const int64_t dims[CFL_DIMS],
                                   const char *sections, cfl_output **out);
VF_MUST_CHECK vf_status cfl_append(cfl_output *output, const float complex *data, int64_t count);
/* Errors: VF_ERR_OUTPUT; VF_ERR_INTERNAL if the number of elements differs from the dimensions'. *output becomes
 * NULL in any case. */
VF_MUST_CHECK vf_status cfl_commit(cfl_output **output);
void cfl_discard(cfl_output **output); /* NULL is allowed; *output becomes NULL */

#endif
