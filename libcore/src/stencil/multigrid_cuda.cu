/* Multigrid on a GPU: a kernel a pass over a level, and one for all small levels. What a point computes, and the passes
 * of a cycle, are in multigrid_point.inc and multigrid_passes.inc, which a test runs on the CPU. Compiled without fused
 * multiply-add: values have the CPU's bits. No atomics: a value is one thread's. */
#include "backend/cuda_check.cuh"
#include "backend/launch_blocks.h"
#include "multigrid_blocks.h"
#include "multigrid_plan.h"
#include "voxfield/vector.h"

namespace
{

enum { SMALL_THREADS = 512 };

#define NAME(x) x
namespace single_precision
{
#define REAL float
#define TYPE VF_F32
#include "multigrid_cuda.inc"
#undef REAL
#undef TYPE
} // namespace single_precision

namespace double_precision
{
#define REAL double
#define TYPE VF_F64
#include "multigrid_cuda.inc"
#undef REAL
#undef TYPE
} // namespace double_precision
#undef NAME

bool is_single(const vf_multigrid *plan)
{
    return plan->level[0].options.type == VF_F32;
}

vf_status coarsen(const vf_multigrid *plan, int n)
{
    return is_single(plan) ? single_precision::run_coarsen(plan, n) : double_precision::run_coarsen(plan, n);
}

vf_status cycle(vf_multigrid *plan, vf_queue *queue, const void *b, void *x, double *product)
{
    return is_single(plan) ? single_precision::run_cycle(plan, queue, b, x, product)
                           : double_precision::run_cycle(plan, queue, b, x, product);
}

vf_status apply(vf_multigrid *plan, vf_queue *queue, const void *x, void *ax, double *product)
{
    return is_single(plan) ? single_precision::run_apply(plan, queue, x, ax, product)
                           : double_precision::run_apply(plan, queue, x, ax, product);
}

vf_status correct(vf_multigrid *plan, vf_queue *queue, const void *x, double *left, double *sum, void *r,
                  double *squares)
{
    return is_single(plan) ? single_precision::run_correct(plan, queue, x, left, sum, r, squares)
                           : double_precision::run_correct(plan, queue, x, left, sum, r, squares);
}

} // namespace

extern "C" const vf_multigrid_ops vf_multigrid_ops_cuda = {coarsen, cycle, apply, correct};
