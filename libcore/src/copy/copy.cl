/* Copies: an element has WORDS words of type WORD, bytes or 4 bytes: no type is aligned to more. */
typedef struct {
    WORD of[WORDS];
} element;

/* A thread has a word of an element. */
kernel void fill(LONG n, uint4 value, ARRAY(WORD, y))
{
    OPEN(WORD, y);
    const LONG i = get_global_id(0);
    const uint words[4] = {value.x, value.y, value.z, value.w};
    if (i < n * WORDS)
        y[i] = (WORD)words[i % WORDS];
}

kernel void gather(LONG n, ARRAY(const uint, index), ARRAY(const WORD, x), ARRAY(WORD, y))
{
    OPEN(const uint, index);
    OPEN(const WORD, x);
    OPEN(WORD, y);
    const LONG i = get_global_id(0);
    if (i < n * WORDS)
        y[i] = x[(LONG)index[i / WORDS] * WORDS + i % WORDS];
}

kernel void scatter(LONG n, ARRAY(const uint, index), ARRAY(const WORD, x), ARRAY(WORD, y))
{
    OPEN(const uint, index);
    OPEN(const WORD, x);
    OPEN(WORD, y);
    const LONG i = get_global_id(0);
    if (i < n * WORDS)
        y[(LONG)index[i / WORDS] * WORDS + i % WORDS] = x[i];
}

kernel void copy_box(LONG n0, LONG n1, LONG n2, ARRAY(const WORD, x), LONG x_row, LONG x_plane, ARRAY(WORD, y), LONG y_row,
                     LONG y_plane)
{
    OPEN(const WORD, x);
    OPEN(WORD, y);
    const LONG i = get_global_id(0), j = get_global_id(1), k = get_global_id(2);
    if (i < n0 && j < n1 && k < n2)
        y[k * y_plane + j * y_row + i] = x[k * x_plane + j * x_row + i];
}

/* A group has a tile of TILE x TILE elements, and reads and writes it along rows. */
kernel void transpose(LONG rows, LONG columns, ARRAY(const element, x), LONG x_row, LONG x_plane, ARRAY(element, y), LONG y_row,
                      LONG y_plane)
{
    local element tile[TILE][TILE + 1];
    OPEN(const element, x);
    OPEN(element, y);
    const LONG first_column = get_group_id(0) * TILE, first_row = get_group_id(1) * TILE, batch = get_group_id(2);
    const LONG fast = get_local_id(0), slow = get_local_id(1);
    if (first_row + slow < rows && first_column + fast < columns)
        tile[slow][fast] = x[batch * x_plane + (first_row + slow) * x_row + first_column + fast];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (first_row + fast < rows && first_column + slow < columns)
        y[batch * y_plane + (first_column + slow) * y_row + first_row + fast] = tile[fast][slow];
}
