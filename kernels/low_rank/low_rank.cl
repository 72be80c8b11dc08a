/* Gram matrices of blocks, and the products that follow from them. Sums have the error of double precision on any device. */

/* A thread has an element of the lower triangle of a block's matrix, and a segment of the longer side: the sum of conj(a) b, its parts
 * in sums[block][row][column][segment]. */
kernel void make_grams(low_rank_grid grid, LONG base, LONG side, LONG segments, LONG segment, ARRAY(const REAL2, v),
                       ARRAY(partial_sum, sums))
{
    OPEN(const REAL2, v);
    OPEN(partial_sum, sums);
    const LONG element = get_global_id(0), part = get_global_id(1), row = element / side, column = element % side;
    const low_rank_block b = low_rank_block_at(&grid, base + get_global_id(2));
    if (part >= segments || row >= b.shorter || column > row)
        return;
    const LONG at_row = low_rank_shorter(&grid, &b, row), at_column = low_rank_shorter(&grid, &b, column),
               end = min((part + 1) * segment, b.longer);
    partial_sum re = no_sum(), im = no_sum();
    for (LONG i = part * segment; i < end; i++) {
        const LONG at = low_rank_longer(&grid, &b, i);
        const REAL2 p = v[at + at_row], q = v[at + at_column];
        add_product(&re, p.x, q.x);
        add_product(&re, p.y, q.y);
        add_product(&im, p.x, q.y);
        add_product(&im, -p.y, q.x);
    }
    global partial_sum *to = sums + 2 * ((get_global_id(2) * side * side + element) * segments + part);
    to[0] = re;
    to[1] = im;
}

/* z = v P of each block; v is not z. P is by[block][row of the shorter side][column], in PARTS terms that add up. */
kernel void multiply(low_rank_grid grid, LONG base, LONG side, LONG longest, ARRAY(const REAL2, v), ARRAY(const REAL2, by), ARRAY(REAL2, z))
{
    OPEN(const REAL2, v);
    OPEN(const REAL2, by);
    OPEN(REAL2, z);
    const LONG column = get_global_id(0) / longest, i = get_global_id(0) % longest;
    const low_rank_block b = low_rank_block_at(&grid, base + get_global_id(1));
    if (column >= b.shorter || i >= b.longer)
        return;
    const LONG at = low_rank_longer(&grid, &b, i);
    global const REAL2 *p = by + PARTS * (get_global_id(1) * side * side + column);
    partial_sum re = no_sum(), im = no_sum();
    for (LONG j = 0; j < b.shorter; j++)
        for (int part = 0; part < PARTS; part++) {
            const REAL2 x = v[at + low_rank_shorter(&grid, &b, j)], y = p[PARTS * j * side + part];
            add_product(&re, x.x, y.x);
            add_product(&re, -x.y, y.y);
            add_product(&im, x.x, y.y);
            add_product(&im, x.y, y.x);
        }
    z[at + low_rank_shorter(&grid, &b, column)] = (REAL2)(sum_value(&re), sum_value(&im));
}
