/* F^H W F for several images with a set of coil maps each. For each coil: add up what it sees of all images, apply
 * F^H W F, and add the result to each image. */
#include "equations.h"
#include "voxfield/copy.h"
#include "voxfield/vector.h"

/* part->room holds conj(x) of each set, then what a coil sees, then F^H W F of that. */
int64_t map_sets_room(int sets, int64_t voxels)
{
    return sets > 1 ? (sets + 2) * voxels : 0;
}

vf_status map_sets_apply(const system_part *p, const vf_array *x, vf_array *y)
{
    const int64_t n = x->count / p->sets;
    const vf_dtype type = x->type;
    void *seen = vf_array_at(&p->room, p->sets * n), *back = vf_array_at(&p->room, (p->sets + 1) * n);
    vf_status status = vf_fill(p->queue, type, p->sets * n, (const double[2]){0}, y->data);
    for (int s = 0; s < p->sets && status == VF_OK; s++)
        status = vf_vector_conjugate(p->queue, type, n, vf_array_at(x, s * n), vf_array_at(&p->room, s * n));
    for (int c = 0; c < p->coils && status == VF_OK; c++) {
        status = vf_fill(p->queue, type, n, (const double[2]){0}, seen);
        for (int s = 0; s < p->sets && status == VF_OK; s++)
            status = vf_vector_multiply_add(p->queue, type, n, vf_array_at(&p->room, s * n),
                                            vf_array_at(p->maps, (s * p->coils + c) * n), seen);
        VF_TRY(status, vf_normal_apply(p->normal, p->queue, 1, NULL, seen, back));
        for (int s = 0; s < p->sets && status == VF_OK; s++)
            status = vf_vector_multiply_add(p->queue, type, n, vf_array_at(p->maps, (s * p->coils + c) * n), back,
                                            vf_array_at(y, s * n));
    }
    return status;
}
