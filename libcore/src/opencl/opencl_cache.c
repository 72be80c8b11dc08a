/* Compiled programs in the user's cache: voxfield/opencl/DIGEST, the digest being that of the device, its driver, the compiler's
 * options and the texts. A file is the digest of the binary, in hexadecimal, and the binary; so a damaged file is not used. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opencl_program.h"
#include "voxfield/digest.h"
#include "voxfield/output.h"
#include "voxfield/user_cache.h"

enum { HEAD = VF_DIGEST_TEXT - 1, MOST_BYTES = 1 << 28 };

static char *path_of(const vf_opencl_state *s, const vf_opencl_kernel *kernel, const char *options)
{
    size_t bytes = strlen(s->name) + strlen(s->driver) + strlen(options) + 4;
    for (const char *const *text = kernel->texts; *text; text++)
        bytes += strlen(*text);
    char *all = malloc(bytes), digest[VF_DIGEST_TEXT], name[8 + VF_DIGEST_TEXT];
    if (!all)
        return NULL;
    size_t at = (size_t)snprintf(all, bytes, "%s\n%s\n%s\n", s->name, s->driver, options);
    for (const char *const *text = kernel->texts; *text; text++) {
        const size_t length = strlen(*text);
        memcpy(all + at, *text, length);
        at += length;
    }
    vf_digest(all, at, digest);
    free(all);
    snprintf(name, sizeof name, "opencl/%s", digest);
    return vf_user_cache_path(name);
}

/* The file's bytes, or NULL. */
static unsigned char *read_file(const char *path, size_t *bytes)
{
    FILE *file = path ? fopen(path, "rb") : NULL;
    unsigned char *data = NULL;
    long length = -1;
    if (file && fseek(file, 0, SEEK_END) == 0)
        length = ftell(file);
    if (length > HEAD && length < MOST_BYTES && fseek(file, 0, SEEK_SET) == 0)
        data = malloc((size_t)length);
    if (data && fread(data, 1, (size_t)length, file) != (size_t)length) {
        free(data);
        data = NULL;
    }
    if (file)
        fclose(file);
    *bytes = data ? (size_t)length : 0;
    return data;
}

cl_program vf_opencl_cache_find(const vf_opencl_state *s, const vf_opencl_kernel *kernel, const char *options)
{
    char *path = path_of(s, kernel, options), digest[VF_DIGEST_TEXT];
    cl_program program = NULL;
    size_t bytes;
    unsigned char *data = read_file(path, &bytes);
    free(path);
    if (!data)
        return NULL;
    vf_digest(data + HEAD, bytes - HEAD, digest);
    if (memcmp(digest, data, HEAD) == 0) {
        const unsigned char *binary = data + HEAD;
        const size_t length = bytes - HEAD;
        cl_int error, of_device;
        program = vf_cl.CreateProgramWithBinary(s->context, 1, &s->id, &length, &binary, &of_device, &error);
        if (program && vf_cl.BuildProgram(program, 1, &s->id, options, NULL, NULL) != CL_SUCCESS) {
            vf_cl.ReleaseProgram(program);
            program = NULL;
        }
    }
    free(data);
    return program;
}

void vf_opencl_cache_keep(vf_device *device, const vf_opencl_kernel *kernel, const char *options, cl_program program)
{
    const vf_opencl_state *s = vf_opencl_state_of(device);
    size_t length = 0;
    if (vf_cl.GetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof length, &length, NULL) != CL_SUCCESS ||
        length == 0)
        return;
    char *path = path_of(s, kernel, options), digest[VF_DIGEST_TEXT];
    unsigned char *binary = path ? malloc(length) : NULL;
    vf_output *output = NULL;
    vf_caught caught; /* without a cache all is well, only slower to begin */
    vf_caught *before = vf_catch(device->ctx, &caught);
    if (binary && vf_cl.GetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL) == CL_SUCCESS) {
        vf_digest(binary, length, digest);
        vf_user_cache_make_folders(path);
        vf_status status = vf_output_open(device->ctx, path, &output);
        VF_TRY(status, vf_output_write(output, digest, HEAD));
        VF_TRY(status, vf_output_write(output, binary, length));
        VF_TRY(status, vf_output_commit(&output));
        vf_output_discard(&output);
        (void)status;
    }
    vf_catch_end(before);
    free(binary);
    free(path);
}
