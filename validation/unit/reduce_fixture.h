/* Shared by the tests of reductions and scans: arrays in device memory that begin anywhere, between sentinels;
 * random elements of all types; and inputs that are too large for most machines. Include device_fixture.h first. */
#ifndef REDUCE_FIXTURE_H
#define REDUCE_FIXTURE_H

#include <math.h>

enum { GUARD = 64, SENTINEL = 0xA5 }; /* elements before and after an array; their bytes */

static vf_queue *queue;

static inline void need_ok(vf_status status)
{
    if (status != VF_OK)
        fail_msg("%s: %s", vf_status_name(status), vf_context_message(ctx));
}

/* n elements in device memory, starting `offset` elements after an address aligned to 128 bytes. */
typedef struct placed {
    vf_array all;
    vf_dtype type;
    int64_t n, offset;
    void *data;
} placed;

static inline void *allocate_host(size_t bytes)
{
    void *data = malloc(bytes + 1);
    assert_non_null(data);
    return data;
}

/* Filled with sentinels, and with `host` if it is not NULL. */
static inline placed place(vf_dtype type, int64_t n, int64_t offset, const void *host)
{
    const size_t size = vf_dtype_bytes(type);
    placed p = {.type = type, .n = n, .offset = 128 + offset};
    const int64_t count = p.offset + n + GUARD;
    unsigned char *image = allocate_host((size_t)count * size);
    memset(image, SENTINEL, (size_t)count * size);
    if (host)
        memcpy(image + (size_t)p.offset * size, host, (size_t)n * size);
    need_ok(vf_array_create(device, VF_SPACE_DEVICE, type, count, &p.all));
    p.data = (unsigned char *)p.all.data + (size_t)p.offset * size;
    need_ok(vf_queue_copy(queue, p.all.data, image, (size_t)count * size));
    need_ok(vf_queue_sync(queue));
    free(image);
    return p;
}

/* Returns the elements in memory that the caller frees; fails if the surroundings were written. Frees the array. */
static inline void *take_back(placed *p)
{
    const size_t size = vf_dtype_bytes(p->type), from = (size_t)p->offset * size, bytes = (size_t)p->n * size,
                 count = (size_t)p->all.count * size;
    unsigned char *image = allocate_host(count);
    need_ok(vf_queue_copy(queue, image, p->all.data, count));
    need_ok(vf_queue_sync(queue));
    for (size_t i = 0; i < count; i++)
        if ((i < from || i >= from + bytes) && image[i] != SENTINEL)
            fail_msg("byte %lld before or after an array of %lld bytes was written", (long long)(i - from),
                     (long long)bytes);
    memmove(image, image + from, bytes);
    vf_array_free(&p->all);
    return image;
}

/* Numbers in [-1, 1); integers of every size that their type has. */
static inline void fill_random(vf_dtype type, int64_t n, void *data)
{
    const bool is_complex = type == VF_C64 || type == VF_C128;
    for (int64_t i = 0; i < (is_complex ? 2 * n : n); i++) {
        const double u = uniform();
        switch (type) {
        case VF_F32:
        case VF_C64:
            ((float *)data)[i] = (float)(2 * u - 1);
            break;
        case VF_F64:
        case VF_C128:
            ((double *)data)[i] = 2 * u - 1;
            break;
        case VF_I32:
            ((int32_t *)data)[i] = (int32_t)(uint32_t)(u * 0x1p32);
            break;
        case VF_I64:
            ((int64_t *)data)[i] = (int64_t)((uint64_t)(u * 0x1p53) * 2049);
            break;
        default:
            ((uint8_t *)data)[i] = (uint8_t)(u * 256);
            break;
        }
    }
}

static inline void *random_elements(vf_dtype type, int64_t n)
{
    void *data = allocate_host((size_t)n * vf_dtype_bytes(type));
    fill_random(type, n, data);
    return data;
}

static inline const char *type_name(vf_dtype type)
{
    static const char *const names[] = {"f32", "f64", "c64", "c128", "i32", "i64", "u8"};
    return names[type];
}

/* All instruction sets of this CPU give the same result bytes; a GPU has one. */
static inline int instruction_sets(void)
{
    unsetenv("VOXFIELD_ISA");
    return vf_device_get_kind(device) == VF_DEVICE_CPU ? (int)vf_cpu_isa() + 1 : 1;
}

/* Whether the device has memory for so many bytes and half as many again, and no sanitizer slows it down; otherwise
 * prints SKIP. */
static inline bool has_memory(uint64_t bytes, const char *what)
{
    uint64_t free_bytes = 0, total = 0;
    if (SANITIZED) {
        printf("SKIP: %s takes too long under a sanitizer\n", what);
        return false;
    }
    need_ok(vf_device_memory(device, &free_bytes, &total));
    if (free_bytes >= bytes + bytes / 2)
        return true;
    printf("SKIP: %s needs %.1f GiB of memory, and half as much to spare; %.1f GiB are free\n", what,
           (double)bytes / 0x1p30, (double)free_bytes / 0x1p30);
    return false;
}

/* n elements of the same value. */
static inline vf_array filled(vf_dtype type, int64_t n, const void *value)
{
    enum { PIECE = 1 << 24 };
    const size_t size = vf_dtype_bytes(type);
    vf_array a;
    need_ok(vf_array_create(device, VF_SPACE_DEVICE, type, n, &a));
    unsigned char *piece = allocate_host((size_t)PIECE * size);
    for (size_t i = 0; i < PIECE; i++)
        memcpy(piece + i * size, value, size);
    for (int64_t at = 0; at < n; at += PIECE) {
        const int64_t here = n - at < PIECE ? n - at : PIECE;
        need_ok(vf_queue_copy(queue, (unsigned char *)a.data + (size_t)at * size, piece, (size_t)here * size));
    }
    need_ok(vf_queue_sync(queue));
    free(piece);
    return a;
}

static inline void set_element(vf_array *a, int64_t i, const void *value)
{
    const size_t size = vf_dtype_bytes(a->type);
    need_ok(vf_queue_copy(queue, (unsigned char *)a->data + (size_t)i * size, value, size));
    need_ok(vf_queue_sync(queue));
}

static inline int open_queue(void **state)
{
    (void)state;
    return vf_queue_create(device, &queue) != VF_OK;
}

static inline int close_queue(void **state)
{
    (void)state;
    vf_queue_destroy(queue);
    return 0;
}

#endif
