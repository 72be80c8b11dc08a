/* The definition: one element after the other, summed in long double, one thread. */
#include "matrix_product_plan.h"

static const char *const names[] = {"ref", NULL};

#define DEFINE_PRODUCT(REAL, NAME)                                                                                     \
    static void NAME(const vf_matrices *m)                                                                             \
    {                                                                                                                  \
        const REAL *a = m->a, *b = m->b;                                                                               \
        REAL *c = m->c;                                                                                                \
        for (int64_t i = 0; i < m->rows; i++)                                                                          \
            for (int64_t j = 0; j < m->columns; j++) {                                                                 \
                long double sum = 0;                                                                                   \
                for (int64_t l = 0; l < m->inner; l++)                                                                 \
                    sum += (long double)a[i * m->inner + l] * b[l * m->columns + j];                                   \
                c[i * m->columns + j] = (REAL)sum;                                                                     \
            }                                                                                                          \
    }
DEFINE_PRODUCT(float, product_f32)
DEFINE_PRODUCT(double, product_f64)

static vf_status create(vf_matrix_product *plan, const char *variant)
{
    (void)plan;
    (void)variant;
    return VF_OK;
}

static void destroy(vf_matrix_product *plan)
{
    (void)plan;
}

static vf_status execute(const vf_matrix_product *plan, vf_queue *queue, const vf_matrices *m)
{
    (void)queue;
    (plan->type == VF_F32 ? product_f32 : product_f64)(m);
    return VF_OK;
}

const vf_matrix_product_ops vf_matrix_product_ops_ref = {{VF_DEVICE_CPU, names}, create, destroy, execute};
