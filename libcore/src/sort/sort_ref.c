/* The definition: a merge sort of keys and their indices, one thread. */
#include <stdlib.h>
#include <string.h>

#include "sort_plan.h"

typedef struct item {
    uint64_t key; /* ordered */
    int64_t index;
} item;

static uint64_t ordered_key(const vf_sort *plan, const void *keys, int64_t i)
{
    uint64_t key = 0;
    switch (plan->key_bytes) {
    case 1:
        key = vf_ordered_u8(((const uint8_t *)keys)[i], plan->order);
        break;
    case 2:
        key = vf_ordered_u16(((const uint16_t *)keys)[i], plan->order);
        break;
    case 4:
        key = vf_ordered_u32(((const uint32_t *)keys)[i], plan->order);
        break;
    default:
        key = vf_ordered_u64(((const uint64_t *)keys)[i], plan->order);
    }
    return key >> plan->low & ~(uint64_t)0 >> (64 - (plan->high - plan->low));
}

/* Of equal keys, those of the first half come first. */
static void merge(const item *from, int64_t middle, int64_t end, item *to)
{
    int64_t a = 0, b = middle;
    for (int64_t i = 0; i < end; i++)
        to[i] = b == end || (a < middle && from[a].key <= from[b].key) ? from[a++] : from[b++];
}

static vf_status create(vf_sort *plan)
{
    (void)plan;
    return VF_OK;
}

static void destroy(vf_sort *plan)
{
    (void)plan;
}

static vf_status execute(const vf_sort *plan, vf_queue *queue, int64_t n, const void *keys, const void *values,
                         void *keys_out, void *values_out)
{
    (void)queue;
    const size_t key_bytes = (size_t)plan->key_bytes, value_bytes = (size_t)plan->value_bytes;
    item *items = malloc(2 * (size_t)n * sizeof *items);
    if (!items)
        return vf_fail(vf_device_context(plan->device), VF_ERR_MEMORY, "not enough memory for a sort of %lld keys",
                       (long long)n);
    item *from = items, *to = items + n;
    for (int64_t i = 0; i < n; i++)
        from[i] = (item){ordered_key(plan, keys, i), i};
    for (int64_t half = 1; half < n; half *= 2) {
        for (int64_t at = 0; at < n; at += 2 * half) {
            const int64_t left = n - at;
            merge(from + at, half < left ? half : left, 2 * half < left ? 2 * half : left, to + at);
        }
        item *other = from;
        from = to;
        to = other;
    }
    for (int64_t i = 0; i < n; i++) {
        const size_t index = (size_t)from[i].index, at = (size_t)i;
        memcpy((char *)keys_out + at * key_bytes, (const char *)keys + index * key_bytes, key_bytes);
        if (value_bytes > 0)
            memcpy((char *)values_out + at * value_bytes, (const char *)values + index * value_bytes, value_bytes);
    }
    free(items);
    return VF_OK;
}

static const char *const names[] = {"ref", NULL};

const vf_sort_ops vf_sort_ops_ref = {{VF_DEVICE_CPU, names}, create, destroy, execute};
