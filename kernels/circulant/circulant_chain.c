/* With e_f = 1 / d_f, the two sweeps at each frequency are
 *
 *     w_f = e_f (r_f + coupling w_(f - 1))        from the first image on
 *     z_f = w_f + coupling e_f z_(f + 1)          from the last image but one back
 *
 * Transforms are not scaled: the stored factors are e_f / N, for N voxels, and the coupling is multiplied by N. */
#include "circulant_chain.h"

#include <math.h>
#include <stdlib.h>

#include "circulant_internal.h"
#include "voxfield/copy.h"
#include "voxfield/fft.h"
#include "voxfield/vector.h"

struct vf_circulant_chain {
    vf_context *ctx;
    vf_dtype type, real;
    int64_t matrix[3], voxels;
    int images, set; /* set: with a matrix */
    double coupling;
    vf_fft *fft;
    vf_array work;    /* [voxels] complex */
    vf_array factors; /* [image][voxels] real, in the transform's order: e_f / N */
    double *inverse;  /* [voxels]: e_f of the last image that was set */
};

vf_status vf_circulant_chain_create(vf_device *device, const int64_t matrix[3], vf_dtype precision, int images,
                                    vf_circulant_chain **out)
{
    vf_context *ctx = vf_device_context(device);
    const int64_t dims[3] = {matrix[2], matrix[1], matrix[0]};
    *out = NULL;
    if ((precision != VF_F32 && precision != VF_F64) || images < 1)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "circulant chain: %d images of %s are not supported", images,
                       vf_dtype_name(precision));
    vf_circulant_chain *c = calloc(1, sizeof *c);
    if (!c)
        return vf_fail(ctx, VF_ERR_MEMORY, "circulant chain: not enough memory for a plan");
    *c = (vf_circulant_chain){.ctx = ctx,
                              .type = vf_dtype_complex(precision),
                              .real = precision,
                              .matrix = {matrix[0], matrix[1], matrix[2]},
                              .images = images};
    vf_status status = vf_fft_create(device, c->type, 3, dims, images, &c->fft);
    if (status == VF_OK) { /* the transform has checked the sizes */
        c->voxels = matrix[0] * matrix[1] * matrix[2];
        c->inverse = calloc((size_t)c->voxels, sizeof *c->inverse);
        if (!c->inverse)
            status = vf_fail(ctx, VF_ERR_MEMORY, "circulant chain: not enough memory for a plan");
    }
    VF_TRY(status, vf_array_create(device, VF_SPACE_DEVICE, c->type, c->voxels, &c->work));
    VF_TRY(status, vf_array_create(device, VF_SPACE_DEVICE, precision, c->voxels * images, &c->factors));
    if (status == VF_OK)
        *out = c;
    else
        vf_circulant_chain_destroy(c);
    return status;
}

void vf_circulant_chain_destroy(vf_circulant_chain *c)
{
    if (!c)
        return;
    vf_fft_destroy(c->fft);
    vf_array_free(&c->work);
    vf_array_free(&c->factors);
    free(c->inverse);
    free(c);
}

vf_status vf_circulant_chain_couple(vf_circulant_chain *c, double coupling)
{
    if (!(coupling >= 0) || !isfinite(coupling))
        return vf_fail(c->ctx, VF_ERR_ARGUMENT, "circulant chain: a coupling of %g", coupling);
    c->coupling = coupling;
    c->set = 0;
    return VF_OK;
}

vf_status vf_circulant_chain_add(vf_circulant_chain *c, vf_queue *queue, const double *m)
{
    if (c->set >= c->images)
        return vf_fail(c->ctx, VF_ERR_ARGUMENT, "circulant chain: all %d images have a matrix", c->images);
    const int f = c->set, neighbours = (f > 0) + (f + 1 < c->images);
    for (int64_t k = 0; k < c->voxels; k++) {
        if (!(m[k] > 0))
            return vf_fail(c->ctx, VF_ERR_ARGUMENT, "circulant chain: image %d has the eigenvalue %g", f, m[k]);
        const double before = f > 0 ? c->coupling * c->inverse[k] : 0;
        /* neighbours coupling - coupling^2 / d, without cancellation: 0 <= before < 1 */
        c->inverse[k] = 1 / (m[k] + c->coupling * (neighbours - before));
    }
    const vf_status status =
        vf_circulant_put(c->ctx, queue, c->matrix, c->real, c->inverse, vf_array_at(&c->factors, f * c->voxels));
    c->set += status == VF_OK;
    return status;
}

vf_status vf_circulant_chain_apply(vf_circulant_chain *c, vf_queue *queue, const void *r, void *z)
{
    if (c->set < c->images || !r || !z || r == z)
        return vf_fail(c->ctx, VF_ERR_ARGUMENT,
                       "circulant chain: matrices for %d of %d images, or missing or identical vectors", c->set,
                       c->images);
    vf_device *device = vf_queue_device(queue);
    const double coupling = c->coupling * (double)c->voxels;
    vf_status status = vf_copy(queue, c->type, c->images * c->voxels, r, z);
    VF_TRY(status, vf_fft_execute(c->fft, queue, VF_FFT_FORWARD, z));
    for (int f = 0; f < c->images && status == VF_OK; f++) {
        void *of = vf_offset(device, z, c->type, f * c->voxels);
        if (f > 0 && coupling > 0)
            status = vf_vector_axpby(queue, c->type, c->voxels, coupling,
                                     vf_offset(device, z, c->type, (f - 1) * c->voxels), 1, of);
        VF_TRY(status, vf_vector_scale_by(queue, c->type, c->voxels, vf_array_at(&c->factors, f * c->voxels), of, of));
    }
    for (int f = c->images - 2; f >= 0 && coupling > 0 && status == VF_OK; f--) {
        status = vf_vector_scale_by(queue, c->type, c->voxels, vf_array_at(&c->factors, f * c->voxels),
                                    vf_offset(device, z, c->type, (f + 1) * c->voxels), c->work.data);
        VF_TRY(status, vf_vector_axpby(queue, c->type, c->voxels, coupling, c->work.data, 1,
                                       vf_offset(device, z, c->type, f * c->voxels)));
    }
    return status == VF_OK ? vf_fft_execute(c->fft, queue, VF_FFT_BACKWARD, z) : status;
}
