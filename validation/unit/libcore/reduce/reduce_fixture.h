/* Arrays for reductions and scans, in device memory, that begin anywhere, between sentinels;
 * random elements of all types; and inputs that are too large for most machines. */
#ifndef REDUCE_FIXTURE_H
#define REDUCE_FIXTURE_H

#include <errno.h>
#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

#include "queue_fixture.h"

enum { GUARD = 64, SENTINEL = 0xA5 }; /* elements before and after an array; their bytes */

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
    need(vf_array_create(device, VF_SPACE_DEVICE, type, count, &p.all));
    p.data = (unsigned char *)p.all.data + (size_t)p.offset * size;
    need(vf_queue_copy(queue, p.all.data, image, (size_t)count * size));
    need(vf_queue_sync(queue));
    free(image);
    return p;
}

/* Returns the elements in memory that the caller frees; fails if the surroundings were written. Frees the array. */
static inline void *take_back(placed *p)
{
    const size_t size = vf_dtype_bytes(p->type), from = (size_t)p->offset * size, bytes = (size_t)p->n * size,
                 count = (size_t)p->all.count * size;
    unsigned char *image = allocate_host(count);
    need(vf_queue_copy(queue, image, p->all.data, count));
    need(vf_queue_sync(queue));
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
    need(vf_device_memory(device, &free_bytes, &total));
    if (free_bytes >= bytes + bytes / 2)
        return true;
    printf("SKIP: %s needs %.1f GiB of memory, and half as much to spare; %.1f GiB are free\n", what,
           (double)bytes / 0x1p30, (double)free_bytes / 0x1p30);
    return false;
}

/* More elements than a 31-bit index allows: the last two pieces begin at or after 2^31. On a GPU they are an array. On
 * the CPU, where clearing gigabytes takes longer than the tests, all pieces but the first and the last two are the same
 * memory. */
enum { PIECE = 1 << 22, PIECES = 514 };
static const int64_t large_count = (int64_t)PIECE * (PIECES - 1) + 1;

typedef struct large {
    vf_array array; /* of a GPU */
    void *data;
    size_t piece; /* bytes */
} large;

static inline bool is_apart(int64_t piece)
{
    return !vf_device_is_host(device) || piece == 0 || piece >= PIECES - 2;
}

/* The memory that it takes. */
static inline uint64_t bytes_of_large(vf_dtype type)
{
    const bool gpu = !vf_device_is_host(device);
    return (gpu ? (uint64_t)large_count : 4 * (uint64_t)PIECE) * vf_dtype_bytes(type);
}

static inline int64_t count_of(int64_t piece)
{
    return piece < PIECES - 1 ? PIECE : 1;
}

/* Copies a piece from or to the host. */
static inline void copy_piece(const large *a, int64_t piece, void *host, bool to_host)
{
    unsigned char *there = (unsigned char *)a->data + (size_t)piece * a->piece;
    const size_t bytes = a->piece / PIECE * (size_t)count_of(piece);
    need(vf_queue_copy(queue, to_host ? host : there, to_host ? there : host, bytes));
    need(vf_queue_sync(queue));
}

/* All elements are `value`, apart from the last one. */
static inline large make_large(vf_dtype type, const void *value, const void *last)
{
    const size_t size = vf_dtype_bytes(type);
    large a = {.piece = PIECE * size};
    if (!vf_device_is_host(device)) {
        need(vf_array_create(device, VF_SPACE_DEVICE, type, large_count, &a.array));
        a.data = a.array.data;
    } else {
        const int file = memfd_create("large", MFD_CLOEXEC);
        assert_return_code(file, errno);
        assert_return_code(ftruncate(file, (off_t)(4 * a.piece)), errno);
        a.data = mmap(NULL, PIECES * a.piece, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert_ptr_not_equal(a.data, MAP_FAILED);
        for (int64_t p = 0; p < PIECES; p++) {
            const int64_t at = p == 0 ? 0 : is_apart(p) ? p - PIECES + 4 : 1;
            assert_ptr_not_equal(mmap((unsigned char *)a.data + (size_t)p * a.piece, a.piece, PROT_READ | PROT_WRITE,
                                      MAP_SHARED | MAP_FIXED | MAP_POPULATE, file, at * (off_t)a.piece),
                                 MAP_FAILED);
        }
        close(file);
    }
    unsigned char *piece = allocate_host(a.piece);
    for (size_t i = 0; i < PIECE; i++)
        memcpy(piece + i * size, value, size);
    for (int64_t p = 0; p < PIECES; p++)
        if (is_apart(p) || p == 1)
            copy_piece(&a, p, p < PIECES - 1 ? piece : (void *)(uintptr_t)last, false);
    free(piece);
    return a;
}

static inline void free_large(large *a)
{
    if (a->array.data)
        vf_array_free(&a->array);
    else
        munmap(a->data, PIECES * a->piece);
}

/* Equality of results: NaN equals NaN, and -0 equals 0. */
static inline bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

#endif
