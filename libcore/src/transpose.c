#include "voxfield/transpose.h"

/* Tiles of this many elements square stay in the first-level cache whichever way they are walked. */
enum { TILE = 32 };

#define DEFINE_SWAP_TILE(name, type)                                                                                   \
    static void name(const type *src, type *dst, int64_t x_end, int64_t z_end, int64_t src_step, int64_t dst_step)     \
    {                                                                                                                  \
        for (int64_t x = 0; x < x_end; x++)                                                                            \
            for (int64_t z = 0; z < z_end; z++)                                                                        \
                dst[x * dst_step + z] = src[z * src_step + x];                                                         \
    }
DEFINE_SWAP_TILE(swap_tile_f32, float)
DEFINE_SWAP_TILE(swap_tile_f64, double)
#undef DEFINE_SWAP_TILE

static int64_t at_most_tile(int64_t left)
{
    return left < TILE ? left : TILE;
}

void vf_swap_xz(const vf_context *ctx, vf_dtype type, int64_t nx, int64_t ny, int64_t nz, const void *src, void *dst)
{
    int64_t x_tiles = (nx + TILE - 1) / TILE, z_tiles = (nz + TILE - 1) / TILE;
    int threads = vf_context_threads(ctx);
    (void)threads; /* unused in a build without OpenMP */
#pragma omp parallel for collapse(2) schedule(static) num_threads(threads) if (nx * ny * nz > 100000)
    for (int64_t xt = 0; xt < x_tiles; xt++)
        for (int64_t y = 0; y < ny; y++)
            for (int64_t zt = 0; zt < z_tiles; zt++) {
                int64_t x = xt * TILE, z = zt * TILE;
                int64_t from = (z * ny + y) * nx + x, to = (x * ny + y) * nz + z;
                if (type == VF_F64)
                    swap_tile_f64((const double *)src + from, (double *)dst + to, at_most_tile(nx - x),
                                  at_most_tile(nz - z), nx * ny, ny * nz);
                else
                    swap_tile_f32((const float *)src + from, (float *)dst + to, at_most_tile(nx - x),
                                  at_most_tile(nz - z), nx * ny, ny * nz);
            }
}
