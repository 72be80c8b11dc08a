/* Replaces libcore's *_opencl.c files in a build without OpenCL: no device, and empty tables. */
#include "copy/copy_internal.h"
#include "device/context_internal.h"
#include "fft/fft_internal.h"
#include "reduce/reduce_internal.h"
#include "scan/scan_plan.h"
#include "vectors/vector_internal.h"

const vf_copy_ops vf_copy_opencl = {0};
const vf_fft_ops vf_fft_opencl = {0};
const vf_reduce_ops vf_reduce_ops_opencl = {0};
const vf_scan_ops vf_scan_ops_opencl = {0};
const vf_vector_ops vf_vector_opencl = {0};

int vf_opencl_device_count(const char **reason)
{
    if (reason)
        *reason = "this binary was built without OpenCL";
    return 0;
}

vf_status vf_device_init_opencl(vf_device *device, int ordinal)
{
    return vf_fail(
        device->ctx, VF_ERR_UNSUPPORTED,
        "opencl:%d: this binary was built without OpenCL; use --device cpu, or build with OpenCL's headers installed",
        ordinal);
}
