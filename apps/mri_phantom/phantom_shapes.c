/* The objects: ellipsoids, and their images in voxels. */
#include <math.h>
#include <string.h>

#include "mri_phantom.h"
#include "voxfield/team_size.h"

enum { FINE = 8 }; /* points along each axis of a voxel crossed by an edge */

/* The 3D Shepp-Logan phantom with the raised contrast of Koay, Sarlls and Ozarslan, Magn. Reson. Med. 58 (2007) 430:
 * centre and semi-axes in halves of the field of view, the angle of the first semi-axis in the xy plane in units of
 * pi, and the value. */
static const double shepp_logan[][8] = {
    {0, 0, 0, 0.69, 0.92, 0.9, 0, 2},
    {0, 0, 0, 0.6624, 0.874, 0.88, 0, -0.8},
    {-0.22, 0, -0.25, 0.41, 0.16, 0.21, 0.6, -0.2},
    {0.22, 0, -0.25, 0.31, 0.11, 0.22, 0.4, -0.2},
    {0, 0.35, -0.25, 0.21, 0.25, 0.5, 0, 0.2},
    {0, 0.1, -0.25, 0.046, 0.046, 0.046, 0, 0.2},
    {-0.08, -0.65, -0.25, 0.046, 0.023, 0.02, 0, 0.1},
    {0.06, -0.65, -0.25, 0.046, 0.023, 0.02, 0.5, 0.1},
    {0.06, -0.105, 0.625, 0.056, 0.04, 0.1, 0.5, 0.2},
    {0, 0.1, 0.625, 0.056, 0.056, 0.1, 0, -0.2},
};
static const double slice_height = -0.125; /* height of the 2D cut; it includes the small structures at -0.25 / 2 */

/* ---- making ---- */

void phantom_rotate(double direction[3][3], int a, int b, double angle)
{
    double c = cos(angle), s = sin(angle);
    for (int row = 0; row < 3; row++) {
        double p = direction[row][a], q = direction[row][b];
        direction[row][a] = c * p - s * q;
        direction[row][b] = s * p + c * q;
    }
}

phantom_shape phantom_ellipsoid(const double centre[3], const double semi[3], double value)
{
    phantom_shape shape = {.value = value, .direction = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
    memcpy(shape.centre, centre, sizeof shape.centre);
    memcpy(shape.semi, semi, sizeof shape.semi);
    return shape;
}

static void make_shepp_logan(phantom *out)
{
    out->shapes = (int)(sizeof shepp_logan / sizeof *shepp_logan);
    for (int n = 0; n < out->shapes; n++) {
        const double *row = shepp_logan[n];
        double centre[3], semi[3];
        for (int a = 0; a < 3; a++) {
            centre[a] = (a == 1 ? -row[a] : row[a]) / 2;
            semi[a] = row[3 + a] / 2;
        }
        out->shape[n] = phantom_ellipsoid(centre, semi, row[7]);
        phantom_rotate(out->shape[n].direction, 0, 1, -M_PI * row[6]);
    }
}

/* A large ellipsoid, with others at random places inside. */
static void make_ellipsoids(uint64_t seed, phantom *out)
{
    phantom_random random = random_start(seed, 0);
    out->shapes = 12;
    for (int n = 0; n < out->shapes; n++) {
        double centre[3], semi[3];
        for (int a = 0; a < 3; a++) {
            centre[a] = (random_uniform(&random) - 0.5) * (n ? 0.4 : 0.04);
            semi[a] = n ? 0.03 + 0.1 * random_uniform(&random) : 0.36 + 0.06 * random_uniform(&random);
        }
        if (out->dimensions == 2)
            centre[2] = slice_height + (random_uniform(&random) - 0.5) * semi[2];
        out->shape[n] = phantom_ellipsoid(centre, semi, n ? random_uniform(&random) - 0.4 : 1);
        phantom_rotate(out->shape[n].direction, 0, 1, 2 * M_PI * random_uniform(&random));
        phantom_rotate(out->shape[n].direction, 1, 2, 2 * M_PI * random_uniform(&random));
        phantom_rotate(out->shape[n].direction, 0, 1, 2 * M_PI * random_uniform(&random));
    }
}

/* The ellipse in which the plane z = height cuts an ellipsoid; false if it does not. The ellipsoid is (r - c)' A (r
 * - c) <= 1 with A = [P q; q' s], and h is the height above its centre. Then the ellipse has the centre c - P^-1 q h
 * and the matrix P / (1 - (s - q' P^-1 q) h^2). */
static bool cut(const phantom_shape *solid, double height, phantom_shape *ellipse)
{
    double A[3][3] = {{0}}, h = height - solid->centre[2];
    for (int axis = 0; axis < 3; axis++)
        for (int row = 0; row < 3; row++)
            for (int column = 0; column < 3; column++)
                A[row][column] += solid->direction[axis][row] * solid->direction[axis][column] /
                                  (solid->semi[axis] * solid->semi[axis]);
    double determinant = A[0][0] * A[1][1] - A[0][1] * A[0][1];
    double u = (A[1][1] * A[0][2] - A[0][1] * A[1][2]) / determinant; /* P^-1 q */
    double v = (A[0][0] * A[1][2] - A[0][1] * A[0][2]) / determinant;
    double left = 1 - (A[2][2] - A[0][2] * u - A[1][2] * v) * h * h;
    if (!(left > 1e-6))
        return false;
    double angle = 0.5 * atan2(2 * A[0][1], A[0][0] - A[1][1]); /* of the eigenvector with the larger eigenvalue */
    double mean = (A[0][0] + A[1][1]) / 2, half = hypot((A[0][0] - A[1][1]) / 2, A[0][1]);
    double centre[3] = {solid->centre[0] - u * h, solid->centre[1] - v * h, 0};
    double semi[3] = {sqrt(left / (mean + half)), sqrt(left / (mean - half)), 0};
    *ellipse = phantom_ellipsoid(centre, semi, solid->value);
    ellipse->reference = solid->reference;
    ellipse->hertz = solid->hertz;
    ellipse->fat = solid->fat;
    phantom_rotate(ellipse->direction, 0, 1, angle);
    return true;
}

void phantom_cut(phantom *object, double height)
{
    int kept = 0, steady = 0;
    for (int n = 0; n < object->shapes; n++) {
        phantom_shape ellipse;
        if (!cut(&object->shape[n], height, &ellipse))
            continue;
        steady += n < object->steady;
        object->shape[kept++] = ellipse;
    }
    memset(&object->shape[kept], 0, (size_t)(object->shapes - kept) * sizeof *object->shape);
    object->shapes = kept;
    object->steady = steady;
    object->dimensions = 2;
}

void phantom_make(phantom_kind kind, int dimensions, uint64_t seed, phantom *out)
{
    memset(out, 0, sizeof *out);
    out->dimensions = dimensions;
    double height = dimensions == 2 ? slice_height : 0;
    if (kind == PHANTOM_SHEPP_LOGAN) {
        make_shepp_logan(out);
    } else if (kind == PHANTOM_ELLIPSOIDS) {
        make_ellipsoids(seed, out);
    } else if (kind == PHANTOM_BALL) {
        out->shapes = 1;
        out->shape[0] = phantom_ellipsoid((double[]){0.05, -0.03, height}, (double[]){0.3, 0.3, 0.3}, 1);
    } else if (kind == PHANTOM_HEAD) {
        phantom_make_head(seed, out);
        return;
    } else { /* a place where every even matrix of 4 or more has a voxel */
        out->shapes = 1;
        out->shape[0] = phantom_ellipsoid((double[]){0, 0, 0}, (double[]){0, 0, 0}, 1);
        out->shape[0].point = true;
    }
    if (dimensions == 2 && kind != PHANTOM_POINT)
        phantom_cut(out, slice_height);
    out->steady = out->shapes > 2 ? 2 : 0; /* skull and brain */
    for (int n = 0; n < out->shapes; n++)
        out->shape[n].reference = out->shape[n].value * (n % 2 ? 0.5 : 1.5);
}

/* ---- variations ---- */

void phantom_at_frame(const phantom *object, int64_t frame, int64_t frames, phantom *out)
{
    *out = *object;
    for (int n = object->steady; n < object->shapes; n++)
        out->shape[n].value *= 1 + (double)frame / (double)frames;
}

void phantom_reference(const phantom *object, phantom *out)
{
    *out = *object;
    out->phase = (phantom_phase){0};
    for (int n = 0; n < object->shapes; n++)
        out->shape[n].value = object->shape[n].reference;
}

/* ---- voxels ---- */

/* The square of the distance from the centre in units of the semi-axes. */
static double reach(const phantom_shape *shape, int dimensions, const double r[3])
{
    double sum = 0;
    int axes = dimensions == 3 ? 3 : 2;
    for (int axis = 0; axis < axes; axis++) {
        double along = 0;
        for (int a = 0; a < axes; a++)
            along += shape->direction[axis][a] * (r[a] - shape->centre[a]);
        sum += along * along / (shape->semi[axis] * shape->semi[axis]);
    }
    return sum;
}

/* The share of a voxel around r inside the shape. */
static double share(const phantom_shape *shape, int dimensions, const double r[3], const double voxel[3])
{
    int inside = 0, deep = dimensions == 3 ? FINE : 1;
    for (int z = 0; z < deep; z++)
        for (int y = 0; y < FINE; y++)
            for (int x = 0; x < FINE; x++) {
                double p[3] = {r[0] + voxel[0] * ((x + 0.5) / FINE - 0.5), r[1] + voxel[1] * ((y + 0.5) / FINE - 0.5),
                               r[2] + (dimensions == 3 ? voxel[2] * ((z + 0.5) / FINE - 0.5) : 0)};
                inside += reach(shape, dimensions, p) <= 1;
            }
    return (double)inside / (FINE * FINE * deep);
}

/* An upper bound of a voxel's half diagonal in units of the semi-axes: edges farther away do not cross the voxel. */
static double half_diagonal(const phantom_shape *shape, int dimensions, const double voxel[3])
{
    double sum = 0;
    int axes = dimensions == 3 ? 3 : 2;
    for (int axis = 0; axis < axes; axis++) {
        double along = 0;
        for (int a = 0; a < axes; a++)
            along += fabs(shape->direction[axis][a]) * voxel[a] / 2;
        sum += along * along / (shape->semi[axis] * shape->semi[axis]);
    }
    return sqrt(sum);
}

static double value_at(const phantom *object, const double margin[], const double r[3], const double voxel[3])
{
    double sum = 0;
    for (int n = 0; n < object->shapes; n++) {
        const phantom_shape *shape = &object->shape[n];
        if (shape->point) {
            bool here = true;
            for (int a = 0; a < 3; a++)
                here = here && fabs(r[a] - shape->centre[a]) < voxel[a] / 4;
            sum += here ? shape->value : 0;
            continue;
        }
        double distance = sqrt(reach(shape, object->dimensions, r));
        if (distance <= 1 - margin[n])
            sum += shape->value;
        else if (distance < 1 + margin[n])
            sum += shape->value * share(shape, object->dimensions, r, voxel);
    }
    return sum;
}

/* Takes the magnitude, including that of the phase factor. */
static void take_magnitude(const phantom_phase *phase, const int64_t matrix[3], float *image)
{
    for (int64_t n = 0; n < matrix[0] * matrix[1] * matrix[2]; n++) {
        int64_t index[3] = {n % matrix[0], n / matrix[0] % matrix[1], n / matrix[0] / matrix[1]};
        double r[3];
        for (int a = 0; a < 3; a++)
            r[a] = (double)(index[a] - matrix[a] / 2) / (double)matrix[a];
        double complex factor = phantom_phase_at(phase, r);
        image[n] = (float)(fabs((double)image[n]) * hypot(creal(factor), cimag(factor)));
    }
}

vf_status phantom_voxels(vf_context *ctx, const phantom *object, const int64_t matrix[3], float *image)
{
    double voxel[3] = {1.0 / (double)matrix[0], 1.0 / (double)matrix[1], 1.0 / (double)matrix[2]};
    double margin[PHANTOM_SHAPES] = {0};
    for (int n = 0; n < object->shapes; n++)
        if (!object->shape[n].point)
            margin[n] = half_diagonal(&object->shape[n], object->dimensions, voxel);
    int64_t rows = matrix[1] * matrix[2];
#pragma omp parallel for num_threads(vf_threads_for(ctx, 100 * matrix[0] * rows)) schedule(dynamic, 16)
    for (int64_t row = 0; row < rows; row++) {
        double y = (double)(row % matrix[1] - matrix[1] / 2) * voxel[1];
        double z = (double)(row / matrix[1] - matrix[2] / 2) * voxel[2];
        for (int64_t x = 0; x < matrix[0]; x++) {
            double r[3] = {(double)(x - matrix[0] / 2) * voxel[0], y, z};
            image[row * matrix[0] + x] = (float)value_at(object, margin, r, voxel);
        }
    }
    if (object->atoms == 0 && object->phase.bend == 0)
        return VF_OK;
    vf_status status = texture_voxels(ctx, object, matrix, image);
    if (status == VF_OK)
        take_magnitude(&object->phase, matrix, image);
    return status;
}
