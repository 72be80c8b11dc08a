/* Where the blocks of a series lie, for C, CUDA and OpenCL; the includer defines DEVICE_FUNCTION and LONG. */
typedef struct low_rank_grid {
    LONG counts[3], block[3], blocks[3]; /* block: at most counts; blocks: their number along each axis */
    LONG voxels, frames, all_blocks;
    LONG shift[3]; /* 0 to counts - 1 */
} low_rank_grid;

/* The matrix of a block as [longer side][shorter side]; `turned` if its voxels are the shorter side. */
typedef struct low_rank_block {
    LONG first[3], extent[3]; /* the first voxel, and voxels along each axis */
    LONG longer;
    int shorter;
    bool turned;
} low_rank_block;

DEVICE_FUNCTION low_rank_block low_rank_block_at(const low_rank_grid *g, LONG number)
{
    low_rank_block b;
    LONG voxels = 1;
    for (int a = 0; a < 3; a++) {
        const LONG start = number % g->blocks[a] * g->block[a];
        number /= g->blocks[a];
        b.extent[a] = g->counts[a] - start < g->block[a] ? g->counts[a] - start : g->block[a];
        b.first[a] = (start + g->shift[a]) % g->counts[a];
        voxels *= b.extent[a];
    }
    b.turned = voxels < g->frames;
    b.longer = b.turned ? g->frames : voxels;
    b.shorter = (int)(b.turned ? voxels : g->frames);
    return b;
}

/* The index in the grid of a voxel of a block. */
DEVICE_FUNCTION LONG low_rank_voxel(const low_rank_grid *g, const low_rank_block *b, LONG voxel)
{
    LONG index = 0, step = 1;
    for (int a = 0; a < 3; a++) {
        const LONG n = b->first[a] + voxel % b->extent[a];
        voxel /= b->extent[a];
        index += step * (n < g->counts[a] ? n : n - g->counts[a]);
        step *= g->counts[a];
    }
    return index;
}

/* Element (i, j) of a block's matrix, i along the longer side, is at low_rank_longer(i) + low_rank_shorter(j) of the
 * series. */
DEVICE_FUNCTION LONG low_rank_longer(const low_rank_grid *g, const low_rank_block *b, LONG i)
{
    return b->turned ? i * g->voxels : low_rank_voxel(g, b, i);
}

DEVICE_FUNCTION LONG low_rank_shorter(const low_rank_grid *g, const low_rank_block *b, LONG j)
{
    return b->turned ? low_rank_voxel(g, b, j) : j * g->voxels;
}
