/* What the files of a page's writer share. */
#ifndef VOXFIELD_PAGE_INTERNAL_H
#define VOXFIELD_PAGE_INTERNAL_H

#include "voxfield/output.h"
#include "voxfield/page.h"

enum { PAGE_COLUMNS = 4, PAGE_NAME = 48 };

/* A written array, for the JSON object. */
typedef struct page_array {
    char name[PAGE_NAME];
    const char *type; /* of the page: "u8", "u16", "u32", "f32" */
    int64_t shape[4];
    int dimensions, columns;                         /* of offset and step; 0: values are as they are */
    double offset[PAGE_COLUMNS], step[PAGE_COLUMNS]; /* value = offset + step * number */
    bool angles, volume;
    vf_page_kept kept; /* of a volume */
} page_array;

struct vf_page {
    vf_context *ctx;
    vf_output *output;
    vf_report *json;
    vf_page_head head;
    page_array *array;
    int arrays;
    int64_t bytes;
};

/* Text as it is; between tags or in a quoted attribute, where nothing of it is HTML; the head, up to the heading. */
VF_MUST_CHECK vf_status page_put(vf_page *page, const char *text);
VF_MUST_CHECK vf_status page_put_escaped(vf_page *page, const char *text);
VF_MUST_CHECK vf_status page_put_head(vf_page *page, bool is_index);

/* Compressed bytes, in memory. */
typedef struct page_pack {
    unsigned char *data;
    size_t bytes, room;
    void *stream; /* zlib's */
    size_t limit;
    bool full; /* they are more than `limit` */
} page_pack;

/* pack_begin; pack_add as often as needed; pack_end. `limit`: bytes that are too many. Then free pack->data with page_pack_free.
 * Errors: VF_ERR_MEMORY. */
VF_MUST_CHECK vf_status page_pack_begin(vf_context *ctx, size_t limit, page_pack *pack);
VF_MUST_CHECK vf_status page_pack_add(vf_context *ctx, page_pack *pack, const void *data, size_t bytes, bool last);
void page_pack_free(page_pack *pack);

/* Writes an array's bytes as a line of base64, and lists it. */
VF_MUST_CHECK vf_status page_put_array(vf_page *page, const page_array *of, const page_pack *pack);

/* Numbers with 8 or 16 bits, as the page has them: differences from the number before, modulo their range; of 16 bits, the lower bytes
 * of all, then the upper ones. In place for 8 bits; `bytes` [2 count] gets those of 16. */
void page_differences8(uint8_t *values, int64_t count);
void page_differences16(const uint16_t *values, int64_t count, uint8_t *bytes);

#endif
