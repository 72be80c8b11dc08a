/* Kernels in OpenCL C, for a computation's backend *_opencl.c; not installed.
 *
 * A device's memory has addresses as any other: they are reserved, so that vf_offset and sums of pointers work, but nobody can
 * read there. A launch looks up the buffer that an address lies in. In OpenCL C, opencl_words.cl has the words: a kernel declares
 * such an argument as ARRAY(type, name) and begins with OPEN(type, name).
 *
 *     static const char *const texts[] = {vf_text_opencl_words, vf_text_first_differences, NULL};
 *     VF_OPENCL_LAUNCH(queue, (&(vf_opencl_kernel){texts, "add_differences", VF_F32, .threads = {voxels}}),
 *                      VF_CL_INT(n), VF_CL_REAL(scale), VF_CL_ARRAY(x), VF_CL_ARRAY(y));
 *
 * Texts are files *.cl of the folder that voxfield_opencl() of CMake puts into the program. Programs are compiled when they are
 * first used, and kept in memory and in the user's cache. */
#ifndef VOXFIELD_OPENCL_LAUNCH_H
#define VOXFIELD_OPENCL_LAUNCH_H

#include "voxfield/device.h"

typedef enum vf_opencl_argument_kind {
    VF_CL_IS_ARRAY,
    VF_CL_IS_INT,
    VF_CL_IS_REAL,
    VF_CL_IS_VALUE,
    VF_CL_IS_LOCAL
} vf_opencl_argument_kind;

typedef struct vf_opencl_argument {
    vf_opencl_argument_kind kind;
    const void *pointer;
    size_t bytes;
    int64_t integer;
    double real;
} vf_opencl_argument;

#define VF_CL_ARRAY(data)                                                                                              \
    {                                                                                                                  \
        .kind = VF_CL_IS_ARRAY, .pointer = (data)                                                                      \
    } /* an address of the device's memory, or NULL */
#define VF_CL_INT(number)                                                                                              \
    {                                                                                                                  \
        .kind = VF_CL_IS_INT, .integer = (number)                                                                      \
    } /* a long */
#define VF_CL_REAL(number)                                                                                             \
    {                                                                                                                  \
        .kind = VF_CL_IS_REAL, .real = (number)                                                                        \
    } /* a REAL: rounded to the kernel's precision */
/* A value of any type that both languages lay out alike, such as a struct of long and double. */
#define VF_CL_VALUE(variable)                                                                                          \
    {                                                                                                                  \
        .kind = VF_CL_IS_VALUE, .pointer = &(variable), .bytes = sizeof(variable)                                      \
    }
#define VF_CL_LOCAL(size)                                                                                              \
    {                                                                                                                  \
        .kind = VF_CL_IS_LOCAL, .bytes = (size)                                                                        \
    } /* local memory: `local T *name` */

typedef struct vf_opencl_kernel {
    const char *const *texts; /* of the program, one after the other; NULL ends them */
    const char *name;
    vf_dtype real;     /* VF_F32 or VF_F64: what REAL is */
    const char *words; /* more options of the compiler, "-DWIDTH=4 -DPARTS=2"; NULL: none */
    int64_t
        threads[3];  /* wanted along each axis, 0 means 1; rounded up to whole groups: kernels must check their index */
    size_t group[3]; /* threads of a group; all 0: 64 along the first axis */
} vf_opencl_kernel;

/* Puts a kernel into the queue. Errors: VF_ERR_UNSUPPORTED (the device has no double precision, or too little local memory or
 * threads in a group), VF_ERR_DEVICE (with the compiler's message), VF_ERR_DEVICE_MEMORY, VF_ERR_MEMORY, VF_ERR_INTERNAL. */
VF_MUST_CHECK vf_status vf_opencl_launch(vf_queue *queue, const vf_opencl_kernel *kernel, int count,
                                         const vf_opencl_argument *arguments);
#define VF_OPENCL_LAUNCH(queue, kernel, ...)                                                                           \
    vf_opencl_launch(queue, kernel,                                                                                    \
                     (int)(sizeof((const vf_opencl_argument[]){__VA_ARGS__}) / sizeof(vf_opencl_argument)),            \
                     (const vf_opencl_argument[]){__VA_ARGS__})

typedef struct vf_opencl_facts {
    bool has_double;
    uint64_t local_bytes; /* local memory of a group */
    size_t most_in_group; /* threads of a group */
    int units;            /* compute units */
} vf_opencl_facts;
vf_opencl_facts vf_opencl_facts_of(const vf_device *device);

/* For plans: copies to or from an array on the device, and waits. Any queue sees the data. */
VF_MUST_CHECK vf_status vf_opencl_upload(vf_device *device, void *to, const void *from, size_t bytes);
VF_MUST_CHECK vf_status vf_opencl_download(vf_device *device, void *to, const void *from, size_t bytes);
/* Makes an array of the device that holds a copy of host memory. Errors: as vf_array_create. */
VF_MUST_CHECK vf_status vf_opencl_array_of(vf_device *device, vf_dtype type, int64_t count, const void *from,
                                           vf_array *out);

/* The same of numbers in double precision, rounded to the type: VF_F32, VF_F64, VF_C64, VF_C128 (`count` pairs). */
VF_MUST_CHECK vf_status vf_opencl_reals_of(vf_device *device, vf_dtype type, int64_t count, const double *from,
                                           vf_array *out);

/* The words that all programs begin with (opencl_words.cl). */
extern const char vf_text_opencl_words[];

#endif
