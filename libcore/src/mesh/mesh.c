#include "voxfield/mesh.h"

#include <math.h>
#include <stdlib.h>

void vf_mesh_free(vf_mesh *mesh)
{
    if (!mesh)
        return;
    free(mesh->vertex);
    free(mesh->normal);
    free(mesh->value);
    free(mesh->triangle);
    *mesh = (vf_mesh){0};
}

/* Two sides of a triangle; returns its first corner. */
static const float *sides(const vf_mesh *mesh, int64_t t, double u[3], double v[3])
{
    const uint32_t *corner = mesh->triangle[t];
    const float *a = mesh->vertex[corner[0]], *b = mesh->vertex[corner[1]], *c = mesh->vertex[corner[2]];
    for (int k = 0; k < 3; k++) {
        u[k] = (double)b[k] - (double)a[k];
        v[k] = (double)c[k] - (double)a[k];
    }
    return a;
}

static void cross(const double u[3], const double v[3], double out[3])
{
    for (int a = 0; a < 3; a++) {
        const int b = (a + 1) % 3, c = (a + 2) % 3;
        out[a] = u[b] * v[c] - u[c] * v[b];
    }
}

double vf_mesh_area(const vf_mesh *mesh)
{
    double sum = 0;
    for (int64_t t = 0; t < mesh->triangles; t++) {
        double u[3], v[3], n[3];
        (void)sides(mesh, t, u, v);
        cross(u, v, n);
        sum += sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]) / 2;
    }
    return sum;
}

double vf_mesh_volume(const vf_mesh *mesh)
{
    double sum = 0;
    for (int64_t t = 0; t < mesh->triangles; t++) {
        double u[3], v[3], n[3];
        const float *a = sides(mesh, t, u, v);
        cross(u, v, n);
        for (int k = 0; k < 3; k++) /* from the first vertex, for the sake of precision far from the origin */
            sum += ((double)a[k] - (double)mesh->vertex[0][k]) * n[k] / 6;
    }
    return sum;
}
