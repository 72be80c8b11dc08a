/* Plans the transforms of an axis' length: radices, threads, shared memory, roots of unity. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "toeplitz_lines.cuh"

namespace vf_toeplitz_gpu
{
namespace
{

enum { GOOD_THREADS = 256, LINE_BYTES = 128, MOST_LENGTH = 4096 };

/* Splits a length into radices, with the powers of two as even as possible and the first of them first. Returns false
 * if the length has other prime factors or needs more than MOST_PASSES passes. */
bool plan_axis(int64_t length, axis_plan *plan)
{
    static const int odd[] = {7, 5, 3};
    int twos = 0, shares;
    memset(plan, 0, sizeof *plan);
    plan->length = (int)length;
    for (; length % 2 == 0; length /= 2)
        twos++;
    shares = (twos + 3) / 4;
    if (twos > 0)
        plan->radix[plan->passes++] = 1 << (twos + shares - 1) / shares;
    for (int i = 0; i < 3; i++)
        for (; length % odd[i] == 0 && plan->passes < MOST_PASSES; length /= odd[i])
            plan->radix[plan->passes++] = odd[i];
    for (twos -= shares > 0 ? (twos + shares - 1) / shares : 0; --shares > 0 && plan->passes < MOST_PASSES;) {
        const int bits = (twos + shares - 1) / shares;
        plan->radix[plan->passes++] = 1 << bits;
        twos -= bits;
    }
    if (plan->passes == 0)
        plan->radix[plan->passes++] = 1;
    return length == 1 && twos == 0;
}

/* The most transforms that a pass of one line can do in parallel. */
int line_threads(const axis_plan *plan)
{
    int most = 1;
    for (int p = 0; p < plan->passes; p++)
        most = plan->length / plan->radix[p] > most ? plan->length / plan->radix[p] : most;
    return most;
}

/* Chooses the number of lines per thread block. Returns false if not even the fewest fit into a block's shared memory,
 * which is `most_bytes`. */
bool shape_axis(bool rows, size_t element, int most_bytes, axis_shape *shape)
{
    const int threads = line_threads(&shape->plan);
    const size_t line = 2 * element * (size_t)(rows ? row_pitch(shape->plan.length) : shape->plan.length);
    int lines = rows ? GOOD_THREADS / threads : (int)(LINE_BYTES / element);
    lines = lines < 1 ? 1 : lines;
    const size_t good_bytes = (size_t)most_bytes / 3;
    while (lines > 1 && (size_t)lines * line > good_bytes && (rows || lines > 4))
        lines /= 2;
    shape->lines = lines;
    shape->threads = threads;
    while (lines * shape->threads > MOST_THREADS)
        shape->threads = (shape->threads + 1) / 2;
    shape->bytes = (int)((size_t)lines * line);
    return (size_t)lines * line <= (size_t)most_bytes;
}

/* exp(-i 2 pi k / length). */
template <typename T>
void fill_roots(int length, T *roots)
{
    for (int k = 0; k < length; k++) {
        const double angle = -2 * 3.14159265358979323846 * k / length;
        roots[2 * k] = (T)cos(angle);
        roots[2 * k + 1] = (T)sin(angle);
    }
}

vf_status upload_roots(vf_device *device, vf_dtype precision, axes *a)
{
    int64_t count = 0, at = 0;
    const size_t element = 2 * vf_dtype_bytes(precision);
    for (int i = 0; i < 3; i++)
        count += a->axis[i].plan.length;
    char *host = static_cast<char *>(malloc((size_t)count * element));
    if (!host)
        return vf_fail(vf_device_context(device), VF_ERR_MEMORY, "Toeplitz: no memory for a plan");
    vf_status status = vf_array_create(device, VF_SPACE_DEVICE, vf_dtype_complex(precision), count, &a->roots);
    for (int i = 0; i < 3 && status == VF_OK; i++) {
        const int length = a->axis[i].plan.length;
        if (precision == VF_F64)
            fill_roots(length, reinterpret_cast<double *>(host + (size_t)at * element));
        else
            fill_roots(length, reinterpret_cast<float *>(host + (size_t)at * element));
        a->axis[i].roots = static_cast<char *>(a->roots.data) + (size_t)at * element;
        at += length;
    }
    if (status == VF_OK)
        status = VF_CUDA(device, vf_cuda_upload(a->roots.data, host, (size_t)count * element));
    free(host);
    return status;
}

} // namespace

vf_status axes_create(vf_device *device, vf_dtype precision, const int64_t doubled[3], bool *possible, axes *out)
{
    int most_bytes = 0;
    const int ordinal = vf_device_ordinal(device);
    const size_t element = 2 * vf_dtype_bytes(precision);
    vf_status status =
        VF_CUDA(device, cudaDeviceGetAttribute(&most_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, ordinal));
    *possible = status == VF_OK && doubled[0] * doubled[1] * doubled[2] <= UINT32_MAX;
    for (int a = 0; a < 3 && *possible; a++)
        *possible = doubled[a] <= MOST_LENGTH && plan_axis(doubled[a], &out->axis[a].plan) &&
                    shape_axis(a == 0, element, most_bytes, &out->axis[a]);
    return *possible ? upload_roots(device, precision, out) : status;
}

} // namespace vf_toeplitz_gpu
