/* Nearest neighbours: for each point of a small grid the K nearest of some scattered points, compared with a loop over all.
 * usage: nearest_points [DEVICE]: cpu or cuda. */
#include <stdio.h>

#include <voxfield/voxfield.h>

enum { POINTS = 1000, EDGE = 10, QUERIES = EDGE * EDGE * EDGE, K = 4, Q = 0, INDEX, SQUARED, ARRAYS };
static float points[POINTS][3], queries[QUERIES][3], squared[QUERIES][K];
static int32_t nearest[QUERIES][K];

/* Points in the unit cube, by the golden ratio's generalisation to three dimensions; the queries are a grid in it. */
static void make_points(void)
{
    static const double step[3] = {0.8191725134, 0.6710436067, 0.5497004779};
    for (int i = 0; i < POINTS; i++)
        for (int a = 0; a < 3; a++)
            points[i][a] = (float)(i * step[a] - (int)(i * step[a]));
    for (int q = 0; q < QUERIES; q++)
        for (int a = 0, rest = q; a < 3; a++, rest /= EDGE)
            queries[q][a] = ((float)(rest % EDGE) + 0.5F) / EDGE;
}

/* Compiled with or without fused multiply-add, so it is compared with a tolerance. */
static float distance(const float *a, const float *b)
{
    const float x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
    return x * x + y * y + z * z;
}

/* Neighbour j is right if it has its distance, and j points are nearer. */
static int count_wrong(void)
{
    int wrong = 0;
    for (int q = 0; q < QUERIES; q++)
        for (int j = 0; j < K; j++) {
            const float d = squared[q][j], slack = 1e-6F * d; /* 6 roundings of 2^-24 each */
            int nearer = 0, near = 0;
            for (int i = 0; i < POINTS; i++) {
                nearer += distance(queries[q], points[i]) < d - slack;
                near += distance(queries[q], points[i]) <= d + slack;
            }
            const float off = distance(queries[q], points[nearest[q][j]]) - d;
            wrong += !(nearer <= j && j < near && off <= slack && -off <= slack);
        }
    return wrong;
}

int main(int argc, char **argv)
{
    static const vf_dtype types[ARRAYS] = {VF_F32, VF_I32, VF_F32};
    static const int64_t counts[ARRAYS] = {QUERIES * 3, QUERIES * K, QUERIES * K};
    const vf_neighbours_options options = {.dimensions = 3};
    vf_context *ctx = NULL;
    vf_queue *queue = NULL;
    vf_neighbours *plan = NULL;
    vf_array v[ARRAYS] = {{0}};
    make_points();
    vf_status status = vf_context_create(&ctx);
    VF_TRY(status, vf_context_set_devices(ctx, argc > 1 ? argv[1] : "cpu"));
    vf_device *device = status == VF_OK ? vf_context_device(ctx, 0) : NULL;
    VF_TRY(status, vf_queue_create(device, &queue));
    VF_TRY(status, vf_neighbours_create(device, &options, POINTS, points[0], &plan));
    for (int i = 0; i < ARRAYS; i++)
        VF_TRY(status, vf_array_create(device, VF_SPACE_DEVICE, types[i], counts[i], &v[i]));
    VF_TRY(status, vf_queue_copy(queue, v[Q].data, queries, sizeof queries));
    VF_TRY(status, vf_neighbours_k_nearest(plan, queue, K, QUERIES, v[Q].data, v[INDEX].data, v[SQUARED].data));
    VF_TRY(status, vf_queue_copy(queue, nearest, v[INDEX].data, sizeof nearest));
    VF_TRY(status, vf_queue_copy(queue, squared, v[SQUARED].data, sizeof squared));
    VF_TRY(status, vf_queue_sync(queue));
    const int wrong = status == VF_OK ? count_wrong() : 0;
    printf("%d neighbours of %d points, %d wrong%s\n", K, QUERIES, wrong,
           status == VF_OK ? "" : vf_context_message(ctx));
    for (int i = 0; i < ARRAYS; i++)
        vf_array_free(&v[i]);
    vf_neighbours_destroy(plan), vf_queue_destroy(queue), vf_context_destroy(ctx);
    return status != VF_OK || wrong != 0;
}
