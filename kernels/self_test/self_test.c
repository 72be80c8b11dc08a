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

/* Errors are far above those of rounding, which the tests bound, and far below those of a wrong program. The Ewald sum: ten times
 * its tolerance, which is that of the mean over the grid. */
static const self_check checks[] = {
    {"the Coulomb sum", {1e-5, 1e-12}, self_test_coulomb},
    {"the cutoff sum", {1e-4, 1e-10}, self_test_cutoff},
    {"the Ewald sum", {1e-3, 1e-7}, self_test_ewald},
};

vf_status self_test_read(vf_queue *queue, const vf_array *from, int count, double *values)
{
    float once[SELF_TEST_VALUES];
    const bool twice = from->type == VF_F64;
    void *to = twice ? (void *)values : once;
    vf_status status = vf_queue_copy(queue, to, from->data, (size_t)count * vf_dtype_bytes(from->type));
    VF_TRY(status, vf_queue_sync(queue));
    for (int i = 0; status == VF_OK && !twice && i < count; i++)
        values[i] = (double)once[i];
    return status;
}

/* Whether the results of a check are right. */
static bool agree(const double *values, const double *expected, int count, double allowed)
{
    double largest = 0, error = 0;
    for (int i = 0; i < count; i++) {
        const double e = fabs(values[i] - expected[i]);
        largest = fmax(largest, fabs(expected[i]));
        error = e <= error ? error : e; /* also NaN */
        if (isnan(e))
            return false;
    }
    return error <= allowed * largest;
}

static vf_status run_check(const self_check *check, vf_device *device, vf_dtype precision, bool spoil)
{
    vf_context *ctx = vf_device_context(device);
    double values[SELF_TEST_VALUES], expected[SELF_TEST_VALUES];
    int count = 0, expected_count = 0;
    vf_status status = check->compute(vf_context_host(ctx), true, precision, expected, &expected_count);
    VF_TRY(status, check->compute(device, false, precision, values, &count));
    if (status != VF_OK)
        return status;
    if (spoil)
        values[0] += 0.01 * fabs(values[0]) + 0.01;
    if (count == expected_count && agree(values, expected, count, check->allowed[precision == VF_F64]))
        return VF_OK;
    return vf_fail(
        ctx, VF_ERR_DEVICE,
        "%s (%s; %s) computes %s wrongly in %s precision: use another device, or another version of its driver",
        vf_device_spec(device), vf_device_name(device), vf_device_traits(device), check->what,
        precision == VF_F64 ? "double" : "single");
}

enum { MOST_NAME = 16 + VF_DIGEST_TEXT };

/* The name of the note that a device has passed. */
static void name_note(const vf_device *device, char name[MOST_NAME])
{
    char text[1024] = "", digest[VF_DIGEST_TEXT];
    vf_append(text, sizeof text, "%s\n%s\n%s\n", vf_device_name(device), vf_device_traits(device), VF_VERSION);
    for (size_t c = 0; c < sizeof checks / sizeof *checks; c++)
        vf_append(text, sizeof text, "%s\n", checks[c].what);
    vf_digest(text, strlen(text), digest);
    snprintf(name, MOST_NAME, "self-test/%s", digest);
}

static vf_status test_device(vf_device *device)
{
    const char *simulated;
    const bool twice = !strstr(vf_device_traits(device), "no double precision"),
               spoil =
                   (simulated = getenv("VOXFIELD_SIMULATE_WRONG")) && strcmp(simulated, vf_device_spec(device)) == 0;
    char name[MOST_NAME];
    vf_status status = VF_OK;
    name_note(device, name);
    if (!spoil && vf_user_cache_noted(name))
        return VF_OK;
    for (size_t c = 0; status == VF_OK && c < sizeof checks / sizeof *checks; c++)
        for (int precision = VF_F32; status == VF_OK && precision <= (twice ? VF_F64 : VF_F32); precision++)
            status = run_check(&checks[c], device, (vf_dtype)precision, spoil && c == 0);
    if (status == VF_OK)
        vf_user_cache_note(vf_device_context(device), name);
    return status;
}

vf_status vf_self_test(vf_context *ctx)
{
    vf_status status = VF_OK;
    for (int d = 0; status == VF_OK && d < vf_context_device_count(ctx); d++)
        if (vf_device_get_kind(vf_context_device(ctx, d)) == VF_DEVICE_OPENCL)
            status = test_device(vf_context_device(ctx, d));
    return status;
}
