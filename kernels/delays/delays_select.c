/* Which samples and which coarse image the estimation of delays uses. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "delays_internal.h"

enum { LEAST_SPOKES_2D = 9, LEAST_SPOKES_3D = 20 };
const delay_extent delays_whole = {{256, 600}, {3, 1.5}, DELAYS_MOST_IMAGES}, delays_coarse = {{64, 90}, {1.5, 1}, 2};
static const double OBJECT_RADIUS = 0.6; /* of the coarse image, in fields of view: the object may reach beyond it */

const delay_element delay_elements_2d[3] = {{0, 0}, {1, 1}, {0, 1}};
const delay_element delay_elements_3d[DELAYS_UNKNOWNS] = {{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}};

static vf_status allocate(vf_context *ctx, int64_t count, double **out)
{
    *out = calloc((size_t)count + 1, sizeof **out);
    return *out ? VF_OK : vf_fail(ctx, VF_ERR_MEMORY, "no memory to estimate delays (%g numbers)", (double)count);
}

/* The radius within which spokes measure twice as many numbers as an image of the field of view has there. Farther out,
 * the image could explain spokes in any place. */
static void choose_radius(delay_problem *p, const delay_extent *extent, int64_t spokes)
{
    const double n = (double)spokes;
    const bool plane = p->dimensions == 2;
    const double width = plane ? 2 * n / M_PI : sqrt(3 * n / M_PI); /* 2 radius + 1: cycles across, and the edges */
    p->radius = fmax(1, fmin((width - 1) / 2, extent->radius[!plane]));
    p->reach = 1.5;
}

/* Points at the distance of the smallest image that resolves the samples wherever the delays move them. */
static vf_status make_points(delay_problem *p)
{
    const int half = (int)ceil(OBJECT_RADIUS * (2 * (p->radius + p->reach) + 1));
    const double spacing = 1 / (2 * (p->radius + p->reach) + 1);
    const int deep = p->dimensions == 2 ? 0 : half;
    const int side = 2 * half + 1;
    vf_status status = allocate(p->ctx, 3 * (int64_t)side * side * (2 * deep + 1), &p->point);
    for (int z = -deep; status == VF_OK && z <= deep; z++)
        for (int y = -half; y <= half; y++)
            for (int x = -half; x <= half; x++) {
                const double r[3] = {x * spacing, y * spacing, z * spacing};
                if (r[0] * r[0] + r[1] * r[1] + r[2] * r[2] <= OBJECT_RADIUS * OBJECT_RADIUS)
                    memcpy(p->point + 3 * p->points++, r, sizeof r);
            }
    return status;
}

/* k of a sample, without components that are ignored. Returns whether it is within the radius. */
static bool is_central(const delay_problem *p, const vf_spokes *s, int64_t spoke, int64_t sample, double k[3])
{
    double square = 0;
    for (int a = 0; a < 3; a++) {
        k[a] = a < p->dimensions ? s->start[3 * spoke + a] + (double)sample * s->step[3 * spoke + a] : 0;
        square += k[a] * k[a];
    }
    return square <= p->radius * p->radius * (1 + 1e-9); /* rounding must not decide */
}

/* The numbers of the coils with most energy near the centre of the first image, in rising order. */
static void choose_coils(const delay_problem *p, const vf_spokes *s, int64_t stride, int *coil)
{
    double best[DELAYS_MOST_COILS] = {0};
    int count = 0;
    for (int c = 0; c < s->coils; c++) {
        double energy = 0, k[3];
        for (int64_t i = 0; i < s->spokes; i += stride)
            for (int64_t j = 0; j < s->length; j++)
                if (is_central(p, s, i, j, k)) {
                    const float *d = s->data + 2 * ((c * s->spokes + i) * s->length + j);
                    energy += (double)d[0] * d[0] + (double)d[1] * d[1];
                }
        if (count == p->coils) { /* drop the weakest, if this one is stronger, and keep the order */
            int weakest = 0;
            for (int n = 1; n < count; n++)
                weakest = best[n] < best[weakest] ? n : weakest;
            if (energy <= best[weakest])
                continue;
            count--;
            memmove(best + weakest, best + weakest + 1, (size_t)(count - weakest) * sizeof *best);
            memmove(coil + weakest, coil + weakest + 1, (size_t)(count - weakest) * sizeof *coil);
        }
        best[count] = energy;
        coil[count++] = c;
    }
}

static vf_status take_samples(delay_problem *p, const vf_spokes *s, int64_t stride, const int *coil,
                              central_samples *out)
{
    double k[3];
    for (int64_t i = 0; i < s->spokes; i += stride)
        for (int64_t j = 0; j < s->length; j++)
            out->count += is_central(p, s, i, j, k);
    vf_status status = allocate(p->ctx, 3 * out->count, &out->k);
    VF_TRY(status, allocate(p->ctx, 3 * out->count, &out->step));
    VF_TRY(status, allocate(p->ctx, p->coils * out->count, &out->re));
    VF_TRY(status, allocate(p->ctx, p->coils * out->count, &out->im));
    VF_TRY(status, allocate(p->ctx, p->points * out->count, &out->a_re));
    VF_TRY(status, allocate(p->ctx, p->points * out->count, &out->a_im));
    int64_t m = 0;
    for (int64_t i = 0; status == VF_OK && i < s->spokes; i += stride)
        for (int64_t j = 0; j < s->length; j++) {
            if (!is_central(p, s, i, j, k))
                continue;
            memcpy(out->k + 3 * m, k, sizeof k);
            for (int a = 0; a < p->dimensions; a++)
                out->step[3 * m + a] = s->step[3 * i + a];
            for (int c = 0; c < p->coils; c++) {
                const float *d = s->data + 2 * ((coil[c] * s->spokes + i) * s->length + j);
                out->re[c * out->count + m] = d[0];
                out->im[c * out->count + m] = d[1];
                p->energy += (double)d[0] * d[0] + (double)d[1] * d[1];
            }
            m++;
        }
    p->samples += m;
    return status;
}

vf_status delays_select(vf_context *ctx, int dimensions, int images, const vf_spokes *image, const delay_extent *extent,
                        delay_problem *out)
{
    const bool plane = dimensions == 2;
    const int64_t most = extent->spokes[!plane];
    const int every = (images + extent->images - 1) / extent->images;
    int coil[DELAYS_MOST_COILS] = {0};
    int64_t least = INT64_MAX;
    *out = (delay_problem){.ctx = ctx,
                           .dimensions = dimensions,
                           .unknowns = plane ? 3 : DELAYS_UNKNOWNS,
                           .element = plane ? delay_elements_2d : delay_elements_3d,
                           .coils = image->coils < DELAYS_MOST_COILS ? image->coils : DELAYS_MOST_COILS};
    for (int i = 0; i < images; i += every)
        least = image[i].spokes < least ? image[i].spokes : least;
    if (least < (plane ? LEAST_SPOKES_2D : LEAST_SPOKES_3D))
        return VF_OK;
    choose_radius(out, extent, least < most ? least : most);
    vf_status status = make_points(out);
    for (int i = 0; status == VF_OK && i < images; i += every) {
        const int64_t stride = (image[i].spokes + most - 1) / most;
        if (i == 0)
            choose_coils(out, image, stride, coil);
        status = take_samples(out, &image[i], stride, coil, &out->image[out->images]);
        out->images++;
    }
    return status;
}

void delays_free(delay_problem *p)
{
    for (int i = 0; i < p->images; i++) {
        central_samples *s = &p->image[i];
        free(s->k);
        free(s->step);
        free(s->re);
        free(s->im);
        free(s->a_re);
        free(s->a_im);
    }
    free(p->point);
    *p = (delay_problem){0};
}
