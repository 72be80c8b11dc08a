/* The multiplier of a mesh's spectrum in closed form: for cells, and for what is 0 beyond the margin between images. */
#include "ewald_cpu.h"
#include "voxfield/team_size.h"

static void fill_row(const ewald_level *level, const ewald_closed_form *f, int64_t x, int64_t y, void *row)
{
    const int64_t *n = f->length, size = ewald_kernel_size(&level->at, 2);
    const double both = f->correction[0][x] * f->correction[1][2 * y > n[1] ? n[1] - y : y];
    for (int64_t z = 0; z < size; z++) {
        const int64_t j[3] = {x, y, z};
        const double value = both * f->correction[2][2 * z > n[2] ? n[2] - z : z] * ewald_closed_form_value(f, j);
        if (level->precision == VF_F64)
            ((double *)row)[z] = value;
        else
            ((float *)row)[z] = (float)value;
    }
}

vf_status ewald_make_kernel(ewald_kernel_job *job, vf_array *kernel)
{
    const ewald_level *level = job->level;
    const ewald_layout *s = &level->at;
    const int64_t columns = ewald_kernel_size(s, 0), rows = ewald_kernel_size(s, 1), size = ewald_kernel_size(s, 2);
    ewald_closed_form f;
    vf_status status = ewald_closed_form_make(job, &f);
    VF_TRY(status, vf_array_create(vf_context_host(level->ctx), VF_SPACE_HOST, level->precision, columns * rows * size,
                                   kernel));
#pragma omp parallel for schedule(static) num_threads(vf_threads_for(level->ctx, 10 * columns * rows * size))
    for (int64_t x = 0; x < (status == VF_OK ? columns : 0); x++)
        for (int64_t y = 0; y < rows; y++)
            fill_row(level, &f, x, y, (char *)kernel->data + (size_t)((x * rows + y) * size) * level->element);
    ewald_closed_form_free(&f);
    return status;
}
