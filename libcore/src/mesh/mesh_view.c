/* Views of meshes. */
#include <math.h>
#include <string.h>

#include "voxfield/dense.h"
#include "voxfield/mesh_picture.h"

/* A triangle's centre and area. */
static double measure_triangle(const vf_mesh *mesh, int64_t t, double center[3])
{
    const float *a = mesh->vertex[mesh->triangle[t][0]], *b = mesh->vertex[mesh->triangle[t][1]];
    const float *c = mesh->vertex[mesh->triangle[t][2]];
    double square = 0;
    for (int k = 0; k < 3; k++) {
        const int i = (k + 1) % 3, j = (k + 2) % 3;
        const double n = ((double)b[i] - (double)a[i]) * ((double)c[j] - (double)a[j]) -
                         ((double)b[j] - (double)a[j]) * ((double)c[i] - (double)a[i]);
        square += n * n;
        center[k] = ((double)a[k] + (double)b[k] + (double)c[k]) / 3;
    }
    return sqrt(square) / 2;
}

/* The mean of places on the surface, and their covariance. Returns the area. */
static double find_moments(const vf_mesh *mesh, double mean[3], double covariance[3][3])
{
    double area = 0, at[3];
    memset(mean, 0, 3 * sizeof *mean);
    memset(covariance, 0, 9 * sizeof **covariance);
    for (int64_t t = 0; t < mesh->triangles; t++) {
        const double part = measure_triangle(mesh, t, at);
        area += part;
        for (int a = 0; a < 3; a++)
            mean[a] += part * at[a];
    }
    for (int a = 0; area > 0 && a < 3; a++)
        mean[a] /= area;
    for (int64_t t = 0; t < mesh->triangles; t++) {
        const double part = measure_triangle(mesh, t, at);
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++)
                covariance[a][b] += part * (at[a] - mean[a]) * (at[b] - mean[b]);
    }
    return area;
}

static double along(const double axis[3], const double mean[3], const double at[3])
{
    return axis[0] * (at[0] - mean[0]) + axis[1] * (at[1] - mean[1]) + axis[2] * (at[2] - mean[2]);
}

/* Turns an axis round if the third moment along it is negative, beyond rounding. */
static void direct(const vf_mesh *mesh, const double mean[3], double axis[3])
{
    double third = 0, size = 0, at[3];
    for (int64_t t = 0; t < mesh->triangles; t++) {
        const double part = measure_triangle(mesh, t, at), x = along(axis, mean, at);
        third += part * x * x * x;
        size += part * fabs(x * x * x);
    }
    for (int a = 0; third < -1e-6 * size && a < 3; a++)
        axis[a] = -axis[a];
}

static void find_bounds(const vf_mesh *mesh, vf_mesh_view *view)
{
    for (int a = 0; a < 3; a++) {
        view->low[a] = mesh->vertices > 0 ? INFINITY : 0;
        view->high[a] = mesh->vertices > 0 ? -INFINITY : 0;
        for (int64_t n = 0; n < mesh->vertices; n++) {
            const double at[3] = {(double)mesh->vertex[n][0], (double)mesh->vertex[n][1], (double)mesh->vertex[n][2]};
            const double x = along(view->axis[a], view->center, at);
            view->low[a] = fmin(view->low[a], x);
            view->high[a] = fmax(view->high[a], x);
        }
    }
}

void vf_mesh_principal_view(const vf_mesh *mesh, vf_mesh_view *out)
{
    double covariance[3][3], mean[3], values[3], matrix[3][3][2], vectors[3][3][2];
    *out = (vf_mesh_view){.axis = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
    if (find_moments(mesh, mean, covariance) > 0) {
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++) {
                matrix[a][b][0] = covariance[a][b];
                matrix[a][b][1] = 0;
            }
        vf_hermitian_eigen(3, matrix, values, vectors);
        for (int a = 0; a < 2; a++) {
            for (int b = 0; b < 3; b++)
                out->axis[a][b] = vectors[a][b][0];
            direct(mesh, mean, out->axis[a]);
        }
        for (int a = 0; a < 3; a++) {
            const int b = (a + 1) % 3, c = (a + 2) % 3;
            out->axis[2][a] = out->axis[0][b] * out->axis[1][c] - out->axis[0][c] * out->axis[1][b];
        }
    }
    find_bounds(mesh, out);
    for (int a = 0; a < 3; a++) /* from the origin's place to the middle of the bounds */
        for (int b = 0; b < 3; b++)
            out->center[b] += (out->low[a] + out->high[a]) / 2 * out->axis[a][b];
    for (int a = 0; a < 3; a++) {
        const double half = (out->high[a] - out->low[a]) / 2;
        out->low[a] = -half;
        out->high[a] = half;
    }
}

vf_mesh_view vf_mesh_view_behind(const vf_mesh_view *view)
{
    vf_mesh_view behind = *view;
    for (int a = 0; a < 3; a += 2)
        for (int b = 0; b < 3; b++)
            behind.axis[a][b] = -view->axis[a][b];
    return behind;
}
