#include <string.h>

#include "backend/opencl_launch.h"
#include "copy_internal.h"

extern const char vf_text_copy[];

enum { TILE = 16 };

static vf_opencl_kernel kernel_of(const char *name, size_t size)
{
    static const char *const texts[] = {vf_text_opencl_words, vf_text_copy, NULL};
    return (vf_opencl_kernel){texts, name, VF_F32,
                              .words = size == 1   ? "-DTILE=16 -DWORD=uchar -DWORDS=1"
                                       : size == 4 ? "-DTILE=16 -DWORD=uint -DWORDS=1"
                                       : size == 8 ? "-DTILE=16 -DWORD=uint -DWORDS=2"
                                                   : "-DTILE=16 -DWORD=uint -DWORDS=4"};
}

/* With a thread a word. */
static vf_opencl_kernel words_kernel(const char *name, size_t size, int64_t n)
{
    vf_opencl_kernel kernel = kernel_of(name, size);
    kernel.threads[0] = n * (size < 4 ? 1 : (int64_t)size / 4);
    return kernel;
}

static vf_status copy(vf_queue *queue, size_t bytes, const void *x, void *y)
{
    return vf_queue_copy(queue, y, x, bytes);
}

static vf_status fill(vf_queue *queue, size_t size, int64_t n, const void *value, void *y)
{
    const vf_opencl_kernel kernel = words_kernel("fill", size, n);
    uint32_t words[4] = {0};
    memcpy(words, value, size); /* little-endian, as the device */
    return VF_OPENCL_LAUNCH(queue, &kernel, VF_CL_INT(n), VF_CL_VALUE(words), VF_CL_ARRAY(y));
}

static vf_status gather(vf_queue *queue, size_t size, int64_t n, const uint32_t *index, const void *x, void *y)
{
    const vf_opencl_kernel kernel = words_kernel("gather", size, n);
    return VF_OPENCL_LAUNCH(queue, &kernel, VF_CL_INT(n), VF_CL_ARRAY(index), VF_CL_ARRAY(x), VF_CL_ARRAY(y));
}

static vf_status scatter(vf_queue *queue, size_t size, int64_t n, const uint32_t *index, const void *x, void *y)
{
    const vf_opencl_kernel kernel = words_kernel("scatter", size, n);
    return VF_OPENCL_LAUNCH(queue, &kernel, VF_CL_INT(n), VF_CL_ARRAY(index), VF_CL_ARRAY(x), VF_CL_ARRAY(y));
}

static vf_status box(vf_queue *queue, const int64_t counts[3], const void *x, vf_pitch x_pitch, void *y,
                     vf_pitch y_pitch)
{
    const uint64_t all =
        (uint64_t)(counts[0] | x_pitch.row | x_pitch.plane | y_pitch.row | y_pitch.plane) | (uintptr_t)x | (uintptr_t)y;
    const int64_t word = all % 4 == 0 ? 4 : 1, n = counts[0] / word;
    vf_opencl_kernel kernel = kernel_of("copy_box", (size_t)word);
    memcpy(kernel.threads, (int64_t[3]){n, counts[1], counts[2]}, sizeof kernel.threads);
    memcpy(kernel.group, n > 16 ? (size_t[3]){64, 1, 1} : (size_t[3]){8, 8, 1}, sizeof kernel.group);
    return VF_OPENCL_LAUNCH(queue, &kernel, VF_CL_INT(n), VF_CL_INT(counts[1]), VF_CL_INT(counts[2]), VF_CL_ARRAY(x),
                            VF_CL_INT(x_pitch.row / word), VF_CL_INT(x_pitch.plane / word), VF_CL_ARRAY(y),
                            VF_CL_INT(y_pitch.row / word), VF_CL_INT(y_pitch.plane / word));
}

static vf_status transpose(vf_queue *queue, size_t size, int64_t batch, int64_t rows, int64_t columns, const void *x,
                           vf_pitch x_pitch, void *y, vf_pitch y_pitch)
{
    vf_opencl_kernel kernel = kernel_of("transpose", size);
    memcpy(kernel.threads, (int64_t[3]){columns, rows, batch}, sizeof kernel.threads);
    memcpy(kernel.group, (size_t[3]){TILE, TILE, 1}, sizeof kernel.group);
    return VF_OPENCL_LAUNCH(queue, &kernel, VF_CL_INT(rows), VF_CL_INT(columns), VF_CL_ARRAY(x), VF_CL_INT(x_pitch.row),
                            VF_CL_INT(x_pitch.plane), VF_CL_ARRAY(y), VF_CL_INT(y_pitch.row), VF_CL_INT(y_pitch.plane));
}

const vf_copy_ops vf_copy_opencl = {copy, fill, gather, scatter, box, transpose};
