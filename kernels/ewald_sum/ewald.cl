/* The steps of the Ewald sum on a mesh. -DWIDTH: points of a window along an axis; -DOUT: the type of results. */
#define TILE 8
#define THREADS (TILE * TILE)
#define CHUNK 32

typedef struct mesh_charge { /* ewald_charge_F of ewald_simd.h */
    int start[3];
    REAL offset[3], charge;
} mesh_charge;

/* The window's value at its point p. */
static REAL window_value(global const REAL *window, int degree, int p, REAL offset)
{
    const REAL half_width = (REAL)0.5 * WIDTH, x = ((REAL)p - half_width + offset) / half_width, t = 2 * x * x - 1;
    REAL sum = window[degree];
    for (int k = degree - 1; k >= 0; k--)
        sum = sum * t + window[k];
    return sum;
}

/* ---- spreading: a group computes a tile of the mesh, a thread a row of it along z, by the charges whose windows reach it ---- */

typedef struct spread_task { /* of ewald_opencl.c */
    long mesh[3], bins[3], row, plane, periodic, degree;
} spread_task;

/* Segment `which` of the bins with windows that reach points from lo on, along an axis: the first and the last, and what is added
 * to starts. With periodic images there are two, for a mesh has as many points as a window at least. False: there is none. */
static bool segment_of(const spread_task *task, int axis, LONG lo, int which, int *first, int *last, int *shift)
{
    const int mesh = (int)task->mesh[axis], from = (int)lo - (WIDTH - 1);
    *first = max(which ? from + mesh : from, 0) / TILE;
    *last = (which ? mesh - 1 : min((int)lo + TILE, mesh) - 1) / TILE;
    *shift = which ? -mesh : 0;
    return !which || (task->periodic && from < 0);
}

kernel void spread(const spread_task task, ARRAY(const REAL, window), ARRAY(const mesh_charge, charges), ARRAY(const LONG, first),
                   ARRAY(REAL2, spectrum))
{
    OPEN(const REAL, window);
    OPEN(const mesh_charge, charges);
    OPEN(const LONG, first);
    OPEN(REAL2, spectrum);
    local REAL values[CHUNK][3][TILE]; /* windows of charges on the tile; the first times the charge */
    const int thread = (int)get_local_id(0), x = thread % TILE, y = thread / TILE;
    const LONG group = get_group_id(0), lo[3] = {group % task.bins[0] * TILE, group / task.bins[0] % task.bins[1] * TILE,
                                                 group / task.bins[0] / task.bins[1] * TILE};
    REAL sums[TILE];
    for (int z = 0; z < TILE; z++)
        sums[z] = 0;
    for (int n = 0; n < 8; n++) {
        int begin[3], last[3], shift[3];
        bool there = true;
        for (int a = 0; a < 3; a++)
            there = segment_of(&task, a, lo[a], n >> a & 1, &begin[a], &last[a], &shift[a]) && there;
        const int across = last[1] - begin[1] + 1, rows = there ? across * (last[2] - begin[2] + 1) : 0;
        for (int r = 0; r < rows; r++) {
            const LONG bin = ((begin[2] + r / across) * task.bins[1] + begin[1] + r % across) * task.bins[0],
                       end = first[bin + last[0] + 1];
            for (LONG base = first[bin + begin[0]]; base < end; base += CHUNK) {
                const int some = (int)min((LONG)CHUNK, end - base);
                barrier(CLK_LOCAL_MEM_FENCE);
                for (int i = thread; i < some * 3 * TILE; i += THREADS) {
                    const int c = i / (3 * TILE), a = i / TILE % 3, p = (int)lo[a] + i % TILE - charges[base + c].start[a] - shift[a];
                    values[c][a][i % TILE] = p < 0 || p >= WIDTH ? 0
                                                                 : window_value(window, (int)task.degree, p, charges[base + c].offset[a]) *
                                                                       (a == 0 ? charges[base + c].charge : 1);
                }
                barrier(CLK_LOCAL_MEM_FENCE);
                for (int c = 0; c < some; c++) {
                    const REAL xy = values[c][0][x] * values[c][1][y];
                    for (int z = 0; z < TILE; z++)
                        sums[z] += xy * values[c][2][z];
                }
            }
        }
    }
    for (int z = 0; z < TILE; z++)
        if (lo[0] + x < task.mesh[0] && lo[1] + y < task.mesh[1] && lo[2] + z < task.mesh[2])
            spectrum[(lo[2] + z) * task.plane + (lo[1] + y) * task.row + lo[0] + x] = (REAL2)(sums[z], 0);
}

/* ---- the spectrum ---- */

/* table [x to length / 2][y][z]; folded: y and z up to length / 2, too. */
kernel void multiply(LONG nx, LONG ny, LONG nz, LONG folded, ARRAY(const REAL, table), ARRAY(REAL2, spectrum))
{
    OPEN(const REAL, table);
    OPEN(REAL2, spectrum);
    const LONG i = get_global_id(0), size_y = folded ? ny / 2 + 1 : ny, size_z = folded ? nz / 2 + 1 : nz;
    LONG x = i % nx, y = i / nx % ny, z = i / nx / ny;
    if (i >= nx * ny * nz)
        return;
    if (2 * x > nx) { /* the opposite wave number, of the same value */
        x = nx - x;
        y = (ny - y) % ny;
        z = (nz - z) % nz;
    }
    y = folded && 2 * y > ny ? ny - y : y;
    z = folded && 2 * z > nz ? nz - z : z;
    spectrum[i] *= table[(x * size_y + y) * size_z + z];
}

kernel void take_real(LONG nx, LONG ny, LONG nz, LONG row, LONG plane, ARRAY(const REAL2, spectrum), ARRAY(REAL, mesh))
{
    OPEN(const REAL2, spectrum);
    OPEN(REAL, mesh);
    const LONG i = get_global_id(0);
    if (i < nx * ny * nz)
        mesh[i] = spectrum[i / nx / ny * plane + i / nx % ny * row + i % nx].x;
}

/* ---- results ---- */

typedef struct output_task { /* of ewald_opencl.c */
    long mesh[3], row, counts[3], lo[3], size[3], periodic, degree, add;
} output_task;

/* The mesh at the points of a box of targets. A target's mesh coordinate along an axis is the sum of whole numbers and of parts
 * below 1, one of each for its index along each axis: whole and parts [mesh axis][index along x, then y, then z]. */
kernel void interpolate(const output_task task, ARRAY(const REAL, window), ARRAY(const int, whole), ARRAY(const REAL, parts),
                        ARRAY(const REAL, mesh), ARRAY(OUT, out))
{
    OPEN(const REAL, window);
    OPEN(const int, whole);
    OPEN(const REAL, parts);
    OPEN(const REAL, mesh);
    OPEN(OUT, out);
    const LONG i = get_global_id(0), all = task.counts[0] + task.counts[1] + task.counts[2];
    const LONG at[3] = {task.lo[0] + i % task.size[0], task.counts[0] + task.lo[1] + i / task.size[0] % task.size[1],
                        task.counts[0] + task.counts[1] + task.lo[2] + i / task.size[0] / task.size[1]};
    if (i >= task.size[0] * task.size[1] * task.size[2])
        return;
    REAL values[3][WIDTH];
    LONG start[3];
    for (int a = 0; a < 3; a++) {
        const REAL u = parts[a * all + at[0]] + parts[a * all + at[1]] + parts[a * all + at[2]],
                   half_width = (REAL)0.5 * WIDTH, first = ceil(u - half_width);
        for (int p = 0; p < WIDTH; p++)
            values[a][p] = window_value(window, (int)task.degree, p, first + half_width - u);
        start[a] = whole[a * all + at[0]] + whole[a * all + at[1]] + whole[a * all + at[2]] + (LONG)first;
        if (task.periodic)
            start[a] = (start[a] % task.mesh[a] + task.mesh[a]) % task.mesh[a];
    }
    REAL sum = 0;
    for (int p = 0; p < WIDTH; p++) {
        const LONG z = start[2] + p - (start[2] + p >= task.mesh[2] ? task.mesh[2] : 0);
        REAL plane = 0;
        for (int q = 0; q < WIDTH; q++) {
            const LONG y = start[1] + q - (start[1] + q >= task.mesh[1] ? task.mesh[1] : 0);
            global const REAL *line = mesh + (z * task.mesh[1] + y) * task.row;
            REAL row = 0;
            for (int r = 0; r < WIDTH; r++)
                row += values[0][r] * line[start[0] + r - (start[0] + r >= task.mesh[0] ? task.mesh[0] : 0)];
            plane += values[1][q] * row;
        }
        sum += values[2][p] * plane;
    }
    out[i] = (OUT)((task.add ? (REAL)out[i] : 0) + sum);
}

/* The mesh from the point `lo` on. */
kernel void copy_box(const output_task task, ARRAY(const REAL, mesh), ARRAY(OUT, out))
{
    OPEN(const REAL, mesh);
    OPEN(OUT, out);
    const LONG i = get_global_id(0), x = i % task.size[0], y = i / task.size[0] % task.size[1], z = i / task.size[0] / task.size[1];
    if (z < task.size[2])
        out[i] = (OUT)mesh[((task.lo[2] + z) * task.mesh[1] + task.lo[1] + y) * task.row + task.lo[0] + x];
}

/* out += terms of the indices along x, y and z. */
kernel void add_slope(const output_task task, ARRAY(const OUT, terms), ARRAY(OUT, out))
{
    OPEN(const OUT, terms);
    OPEN(OUT, out);
    const LONG i = get_global_id(0), x = i % task.size[0], y = i / task.size[0] % task.size[1], z = i / task.size[0] / task.size[1];
    if (z < task.size[2])
        out[i] += terms[task.lo[0] + x] + terms[task.counts[0] + task.lo[1] + y] +
                  terms[task.counts[0] + task.counts[1] + task.lo[2] + z];
}
