/* The priors, and the preconditioner. */
#include "prior.h"

#include <stdlib.h>

#include "first_differences.h"
#include "voxfield/copy.h"
#include "voxfield/vector.h"

/* Of the differences that are not across the grid's faces. */
static double mean_weight(const int64_t n[3], const float *weights)
{
    const int64_t voxels = n[0] * n[1] * n[2];
    double sum = 0;
    for (int64_t i = 0; i < 3 * voxels; i++)
        sum += (double)weights[i];
    const double count = (double)(3 * voxels - n[1] * n[2] - n[0] * n[2] - n[0] * n[1]);
    return count > 0 ? sum / count : 1;
}

vf_status vf_prior_set_reference(vf_queue *queue, vf_dtype type, const vf_prior_reference *r, vf_prior *p, double *mean)
{
    vf_context *ctx = vf_device_context(vf_queue_device(queue));
    const int64_t n = 3 * p->counts[0] * p->counts[1] * p->counts[2];
    if (mean)
        *mean = 1;
    if (!r) {
        vf_array_free(&p->weights);
        return VF_OK;
    }
    float *weights = malloc((size_t)n * sizeof *weights);
    double *wide = type == VF_F64 ? malloc((size_t)n * sizeof *wide) : NULL;
    vf_status status = VF_OK;
    if (!weights || (type == VF_F64 && !wide))
        status = vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for the weights of %lld differences", (long long)n);
    VF_TRY(status, vf_first_differences_weights(ctx, p->counts, r->images, r->image, r->known, r->sharpness, weights));
    for (int64_t i = 0; status == VF_OK && wide && i < n; i++)
        wide[i] = weights[i];
    if (status == VF_OK && mean)
        *mean = mean_weight(p->counts, weights);
    if (status == VF_OK && !p->weights.data)
        status = vf_array_create(vf_queue_device(queue), VF_SPACE_DEVICE, type, n, &p->weights);
    VF_TRY(status,
           vf_queue_copy(queue, p->weights.data, wide ? (void *)wide : weights, (size_t)n * vf_dtype_bytes(type)));
    VF_TRY(status, vf_queue_sync(queue));
    free(weights);
    free(wide);
    return status;
}

vf_status vf_prior_create(vf_queue *queue, const vf_prior_options *o, vf_prior *out)
{
    vf_context *ctx = vf_device_context(vf_queue_device(queue));
    *out = (vf_prior){.kind = o->kind, .counts = {o->counts[0], o->counts[1], o->counts[2]}};
    vf_status status = VF_OK;
    if (o->circulant || o->kind == VF_PRIOR_SPECTRUM)
        status =
            vf_circulant_create(vf_queue_device(queue), o->counts, o->precision, VF_PRIOR_MATRICES, &out->circulant);
    if (status != VF_OK || o->kind != VF_PRIOR_REFERENCE)
        return status;
    if (!o->reference)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "the reference prior needs anatomical images");
    const vf_prior_reference reference = {
        .images = o->references, .image = o->reference, .sharpness = VF_PRIOR_SHARPNESS};
    return vf_prior_set_reference(queue, o->precision, &reference, out, NULL);
}

void vf_prior_free(vf_prior *p)
{
    vf_array_free(&p->weights);
    vf_array_free(&p->support);
    vf_array_free(&p->balance);
    vf_array_free(&p->envelope);
    vf_array_free(&p->flatten);
    vf_array_free(&p->flat);
    vf_array_free(&p->half_turn);
    vf_array_free(&p->turn);
    vf_array_free(&p->turn_back);
    vf_array_free(&p->part);
    vf_array_free(&p->rest);
    vf_circulant_destroy(p->circulant);
    *p = (vf_prior){0};
}

/* Sets x to 0 outside the support. */
static vf_status restrict_to_support(const vf_prior *p, vf_queue *queue, vf_array *x)
{
    return p->support.data ? vf_vector_scale_by(queue, x->type, x->count, p->support.data, x->data, x->data) : VF_OK;
}

/* part = the component of x with phase phi or the opposite phase: (x + exp(2 i phi) conj(x)) / 2. */
static vf_status real_part(const vf_prior *p, vf_queue *queue, vf_dtype type, int64_t n, const void *x, void *part)
{
    const vf_status status = vf_vector_axpby(queue, type, n, 0.5, x, 0, part);
    return status == VF_OK ? vf_vector_multiply_add(queue, type, n, x, p->half_turn.data, part) : status;
}

/* Moves the component of x with phase phi to `part`, and leaves the rest in x. */
static vf_status take_real_part(const vf_prior *p, vf_queue *queue, vf_dtype type, int64_t n, void *x, void *part)
{
    const vf_status status = real_part(p, queue, type, n, x, part);
    return status == VF_OK ? vf_vector_axpby(queue, type, n, -1, part, 1, x) : status;
}

/* y = exp(-i phi) x with `by` = turn, exp(i phi) x with `by` = turn_back. */
static vf_status turn(vf_queue *queue, vf_dtype type, int64_t n, const vf_array *by, const void *x, void *y)
{
    const vf_status status = vf_fill(queue, type, n, (const double[2]){0}, y);
    return status == VF_OK ? vf_vector_multiply_add(queue, type, n, by->data, x, y) : status;
}

/* x = M x. With a phase: x = exp(i phi) (M re + M_i im), where re and im are the parts of exp(-i phi) x, and M_i is
 * matrix `which` + 2. */
static vf_status apply_inverse(const vf_prior *p, vf_queue *queue, vf_dtype type, int64_t n, int which, void *x)
{
    void *part = p->part.data, *rest = p->rest.data;
    if (!(p->imaginary > 0))
        return vf_circulant_apply(p->circulant, queue, which, 1, x, 0, x);
    vf_status status = take_real_part(p, queue, type, n, x, part);
    VF_TRY(status, turn(queue, type, n, &p->turn, part, rest));
    VF_TRY(status, turn(queue, type, n, &p->turn, x, part));
    VF_TRY(status, vf_circulant_apply(p->circulant, queue, which, 1, rest, 0, rest));
    VF_TRY(status, vf_circulant_apply(p->circulant, queue, which + 2, 1, part, 1, rest));
    return status == VF_OK ? turn(queue, type, n, &p->turn_back, rest, x) : status;
}

/* y = B M B x, where B is real and diagonal (empty: 1). */
static vf_status apply_scaled_inverse(const vf_prior *p, vf_queue *queue, const vf_array *scale, int which,
                                      const vf_array *x, void *y)
{
    vf_status status = scale->data ? vf_vector_scale_by(queue, x->type, x->count, scale->data, x->data, y)
                                   : vf_vector_axpby(queue, x->type, x->count, 1, x->data, 0, y);
    VF_TRY(status, apply_inverse(p, queue, x->type, x->count, which, y));
    return status == VF_OK && scale->data ? vf_vector_scale_by(queue, x->type, x->count, scale->data, y, y) : status;
}

/* With uneven coil sensitivities, F^H W F is close to B C B, B real and diagonal and C circulant. The prior has this
 * form exactly. */
static vf_status precondition(const vf_prior *p, vf_queue *queue, const vf_array *r, vf_array *z)
{
    vf_status status = apply_scaled_inverse(p, queue, &p->balance, VF_PRIOR_INVERSE_DATA, r, z->data);
    VF_TRY(status, apply_scaled_inverse(p, queue, &p->envelope, VF_PRIOR_INVERSE_PRIOR, r, p->flat.data));
    return status == VF_OK ? vf_vector_axpby(queue, r->type, r->count, 1, p->flat.data, 1, z->data) : status;
}

/* flat = lambda (C + (1 / imaginary - 1) (1 - R) C (1 - R)) flat, where R is take_real_part's projection */
static vf_status weigh_parts(const vf_prior *p, vf_queue *queue, vf_dtype type, int64_t n, void *flat)
{
    void *part = p->part.data, *rest = p->rest.data;
    vf_status status = vf_vector_axpby(queue, type, n, 1, flat, 0, rest);
    VF_TRY(status, take_real_part(p, queue, type, n, rest, part));
    VF_TRY(status, vf_circulant_apply(p->circulant, queue, VF_PRIOR_WEIGHTS, p->lambda, flat, 0, flat));
    VF_TRY(status, vf_circulant_apply(p->circulant, queue, VF_PRIOR_WEIGHTS, p->lambda * (1 / p->imaginary - 1), rest,
                                      0, rest));
    VF_TRY(status, take_real_part(p, queue, type, n, rest, part));
    return status == VF_OK ? vf_vector_axpby(queue, type, n, 1, rest, 1, flat) : status;
}

/* y += lambda E^-1 C E^-1 x: the image is a stationary field times the envelope E. Then the differences, if there are. */
static vf_status add_spectrum(const vf_prior *p, vf_queue *queue, const vf_array *x, vf_array *y)
{
    void *flat = p->flat.data;
    vf_status status = vf_vector_scale_by(queue, x->type, x->count, p->flatten.data, x->data, flat);
    if (status == VF_OK && p->imaginary > 0)
        status = weigh_parts(p, queue, x->type, x->count, flat);
    else if (status == VF_OK)
        status = vf_circulant_apply(p->circulant, queue, VF_PRIOR_WEIGHTS, p->lambda, flat, 0, flat);
    VF_TRY(status, vf_vector_scale_by(queue, x->type, x->count, p->flatten.data, flat, flat));
    VF_TRY(status, vf_vector_axpby(queue, x->type, x->count, 1, flat, 1, y->data));
    if (status == VF_OK && p->differences != 0)
        status = vf_first_differences_add(queue, x->type, p->counts, p->differences, p->weights.data, x->data, y->data);
    return status == VF_OK ? restrict_to_support(p, queue, y) : status;
}

static vf_status add(const vf_prior *p, vf_queue *queue, const vf_array *x, vf_array *y)
{
    if (p->kind == VF_PRIOR_SPECTRUM)
        return add_spectrum(p, queue, x, y);
    if (p->kind == VF_PRIOR_IDENTITY)
        return vf_vector_axpby(queue, x->type, x->count, p->lambda, x->data, 1, y->data);
    return vf_first_differences_add(queue, x->type, p->counts, p->lambda, p->weights.data, x->data, y->data);
}

/* ---- sets of images: one after the other ---- */

/* Elements [first, first + count) of an array; an empty array stays empty. */
static vf_array part_of(const vf_array *array, int64_t first, int64_t count)
{
    vf_array part = *array;
    if (!array->data)
        return part;
    part.data = vf_array_at(array, first);
    part.count = count;
    return part;
}

static int64_t voxels_of(const vf_prior *p)
{
    return p->counts[0] * p->counts[1] * p->counts[2];
}

static vf_status of_each(const vf_prior *p, vf_queue *queue, const vf_array *from, vf_array *to,
                         vf_status (*work)(const vf_prior *p, vf_queue *queue, const vf_array *from, vf_array *to))
{
    const int64_t voxels = voxels_of(p);
    if (from->count <= voxels || voxels == 0)
        return work(p, queue, from, to);
    vf_status status = VF_OK;
    for (int64_t first = 0; first < from->count && status == VF_OK; first += voxels) {
        vf_prior own = *p;
        own.support = part_of(&p->support, first, voxels);
        own.balance = part_of(&p->balance, first, voxels);
        own.envelope = part_of(&p->envelope, first, voxels);
        const vf_array one = part_of(from, first, voxels);
        vf_array other = part_of(to, first, voxels);
        status = work(&own, queue, &one, &other);
    }
    return status;
}

vf_status vf_prior_precondition(const vf_prior *p, vf_queue *queue, const vf_array *r, vf_array *z)
{
    return of_each(p, queue, r, z, precondition);
}

vf_status vf_prior_add(const vf_prior *p, vf_queue *queue, const vf_array *x, vf_array *y)
{
    return p->lambda == 0 ? VF_OK : of_each(p, queue, x, y, add);
}

/* ---- as operators ---- */

typedef struct prior_state {
    const vf_prior *prior;
    vf_operator *a; /* of A + lambda P, else NULL */
    vf_array like;  /* describes the vectors; without data */
} prior_state;

static vf_array view(const prior_state *s, const void *data)
{
    vf_array array = s->like;
    array.data = (void *)data;
    return array;
}

static vf_status apply_prior(void *state, vf_queue *queue, const void *x, void *y)
{
    const prior_state *s = state;
    const vf_array from = view(s, x);
    vf_array to = view(s, y);
    const vf_status status = vf_fill(queue, to.type, to.count, (const double[2]){0}, y);
    return status == VF_OK ? vf_prior_add(s->prior, queue, &from, &to) : status;
}

static vf_status apply_inverse_of_all(void *state, vf_queue *queue, const void *r, void *z)
{
    const prior_state *s = state;
    const vf_array from = view(s, r);
    vf_array to = view(s, z);
    return vf_prior_precondition(s->prior, queue, &from, &to);
}

/* `a`: of A + lambda P, else NULL. */
static vf_status make_operator(const vf_prior *p, const vf_operator_methods *methods, vf_device *device,
                               vf_vector_space space, vf_operator *a, vf_operator **out)
{
    const unsigned properties =
        (a ? vf_operator_properties(a) : VF_OPERATOR_SELF_ADJOINT) | (p->imaginary > 0 ? VF_OPERATOR_REAL_LINEAR : 0);
    *out = NULL;
    prior_state *s = malloc(sizeof *s);
    if (!s)
        return vf_fail(vf_device_context(device), VF_ERR_MEMORY, "operator %s: not enough memory", methods->name);
    *s = (prior_state){.prior = p,
                       .a = a,
                       .like = {.count = space.count, .type = space.type, .space = VF_SPACE_DEVICE, .device = device}};
    const vf_status status = vf_operator_create(device, methods, properties, space, space, s, out);
    if (status != VF_OK)
        free(s);
    return status;
}

vf_status vf_prior_operator(const vf_prior *p, vf_device *device, vf_dtype precision, int sets, vf_operator **out)
{
    static const vf_operator_methods methods = {.name = "prior", .forward = apply_prior, .free = free};
    const vf_vector_space space = {vf_dtype_complex(precision), sets * voxels_of(p)};
    return make_operator(p, &methods, device, space, NULL, out);
}

vf_status vf_prior_inverse_operator(const vf_prior *p, vf_device *device, vf_dtype precision, int sets,
                                    vf_operator **out)
{
    static const vf_operator_methods methods = {
        .name = "preconditioner", .forward = apply_inverse_of_all, .free = free};
    const vf_vector_space space = {vf_dtype_complex(precision), sets * voxels_of(p)};
    return make_operator(p, &methods, device, space, NULL, out);
}

static vf_status apply_sum(void *state, vf_queue *queue, const void *x, void *y)
{
    const prior_state *s = state;
    const vf_array from = view(s, x);
    vf_array to = view(s, y);
    const vf_status status = vf_operator_forward(s->a, queue, x, y);
    return status == VF_OK ? vf_prior_add(s->prior, queue, &from, &to) : status;
}

vf_status vf_regularized_operator(vf_operator *a, const vf_prior *p, vf_operator **out)
{
    static const vf_operator_methods methods = {.name = "F^H W F + lambda P", .forward = apply_sum, .free = free};
    const vf_vector_space space = vf_operator_domain(a);
    const int64_t voxels = voxels_of(p);
    *out = NULL;
    if (space.type == vf_dtype_real(space.type) || voxels < 1 || space.count % voxels != 0)
        return vf_fail(vf_device_context(vf_operator_device(a)), VF_ERR_ARGUMENT,
                       "operator %s: %s is of %lld %s, which are no complex images of the prior's %lld voxels",
                       methods.name, vf_operator_name(a), (long long)space.count, vf_dtype_name(space.type),
                       (long long)voxels);
    return make_operator(p, &methods, vf_operator_device(a), space, a, out);
}
