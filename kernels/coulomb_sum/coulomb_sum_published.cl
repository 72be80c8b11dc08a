/* Version 3 of the published kernel in OpenCL: Kirk and Hwu, Programming Massively Parallel Processors, 2010, section 11.6. A thread
 * has eight points of a row of the slice, a group's width apart; atoms {x, y, (z - slice)^2, charge} are in constant memory; the old
 * values of the map are loaded at the end. The bound r_min, double precision and the other law are ours. */
#ifdef REAL_IS_DOUBLE
#define REAL4 double4
#define ROOT(s) rsqrt(s)
#else
#define REAL4 float4
#define ROOT(s) native_rsqrt(s)
#endif
#ifdef SQUARE
#define TERM(s) (1 / (s))
#else
#define TERM(s) ROOT(s)
#endif
#define STEP(n)                                                                                                        \
    sum##n += atoms[a].w * TERM(fmax(dx * dx + yz, least));                                                            \
    dx += apart

kernel void dcs3(LONG first_i, LONG first_j, REAL spacing_x, REAL spacing_y, LONG count, REAL least, LONG first,
                 constant REAL4 *atoms, const LONG at, ARRAY(REAL, slice))
{
    OPEN(REAL, slice);
    const LONG column = get_group_id(0) * get_local_size(0) * 8 + get_local_id(0), row = get_global_id(1),
               pitch = 8 * get_global_size(0), width = get_local_size(0);
    const REAL x = (REAL)(first_i + column) * spacing_x, y = (REAL)(first_j + row) * spacing_y, apart = (REAL)width * spacing_x;
    REAL sum0 = 0, sum1 = 0, sum2 = 0, sum3 = 0, sum4 = 0, sum5 = 0, sum6 = 0, sum7 = 0;
    for (int a = 0; a < count; a++) {
        const REAL dy = y - atoms[a].y, yz = dy * dy + atoms[a].z;
        REAL dx = x - atoms[a].x;
        STEP(0);
        STEP(1);
        STEP(2);
        STEP(3);
        STEP(4);
        STEP(5);
        STEP(6);
        STEP(7);
    }
    global REAL *map = slice + row * pitch + column;
    map[0] = (first ? 0 : map[0]) + sum0;
    map[width] = (first ? 0 : map[width]) + sum1;
    map[2 * width] = (first ? 0 : map[2 * width]) + sum2;
    map[3 * width] = (first ? 0 : map[3 * width]) + sum3;
    map[4 * width] = (first ? 0 : map[4 * width]) + sum4;
    map[5 * width] = (first ? 0 : map[5 * width]) + sum5;
    map[6 * width] = (first ? 0 : map[6 * width]) + sum6;
    map[7 * width] = (first ? 0 : map[7 * width]) + sum7;
}

/* The box's points of a padded slice. */
kernel void take_slice(LONG nx, LONG ny, LONG skip_x, LONG skip_y, LONG pitch, ARRAY(const REAL, slice), ARRAY(REAL, out))
{
    OPEN(const REAL, slice);
    OPEN(REAL, out);
    const LONG n = get_global_id(0);
    if (n < nx * ny)
        out[n] = slice[(skip_y + n / nx) * pitch + skip_x + n % nx];
}
