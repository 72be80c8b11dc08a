/* lambda W^H W: what is known of images besides the data. */
#include <stdlib.h>

#include "equations.h"
#include "first_differences.h"
#include "voxfield/vector.h"

/* Differences this many times the root mean square of a reference's count half. Edges of tissue are several times as
 * large, noise is smaller. */
static const double SHARPNESS = 1;

static vf_status reference_weights(vf_context *ctx, const scan *raw, vf_dtype type, vf_queue *queue, vf_array *out)
{
    const int64_t n = 3 * raw->matrix[0] * raw->matrix[1] * raw->matrix[2];
    float *weights = malloc((size_t)n * sizeof *weights);
    double *wide = type == VF_F64 ? malloc((size_t)n * sizeof *wide) : NULL;
    vf_status status = VF_OK;
    if (!weights || (type == VF_F64 && !wide))
        status = vf_fail(ctx, VF_ERR_MEMORY, "no memory for the weights of %lld differences", (long long)n);
    if (status == VF_OK)
        status = vf_first_differences_weights(ctx, raw->matrix, raw->references, raw->reference, SHARPNESS, weights);
    for (int64_t i = 0; status == VF_OK && wide && i < n; i++)
        wide[i] = weights[i];
    if (status == VF_OK)
        status = vf_array_create(vf_queue_device(queue), VF_SPACE_DEVICE, type, n, out);
    if (status == VF_OK)
        status = vf_queue_copy(queue, out->data, wide ? (void *)wide : weights, (size_t)n * vf_dtype_bytes(type));
    if (status == VF_OK)
        status = vf_queue_sync(queue);
    free(weights);
    free(wide);
    return status;
}

vf_status prior_create(vf_context *ctx, const recon_settings *settings, const scan *raw, vf_queue *queue, prior *out)
{
    *out = (prior){.kind = settings->prior, .counts = {raw->matrix[0], raw->matrix[1], raw->matrix[2]}};
    vf_status status = VF_OK;
    if (settings->lambda_auto || settings->prior == RECON_SPECTRUM)
        status = vf_circulant_create(vf_queue_device(queue), raw->matrix, settings->precision, PRIOR_MATRICES,
                                     &out->circulant);
    if (status != VF_OK || settings->prior != RECON_REFERENCE)
        return status;
    if (!raw->reference)
        return vf_fail(ctx, VF_ERR_INPUT,
                       "%s: --prior reference needs anatomical images in the scan (dataset /scan/reference)",
                       settings->input);
    return reference_weights(ctx, raw, settings->precision, queue, &out->weights);
}

void prior_free(prior *p)
{
    vf_array_free(&p->weights);
    vf_array_free(&p->support);
    vf_array_free(&p->balance);
    vf_array_free(&p->flatten);
    vf_array_free(&p->flat);
    vf_circulant_destroy(p->circulant);
    *p = (prior){0};
}

/* 0 outside the support. */
static vf_status restrict_to_support(const prior *p, vf_queue *queue, vf_array *x)
{
    return p->support.data ? vf_vector_scale_by(queue, x->type, x->count, p->support.data, x->data, x->data) : VF_OK;
}

/* Coils of uneven sensitivity make F^H W F near D C D, D real by voxel and C circulant. */
vf_status prior_precondition(const prior *p, vf_queue *queue, const vf_array *r, vf_array *z)
{
    const bool balanced = p->balance.data;
    const void *from = r->data;
    vf_status status = VF_OK;
    if (balanced) {
        status = vf_vector_scale_by(queue, r->type, r->count, p->balance.data, r->data, z->data);
        from = z->data;
    }
    if (status == VF_OK)
        status = vf_circulant_apply(p->circulant, queue, PRIOR_INVERSE, 1, from, 0, z->data);
    if (status == VF_OK && balanced)
        status = vf_vector_scale_by(queue, r->type, r->count, p->balance.data, z->data, z->data);
    return status;
}

/* y += lambda E^-1 C E^-1 x: a stationary field times the envelope E. */
static vf_status add_spectrum(const prior *p, vf_queue *queue, const vf_array *x, vf_array *y)
{
    void *flat = p->flat.data;
    vf_status status = vf_vector_scale_by(queue, x->type, x->count, p->flatten.data, x->data, flat);
    if (status == VF_OK)
        status = vf_circulant_apply(p->circulant, queue, PRIOR_WEIGHTS, p->lambda, flat, 0, flat);
    if (status == VF_OK)
        status = vf_vector_scale_by(queue, x->type, x->count, p->flatten.data, flat, flat);
    if (status == VF_OK)
        status = vf_vector_axpby(queue, x->type, x->count, 1, flat, 1, y->data);
    return status == VF_OK ? restrict_to_support(p, queue, y) : status;
}

vf_status prior_add(const prior *p, vf_queue *queue, const vf_array *x, vf_array *y)
{
    if (p->lambda == 0)
        return VF_OK;
    if (p->kind == RECON_SPECTRUM)
        return add_spectrum(p, queue, x, y);
    if (p->kind == RECON_IDENTITY)
        return vf_vector_axpby(queue, x->type, x->count, p->lambda, x->data, 1, y->data);
    return vf_first_differences_add(queue, x->type, p->counts, p->lambda, p->weights.data, x->data, y->data);
}
