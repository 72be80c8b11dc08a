#include "voxfield/sort.h"

#include <stdlib.h>

#include "backend/registry.h"
#include "device/arguments.h"
#include "sort_plan.h"

static const vf_backend backends[] = {
    {&vf_sort_ops_msd.variants, &vf_sort_ops_msd},     {&vf_sort_ops_lsd.variants, &vf_sort_ops_lsd},
    {&vf_sort_ops_ref.variants, &vf_sort_ops_ref},     {&vf_sort_ops_tuned.variants, &vf_sort_ops_tuned},
    {&vf_sort_ops_brown.variants, &vf_sort_ops_brown}, {0},
};

const char *vf_sort_variant_name(vf_device_kind kind, int index)
{
    return vf_backend_variant(backends, kind, index);
}

static const struct {
    int bytes;
    enum { UNSIGNED, SIGNED, FLOATING } kind;
} types[VF_SORT_KEYS] = {
    [VF_SORT_U8] = {1, UNSIGNED},  [VF_SORT_U16] = {2, UNSIGNED}, [VF_SORT_U32] = {4, UNSIGNED},
    [VF_SORT_U64] = {8, UNSIGNED}, [VF_SORT_I8] = {1, SIGNED},    [VF_SORT_I16] = {2, SIGNED},
    [VF_SORT_I32] = {4, SIGNED},   [VF_SORT_I64] = {8, SIGNED},   [VF_SORT_F32] = {4, FLOATING},
    [VF_SORT_F64] = {8, FLOATING},
};

static vf_status check_options(vf_context *ctx, const vf_sort_options *o, int64_t most)
{
    if ((unsigned)o->key >= VF_SORT_KEYS)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "a sort: invalid type of keys %d", (int)o->key);
    if (o->value_bytes != 0 && o->value_bytes != 4 && o->value_bytes != 8)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "a sort: values of %d bytes; 0, 4 and 8 are supported", o->value_bytes);
    const int bits = 8 * types[o->key].bytes;
    const bool all = o->low == 0 && o->high == 0;
    if (!all && (o->low < 0 || o->low >= o->high || o->high > bits))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "a sort by bits [%d, %d) of keys of %d bits", o->low, o->high, bits);
    if (!all && types[o->key].kind != UNSIGNED)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "a sort by some bits needs unsigned keys");
    if (most < 0 || most > (int64_t)1 << 32)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "a sort of %lld keys; 0 to 2^32 are supported", (long long)most);
    return VF_OK;
}

vf_status vf_sort_create(vf_device *device, const vf_sort_options *options, int64_t most, vf_sort **out)
{
    vf_context *ctx = vf_device_context(device);
    const void *ops;
    *out = NULL;
    vf_status status = check_options(ctx, options, most);
    VF_TRY(status, vf_backend_choose(backends, "the sort", device, options->variant, &ops, NULL));
    if (status != VF_OK)
        return status;
    vf_sort *plan = calloc(1, sizeof *plan);
    if (!plan)
        return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for a sort");
    const int bytes = types[options->key].bytes, kind = types[options->key].kind;
    const uint64_t sign = (uint64_t)1 << (8 * bytes - 1);
    *plan = (vf_sort){.ops = ops,
                      .device = device,
                      .key_bytes = bytes,
                      .value_bytes = options->value_bytes,
                      .low = options->low,
                      .high = options->high > 0 ? options->high : 8 * bytes,
                      .order = {kind == UNSIGNED ? 0 : sign, kind == FLOATING ? sign - 1 : 0},
                      .most = most};
    status = plan->ops->create(plan);
    if (status != VF_OK) {
        vf_sort_destroy(plan);
        return status;
    }
    *out = plan;
    return VF_OK;
}

void vf_sort_destroy(vf_sort *plan)
{
    if (!plan)
        return;
    plan->ops->destroy(plan);
    free(plan);
}

static vf_status check_arrays(const vf_sort *plan, int64_t n, const void *keys, const void *values,
                              const void *keys_out, const void *values_out)
{
    vf_context *ctx = vf_device_context(plan->device);
    vf_status status = VF_CHECK_ARRAYS(ctx, "a sort", VF_U8, n, {"keys", keys}, {"keys_out", keys_out});
    if (status == VF_OK && plan->value_bytes > 0)
        status = VF_CHECK_ARRAYS(ctx, "a sort", VF_U8, n, {"values", values}, {"values_out", values_out});
    else if (status == VF_OK && (values || values_out))
        status = vf_fail(ctx, VF_ERR_ARGUMENT, "a sort of keys only, but values or values_out is not NULL");
    if (status != VF_OK)
        return status;
    const int64_t key_bytes = n * plan->key_bytes, value_bytes = n * plan->value_bytes;
    const vf_device *device = plan->device;
    if (vf_overlap_bytes(device, keys, key_bytes, keys_out, key_bytes) ||
        vf_overlap_bytes(device, keys, key_bytes, values_out, value_bytes) ||
        vf_overlap_bytes(device, values, value_bytes, keys_out, key_bytes) ||
        vf_overlap_bytes(device, values, value_bytes, values_out, value_bytes) ||
        vf_overlap_bytes(device, keys_out, key_bytes, values_out, value_bytes))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "a sort: an output overlaps an input, or the other output");
    return VF_OK;
}

vf_status vf_sort_execute(const vf_sort *plan, vf_queue *queue, int64_t n, const void *keys, const void *values,
                          void *keys_out, void *values_out)
{
    if (n < 0 || n > plan->most)
        return vf_fail(vf_device_context(plan->device), VF_ERR_ARGUMENT,
                       "a sort of %lld keys; the plan is for 0 to %lld", (long long)n, (long long)plan->most);
    const vf_status status = check_arrays(plan, n, keys, values, keys_out, values_out);
    return status == VF_OK && n > 0 ? plan->ops->execute(plan, queue, n, keys, values, keys_out, values_out) : status;
}
