/* The operator of several coils, the encoding of a scan, and F^H W F of several sets of coil maps. */
#include <stdlib.h>

#include "kernel_operators.h"
#include "voxfield/copy.h"
#include "voxfield/vector.h"

/* ---- coils ---- */

typedef struct coil_state {
    vf_device *device;
    vf_dtype type;
    int64_t voxels;
    int coils;
    const void *maps;
    vf_array conjugate; /* room for the conjugate of the image */
} coil_state;

static void free_coils(void *state)
{
    coil_state *s = state;
    vf_array_free(&s->conjugate);
    free(s);
}

/* s x is conj(conj(x)) s: the primitive for multiplication conjugates its first factor. */
static vf_status coils_forward(void *state, vf_queue *queue, const void *x, void *y)
{
    const coil_state *s = state;
    vf_status status = vf_vector_conjugate(queue, s->type, s->voxels, x, s->conjugate.data);
    if (status == VF_OK)
        status = vf_fill(queue, s->type, s->coils * s->voxels, (const double[2]){0}, y);
    for (int c = 0; c < s->coils && status == VF_OK; c++)
        status = vf_vector_multiply_add(queue, s->type, s->voxels, s->conjugate.data,
                                        vf_offset(s->device, s->maps, s->type, c * s->voxels),
                                        vf_offset(s->device, y, s->type, c * s->voxels));
    return status;
}

static vf_status coils_adjoint(void *state, vf_queue *queue, const void *y, void *x)
{
    const coil_state *s = state;
    vf_status status = vf_fill(queue, s->type, s->voxels, (const double[2]){0}, x);
    for (int c = 0; c < s->coils && status == VF_OK; c++)
        status =
            vf_vector_multiply_add(queue, s->type, s->voxels, vf_offset(s->device, s->maps, s->type, c * s->voxels),
                                   vf_offset(s->device, y, s->type, c * s->voxels), x);
    return status;
}

vf_status vf_coil_operator(vf_device *device, vf_dtype precision, int64_t voxels, int coils, const void *maps,
                           vf_operator **out)
{
    static const vf_operator_methods methods = {
        .name = "coils", .forward = coils_forward, .adjoint = coils_adjoint, .free = free_coils};
    vf_context *ctx = vf_device_context(device);
    const vf_dtype type = vf_dtype_complex(precision);
    *out = NULL;
    if (coils < 1 || !maps)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "operator coils: %d coils%s", coils, maps ? "" : ", no maps");
    coil_state *s = malloc(sizeof *s);
    if (!s)
        return vf_fail(ctx, VF_ERR_MEMORY, "operator coils: not enough memory");
    *s = (coil_state){.device = device, .type = type, .voxels = voxels, .coils = coils, .maps = maps};
    vf_status status = vf_array_create(device, VF_SPACE_DEVICE, type, voxels, &s->conjugate);
    if (status == VF_OK)
        status = vf_operator_create(device, &methods, 0, (vf_vector_space){type, voxels},
                                    (vf_vector_space){type, coils * voxels}, s, out);
    if (status != VF_OK)
        free_coils(s);
    return status;
}

/* ---- a scan ---- */

typedef struct scan_state {
    vf_operator *chain;
    vf_sense_operator of;
} scan_state;

static void free_scan(void *state)
{
    scan_state *s = state;
    vf_operator_free(s->chain);
    free(s);
}

static vf_status scan_forward(void *state, vf_queue *queue, const void *x, void *y)
{
    return vf_operator_forward(((scan_state *)state)->chain, queue, x, y);
}

static vf_status scan_adjoint(void *state, vf_queue *queue, const void *y, void *x)
{
    return vf_operator_adjoint(((scan_state *)state)->chain, queue, y, x);
}

static vf_status scan_normal(void *state, vf_queue *queue, const void *x, void *z)
{
    const scan_state *s = state;
    return s->of.normal ? vf_normal_apply(s->of.normal, queue, s->of.coils, s->of.maps, x, z)
                        : vf_operator_normal(s->chain, queue, x, z);
}

/* Makes the chain: coils, then F for all coils, then weights. */
static vf_status make_chain(const vf_sense_operator *of, vf_operator **out)
{
    vf_sum_shape all = of->shape;
    const vf_dtype type = vf_dtype_complex(all.precision);
    vf_operator *part[3] = {NULL};
    int parts = 0;
    vf_status status = VF_OK;
    all.batch = of->coils;
    if (of->maps)
        status = vf_coil_operator(all.device, all.precision, all.voxels, of->coils, of->maps, &part[parts++]);
    VF_TRY(status, vf_encoding_operator(&all, of->encoding, &part[parts++]));
    if (status == VF_OK && of->weights)
        status = vf_operator_weights(all.device, (vf_vector_space){type, of->coils * all.samples}, of->weights,
                                     &part[parts++]);
    VF_TRY(status, vf_operator_chain(parts, part, out));
    for (int i = 0; i < parts; i++)
        vf_operator_free(part[i]);
    return status;
}

vf_status vf_sense_operator_create(const vf_sense_operator *of, vf_operator **out)
{
    static const vf_operator_methods methods = {.name = "encoding of a scan",
                                                .forward = scan_forward,
                                                .adjoint = scan_adjoint,
                                                .normal = scan_normal,
                                                .free = free_scan};
    vf_context *ctx = vf_device_context(of->shape.device);
    *out = NULL;
    if (of->coils < 1 || (!of->maps && of->coils != 1) || !of->encoding)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "encoding of a scan: %d coils%s, or no encoding", of->coils,
                       of->maps ? "" : " without maps");
    scan_state *s = calloc(1, sizeof *s);
    if (!s)
        return vf_fail(ctx, VF_ERR_MEMORY, "encoding of a scan: not enough memory");
    s->of = *of;
    vf_status status = make_chain(of, &s->chain);
    VF_TRY(status, vf_operator_create(of->shape.device, &methods, 0, vf_operator_domain(s->chain),
                                      vf_operator_codomain(s->chain), s, out));
    if (status != VF_OK)
        free_scan(s);
    return status;
}

/* ---- F^H W F of several images, each with a set of maps ---- */

typedef struct sets_state {
    const vf_normal *normal;
    vf_device *device;
    vf_dtype type;
    int64_t voxels;
    int sets, coils;
    const void *maps;
    vf_array room; /* conj(x) of each set, then what a coil sees, then F^H W F of that */
} sets_state;

static void free_sets(void *state)
{
    sets_state *s = state;
    vf_array_free(&s->room);
    free(s);
}

/* For each coil: adds up what it sees of all images, applies F^H W F, and adds the result to each image. */
static vf_status sets_forward(void *state, vf_queue *queue, const void *x, void *y)
{
    const sets_state *s = state;
    const int64_t n = s->voxels;
    void *seen = vf_array_at(&s->room, s->sets * n), *back = vf_array_at(&s->room, (s->sets + 1) * n);
    vf_status status = vf_fill(queue, s->type, s->sets * n, (const double[2]){0}, y);
    for (int i = 0; i < s->sets && status == VF_OK; i++)
        status = vf_vector_conjugate(queue, s->type, n, vf_offset(s->device, x, s->type, i * n),
                                     vf_array_at(&s->room, i * n));
    for (int c = 0; c < s->coils && status == VF_OK; c++) {
        status = vf_fill(queue, s->type, n, (const double[2]){0}, seen);
        for (int i = 0; i < s->sets && status == VF_OK; i++)
            status = vf_vector_multiply_add(queue, s->type, n, vf_array_at(&s->room, i * n),
                                            vf_offset(s->device, s->maps, s->type, (i * s->coils + c) * n), seen);
        VF_TRY(status, vf_normal_apply(s->normal, queue, 1, NULL, seen, back));
        for (int i = 0; i < s->sets && status == VF_OK; i++)
            status = vf_vector_multiply_add(queue, s->type, n,
                                            vf_offset(s->device, s->maps, s->type, (i * s->coils + c) * n), back,
                                            vf_offset(s->device, y, s->type, i * n));
    }
    return status;
}

vf_status vf_normal_sets_operator(vf_device *device, vf_dtype precision, int64_t voxels, const vf_normal *normal,
                                  int sets, int coils, const void *maps, vf_operator **out)
{
    static const vf_operator_methods methods = {
        .name = "F^H W F of sets of maps", .forward = sets_forward, .free = free_sets};
    vf_context *ctx = vf_device_context(device);
    const vf_vector_space space = {vf_dtype_complex(precision), sets * voxels};
    *out = NULL;
    if (sets < 2 || coils < 1 || !maps)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "operator %s: %d sets, %d coils%s", methods.name, sets, coils,
                       maps ? "" : ", no maps");
    sets_state *s = malloc(sizeof *s);
    if (!s)
        return vf_fail(ctx, VF_ERR_MEMORY, "operator %s: not enough memory", methods.name);
    *s = (sets_state){.normal = normal,
                      .device = device,
                      .type = space.type,
                      .voxels = voxels,
                      .sets = sets,
                      .coils = coils,
                      .maps = maps};
    vf_status status = vf_array_create(device, VF_SPACE_DEVICE, space.type, (sets + 2) * voxels, &s->room);
    VF_TRY(status, vf_operator_create(device, &methods, VF_OPERATOR_SELF_ADJOINT, space, space, s, out));
    if (status != VF_OK)
        free_sets(s);
    return status;
}
