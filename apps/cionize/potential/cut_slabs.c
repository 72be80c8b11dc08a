/* Cuts a map into slabs so that several devices finish at the same time.
 *
 * With slabs of equal thickness, some devices wait while others compute the last ones. Let W be the time of the map
 * on one of G equally fast devices, and t that of a slab. Each device has two slabs, one running and one queued.
 * When no slabs are left to take, a device still has its second slab and the rest of the first: t and part of
 * another t. If these parts are independent and uniform, the expected largest of G is G/(G+1) t and their mean is
 * t/2. So the map ends (G-1) / (2 (G+1)) t after the ideal time W/G, a loss of
 *
 *     (G-1) / (2 (G+1)) G t/W        0.3 * 4 t/W for G = 4.
 *
 * If the G devices run in step, the loss is instead the remainder of slabs by devices: from none to almost G t/W.
 * Eight slabs for each of the 2 G queues, t = W/64 for 4 devices, lose 1.9 %. With whole tiles of 8 layers they lose
 * more: 3.9 % for 250 layers.
 *
 * So slabs get thinner towards the end: the thickness is the remaining layers divided by twice the number of queues,
 * within [least, most] (guided self-scheduling: Polychronopoulos and Kuck, IEEE Trans. Comput. C-36 (1987) 1425).
 * Then t is the time of the thinnest slab. On a GPU, that has 2^18 points, or one layer. The loss is 0.3 * 4 * 2^18
 * / points. For a map of 1 s (1.5e12 pairs) this is 2e-7 for each atom of the molecule: 0.06 % for 3,000 atoms, but
 * at least that of one layer, 0.15 % of 800 layers; 3 % for 100,000 atoms and 246 layers. Thinner slabs would not
 * fill the GPU: two of 2^18 points keep it 0.9 busy (measured on an H200, whose 132 multiprocessors take 4 blocks of
 * 2^11 points each; launches of 2^20 points 0.95, of 2^21 all). With few layers or many devices there are few slabs,
 * and the loss is larger. Slabs along x, of maps written as text, are whole tiles of 64 columns and lose up to G
 * tiles; writing such maps takes far longer than that. */
#include "cut_slabs.h"

#include <stdlib.h>

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The thickness of the next slab, in units, if `left` units are left. */
static int64_t thickness(const slab_cut *cut, int64_t left)
{
    const int64_t share = left / (2 * cut->queues), most = cut->most / cut->unit, least = cut->least / cut->unit;
    return smaller(left, share < least ? least : smaller(share, most));
}

/* Walks from slab 0 to slab n, or to the end. Returns the slab's number, and in *at the unit at which it begins. */
static int64_t walk(const slab_cut *cut, int64_t n, int64_t *at)
{
    const int64_t units = (cut->layers + cut->unit - 1) / cut->unit, most = cut->most / cut->unit;
    /* Skips slabs of full thickness at once, while 2 * queues of them are left. */
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

layer_range *cut_ranges(const slab_cut *cut, int64_t ranges, const layer_range *range, int64_t *slabs)
{
    const layer_range all = {0, cut->layers};
    const layer_range *wanted = ranges > 0 ? range : &all;
    const int64_t count = ranges > 0 ? ranges : 1;
    slab_cut one = *cut;
    *slabs = 0;
    for (int64_t r = 0; r < count; r++) {
        one.layers = wanted[r].behind - wanted[r].first;
        *slabs += slab_count(&one);
    }
    layer_range *list = malloc((size_t)(*slabs > 0 ? *slabs : 1) * sizeof *list), *next = list;
    for (int64_t r = 0; list && r < count; r++) {
        one.layers = wanted[r].behind - wanted[r].first;
        const int64_t some = slab_count(&one);
        for (int64_t n = 0; n < some; n++)
            *next++ = (layer_range){wanted[r].first + slab_first(&one, n), wanted[r].first + slab_first(&one, n + 1)};
    }
    return list;
}
