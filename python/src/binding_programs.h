/* The programs as functions (programs.h, mri_recon.h, cionize.h), as binding.h has the kernels. */
#ifndef VOXFIELD_BINDING_PROGRAMS_H
#define VOXFIELD_BINDING_PROGRAMS_H

#include "binding.h"
#include "programs.h"

/* cffi: begin */

typedef struct vf_result vf_result;

/* An array by its name. Types as of NumPy: "f4", "f8", "c8", "c16", "i4", "i8", "u1". */
typedef struct binding_array {
    const char *name;
    const void *data; /* NULL: there is none */
    const char *type;
    int rank;
    int64_t dims[8];
} binding_array;

/* Who hears of a call: level 0 notes, 1 warnings; progress as of vf_progress_fn. Calls come from any thread. */
typedef struct binding_listener {
    void (*log)(void *user, int level, const char *text);
    void (*progress)(void *user, const char *stage, double share);
    void *user;
} binding_listener;

/* `options`: names and values in turn, with NULL behind; the value of a flag is NULL. An unknown name of an array is an error. *out
 * is NULL after errors, but not after VF_ERR_INCOMPLETE. */
int binding_reconstruct(binding_session *session, const binding_listener *listener, const char *file, int arrays,
                        const binding_array *array, const int64_t matrix[3], const double fov_mm[3], int slices,
                        int options, const char *const *option, vf_result **out);
int binding_read_scan(binding_session *session, const binding_listener *listener, const char *file, int options,
                      const char *const *option, vf_result **out);
int binding_write_image(binding_session *session, const binding_array *image, const double voxel_mm[3],
                        const char *path);
int binding_write_result(binding_session *session, const vf_result *result, const char *path);

/* ---- cionize.h ---- */

/* Texts are [atom] pointers, or NULL; `cell` has lengths and angles, all 0 for none. */
typedef struct binding_texts {
    const char *const *names, *const *residues, *const *chains, *const *elements;
    const int32_t *residue_numbers;
    const char *space_group; /* one text */
} binding_texts;
/* Arrays: positions, charges, radii, points. With a file there are only points. */
int binding_cionize(binding_session *session, const binding_listener *listener, const char *file, int arrays,
                    const binding_array *array, const binding_texts *texts, const double cell[6], int options,
                    const char *const *option, vf_result **out);
int binding_read_molecule(binding_session *session, const binding_listener *listener, const char *file, int options,
                          const char *const *option, vf_result **out);

/* ---- results ---- */

int binding_result_count(const vf_result *result);
const char *binding_result_name(const vf_result *result, int index);
const char *binding_result_text(const vf_result *result, const char *name);
/* name and data are the result's; data is NULL if there is no array of this name. */
binding_array binding_result_array(const vf_result *result, const char *name);
void binding_result_free(vf_result *result);

/* cffi: end */
#endif
