/* The OpenCL backend: as in CUDA, each thread has a voxel. */
kernel void add_differences(LONG nx, LONG ny, LONG nz, REAL scale, ARRAY(const REAL, weights), ARRAY(const REAL2, x), ARRAY(REAL2, y))
{
    OPEN(const REAL, weights);
    OPEN(const REAL2, x);
    OPEN(REAL2, y);
    const LONG n = get_global_id(0), counts[3] = {nx, ny, nz};
    if (n < nx * ny * nz)
        add_differences_of_voxel(n, counts, nx * ny * nz, scale, weights, x, y);
}
