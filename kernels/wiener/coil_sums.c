#include "coil_sums.h"

#include "coil_sums_chunk.h"
#include "voxfield/device.h"

static const coil_sums_chunk *const chunk_of[VF_ISA_COUNT] = {
    &coil_sums_chunk_baseline,
#if defined(__x86_64__)
    &coil_sums_chunk_avx2,
    &coil_sums_chunk_avx512,
#endif
};

void vf_coil_moments_of(const vf_wiener_samples *samples, const unsigned char *ring, int64_t first, int64_t end,
                        vf_coil_moments *out)
{
    chunk_of[vf_cpu_isa()]->moments(samples, ring, first, end, out);
}
