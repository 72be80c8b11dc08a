/* The light of vertices: from many directions, the mesh is drawn as the light comes; what is behind is in the dark. */
#include <stdlib.h>

#include "mesh_raster.h"
#include "voxfield/team_size.h"

enum {
    SKY = 144,  /* directions of the sky, all around */
    LAMP = 24,  /* of the lamp */
    BATCH = 24, /* directions at a time */
    SIDE = 640, /* samples of a direction's picture */
    TAPS = 4    /* samples that a vertex is compared with */
};
_Static_assert(SKY % BATCH == 0 && LAMP % BATCH == 0, "whole batches");

static const double g_golden = 2.39996322972865332; /* the golden angle */
static const double g_lamp_radius = 0.14;           /* of the lamp at distance 1: 8 degrees */
static const double g_sky_up = 0.30;                /* how much brighter it is straight above than at the horizon */
const double mesh_lamp[3] = {-0.4, 0.56, 0.72553};

typedef struct lighting {
    vf_context *ctx;
    const vf_mesh *mesh;
    double center[3], radius;
    double (*to)[3]; /* [directions] in space */
    double up[3];    /* of the sky */
    bool sky;        /* weighted by the cosine to the normal, and by the sky's brightness */
    int directions;
    int threads;
    uint8_t *seen;     /* [BATCH][vertices]: how many of TAPS */
    float *depth;      /* [threads][SIDE][SIDE] */
    float (*place)[3]; /* [threads][vertices] */
} lighting;

int64_t mesh_light_bytes(const vf_context *ctx, int64_t vertices)
{
    const int64_t threads = vf_context_threads(ctx) < BATCH ? vf_context_threads(ctx) : BATCH;
    return vertices * BATCH + threads * (int64_t)sizeof(float) * (SIDE * SIDE + 3 * vertices);
}

/* Two unit vectors u and v, so that u, v and the unit vector n are right-handed. */
static void span(const double n[3], double u[3], double v[3])
{
    const int least = fabs(n[0]) < fabs(n[1]) ? (fabs(n[0]) < fabs(n[2]) ? 0 : 2) : (fabs(n[1]) < fabs(n[2]) ? 1 : 2);
    const int b = (least + 1) % 3, c = (least + 2) % 3;
    const double length = hypot(n[b], n[c]);
    u[least] = 0;
    u[b] = -n[c] / length;
    u[c] = n[b] / length;
    for (int a = 0; a < 3; a++)
        v[a] = n[(a + 1) % 3] * u[(a + 2) % 3] - n[(a + 2) % 3] * u[(a + 1) % 3];
}

static void measure(lighting *l)
{
    double low[3] = {0, 0, 0}, high[3] = {0, 0, 0};
    for (int64_t n = 0; n < l->mesh->vertices; n++)
        for (int a = 0; a < 3; a++) {
            const double x = (double)l->mesh->vertex[n][a];
            low[a] = n == 0 || x < low[a] ? x : low[a];
            high[a] = n == 0 || x > high[a] ? x : high[a];
        }
    double square = 0;
    for (int a = 0; a < 3; a++) {
        l->center[a] = (low[a] + high[a]) / 2;
        square += (high[a] - low[a]) * (high[a] - low[a]) / 4;
    }
    l->radius = fmax(sqrt(square), 1e-6);
}

/* Which vertices light from this direction reaches. A vertex is lifted by two samples along its normal, so that the surface does not
 * shade itself. Of a closed surface, what faces the light hides all else. */
static void look_from(const lighting *l, const double to[3], int64_t room, uint8_t *seen)
{
    float *depth = l->depth + room * SIDE * SIDE, (*place)[3] = l->place + room * l->mesh->vertices;
    double u[3], v[3];
    span(to, u, v);
    const double scale = (SIDE - 8) / (2 * l->radius), middle = SIDE / 2.0, lift = 2;
    const double *const axis[3] = {u, v, to};
    for (int64_t n = 0; n < l->mesh->vertices; n++)
        for (int a = 0; a < 3; a++) {
            double at = a < 2 ? middle : 0;
            for (int b = 0; b < 3; b++)
                at += scale * ((double)l->mesh->vertex[n][b] - l->center[b]) * axis[a][b];
            place[n][a == 2 ? 2 : 1 - a] = (float)at; /* u downwards: triangles that face the light are clockwise */
        }
    const mesh_raster r = {SIDE, 0, SIDE, depth, NULL};
    mesh_raster_draw(&r, l->mesh, (const float(*)[3])place, true);
    for (int64_t n = 0; n < l->mesh->vertices; n++) {
        double at[3] = {0, 0, 0};
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++)
                at[a] += lift * (double)l->mesh->normal[n][b] * axis[a][b];
        const int row = (int)((double)place[n][1] + at[0]), column = (int)((double)place[n][0] + at[1]);
        const double height = (double)place[n][2] + at[2] + 0.5;
        int count = 0;
        for (int tap = 0; tap < TAPS; tap++)
            count += (double)depth[(row + tap / 2) * SIDE + column + tap % 2] <= height;
        seen[n] = (uint8_t)count;
    }
}

/* Adds what vertex n gets from directions [first, first + BATCH). */
static void add_light(const lighting *l, int first, int64_t n, float *light)
{
    const float *normal = l->mesh->normal[n];
    double sum = 0;
    for (int k = 0; k < BATCH; k++) {
        const double *to = l->to[first + k], part = l->seen[k * l->mesh->vertices + n] / (double)TAPS;
        double cosine = 0, above = 0;
        for (int a = 0; a < 3; a++) {
            cosine += (double)normal[a] * to[a];
            above += l->up[a] * to[a];
        }
        /* The mean of cosines over a sphere, of those above 0, is 1/4. */
        sum += l->sky ? 4 * fmax(cosine, 0) * (1 - g_sky_up / 2 + g_sky_up * above) * part : part;
    }
    *light += (float)(sum / l->directions);
}

static int64_t light_work(const lighting *l)
{
    return 1000 * l->mesh->triangles;
}

static vf_status look_from_all(const lighting *l, float *light)
{
    const int64_t vertices = l->mesh->vertices, work = light_work(l);
    (void)work;
    for (int64_t n = 0; n < vertices; n++)
        light[n] = 0;
    for (int first = 0; first < l->directions; first += BATCH) {
        if (vf_cancelled(l->ctx))
            return vf_fail(l->ctx, VF_ERR_CANCELLED, "interrupted");
#pragma omp parallel for schedule(dynamic, 1) num_threads(vf_threads_of_plan(l->ctx, l->threads, work))
        for (int k = 0; k < BATCH; k++)
            look_from(l, l->to[first + k], vf_room_of(l->threads, BATCH, k), l->seen + k * vertices);
#pragma omp parallel for schedule(static) num_threads(vf_threads_of_plan(l->ctx, l->threads, work))
        for (int64_t n = 0; n < vertices; n++)
            add_light(l, first, n, &light[n]);
    }
    return VF_OK;
}

static vf_status find_light(lighting *l, float *light)
{
    const int all = vf_threads_for(l->ctx, light_work(l));
    const size_t vertices = (size_t)l->mesh->vertices;
    vf_status status = VF_OK;
    measure(l);
    l->threads = all < BATCH ? all : BATCH;
    l->seen = malloc(BATCH * vertices + 1);
    l->depth = malloc((size_t)l->threads * SIDE * SIDE * sizeof *l->depth);
    l->place = malloc((size_t)l->threads * vertices * sizeof *l->place + 1);
    if (l->seen && l->depth && l->place)
        status = look_from_all(l, light);
    else
        status = vf_fail(l->ctx, VF_ERR_MEMORY, "not enough memory for the light on %zu vertices", vertices);
    free(l->seen);
    free(l->depth);
    free(l->place);
    return status;
}

/* Directions evenly on a sphere, on a spiral: Gonzalez, Math. Geosci. 42 (2010) 49. */
vf_status vf_mesh_find_sky(vf_context *ctx, const vf_mesh *mesh, const double up[3], float *sky)
{
    double to[SKY][3];
    for (int n = 0; n < SKY; n++) {
        const double z = 1 - (2 * n + 1.0) / SKY, r = sqrt(1 - z * z);
        to[n][0] = r * cos(g_golden * n);
        to[n][1] = r * sin(g_golden * n);
        to[n][2] = z;
    }
    lighting l = {.ctx = ctx, .mesh = mesh, .to = to, .up = {up[0], up[1], up[2]}, .sky = true, .directions = SKY};
    return find_light(&l, sky);
}

/* Directions evenly on a disc: Vogel, Math. Biosci. 44 (1979) 179. */
vf_status mesh_find_lamp(vf_context *ctx, const vf_mesh *mesh, const vf_mesh_view *view, float *lamp)
{
    double to[LAMP][3], u[3], v[3];
    span(mesh_lamp, u, v);
    for (int n = 0; n < LAMP; n++) {
        const double r = g_lamp_radius * sqrt((n + 0.5) / LAMP), x = r * cos(g_golden * n), y = r * sin(g_golden * n);
        double seen[3];
        for (int a = 0; a < 3; a++)
            seen[a] = (mesh_lamp[a] + x * u[a] + y * v[a]) / sqrt(1 + r * r);
        for (int a = 0; a < 3; a++)
            to[n][a] = seen[0] * view->axis[0][a] + seen[1] * view->axis[1][a] + seen[2] * view->axis[2][a];
    }
    lighting l = {.ctx = ctx, .mesh = mesh, .to = to, .directions = LAMP};
    return find_light(&l, lamp);
}
