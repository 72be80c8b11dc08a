/* Where slabs begin and end, so that several devices are done at the same time.
 *
 * With slabs of one thickness, the last ones keep some devices busy while others wait. Let W be the time the map takes
 * on one of G devices that are equally fast, and t that of a slab. Each device has two slabs, one at work and one that
 * waits for it. When there are no more to take, a device has the second of its slabs before it, and what is left of the
 * first: t and some part of another t. If those parts are independent and uniform, the greatest of G is expected to be
 * G/(G+1) t and their mean is t/2, so the map is done (G-1) / (2 (G+1)) t after the time that devices with equal shares
 * would take, W/G: a loss of
 *
 *     (G-1) / (2 (G+1)) G t/W        0.3 * 4 t/W for G = 4.
 *
 * With G devices in step it is the remainder of slabs by devices instead, which may be none, or almost G t/W. Eight
 * slabs for each of the 2 G queues, t = W/64 for 4 devices, lose 1.9 % by that; in whole tiles of 8 layers more: 3.9 %
 * where there are 250 layers.
 *
 * So slabs get thinner towards the end: each is as thick as what is left, divided by twice the number of queues, within
 * [least, most] (guided self-scheduling: Polychronopoulos and Kuck, IEEE Trans. Comput. C-36 (1987) 1425). Then t is
 * the time of the thinnest. On a GPU that is 2^18 points, or one layer: the loss is 0.3 * 4 * 2^18 / points, which for
 * a map of 1 s (1.5e12 pairs) is 2e-7 for each atom of the molecule: 0.06 % for 3,000 atoms, but at least that of one
 * layer, 0.15 % of 800 layers; 3 % for 100,000 atoms and 246 layers. Thinner ones would leave the GPU half empty: of
 * 2^18 points two keep it 0.9 busy (measured on an H200, whose 132 multiprocessors take 4 blocks of 2^11 points each;
 * launches of 2^20 points 0.95, of 2^21 all). Where a map has few layers, or there are many devices, the slabs are few
 * for it, and more is lost. Slabs along x, of maps that are written as text, are whole tiles of 64 columns, and lose up
 * to G tiles: writing them takes far longer than that. */
#include "cut_slabs.h"

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* In units: how thick the next slab is where `left` units are left. */
static int64_t thickness(const slab_cut *cut, int64_t left)
{
    const int64_t share = left / (2 * cut->queues), most = cut->most / cut->unit, least = cut->least / cut->unit;
    return smaller(left, share < least ? least : smaller(share, most));
}

/* Goes on from slab 0 to slab n, or to the end; returns its number, and in *at the unit at which it begins. */
static int64_t walk(const slab_cut *cut, int64_t n, int64_t *at)
{
    const int64_t units = (cut->layers + cut->unit - 1) / cut->unit, most = cut->most / cut->unit;
    /* Those of full thickness at one stroke: while 2 * queues of them are left. */
    const int64_t thick = 2 * cut->queues * most;
    int64_t slab = units < thick ? 0 : smaller(n, (units - thick) / most + 1);
    *at = slab * most;
    for (; slab < n && *at < units; slab++)
        *at += thickness(cut, units - *at);
    return slab;
}

int64_t slab_first(const slab_cut *cut, int64_t n)
{
    int64_t at;
    walk(cut, n, &at);
    return smaller(at * cut->unit, cut->layers);
}

int64_t slab_count(const slab_cut *cut)
{
    int64_t at;
    return walk(cut, INT64_MAX, &at);
}
