/* The cutoff sum: a group computes a tile of points, a thread some of a column along z. Charges of the bins within reach go through
 * local memory, in the order of the bins; those beyond the cutoff of the tile are left out, which would have added 0. */
#define TILE_X 8
#define TILE_Y 8
#define TILE_Z 4
#define THREADS (TILE_X * TILE_Y)

typedef struct charge_at { /* cutoff_charge_F of cutoff_sum_simd.h */
    int at[3];
    REAL offset[3], charge;
} charge_at;

typedef struct task_of { /* of cutoff_sum_opencl.c */
    long counts[3], bins[3], bin[3], reach[3], lo[3], hi[3], tile[3], tiles[3], degree, windowed, add;
} task_of;

enum { CUTOFF_SQUARED, R_MIN_SQUARED, SCALE, INVERSE_SQUARED, ON, A, B, COEFFICIENTS };

/* S at the squared distance s. */
static REAL pair_value(global const REAL *law, int degree, int windowed, REAL s)
{
    const REAL near = fmax(s, law[R_MIN_SQUARED]), root = rsqrt(near);
    if (windowed) {
        const REAL v = fmax(near * law[INVERSE_SQUARED], law[ON]), rest = 1 - v;
        return rest * rest * (law[B] * v + law[A]) * root;
    }
    const REAL t = s * law[SCALE] - 1;
    REAL smooth = law[COEFFICIENTS + degree];
    for (int k = degree - 1; k >= 0; k--)
        smooth = smooth * t + law[COEFFICIENTS + k];
    return root - smooth;
}

/* The distance of x from the points 0 to `last` along an axis. */
static REAL beyond(REAL x, REAL last)
{
    return fmax(fmax(-x, x - last), (REAL)0);
}

kernel void sum_near(const task_of task, REAL hx, REAL hy, REAL hz, ARRAY(const REAL, law), ARRAY(const charge_at, charges),
                     ARRAY(const LONG, first), ARRAY(REAL, out))
{
    OPEN(const REAL, law);
    OPEN(const charge_at, charges);
    OPEN(const LONG, first);
    OPEN(REAL, out);
    local REAL at[3][THREADS], offset[3][THREADS], charge[THREADS];
    local int near[THREADS];
    const int thread = (int)get_local_id(0), x = thread % TILE_X, y = thread / TILE_X, degree = (int)task.degree,
              windowed = (int)task.windowed;
    const LONG group = get_group_id(0);
    const LONG tile[3] = {(task.tile[0] + group % task.tiles[0]) * TILE_X,
                          (task.tile[1] + group / task.tiles[0] % task.tiles[1]) * TILE_Y,
                          (task.tile[2] + group / task.tiles[0] / task.tiles[1]) * TILE_Z};
    const int sizes[3] = {TILE_X, TILE_Y, TILE_Z};
    const REAL most = law[CUTOFF_SQUARED], most_near = most * (REAL)1.0001;
    REAL sums[TILE_Z];
    LONG lo[3], hi[3];
    for (int k = 0; k < TILE_Z; k++)
        sums[k] = 0;
    for (int a = 0; a < 3; a++) {
        const LONG last = task.counts[a] - 1;
        lo[a] = clamp(tile[a] - task.reach[a], (LONG)0, last) / task.bin[a];
        hi[a] = clamp(tile[a] + sizes[a] - 1 + task.reach[a], (LONG)0, last) / task.bin[a];
    }
    for (LONG row = 0; row < (hi[1] - lo[1] + 1) * (hi[2] - lo[2] + 1); row++) {
        const LONG bin = ((lo[2] + row / (hi[1] - lo[1] + 1)) * task.bins[1] + lo[1] + row % (hi[1] - lo[1] + 1)) * task.bins[0],
                   end = first[bin + hi[0] + 1];
        for (LONG base = first[bin + lo[0]]; base < end; base += THREADS) {
            const int some = (int)min((LONG)THREADS, end - base);
            barrier(CLK_LOCAL_MEM_FENCE);
            if (thread < some) {
                const charge_at c = charges[base + thread];
                for (int a = 0; a < 3; a++) {
                    at[a][thread] = (REAL)(c.at[a] - (int)tile[a]);
                    offset[a][thread] = c.offset[a];
                }
                charge[thread] = c.charge;
                const REAL bx = beyond(at[0][thread] * hx + c.offset[0], (TILE_X - 1) * hx),
                           by = beyond(at[1][thread] * hy + c.offset[1], (TILE_Y - 1) * hy),
                           bz = beyond(at[2][thread] * hz + c.offset[2], (TILE_Z - 1) * hz);
                near[thread] = bx * bx + by * by + bz * bz < most_near;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int n = 0; n < some; n++) {
                if (!near[n])
                    continue;
                const REAL dx = ((REAL)x - at[0][n]) * hx - offset[0][n], dy = ((REAL)y - at[1][n]) * hy - offset[1][n],
                           xy = dx * dx + dy * dy;
                for (int k = 0; k < TILE_Z; k++) {
                    const REAL dz = ((REAL)k - at[2][n]) * hz - offset[2][n], s = dz * dz + xy;
                    if (s < most)
                        sums[k] += charge[n] * pair_value(law, degree, windowed, s);
                }
            }
        }
    }
    const LONG i = tile[0] + x, j = tile[1] + y;
    for (int k = 0; k < TILE_Z; k++)
        if (i >= task.lo[0] && i < task.hi[0] && j >= task.lo[1] && j < task.hi[1] && tile[2] + k >= task.lo[2] &&
            tile[2] + k < task.hi[2]) {
            global REAL *to = out + ((tile[2] + k - task.lo[2]) * (task.hi[1] - task.lo[1]) + j - task.lo[1]) * (task.hi[0] - task.lo[0]) +
                              i - task.lo[0];
            *to = sums[k] + (task.add ? *to : 0);
        }
}
