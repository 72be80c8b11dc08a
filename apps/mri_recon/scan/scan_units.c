/* Units of a trajectory. docs/scans.md has the rule. */
#include <math.h>
#include <stdio.h>

#include "scan_internal.h"

/* Real trajectories go this far beyond the edge of k-space, because of gradient delays and rounding. */
static const double SLACK = 1.05;
static const double PI = 3.14159265358979323846;

void scan_extent(const float *k, int64_t samples, double extent[3])
{
    enum { LANES = 48 }; /* for three axes and vectors */
    float most[LANES] = {0};
    for (int64_t first = 0; first < 3 * samples; first += LANES) {
        const int lanes = 3 * samples - first < LANES ? (int)(3 * samples - first) : LANES;
        for (int i = 0; i < lanes; i++) {
            const float size = fabsf(k[first + i]);
            most[i] = size > most[i] ? size : most[i];
        }
    }
    for (int a = 0; a < 3; a++)
        extent[a] = 0;
    for (int i = 0; i < LANES; i++)
        extent[i % 3] = fmax(extent[i % 3], (double)most[i]);
}

double scan_unit_factor(k_units units, int64_t matrix)
{
    double n = (double)matrix;
    return units == K_NORMALIZED ? n : units == K_RADIANS ? n / (2 * PI) : 1;
}

bool scan_looks_normalized(const int64_t matrix[3], const double extent[3])
{
    enum { FEW = 4 }; /* voxels; with so few, 0.5 cycles per field of view is close to the edge */
    double largest = 0;
    bool within = true;
    for (int a = 0; a < 3; a++) {
        if (matrix[a] <= FEW)
            continue;
        within = within && extent[a] <= 0.5;
        largest = fmax(largest, extent[a]);
    }
    return within && largest > 0;
}

vf_status scan_refuse_normalized(vf_context *ctx, const char *path, const int64_t *matrix, const double extent[3])
{
    char by[80] = "of the image";
    if (matrix)
        snprintf(by, sizeof by, "%lld, %lld, %lld", (long long)matrix[0], (long long)matrix[1], (long long)matrix[2]);
    return vf_fail(ctx, VF_ERR_INPUT,
                   "%s: the trajectory reaches only %.3g, %.3g, %.3g along x, y, z; expected cycles per field of view, "
                   "up to half the matrix. In cycles per voxel, multiply kx, ky, kz by the matrix (%s), or give "
                   "--trajectory-units normalized%s. If the numbers are right, give --trajectory-units fov",
                   path, extent[0], extent[1], extent[2], by, matrix ? "" : " and --matrix");
}

/* Whether the extent stays within N/2 along every axis of more than one voxel. `covered` gets the smallest fraction
 * reached. */
static bool within_matrix(const int64_t matrix[3], int axes, const double extent[3], double *covered)
{
    bool within = true;
    *covered = 1;
    for (int a = 0; a < axes; a++) {
        double edge = (double)matrix[a] / 2;
        if (matrix[a] == 1)
            continue;
        within = within && extent[a] <= fmax(edge * SLACK, edge + 0.5);
        *covered = fmin(*covered, extent[a] / edge);
    }
    return within;
}

bool scan_choose_units(k_units asked, const int64_t matrix[3], int axes, const double extent[3], k_units *chosen,
                       char *why, size_t why_size)
{
    double most = 0, covered;
    for (int a = 0; a < axes; a++)
        most = matrix[a] > 1 && extent[a] > most ? extent[a] : most;
    bool fov = within_matrix(matrix, axes, extent, &covered);
    *chosen = asked;
    if (asked != K_AUTO) {
        static const char *const names[] = {"", "cycles per voxel", "cycles per field of view", "radians per voxel"};
        snprintf(why, why_size, "in %s, as requested (extent %.4g)", names[asked], most);
        return true;
    }
    if (most <= 0.5 * SLACK) {
        *chosen = K_NORMALIZED;
        snprintf(why, why_size,
                 "in cycles per voxel, because its extent %.4g is at most 0.5 (--trajectory-units normalized)", most);
        return true;
    }
    if (most <= PI * SLACK && fov && covered >= 0.5) {
        snprintf(why, why_size,
                 "an extent of %.4g fits both radians per voxel (pi) and cycles per field of view (N/2); choose with "
                 "--trajectory-units radians or fov",
                 most);
        return false;
    }
    if (most <= PI * SLACK) {
        *chosen = K_RADIANS;
        snprintf(why, why_size,
                 "in radians per voxel, because its extent %.4g is at most pi (--trajectory-units radians)", most);
        return true;
    }
    *chosen = K_FOV;
    if (fov)
        snprintf(why, why_size,
                 "in cycles per field of view, because its extent %.4g is at most N/2 (--trajectory-units fov)", most);
    else
        snprintf(why, why_size,
                 "an extent of %.4g, %.4g, %.4g along x, y, z fits no units: not 0.5 (cycles per voxel), not pi "
                 "(radians per voxel), not half the matrix %lld x %lld x %lld (cycles per field of view)",
                 extent[0], extent[1], extent[2], (long long)matrix[0], (long long)matrix[1], (long long)matrix[2]);
    return fov;
}
