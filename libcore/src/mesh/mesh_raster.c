#include "mesh_raster.h"

/* Samples on an edge belong to both triangles; and rounding must not leave one to none. */
static const double g_edge = -1e-9;

static int larger(int a, int b)
{
    return a > b ? a : b;
}

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* Whole numbers from `low` to `high` among first to last, of three coordinates that are within some millions. Most triangles of a fine
 * mesh have none. */
static void range_of(float a, float b, float c, int first, int last, int *low, int *high)
{
    const float least = a < b ? (a < c ? a : c) : (b < c ? b : c), most = a > b ? (a > c ? a : c) : (b > c ? b : c);
    *low = larger((int)least + (least > (float)(int)least), first);
    *high = smaller((int)most, last);
}

static void draw_triangle(const mesh_raster *r, const float *const corner[3], uint32_t number, bool clockwise)
{
    const float *a = corner[0], *b = corner[1], *c = corner[2];
    int top, bottom, left, right;
    range_of(a[1], b[1], c[1], r->first, r->first + r->rows - 1, &top, &bottom);
    range_of(a[0], b[0], c[0], 0, r->columns - 1, &left, &right);
    if (top > bottom || left > right)
        return;
    const double area = mesh_doubled_area(a, b, c);
    if (area == 0 || (clockwise && area > 0))
        return;
    const double inverse = 1 / area;
    for (int y = top; y <= bottom; y++)
        for (int x = left; x <= right; x++) {
            const mesh_weights w = mesh_weights_at(corner, inverse, x, y);
            if (w.at[0] < g_edge || w.at[1] < g_edge || w.at[2] < g_edge)
                continue;
            const float depth = (float)(w.at[0] * (double)a[2] + w.at[1] * (double)b[2] + w.at[2] * (double)c[2]);
            const size_t at = (size_t)(y - r->first) * (size_t)r->columns + (size_t)x;
            if (!(depth > r->depth[at]))
                continue;
            r->depth[at] = depth;
            if (r->triangle)
                r->triangle[at] = number;
        }
}

void mesh_raster_draw(const mesh_raster *r, const vf_mesh *mesh, const float (*place)[3], bool clockwise)
{
    const size_t samples = (size_t)r->columns * (size_t)r->rows;
    for (size_t n = 0; n < samples; n++) {
        r->depth[n] = -INFINITY;
        if (r->triangle)
            r->triangle[n] = (uint32_t)NO_TRIANGLE;
    }
    const float first = (float)r->first, end = (float)(r->first + r->rows);
    for (int64_t t = 0; t < mesh->triangles; t++) {
        const uint32_t *v = mesh->triangle[t];
        const float *const corner[3] = {place[v[0]], place[v[1]], place[v[2]]};
        const bool above = corner[0][1] < first && corner[1][1] < first && corner[2][1] < first;
        const bool below = corner[0][1] >= end && corner[1][1] >= end && corner[2][1] >= end;
        if (!above && !below)
            draw_triangle(r, corner, (uint32_t)t, clockwise);
    }
}
