#include "coil_sums.h"

#include "coil_sums_chunk.h"
#include "voxfield/device.h"

static const coil_sums_chunk *const chunks[VF_ISA_COUNT] = {
    &coil_sums_chunk_baseline,
#if defined(__x86_64__)
    &coil_sums_chunk_avx2,
    &coil_sums_chunk_avx512,
#endif
};

const coil_sums_chunk *coil_sums_chunk_of_cpu(void)
{
    return chunks[vf_cpu_isa()];
}

void vf_coil_moments_of(const vf_wiener_samples *samples, const unsigned char *ring, int64_t first, int64_t end,
                        vf_coil_moments *out)
{
    coil_sums_chunk_of_cpu()->moments(samples, ring, first, end, out);
}

size_t vf_coil_block_room(int coils)
{
    return 2 * (size_t)VF_COIL_BLOCK * (((size_t)coils + COIL_SUMS_ROWS - 1) / COIL_SUMS_ROWS * COIL_SUMS_ROWS);
}

void vf_coil_products_add(const vf_wiener_samples *samples, const double *share, int64_t first, int64_t end,
                          double *room, bool *acquired, double *sum)
{
    coil_sums_chunk_of_cpu()->products(samples, share, first, end, room, acquired, sum);
}
