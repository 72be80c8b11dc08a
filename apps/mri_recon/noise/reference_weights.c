/* The weights of references in the solvers. */
#include "regularise.h"

vf_status give_reference(crew *c, const scan_frame *frame)
{
    const recon_job *j = c->job;
    const mri_scan *raw = j->scan;
    const int place = raw->own_references ? frame->place : 0;
    const bool unused = finds_reference_strength(j->solve) && !(j->strength.differences > 0);
    const vf_prior_reference reference = {.images = raw->references,
                                          .image = raw->reference + place * raw->references * j->voxels,
                                          .known =
                                              raw->reference_known ? raw->reference_known + place * j->voxels : NULL,
                                          .sharpness = j->strength.sharpness};
    vf_status status = VF_OK;
    if (j->solve->prior != RECON_REFERENCE || unused)
        return VF_OK;
    const double sharpness = j->leave_out_reference ? 0 : reference.sharpness;
    if (c->has_reference && c->reference_place == place && c->reference_sharpness == sharpness)
        return VF_OK;
    for (int d = 0; d < c->solvers && status == VF_OK; d++)
        status =
            vf_prior_set_reference(c->solver[d].queue, j->solve->precision, j->leave_out_reference ? NULL : &reference,
                                   &c->solver[d].known, &c->reference_mean);
    c->has_reference = status == VF_OK;
    c->reference_place = place;
    c->reference_sharpness = sharpness;
    return status;
}
