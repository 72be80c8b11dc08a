/* Groups of an ISMRMRD file: which have the image and the noise, and what lies in them beside acquisitions. */
#ifndef SCAN_ISMRMRD_GROUPS_H
#define SCAN_ISMRMRD_GROUPS_H

#include "ismrmrd/ismrmrd_xml.h"
#include "mri_scan.h"
#include "voxfield/hdf5_io.h"

typedef struct ismrmrd_group {
    vf_context *ctx;
    vf_h5 *file;
    const char *name;  /* "/dataset" */
    const char *place; /* of the file and the group, for messages */
} ismrmrd_group;

/* A group of the file at `path`; its place is written to `place`. */
enum { ISMRMRD_NAME = 256, ISMRMRD_PLACE = 1024 };
ismrmrd_group ismrmrd_group_of(vf_context *ctx, const char *path, vf_h5 *file, const char *name,
                               char place[ISMRMRD_PLACE]);

/* ---- scan_ismrmrd_groups.c ---- */

/* Finds the group with `xml` and `data`: `group`, or the only one. `name` gets its name; "" if there is none and
 * `group` is NULL. Errors: VF_ERR_INPUT, VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status scan_find_ismrmrd(vf_context *ctx, const char *path, vf_h5 *file, const char *group, char *name,
                                          size_t name_size);

/* The first group, other than `image`, with noise acquisitions; "" if there is none. Errors: as scan_find_ismrmrd. */
VF_MUST_CHECK vf_status ismrmrd_find_noise(vf_context *ctx, const char *path, vf_h5 *file, const char *image,
                                           char *name, size_t name_size);

/* ---- scan_ismrmrd.c ---- */

/* Reads and parses the header of a group. `text` gets it; free() it. NULL: it is not kept. Errors: VF_ERR_INPUT,
 * VF_ERR_MEMORY, VF_ERR_UNSUPPORTED. */
VF_MUST_CHECK vf_status ismrmrd_read_header(const ismrmrd_group *group, char **text, ismrmrd_protocol *protocol);

/* ---- scan_ismrmrd_noise.c ---- */

/* For a scan from the group `image` of the file at `path`, the noise of `asked` (FILE or FILE:GROUP), or with NULL, if
 * the scan has none, of another group of the file. Errors: VF_ERR_INPUT, VF_ERR_MEMORY, VF_ERR_CANCELLED. */
VF_MUST_CHECK vf_status ismrmrd_read_noise(const ismrmrd_group *image, const char *path, const char *asked,
                                           mri_scan *s);

/* ---- scan_ismrmrd_arrays.c ---- */

/* Reads the group's arrays, if any: `csm`, the coil maps, and `phantom`, the truth. Others of these names are ignored
 * with a warning or a note. Errors: VF_ERR_INPUT, VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status ismrmrd_read_arrays(const ismrmrd_group *group, mri_scan *s);

#endif
