#include "backend/opencl_launch.h"
#include "first_differences_backend.h"

extern const char vf_text_first_differences_voxel[], vf_text_first_differences[];

static vf_status add(vf_queue *queue, vf_dtype type, const int64_t counts[3], double scale, const void *weights,
                     const void *x, void *y)
{
    static const char *const texts[] = {vf_text_opencl_words, vf_text_first_differences_voxel,
                                        vf_text_first_differences, NULL};
    const vf_opencl_kernel kernel = {texts, "add_differences", vf_dtype_real(type),
                                     .threads = {counts[0] * counts[1] * counts[2]}};
    return VF_OPENCL_LAUNCH(queue, &kernel, VF_CL_INT(counts[0]), VF_CL_INT(counts[1]), VF_CL_INT(counts[2]),
                            VF_CL_REAL(scale), VF_CL_ARRAY(weights), VF_CL_ARRAY(x), VF_CL_ARRAY(y));
}

const vf_differences_backend vf_differences_opencl = {VF_DEVICE_OPENCL, add};
