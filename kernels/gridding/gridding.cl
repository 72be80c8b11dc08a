/* The NUFFT: spreading by gathering, one thread a grid point; interpolation, one thread a sample; and the steps between grid and
 * voxels. Kernels lie as in gridding_internal.h. */
typedef struct gridding_shape {
    long voxels[3], grid[3], width[3], tiles[3], tile[3]; /* numbers of tiles, and points of one */
    long samples, degree, points;                         /* points: the width of rows in the table */
} gridding_shape;

/* The value of a kernel's point j along an axis; `table`: [axis][degree + 1][points], highest power first. */
static inline REAL kernel_value(const gridding_shape *p, global const REAL *table, int axis, long j, REAL offset)
{
    global const REAL *row = table + axis * (p->degree + 1) * p->points + j;
    const REAL z = 2 * offset - 1;
    REAL sum = row[0];
    for (long d = 1; d <= p->degree; d++)
        sum = fma(sum, z, row[d * p->points]);
    return sum;
}

/* grid = the samples' values (times factors, unless NULL) times their kernels. A kernel that covers a point starts in the point's
 * tile or the one before it. Samples are in the order of tiles, so sums have one order. */
kernel void spread(gridding_shape p, ARRAY(const LONG, first), ARRAY(const int4, places), ARRAY(const REAL, offsets),
                   ARRAY(const REAL, table), ARRAY(const REAL2, factors), ARRAY(const REAL2, values), ARRAY(REAL2, grid))
{
    OPEN(const LONG, first);
    OPEN(const int4, places);
    OPEN(const REAL, offsets);
    OPEN(const REAL, table);
    OPEN(const REAL2, factors);
    OPEN(const REAL2, values);
    OPEN(REAL2, grid);
    const LONG n = get_global_id(0);
    if (n >= p.grid[0] * p.grid[1] * p.grid[2])
        return;
    const LONG at[3] = {n % p.grid[0], n / p.grid[0] % p.grid[1], n / p.grid[0] / p.grid[1]};
    LONG tile[3];
    for (int a = 0; a < 3; a++)
        tile[a] = min(at[a] / p.tile[a], p.tiles[a] - 1);
    REAL2 high = (REAL2)(0, 0), low = high, sum = high;
    int terms = 0;
    for (int before = 0; before < 8; before++) {
        LONG number = 0;
        bool other = true;
        for (int a = 2; a >= 0; a--) {
            const int step = before >> a & 1;
            other = other && (step == 0 || p.tiles[a] > 1);
            number = number * p.tiles[a] + (tile[a] >= step ? tile[a] - step : p.tiles[a] - 1);
        }
        for (LONG i = first[number]; other && i < first[number + 1]; i++) {
            const int4 place = places[i];
            LONG j[3] = {at[0] - place.x, at[1] - place.y, at[2] - place.z};
            for (int a = 0; a < 3; a++)
                j[a] += j[a] < 0 ? p.grid[a] : 0;
            if (j[0] >= p.width[0] || j[1] >= p.width[1] || j[2] >= p.width[2])
                continue;
            const REAL weight = kernel_value(&p, table, 0, j[0], offsets[3 * i]) *
                                (kernel_value(&p, table, 1, j[1], offsets[3 * i + 1]) *
                                 kernel_value(&p, table, 2, j[2], offsets[3 * i + 2]));
            const REAL2 value = values[as_uint(place.w)];
            sum += weight * (factors ? times(value, factors[i]) : value);
            if (++terms == PIECE) {
                add_exactly(&high, &low, sum);
                sum = (REAL2)(0, 0);
                terms = 0;
            }
        }
    }
    add_exactly(&high, &low, sum);
    grid[n] = high + low;
}

/* values = or, with `add`, += the sum of the grid under each sample's kernel (times the conjugate factors). */
kernel void interpolate(gridding_shape p, LONG add, ARRAY(const int4, places), ARRAY(const REAL, offsets), ARRAY(const REAL, table),
                        ARRAY(const REAL2, factors), ARRAY(const REAL2, grid), ARRAY(REAL2, values))
{
    OPEN(const int4, places);
    OPEN(const REAL, offsets);
    OPEN(const REAL, table);
    OPEN(const REAL2, factors);
    OPEN(const REAL2, grid);
    OPEN(REAL2, values);
    const LONG i = get_global_id(0);
    if (i >= p.samples)
        return;
    const int4 place = places[i];
    REAL along_x[MOST_WIDTH];
    for (LONG j = 0; j < p.width[0]; j++)
        along_x[j] = kernel_value(&p, table, 0, j, offsets[3 * i]);
    REAL2 sum = (REAL2)(0, 0);
    for (LONG k = 0; k < p.width[2]; k++) {
        const LONG z = (place.z + k) % p.grid[2];
        REAL2 plane = (REAL2)(0, 0);
        for (LONG j = 0; j < p.width[1]; j++) {
            const LONG row = (z * p.grid[1] + (place.y + j) % p.grid[1]) * p.grid[0];
            REAL2 line = (REAL2)(0, 0);
            for (LONG l = 0; l < p.width[0]; l++)
                line += along_x[l] * grid[row + (place.x + l) % p.grid[0]];
            plane += kernel_value(&p, table, 1, j, offsets[3 * i + 1]) * line;
        }
        sum += kernel_value(&p, table, 2, k, offsets[3 * i + 2]) * plane;
    }
    const LONG at = as_uint(place.w);
    if (factors)
        sum = conjugate_times(factors[i], sum);
    values[at] = add ? values[at] + sum : sum;
}

/* The phase of a voxel at a segment's time; `field`: NULL for none. */
static inline REAL2 seen_at(global const FACTOR *field, FACTOR time, LONG n, REAL2 value)
{
    return field ? times(value, wave_of(turns_of(time, field[n]))) : value;
}

/* Between voxels and the middle of the grid's frequencies, scaled. `image` = or += for crop, the grid = for pad. `scale`: those of
 * the three axes, one after the other. */
kernel void crop_grid(gridding_shape p, LONG add, FACTOR time, ARRAY(const FACTOR, field), ARRAY(const REAL, scale),
                      ARRAY(const REAL2, grid), ARRAY(REAL2, image))
{
    OPEN(const FACTOR, field);
    OPEN(const REAL, scale);
    OPEN(const REAL2, grid);
    OPEN(REAL2, image);
    const LONG n = get_global_id(0);
    if (n >= p.voxels[0] * p.voxels[1] * p.voxels[2])
        return;
    const LONG at[3] = {n % p.voxels[0], n / p.voxels[0] % p.voxels[1], n / p.voxels[0] / p.voxels[1]};
    LONG from = 0;
    for (int a = 2; a >= 0; a--) {
        const LONG frequency = at[a] - p.voxels[a] / 2;
        from = from * p.grid[a] + (frequency < 0 ? frequency + p.grid[a] : frequency);
    }
    const REAL by = scale[at[0]] * scale[p.voxels[0] + at[1]] * scale[p.voxels[0] + p.voxels[1] + at[2]];
    const REAL2 value = seen_at(field, time, n, by * grid[from]);
    image[n] = add ? image[n] + value : value;
}

kernel void pad_image(gridding_shape p, FACTOR time, ARRAY(const FACTOR, field), ARRAY(const REAL, scale),
                      ARRAY(const REAL2, image), ARRAY(REAL2, grid))
{
    OPEN(const FACTOR, field);
    OPEN(const REAL, scale);
    OPEN(const REAL2, image);
    OPEN(REAL2, grid);
    const LONG n = get_global_id(0);
    if (n >= p.grid[0] * p.grid[1] * p.grid[2])
        return;
    const LONG at[3] = {n % p.grid[0], n / p.grid[0] % p.grid[1], n / p.grid[0] / p.grid[1]};
    LONG voxel[3], from = 0;
    bool inside = true;
    for (int a = 2; a >= 0; a--) {
        const LONG centre = p.voxels[a] / 2, frequency = at[a] < p.voxels[a] - centre ? at[a] : at[a] - p.grid[a];
        voxel[a] = frequency + centre;
        inside = inside && voxel[a] >= 0;
        from = from * p.voxels[a] + voxel[a];
    }
    REAL2 value = (REAL2)(0, 0);
    if (inside) {
        const REAL by = scale[voxel[0]] * scale[p.voxels[0] + voxel[1]] * scale[p.voxels[0] + p.voxels[1] + voxel[2]];
        value = seen_at(field, time, from, by * image[from]);
    }
    grid[n] = value;
}
