/* The steps of the Toeplitz multiplication around the transforms; `matrix` lies at the beginning of the doubled grid. */
typedef struct toeplitz_shape {
    long matrix[3], doubled[3];
} toeplitz_shape;

/* grid(r modulo 2 N) = Q(r), q having Q(r) at r + N; 0 at r = -N, which no pair of voxels has. */
kernel void wrap_kernel(toeplitz_shape p, ARRAY(const REAL2, q), ARRAY(REAL2, grid))
{
    OPEN(const REAL2, q);
    OPEN(REAL2, grid);
    LONG n = get_global_id(0), rest = n, from = 0, step = 1;
    if (n >= p.doubled[0] * p.doubled[1] * p.doubled[2])
        return;
    bool used = true;
    for (int a = 0; a < 3; a++) {
        const LONG at = rest % p.doubled[a], shift = p.doubled[a] > p.matrix[a] ? p.matrix[a] : 0;
        used = used && !(shift > 0 && at == shift);
        from += (at + shift) % p.doubled[a] * step;
        step *= p.doubled[a];
        rest /= p.doubled[a];
    }
    grid[n] = used ? q[from] : (REAL2)(0, 0);
}

kernel void take_real(LONG count, REAL scale, ARRAY(const REAL2, grid), ARRAY(REAL, out))
{
    OPEN(const REAL2, grid);
    OPEN(REAL, out);
    const LONG n = get_global_id(0);
    if (n < count)
        out[n] = scale * grid[n].x;
}

/* What a voxel is multiplied by: a coil's map (NULL: 1) and exp(-i 2 pi turns) (NULL: 1). */
static inline REAL2 factor_at(global const REAL2 *map, global const TURNS *turns, LONG n)
{
    REAL2 e = (REAL2)(1, 0);
    if (turns) {
        e = wave_of(turns[n]);
        e.y = -e.y;
    }
    return map ? times(map[n], e) : e;
}

kernel void pad_voxels(toeplitz_shape p, ARRAY(const REAL2, map), ARRAY(const TURNS, turns), ARRAY(const REAL2, x), ARRAY(REAL2, grid))
{
    OPEN(const REAL2, map);
    OPEN(const TURNS, turns);
    OPEN(const REAL2, x);
    OPEN(REAL2, grid);
    const LONG n = get_global_id(0), at[3] = {n % p.doubled[0], n / p.doubled[0] % p.doubled[1], n / p.doubled[0] / p.doubled[1]};
    if (at[2] >= p.doubled[2])
        return;
    const LONG voxel = (at[2] * p.matrix[1] + at[1]) * p.matrix[0] + at[0];
    const bool inside = at[0] < p.matrix[0] && at[1] < p.matrix[1] && at[2] < p.matrix[2];
    grid[n] = inside ? times(factor_at(map, turns, voxel), x[voxel]) : (REAL2)(0, 0);
}

/* y = or, with `add`, += the conjugate factor times the grid. */
kernel void crop_voxels(toeplitz_shape p, LONG add, ARRAY(const REAL2, map), ARRAY(const TURNS, turns), ARRAY(const REAL2, grid),
                        ARRAY(REAL2, y))
{
    OPEN(const REAL2, map);
    OPEN(const TURNS, turns);
    OPEN(const REAL2, grid);
    OPEN(REAL2, y);
    const LONG n = get_global_id(0), at[3] = {n % p.matrix[0], n / p.matrix[0] % p.matrix[1], n / p.matrix[0] / p.matrix[1]};
    if (at[2] >= p.matrix[2])
        return;
    const REAL2 value = conjugate_times(factor_at(map, turns, n), grid[(at[2] * p.doubled[1] + at[1]) * p.doubled[0] + at[0]]);
    y[n] = add ? y[n] + value : value;
}
