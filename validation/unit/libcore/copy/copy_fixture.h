/* Device memory with a mirror on the host, for the tests of copies. All of it is compared, including the surroundings of a
 * result. */
#ifndef COPY_FIXTURE_H
#define COPY_FIXTURE_H

#include "queue_fixture.h"

#include "voxfield/copy.h"

typedef struct memory {
    vf_array array; /* device memory */
    uint8_t *host;  /* the expected bytes */
} memory;

static inline void *at(const memory *m, int64_t byte)
{
    return (char *)m->array.data + byte;
}

static inline void upload(memory *m)
{
    assert_int_equal(vf_queue_copy(queue, m->array.data, m->host, (size_t)m->array.count), VF_OK);
    assert_int_equal(vf_queue_sync(queue), VF_OK);
}

/* Random bytes. */
static inline memory make_memory(int64_t bytes)
{
    memory m = {.array = {.count = bytes}};
    if (vf_device_is_host(device)) /* no extra byte, so memory checkers detect reads beyond the end */
        m.array.data = malloc((size_t)bytes);
    else
        assert_int_equal(vf_array_create(device, VF_SPACE_DEVICE, VF_U8, bytes, &m.array), VF_OK);
    assert_true(m.array.data || bytes == 0);
    m.host = malloc((size_t)bytes + 8);
    assert_non_null(m.host);
    for (int64_t i = 0; i < bytes; i += 8) {
        const uint64_t bits = random_bits();
        memcpy(m.host + i, &bits, 8);
    }
    upload(&m);
    return m;
}

/* Checks that all of the device's bytes equal the host's; `what` describes the operation. */
static inline void check_memory(memory *m, const char *what)
{
    const size_t bytes = (size_t)m->array.count;
    uint8_t *got = malloc(bytes + 1);
    assert_non_null(got);
    assert_int_equal(vf_queue_copy(queue, got, m->array.data, bytes), VF_OK);
    assert_int_equal(vf_queue_sync(queue), VF_OK);
    const bool same = memcmp(got, m->host, bytes) == 0;
    for (size_t i = 0; i < bytes && !same; i++)
        if (got[i] != m->host[i])
            fail_msg("%s: byte %zu of %zu is %d, not %d", what, i, bytes, got[i], m->host[i]);
    free(got);
}

static inline void free_memory(memory *m)
{
    if (m->array.device)
        vf_array_free(&m->array);
    else
        free(m->array.data);
    free(m->host);
}

#endif
