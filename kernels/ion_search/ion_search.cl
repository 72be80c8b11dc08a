/* The search for ions: the field is the potential of each point in double precision, cell after cell of the grid; NaN at excluded
 * points and beyond the grid. A group has a cell, a thread a point of it. bounds: the least value of each cell, then the greatest. */
typedef struct ion_field { /* of ion_search_opencl.c */
    long counts[3], along[3], cells;
    double origin[3], spacing[3], least; /* least: r_min^2 */
} ion_field;

#ifdef SQUARE
#define INVERSE(s) (1 / (s))
#else
#define INVERSE(s) rsqrt(s)
#endif

/* Grid point `at` of a cell; false: beyond the grid. */
static inline bool grid_point(const ion_field *f, LONG cell, int at, LONG p[3])
{
    p[0] = cell % f->along[0] * CELL_X + at % CELL_X;
    p[1] = cell / f->along[0] % f->along[1] * CELL_Y + at / CELL_X % CELL_Y;
    p[2] = cell / f->along[0] / f->along[1] * CELL_Z + at / CELL_X / CELL_Y;
    return p[0] < f->counts[0] && p[1] < f->counts[1] && p[2] < f->counts[2];
}

static inline double position(const ion_field *f, int axis, LONG n)
{
    return f->origin[axis] + f->spacing[axis] * (double)n;
}

/* All threads of the group call it, with their values and with local memory. */
static inline void set_bounds(const ion_field *f, LONG cell, int at, double value, local double *low, local double *high,
                              global double *bounds)
{
    low[at] = isnan(value) ? INFINITY : value;
    high[at] = isnan(value) ? -INFINITY : value;
    for (int step = CELL_POINTS / 2; step > 0; step /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (at < step) {
            low[at] = fmin(low[at], low[at + step]);
            high[at] = fmax(high[at], high[at + step]);
        }
    }
    if (at == 0) {
        bounds[cell] = low[0];
        bounds[f->cells + cell] = high[0];
    }
}

/* The field = the map, except for the points that the mask excludes. */
kernel void fill_field(ion_field f, ARRAY(const MAP, map), ARRAY(const uchar, mask), ARRAY(double, value), ARRAY(double, bounds))
{
    OPEN(const MAP, map);
    OPEN(const uchar, mask);
    OPEN(double, value);
    OPEN(double, bounds);
    local double low[CELL_POINTS], high[CELL_POINTS];
    const LONG cell = get_group_id(0);
    const int at = (int)get_local_id(0);
    LONG p[3];
    double here = NAN;
    if (grid_point(&f, cell, at, p)) {
        const LONG index = (p[2] * f.counts[1] + p[1]) * f.counts[0] + p[0];
        if (mask[index] == 0)
            here = map[index];
    }
    value[cell * CELL_POINTS + at] = here;
    set_bounds(&f, cell, at, here, low, high, bounds);
}

/* Adds an ion's potential to the free points. Excludes those too near to it, by the test of ion_too_near, and always its own. */
kernel void add_ion(ion_field f, double4 ion, double distance, ARRAY(double, value), ARRAY(double, bounds))
{
    OPEN(double, value);
    OPEN(double, bounds);
    local double low[CELL_POINTS], high[CELL_POINTS];
    const LONG cell = get_group_id(0);
    const int at = (int)get_local_id(0);
    LONG p[3];
    grid_point(&f, cell, at, p);
    const double dx = position(&f, 0, p[0]) - ion.x, dy = position(&f, 1, p[1]) - ion.y, dz = position(&f, 2, p[2]) - ion.z,
                 squared = dx * dx + (dy * dy + dz * dz);
    double here = value[cell * CELL_POINTS + at];
    if (squared == 0 || squared < distance * distance)
        here = NAN;
    else
        here = fma(ion.w, INVERSE(fmax(squared, f.least)), here);
    value[cell * CELL_POINTS + at] = here;
    set_bounds(&f, cell, at, here, low, high, bounds);
}

/* The field at the free points of the listed cells = the sum over all sources {x, y, z, charge}. */
kernel void sum_cells(ion_field f, ARRAY(const LONG, list), LONG count, ARRAY(const double4, sources), ARRAY(double, value),
                      ARRAY(double, bounds))
{
    OPEN(const LONG, list);
    OPEN(const double4, sources);
    OPEN(double, value);
    OPEN(double, bounds);
    local double low[CELL_POINTS], high[CELL_POINTS];
    local double4 some[CELL_POINTS];
    const LONG cell = list[get_group_id(0)];
    const int at = (int)get_local_id(0);
    LONG p[3];
    grid_point(&f, cell, at, p);
    const double x = position(&f, 0, p[0]), y = position(&f, 1, p[1]), z = position(&f, 2, p[2]);
    double sum = 0;
    for (LONG first = 0; first < count; first += CELL_POINTS) {
        const int here = (int)min((LONG)CELL_POINTS, count - first);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (at < here)
            some[at] = sources[first + at];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int n = 0; n < here; n++) {
            const double dx = x - some[n].x, dy = y - some[n].y, dz = z - some[n].z;
            sum = fma(some[n].w, INVERSE(fmax(fma(dx, dx, fma(dy, dy, dz * dz)), f.least)), sum);
        }
    }
    if (isnan(value[cell * CELL_POINTS + at]))
        sum = NAN;
    value[cell * CELL_POINTS + at] = sum;
    set_bounds(&f, cell, at, sum, low, high, bounds);
}
