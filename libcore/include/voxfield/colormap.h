/* Voxfield - colours, and maps from numbers to colours. */
#ifndef VOXFIELD_COLORMAP_H
#define VOXFIELD_COLORMAP_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* sRGB, 8 bits per channel. `a` is the opacity: 255 hides what is below. */
typedef struct vf_color {
    uint8_t r, g, b, a;
} vf_color;

/* A channel of sRGB, 0 to 1, as light, and back (IEC 61966-2-1). Light adds up; values of sRGB do not. */
double vf_light_of_srgb(double channel);
double vf_srgb_of_light(double light);

/* VF_COLORMAP_DIVERGING: red at 0, white at 1/2, blue at 1; equal steps in t look equal. For a signed quantity on a
 *     range symmetric about zero. Red is the low end, as in viewers of such maps. NaN is grey.
 * VF_COLORMAP_GRAY: black at 0, white at 1, equal steps in CIE lightness. NaN is magenta. */
typedef enum vf_colormap_kind { VF_COLORMAP_DIVERGING, VF_COLORMAP_GRAY } vf_colormap_kind;

enum { VF_COLORMAP_STEPS = 513 }; /* odd, so that 1/2 is a step */

typedef struct vf_colormap {
    vf_color step[VF_COLORMAP_STEPS];
    vf_color missing; /* for NaN */
} vf_colormap;

void vf_colormap_make(vf_colormap_kind kind, vf_colormap *out);

/* The colour at t, clamped to [0, 1]; `missing` for NaN. */
vf_color vf_colormap_at(const vf_colormap *map, double t);

#ifdef __cplusplus
}
#endif
#endif
