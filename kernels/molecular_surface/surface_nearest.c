/* The loops over what is near a tile, in a file of its own: its flags let them become vectors, but know no NaN. */
#include <math.h>

#include "surface_parts.h"

float surface_depth(const surface_near *spheres, const float r[3], float most)
{
    float least = most;
    for (int64_t i = 0; i < spheres->count; i++) {
        const float x = spheres->x[i] - r[0], y = spheres->y[i] - r[1], z = spheres->z[i] - r[2];
        const float here = sqrtf(x * x + y * y + z * z) - spheres->radius[i];
        least = here < least ? here : least;
    }
    return least;
}

float surface_nearest_square(const surface_near *seeds, const float r[3], float most)
{
    float least = most;
    for (int64_t i = 0; i < seeds->count; i++) {
        const float x = seeds->x[i] - r[0], y = seeds->y[i] - r[1], z = seeds->z[i] - r[2];
        const float here = x * x + y * y + z * z;
        least = here < least ? here : least;
    }
    return least;
}

/* By the smallest difference: the same sum may round differently in another loop. */
int64_t surface_deepest(const surface_near *spheres, const float r[3], float depth)
{
    int64_t deepest = 0;
    float least = 1e30F;
    for (int64_t i = 0; i < spheres->count; i++) {
        const float x = spheres->x[i] - r[0], y = spheres->y[i] - r[1], z = spheres->z[i] - r[2];
        const float here = fabsf(sqrtf(x * x + y * y + z * z) - spheres->radius[i] - depth);
        if (here < least) {
            least = here;
            deepest = i;
        }
    }
    return deepest;
}

bool surface_is_hidden(const surface_near *spheres, const float r[3])
{
    const float shrunk = 1 - 1e-5F; /* of squares: 64 roundings */
    int hidden = 0;
    for (int64_t i = 0; i < spheres->count; i++) {
        const float x = spheres->x[i] - r[0], y = spheres->y[i] - r[1], z = spheres->z[i] - r[2];
        hidden |= x * x + y * y + z * z < shrunk * spheres->radius[i] * spheres->radius[i];
    }
    return hidden;
}
