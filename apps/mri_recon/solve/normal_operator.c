/* F^H W F of frames that are solved for together, as an operator. */
#include "normal_operator.h"

#include <stdlib.h>

#include "kernel_operators.h"

/* What all parts have in common. */
typedef struct seen {
    vf_dtype precision;
    int64_t voxels;
    const device_maps *maps; /* NULL: none */
} seen;

/* Of one frame through the maps of device d, times the frame's weight. */
static vf_status of_frame(const seen *how, const normal_share *share, int d, int frame, vf_operator **out)
{
    vf_device *device = vf_queue_device(share->queue);
    const device_maps *maps = how->maps;
    const void *data = maps ? maps->array[d].data : NULL;
    const int coils = maps ? (int)maps->share[d].coils : 1;
    const double weight = share->weight[frame];
    vf_operator *a = NULL;
    vf_status status = maps && maps->sets > 1
                           ? vf_normal_sets_operator(device, how->precision, how->voxels, share->of[frame], maps->sets,
                                                     coils, data, &a)
                           : vf_normal_operator(device, how->precision, how->voxels, share->of[frame], coils, data, &a);
    if (status != VF_OK || weight == 1) {
        *out = a;
        return status;
    }
    status = vf_operator_scale(weight, a, out);
    vf_operator_free(a);
    return status;
}

static void free_parts(int count, vf_operator_part *part)
{
    for (int i = 0; part && i < count; i++)
        vf_operator_free(part[i].a); /* what was made of them keeps them */
    free(part);
}

/* Of a device's frames. */
static vf_status of_device(const seen *how, const normal_share *share, int d, vf_operator **out)
{
    vf_operator_part *part = calloc((size_t)share->frames, sizeof *part);
    vf_status status =
        part ? VF_OK : vf_fail(vf_device_context(vf_queue_device(share->queue)), VF_ERR_MEMORY, "no memory");
    for (int f = 0; f < share->frames && status == VF_OK; f++)
        status = of_frame(how, share, d, f, &part[f].a);
    VF_TRY(status, vf_operator_blocks(share->frames, part, out));
    free_parts(share->frames, part);
    return status;
}

vf_status normal_operator_create(int devices, const normal_share *share, bool series, vf_dtype precision,
                                 int64_t voxels, const device_maps *maps, vf_operator **out)
{
    const seen how = {precision, voxels, maps};
    vf_operator_part *part = calloc((size_t)devices, sizeof *part);
    vf_status status =
        part ? VF_OK : vf_fail(vf_device_context(vf_queue_device(share->queue)), VF_ERR_MEMORY, "no memory");
    *out = NULL;
    for (int d = 0; d < devices && status == VF_OK; d++) {
        part[d].queue = d > 0 ? share[d].queue : NULL;
        status = of_device(&how, &share[d], d, &part[d].a);
    }
    VF_TRY(status, series ? vf_operator_blocks(devices, part, out) : vf_operator_sum_of_devices(devices, part, out));
    free_parts(devices, part);
    return status;
}
