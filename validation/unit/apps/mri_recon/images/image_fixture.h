/* Images for the tests of the writers: the magnitude at each voxel encodes its position in the patient. */
#ifndef IMAGE_FIXTURE_H
#define IMAGE_FIXTURE_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "images/recon_image.h"

/* The magnitude at a position (LPS, mm) in a frame, and the phase of the frame in radians. */
static inline double scene_magnitude(int frame, const double place[3])
{
    return 500 + 100 * frame + 2 * place[0] + 3 * place[1] + 5 * place[2];
}

static inline double scene_phase(int frame)
{
    return 0.4 + 0.5 * frame;
}

/* re + im I, also if one of them is NaN (which im I would spread to both). */
static inline float complex complex_of(float re, float im)
{
    const float parts[2] = {re, im};
    float complex value;
    memcpy(&value, parts, sizeof value);
    return value;
}

typedef struct scene {
    const char *name;
    int frames;
    int64_t counts[3];
    double voxel[3];
    scan_geometry geometry;
    int places;
    const scan_geometry *place; /* [places] volume n is at place n % places; NULL: all at `geometry` */
} scene;

/* Oblique: a rotation by 0.5 about z, then by 0.3 about x. */
#define SCENE_OBLIQUE                                                                                                  \
    {                                                                                                                  \
        {0.87758256189037276, 0.45801271084729927, 0.14167993247286857},                                               \
            {-0.47942553860420301, 0.83838664359420356, 0.25934338021223534},                                          \
        {                                                                                                              \
            0, -0.29552020666133955, 0.95533648912560598                                                               \
        }                                                                                                              \
    }
static const scan_geometry slabs[2] = {
    {true, SCENE_OBLIQUE, {12, -7, 30}, 0},
    {true, {{0, 1, 0}, {0, 0, -1}, {-1, 0, 0}}, {-20, 15, 8}, 0},
};
static const scene scenes[] = {
    {"volume", 2, {12, 10, 8}, {1.5, 2, 3}, {true, SCENE_OBLIQUE, {12, -7, 30}, 0}, 1, NULL},
    {"odd", 1, {7, 9, 5}, {1.5, 1.5, 1.5}, {true, SCENE_OBLIQUE, {-3, 2, 1}, 0}, 1, NULL},
    {"stack", 2, {9, 7, 5}, {2, 2.5, 4}, {true, SCENE_OBLIQUE, {5, 6, -7}, 6}, 1, NULL},
    {"backwards", 1, {9, 7, 5}, {2, 2.5, 4}, {true, SCENE_OBLIQUE, {5, 6, -7}, -5}, 1, NULL},
    {"axial", 1, {6, 5, 4}, {1, 2, 3}, {true, {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, {1, 2, 3}, 0}, 1, NULL},
    {"ras", 1, {6, 5, 4}, {1, 2, 3}, {true, {{-1, 0, 0}, {0, -1, 0}, {0, 0, 1}}, {1, 2, 3}, 0}, 1, NULL},
    {"coronal", 1, {6, 5, 4}, {1, 2, 3}, {true, {{1, 0, 0}, {0, 0, -1}, {0, 1, 0}}, {1, 2, 3}, 0}, 1, NULL},
    {"sagittal", 1, {6, 5, 4}, {1, 2, 3}, {true, {{0, 1, 0}, {0, 0, -1}, {-1, 0, 0}}, {1, 2, 3}, 0}, 1, NULL},
    {"mirrored", 1, {6, 5, 4}, {1, 2, 3}, {true, {{0, 1, 0}, {0, 0, -1}, {1, 0, 0}}, {1, 2, 3}, 0}, 1, NULL},
    {"slice", 1, {16, 12, 1}, {2, 2, 8}, {true, {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, {10, 20, 30}, 0}, 1, NULL},
    {"films", 3, {16, 12, 1}, {2, 2, 8}, {true, SCENE_OBLIQUE, {10, 20, 30}, 0}, 1, NULL},
    {"unknown", 1, {6, 5, 4}, {1, 2, 3}, {false, {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, {0, 0, 0}, 0}, 1, NULL},
    {"slabs", 5, {6, 5, 4}, {1, 2, 3}, {true, SCENE_OBLIQUE, {12, -7, 30}, 0}, 2, slabs},
};
enum { SCENES = sizeof scenes / sizeof *scenes };

static inline const scene *scene_named(const char *name)
{
    for (int s = 0; s < SCENES; s++)
        if (strcmp(scenes[s].name, name) == 0)
            return &scenes[s];
    return NULL;
}

/* The position of a frame's voxel by the ISMRMRD rules, independently of the program's affine: voxel N/2 of an axis
 * (rounded down) is at the centre of the field of view; each slice of a stack has its own centre. */
static inline void scene_place(const scene *s, int frame, const int64_t voxel[3], double place[3])
{
    const scan_geometry *g = s->place ? &s->place[frame % s->places] : &s->geometry;
    const bool stack = g->slice_step != 0;
    for (int row = 0; row < 3; row++) {
        place[row] = g->centre[row];
        if (stack)
            place[row] += (double)voxel[2] * g->slice_step * g->direction[2][row];
        for (int a = 0; a < (stack ? 2 : 3); a++)
            place[row] += (double)(voxel[a] - s->counts[a] / 2) * s->voxel[a] * g->direction[a][row];
    }
}

/* The image of a scene, to be freed with recon_image_free; data is NULL if there is no memory. */
static inline recon_image scene_image(const scene *s)
{
    const int64_t *n = s->counts, volume = n[0] * n[1] * n[2];
    recon_image image = {.frames = s->frames,
                         .counts = {n[0], n[1], n[2]},
                         .voxel = {s->voxel[0], s->voxel[1], s->voxel[2]},
                         .geometry = s->geometry,
                         .places = s->places,
                         .place_geometry = s->place,
                         .data = malloc((size_t)(volume * s->frames) * sizeof(float complex)),
                         .program = "mri_recon (Voxfield) test",
                         .command = "mri_recon scan.h5 -o image --note <a&b>",
                         .created = "2026-01-02T03:04:05Z",
                         .method = "cg, 10 iterations",
                         .input = "some/where/scan.h5",
                         .digest = "0123456789abcdef"};
    for (int64_t i = 0; image.data && i < volume * s->frames; i++) {
        const int64_t voxel[3] = {i % n[0], i / n[0] % n[1], i / n[0] / n[1] % n[2]};
        const int frame = (int)(i / volume);
        double place[3];
        scene_place(s, frame, voxel, place);
        const double magnitude = scene_magnitude(frame, place);
        image.data[i] =
            complex_of((float)(magnitude * cos(scene_phase(frame))), (float)(magnitude * sin(scene_phase(frame))));
    }
    return image;
}

#endif
