/* Voxfield - pages: a result as one HTML file that any browser shows, without a network. docs/pages.md has the format.
 *
 * A page has a title, a preview, arrays of numbers, and one JSON object that says what they are. The scripts in
 * libcore/src/page/web draw it. Arrays are written as they come; the JSON object is last. No text of a page can
 * become a part of its program: texts are escaped, and bytes that are not UTF-8 become U+FFFD.
 */
#ifndef VOXFIELD_PAGE_H
#define VOXFIELD_PAGE_H

#include "voxfield/canvas.h"
#include "voxfield/report.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vf_page vf_page;

/* What is drawn: volumes as slices, or a scene in three dimensions. */
typedef enum vf_page_view { VF_PAGE_IMAGES, VF_PAGE_SCENE } vf_page_view;

typedef struct vf_page_head {
    vf_page_view view;
    const char *title, *program;
    const vf_canvas *preview; /* NULL: none. Also shown where the browser cannot draw the view */
    const char *preview_text; /* the same in words */
} vf_page_head;

/* Opens the file and writes its head. Errors: VF_ERR_OUTPUT, VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status vf_page_open(vf_context *ctx, const char *path, const vf_page_head *head, vf_page **out);

/* Bytes of the file until now. */
int64_t vf_page_bytes(const vf_page *page);

/* Adds an array of rows [rows][columns], C order, little-endian, compressed. VF_PAGE_U16 and VF_PAGE_U8: of `data` floats that
 * are rounded to 16 or 8 bits between the least and the largest of each column, which the page's array says ("offset",
 * "step"): a value is off by at most half a step. The others have the type of their name. NaN and infinities are
 * VF_ERR_ARGUMENT. Names are unique. Errors: VF_ERR_OUTPUT, VF_ERR_MEMORY. */
typedef enum vf_page_type {
    VF_PAGE_U8,
    VF_PAGE_U16,
    VF_PAGE_F32,
    VF_PAGE_U32,
    VF_PAGE_BYTES,
    VF_PAGE_TYPES
} vf_page_type;
VF_MUST_CHECK vf_status vf_page_array(vf_page *page, const char *name, vf_page_type type, int64_t rows, int columns,
                                      const void *data);

/* Volumes [frame][z][y][x] that are asked for plane by plane. What is shown of a plane's values: */
typedef enum vf_page_kind {
    VF_PAGE_VALUES, /* real numbers, float [y][x] */
    VF_PAGE_ANGLES  /* the angles of complex numbers, float [y][x][2] */
} vf_page_kind;
typedef struct vf_page_volume {
    const char *name;
    vf_page_kind kind;
    int64_t counts[3], frames;
    double spacing[3];                                                    /* the finest axis is reduced first */
    vf_status (*plane)(void *user, int64_t frame, int64_t z, float *out); /* may be asked for again */
    void *user;
    int most_bits;  /* 8 or 12 */
    int64_t budget; /* bytes that the volume may take in the file */
} vf_page_volume;

/* Adds volumes with 12 bits a value if that takes at most `budget` bytes and most_bits allows it, else with 8 bits; and
 * if that is too much, reduced: means of 2, 4, ... voxels along the axis where voxels are then smallest, while it has more than 48 of them;
 * then every second, fourth, ... frame. Angles have 8 bits, and are those of the mean. Returns what was done in *kept;
 * NULL: not asked for. A volume that cannot be reduced to the budget is left out (kept->bits 0). Errors: VF_ERR_OUTPUT, VF_ERR_MEMORY,
 * VF_ERR_ARGUMENT (NaN, infinities), the callback's. */
typedef struct vf_page_kept {
    int bits, factor[3], frame_step;
    double error; /* of a value: half a step; of an angle in radians */
} vf_page_kept;
VF_MUST_CHECK vf_status vf_page_add_volume(vf_page *page, const vf_page_volume *volume, vf_page_kept *kept);

/* The page's JSON object, to which the caller adds what the view needs, after all arrays. It has "page" and "arrays".
 * Do not commit or discard it: the page does. */
vf_report *vf_page_json(vf_page *page);

/* Completes the file, which gets its name. *page becomes NULL. Errors: VF_ERR_OUTPUT. */
VF_MUST_CHECK vf_status vf_page_commit(vf_page **page);
void vf_page_discard(vf_page **page); /* NULL is allowed */

/* ---- many pages ---- */

typedef struct vf_page_entry {
    const char *path;  /* of a page; it may be missing */
    const char *link;  /* the same from where the index is */
    const char *title; /* of the entry */
} vf_page_entry;

/* Writes a page with a link to each entry and its preview, which is read from the entry's file. An entry whose file is missing or has no
 * preview has its title alone, and says so. Errors: VF_ERR_OUTPUT, VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status vf_page_write_index(vf_context *ctx, const char *path, const char *title, const char *program,
                                            const vf_page_entry *entry, int64_t count);

#ifdef __cplusplus
}
#endif
#endif
