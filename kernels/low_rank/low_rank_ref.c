/* The reference: block after block by the formula of low_rank.h, with the Gram matrix of the frames, on one thread.
 * For tests only. Never tuned. */
#include <complex.h>
#include <math.h>
#include <stdlib.h>

#include "low_rank_backend.h"
#include "voxfield/dense.h"

/* plan->state: the list of a block's voxels, and then matrices of the frames. */
typedef struct ref_state {
    int64_t *voxels;
    double complex *gram, *vectors, *row; /* [frames][frames] twice, [frames] */
    double *values;
} ref_state;

static void destroy(vf_low_rank *plan)
{
    ref_state *s = plan->state;
    free(s->voxels);
    free(s->gram);
    free(s->vectors);
    free(s->row);
    free(s->values);
    free(s);
    plan->state = NULL;
}

static vf_status create(vf_low_rank *plan)
{
    const size_t f = (size_t)plan->grid.frames;
    ref_state *s = calloc(1, sizeof *s);
    plan->state = s;
    if (s) {
        s->voxels = malloc((size_t)plan->grid.voxels * sizeof *s->voxels);
        s->gram = malloc(f * f * sizeof *s->gram);
        s->vectors = malloc(f * f * sizeof *s->vectors);
        s->row = malloc(f * sizeof *s->row);
        s->values = malloc(f * sizeof *s->values);
    }
    return s && s->voxels && s->gram && s->vectors && s->row && s->values
               ? VF_OK
               : vf_fail(vf_device_context(plan->device), VF_ERR_MEMORY, "low rank: not enough memory");
}

static double complex get(const vf_low_rank *plan, const void *v, int64_t at)
{
    return plan->type == VF_C128 ? ((const double complex *)v)[at] : (double complex)((const float complex *)v)[at];
}

/* The block that a voxel belongs to. */
static int64_t block_of(const low_rank_grid *g, int64_t voxel)
{
    int64_t number = 0, step = 1;
    for (int a = 0; a < 3; a++) {
        const int64_t n = voxel % g->counts[a], position = (n - g->shift[a] + g->counts[a]) % g->counts[a];
        voxel /= g->counts[a];
        number += step * (position / g->block[a]);
        step *= g->blocks[a];
    }
    return number;
}

static void fill_gram(const vf_low_rank *plan, const low_rank_task *task, int64_t count)
{
    const ref_state *s = plan->state;
    const int64_t f = task->grid.frames, each = task->grid.voxels;
    for (int64_t i = 0; i < f; i++)
        for (int64_t j = 0; j < f; j++) {
            double complex sum = 0;
            for (int64_t m = 0; m < count; m++)
                sum += conj(get(plan, task->v, i * each + s->voxels[m])) * get(plan, task->v, j * each + s->voxels[m]);
            s->gram[i * f + j] = sum;
        }
}

/* One voxel, all frames: a row of M V diag(...) V^H. */
static void threshold_voxel(const vf_low_rank *plan, const low_rank_task *task, bool finite, int64_t voxel)
{
    const ref_state *s = plan->state;
    const int64_t f = task->grid.frames, each = task->grid.voxels;
    for (int64_t j = 0; j < f; j++)
        s->row[j] = finite ? 0 : NAN * (1 + I);
    for (int64_t i = 0; finite && i < f; i++) {
        const double size = s->values[i] > 0 ? sqrt(s->values[i]) : 0;
        double complex along = 0;
        for (int64_t j = 0; j < f; j++)
            along += get(plan, task->v, j * each + voxel) * s->vectors[i * f + j];
        for (int64_t j = 0; size > task->threshold && j < f; j++)
            s->row[j] += (1 - task->threshold / size) * along * conj(s->vectors[i * f + j]);
    }
    for (int64_t j = 0; j < f; j++)
        if (plan->type == VF_C128)
            ((double complex *)task->z)[j * each + voxel] = s->row[j];
        else
            ((float complex *)task->z)[j * each + voxel] = (float complex)s->row[j];
}

static vf_status execute(vf_low_rank *plan, vf_queue *queue, const low_rank_task *task)
{
    const ref_state *s = plan->state;
    const int f = (int)task->grid.frames;
    (void)queue;
    for (int64_t b = 0; b < task->grid.all_blocks; b++) {
        int64_t count = 0;
        double power = 0;
        for (int64_t n = 0; n < task->grid.voxels; n++)
            if (block_of(&task->grid, n) == b)
                s->voxels[count++] = n;
        fill_gram(plan, task, count);
        for (int i = 0; i < f; i++)
            power += creal(s->gram[i * f + i]);
        if (isfinite(power))
            vf_hermitian_eigen(f, s->gram, s->values, s->vectors);
        for (int i = 0; !task->z && i < f && i < count; i++) /* with fewer voxels than frames, the others are 0 */
            *task->sum += !isfinite(power) ? NAN : s->values[i] > 0 ? sqrt(s->values[i]) : 0;
        for (int64_t m = 0; task->z && m < count; m++)
            threshold_voxel(plan, task, isfinite(power), s->voxels[m]);
    }
    return VF_OK;
}

const vf_low_rank_backend vf_low_rank_ref = {
    .kind = VF_DEVICE_CPU, .create = create, .execute = execute, .destroy = destroy};
