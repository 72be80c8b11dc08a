/* F^H W F of images that are seen together through several sets of maps, coil by coil: what a coil sees of all images,
 * F^H W F of that, and what each image gets of it. */
#include "equations.h"
#include "voxfield/copy.h"
#include "voxfield/vector.h"

/* In part->room: conj(x) of each set, then what a coil sees, and F^H W F of that. */
int64_t map_sets_room(int sets, int64_t voxels)
{
    return sets > 1 ? (sets + 2) * voxels : 0;
}

static char *at(const vf_array *array, int64_t element)
{
    return (char *)array->data + (size_t)element * vf_dtype_bytes(array->type);
}

/* y = conj(x) = 2 Re x - x, which rounds nothing. */
static vf_status conjugate(vf_queue *queue, vf_dtype type, int64_t n, const void *x, void *y)
{
    const vf_pitch pitch = {2, 2 * n};
    vf_status status = vf_fill(queue, type, n, (const double[2]){0}, y);
    if (status == VF_OK)
        status = vf_copy_box(queue, vf_dtype_real(type), (const int64_t[3]){1, n, 1}, x, pitch, y, pitch);
    return status == VF_OK ? vf_vector_axpby(queue, type, n, -1, x, 2, y) : status;
}

vf_status map_sets_apply(const system_part *p, const vf_array *x, vf_array *y)
{
    const int64_t n = x->count / p->sets;
    const vf_dtype type = x->type;
    char *seen = at(&p->room, p->sets * n), *back = at(&p->room, (p->sets + 1) * n);
    vf_status status = vf_fill(p->queue, type, p->sets * n, (const double[2]){0}, y->data);
    for (int s = 0; s < p->sets && status == VF_OK; s++)
        status = conjugate(p->queue, type, n, at(x, s * n), at(&p->room, s * n));
    for (int c = 0; c < p->coils && status == VF_OK; c++) {
        status = vf_fill(p->queue, type, n, (const double[2]){0}, seen);
        for (int s = 0; s < p->sets && status == VF_OK; s++)
            status = vf_vector_multiply_add(p->queue, type, n, at(&p->room, s * n), at(p->maps, (s * p->coils + c) * n),
                                            seen);
        if (status == VF_OK)
            status = normal_matrix_apply(p->normal, p->queue, 1, NULL, seen, back);
        for (int s = 0; s < p->sets && status == VF_OK; s++)
            status = vf_vector_multiply_add(p->queue, type, n, at(p->maps, (s * p->coils + c) * n), back, at(y, s * n));
    }
    return status;
}
