/* Sorts samples by the tile of the grid in which their kernels start. */
#include <stdlib.h>

#include "gridding_locate.h"

vf_status gridding_sort(const vf_nufft *plan, const vf_nufft_samples *samples, const gridding_tiles *tiles,
                        void *sorted, int64_t *first)
{
    int64_t total = tiles->count[0] * tiles->count[1] * tiles->count[2];
    uint32_t *tile_of = malloc(((size_t)samples->count + 1) * sizeof *tile_of);
    if (!tile_of)
        return vf_fail(plan->ctx, VF_ERR_MEMORY, "NUFFT: not enough memory to sort %lld samples",
                       (long long)samples->count);
    for (int64_t t = 0; t <= total; t++)
        first[t] = 0;
    for (int64_t m = 0; m < samples->count; m++) {
        const gridding_place place = gridding_locate(plan->axis, samples->k + 3 * m);
        const int64_t tile = gridding_tile_of(tiles, &place);
        tile_of[m] = (uint32_t)tile;
        first[tile + 1]++;
    }
    for (int64_t t = 0; t < total; t++)
        first[t + 1] += first[t];
    /* Filling a tile moves its beginning to its end, which is the beginning of the next tile. */
    for (int64_t m = 0; m < samples->count; m++) {
        const gridding_place place = gridding_locate(plan->axis, samples->k + 3 * m);
        int64_t at = first[tile_of[m]]++;
        gridding_sample_f32 *f32 = (gridding_sample_f32 *)sorted + at;
        gridding_sample_f64 *f64 = (gridding_sample_f64 *)sorted + at;
        for (int a = 0; a < 3; a++) {
            if (plan->real == VF_F64) {
                f64->offset[a] = place.offset[a];
                f64->start[a] = (int16_t)place.start[a];
            } else {
                f32->offset[a] = (float)place.offset[a];
                f32->start[a] = (int16_t)place.start[a];
            }
        }
        if (plan->real == VF_F64)
            f64->index = (uint32_t)m;
        else
            f32->index = (uint32_t)m;
    }
    for (int64_t t = total; t > 0; t--)
        first[t] = first[t - 1];
    first[0] = 0;
    free(tile_of);
    return VF_OK;
}
