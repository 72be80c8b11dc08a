/* The table of checks, comparing, and what is remembered. */
#include "self_test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "self_test_checks.h"
#include "voxfield/append.h"
#include "voxfield/digest.h"
#include "voxfield/user_cache.h"
#include "voxfield/version.h"

enum { POTENTIALS = VF_SELF_TEST_POTENTIALS, IMAGES = VF_SELF_TEST_IMAGES, BOTH = POTENTIALS | IMAGES };

/* Errors are far above those of rounding, which the tests bound, and far below those of a wrong program. The Ewald sum and the NUFFT:
 * ten times their tolerances, which are those of a mean. Places of ions have to be the same. */
static const self_check checks[] = {
    {"the Coulomb sum", POTENTIALS, false, {1e-5, 1e-12}, self_test_coulomb},
    {"the published Coulomb sum", POTENTIALS, false, {1e-4, 1e-10}, self_test_published},
    {"the cutoff sum", POTENTIALS, false, {1e-4, 1e-10}, self_test_cutoff},
    {"the Ewald sum", POTENTIALS, false, {1e-3, 1e-7}, self_test_ewald},
    {"the search for ions", POTENTIALS, true, {0, 0}, self_test_ions},
    {"copies", BOTH, false, {0, 0}, self_test_copies},
    {"the FFT", BOTH, false, {1e-5, 1e-13}, self_test_fft},
    {"vectors", IMAGES, false, {1e-5, 1e-13}, self_test_vectors},
    {"reductions", IMAGES, false, {1e-5, 1e-13}, self_test_reductions},
    {"the adjoint Fourier sum", IMAGES, false, {1e-4, 1e-11}, self_test_fourier_adjoint},
    {"the forward Fourier sum", IMAGES, false, {1e-4, 1e-11}, self_test_fourier_forward},
    {"the adjoint NUFFT", IMAGES, false, {1e-3, 1e-8}, self_test_nufft_adjoint},
    {"the forward NUFFT", IMAGES, false, {1e-3, 1e-8}, self_test_nufft_forward},
    {"the Toeplitz multiplication", IMAGES, false, {1e-4, 1e-11}, self_test_toeplitz},
    {"wavelets", IMAGES, false, {1e-4, 1e-11}, self_test_wavelet},
    {"differences", IMAGES, false, {1e-4, 1e-11}, self_test_differences},
    {"first differences", IMAGES, false, {1e-5, 1e-12}, self_test_first_differences},
    {"low-rank thresholds", IMAGES, false, {1e-4, 1e-9}, self_test_low_rank},
};
enum { CHECKS = sizeof checks / sizeof *checks };

/* ---- for the checks ---- */

double self_test_number(int seed, int n)
{
    const double x = (double)(n + 1) * 0.61803398874989485 + (double)seed * 0.41421356237309505;
    return x * x - floor(x * x) - 0.5;
}

vf_status self_test_upload(self_test_run *run, vf_dtype type, int count, const void *from, void **data)
{
    vf_array *array = &run->arrays[run->used++];
    vf_status status = vf_array_create(run->device, VF_SPACE_DEVICE, type, count, array);
    VF_TRY(status, vf_queue_copy(run->queue, array->data, from, (size_t)count * vf_dtype_bytes(type)));
    VF_TRY(status, vf_queue_sync(run->queue));
    *data = array->data;
    return status;
}

vf_status self_test_put(self_test_run *run, vf_dtype type, int count, int seed, void **data)
{
    const int numbers = type == VF_C64 || type == VF_C128 ? 2 * count : count;
    double all[SELF_TEST_VALUES];
    for (int n = 0; n < numbers; n++) {
        const double number = self_test_number(seed, n);
        if (type == VF_F64 || type == VF_C128)
            all[n] = number;
        else if (type == VF_F32 || type == VF_C64)
            ((float *)all)[n] = (float)number;
        else
            ((int32_t *)all)[n] = (int32_t)(100 * number);
    }
    return self_test_upload(run, type, count, all, data);
}

void self_test_value(self_test_run *run, double value)
{
    const int at = run->groups > 0 ? run->ends[run->groups - 1] : 0;
    run->values[at] = value;
    run->ends[run->groups++] = at + 1;
}

vf_status self_test_take(self_test_run *run, vf_dtype type, int count, const void *data)
{
    const int numbers = type == VF_C64 || type == VF_C128 ? 2 * count : count,
              at = run->groups > 0 ? run->ends[run->groups - 1] : 0;
    double all[SELF_TEST_VALUES];
    vf_status status = vf_queue_copy(run->queue, all, data, (size_t)count * vf_dtype_bytes(type));
    VF_TRY(status, vf_queue_sync(run->queue));
    for (int n = 0; status == VF_OK && n < numbers; n++)
        run->values[at + n] = type == VF_F64 || type == VF_C128  ? all[n]
                              : type == VF_F32 || type == VF_C64 ? (double)((const float *)all)[n]
                                                                 : (double)((const int32_t *)all)[n];
    run->ends[run->groups++] = at + numbers;
    return status;
}

/* ---- running and comparing ---- */

static vf_status compute(const self_check *check, vf_device *device, bool reference, vf_dtype precision,
                         self_test_run *run)
{
    *run = (self_test_run){
        .device = device, .real = precision, .complex = vf_dtype_complex(precision), .reference = reference};
    vf_status status = vf_queue_create(device, &run->queue);
    VF_TRY(status, check->compute(run));
    vf_queue_destroy(run->queue);
    for (int i = 0; i < run->used; i++)
        vf_array_free(&run->arrays[i]);
    return status;
}

/* Whether the results of a check are right. NaN is not. */
static bool agree(const self_test_run *run, const self_test_run *expected, double allowed)
{
    bool right = run->groups == expected->groups;
    for (int g = 0, n = 0; g < run->groups && right; g++) {
        const int first = n;
        double largest = 0;
        right = run->ends[g] == expected->ends[g];
        for (; n < run->ends[g]; n++)
            largest = fmax(largest, fabs(expected->values[n]));
        for (n = first; n < run->ends[g] && right; n++)
            right = fabs(run->values[n] - expected->values[n]) <= allowed * largest;
    }
    return right;
}

static vf_status run_check(const self_check *check, vf_device *device, vf_dtype precision, bool spoil)
{
    vf_context *ctx = vf_device_context(device);
    self_test_run *runs = malloc(2 * sizeof *runs);
    if (!runs)
        return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory for the self-test");
    vf_status status = compute(check, vf_context_host(ctx), true, precision, &runs[1]);
    VF_TRY(status, compute(check, device, false, precision, &runs[0]));
    if (status == VF_OK && spoil)
        runs[0].values[runs[0].ends[runs[0].groups - 1] - 1] += 1;
    if (status == VF_OK && !agree(&runs[0], &runs[1], check->allowed[precision == VF_F64]))
        status = vf_fail(
            ctx, VF_ERR_DEVICE,
            "%s (%s; %s) computes %s wrongly in %s precision: use another device, or another version of its driver",
            vf_device_spec(device), vf_device_name(device), vf_device_traits(device), check->what,
            precision == VF_F64 ? "double" : "single");
    free(runs);
    return status;
}

vf_status self_test_kernel(vf_device *device, const char *name, vf_dtype precision)
{
    for (int c = 0; c < CHECKS; c++)
        if (strcmp(checks[c].what, name) == 0)
            return run_check(&checks[c], device, precision, false);
    return vf_fail(vf_device_context(device), VF_ERR_ARGUMENT, "self-test: no kernel %s", name);
}

/* ---- what is remembered ---- */

enum { MOST_NAME = 16 + VF_DIGEST_TEXT };

/* The name of the note that a device has passed. */
static void name_note(const vf_device *device, vf_self_tested what, vf_dtype precision, char name[MOST_NAME])
{
    char text[2048] = "", digest[VF_DIGEST_TEXT];
    vf_append(text, sizeof text, "%s\n%s\n%s\n%d\n", vf_device_name(device), vf_device_traits(device), VF_VERSION,
              (int)precision);
    for (int c = 0; c < CHECKS; c++)
        if (checks[c].of & what)
            vf_append(text, sizeof text, "%s\n", checks[c].what);
    vf_digest(text, strlen(text), digest);
    snprintf(name, MOST_NAME, "self-test/%s", digest);
}

/* The check that is spoilt on this device: CHECKS if none is. */
static int spoilt(const vf_device *device, vf_self_tested what)
{
    const char *text, *spec;
    int c = 0;
    text = getenv("VOXFIELD_SIMULATE_WRONG");
    spec = vf_device_spec(device);
    const size_t length = strlen(spec);
    if (!text || strncmp(text, spec, length) != 0 || (text[length] && text[length] != '@'))
        return CHECKS;
    while (c < CHECKS && (!(checks[c].of & what) || (text[length] && strcmp(text + length + 1, checks[c].what) != 0)))
        c++;
    return c;
}

static vf_status test_precision(vf_device *device, vf_self_tested what, vf_dtype precision, bool has_double)
{
    const int wrong = spoilt(device, what);
    char name[MOST_NAME];
    vf_status status = VF_OK;
    name_note(device, what, precision, name);
    if (wrong == CHECKS && vf_user_cache_noted(name))
        return VF_OK;
    for (int c = 0; status == VF_OK && c < CHECKS; c++)
        if ((checks[c].of & what) && (has_double || !checks[c].twice))
            status = run_check(&checks[c], device, precision, c == wrong);
    if (status == VF_OK && wrong == CHECKS)
        vf_user_cache_note(vf_device_context(device), name);
    return status;
}

vf_status vf_self_test(vf_context *ctx, vf_self_tested what, bool twice)
{
    vf_status status = VF_OK;
    for (int d = 0; status == VF_OK && d < vf_context_device_count(ctx); d++) {
        vf_device *device = vf_context_device(ctx, d);
        const bool has_double = !strstr(vf_device_traits(device), "no double precision");
        if (vf_device_get_kind(device) != VF_DEVICE_OPENCL)
            continue;
        status = test_precision(device, what, VF_F32, has_double);
        if (twice && has_double)
            VF_TRY(status, test_precision(device, what, VF_F64, has_double));
    }
    return status;
}

const char *vf_self_test_name(vf_self_tested what, int index)
{
    for (int c = 0; c < CHECKS; c++)
        if ((checks[c].of & what) && index-- == 0)
            return checks[c].what;
    return NULL;
}
