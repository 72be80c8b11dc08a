/* The tuned kernel of the Coulomb sum: a group computes a tile of points of one z layer, a thread some rows of a column. Atoms go
 * through local memory, relative to the tile's centre. Host and device keep a position as two numbers, whose sum has more digits
 * than one, so this needs no double precision. Sums over FLUSH chunks are added up with their rounding errors. */
#ifdef SQUARE
#define INVERSE(s) (1 / (s))
#else
#define INVERSE(s) rsqrt(s)
#endif
#define POINTS (TILE_Y * TILE_X / THREADS)
#define ROWS (THREADS / TILE_X)

/* a - b of numbers in two parts, rounded about once. */
static inline REAL apart(REAL a, REAL a_rest, REAL b, REAL b_rest)
{
    const REAL s = a - b, minus = s - a, error = (a - (s - minus)) - (b + minus);
    return s + (error + (a_rest - b_rest));
}

/* sum.x + sum.y += value. */
static inline REAL2 add_with_error(REAL2 sum, REAL value)
{
    const REAL s = sum.x + value, added = s - sum.x;
    return (REAL2)(s, sum.y + ((sum.x - (s - added)) + (value - added)));
}

/* along: the positions of points from their tile's centre, along x and y of whole tiles; then the centres of tiles along x, y and
 * z, two numbers each. skip: the points of the first tile that are before the box. atoms: x, y, z in two parts each, charge. */
kernel void tuned(LONG tiles_x, LONG tiles_y, LONG nx, LONG ny, LONG skip_x, LONG skip_y, LONG count, REAL least,
                  ARRAY(const REAL, along), ARRAY(const REAL, atoms), ARRAY(REAL, out))
{
    OPEN(const REAL, along);
    OPEN(const REAL, atoms);
    OPEN(REAL, out);
    local REAL x[THREADS], y[THREADS], zz[THREADS], charge[THREADS];
    const int thread = (int)get_local_id(0);
    const LONG group = get_group_id(0), tile_x = group % tiles_x, tile_y = group / tiles_x % tiles_y,
               layer = group / tiles_x / tiles_y, column = tile_x * TILE_X + thread % TILE_X;
    global const REAL *rows = along + tiles_x * TILE_X + tile_y * TILE_Y + thread / TILE_X,
                      *centre_x = along + tiles_x * TILE_X + tiles_y * TILE_Y + 2 * tile_x,
                      *centre_y = along + tiles_x * (TILE_X + 2) + tiles_y * TILE_Y + 2 * tile_y,
                      *centre_z = along + tiles_x * (TILE_X + 2) + tiles_y * (TILE_Y + 2) + 2 * layer;
    const REAL here = along[column];
    REAL sum[POINTS];
    REAL2 total[POINTS];
    for (int p = 0; p < POINTS; p++)
        total[p] = sum[p] = 0;
    for (LONG first = 0; first < count; first += THREADS) {
        const int some = (int)min((LONG)THREADS, count - first);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (thread < some) {
            global const REAL *atom = atoms + first + thread;
            const REAL z = apart(atom[4 * count], atom[5 * count], centre_z[0], centre_z[1]);
            x[thread] = apart(atom[0], atom[count], centre_x[0], centre_x[1]);
            y[thread] = apart(atom[2 * count], atom[3 * count], centre_y[0], centre_y[1]);
            zz[thread] = z * z;
            charge[thread] = atom[6 * count];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int a = 0; a < some; a++) {
            const REAL dx = here - x[a], xx = dx * dx;
            for (int p = 0; p < POINTS; p++) {
                const REAL dy = rows[p * ROWS] - y[a];
                sum[p] += charge[a] * INVERSE(fmax(xx + (dy * dy + zz[a]), least));
            }
        }
        if ((first / THREADS + 1) % FLUSH == 0 || first + THREADS >= count)
            for (int p = 0; p < POINTS; p++) {
                total[p] = add_with_error(total[p], sum[p]);
                sum[p] = 0;
            }
    }
    const LONG i = column - skip_x, j = tile_y * TILE_Y + thread / TILE_X - skip_y;
    for (int p = 0; p < POINTS; p++)
        if (i >= 0 && i < nx && j + p * ROWS >= 0 && j + p * ROWS < ny)
            out[(layer * ny + j + p * ROWS) * nx + i] = total[p].x + total[p].y;
}
