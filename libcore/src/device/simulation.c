/* Simulated failures of devices, for tests: VOXFIELD_SIMULATE_FAILURE="cuda:1@3,cuda:2@0". */
#include <stdlib.h>
#include <string.h>

#include "backend/simulation.h"
#include "context_internal.h"

static const char variable[] = "VOXFIELD_SIMULATE_FAILURE";

/* The index of the context's device with the name of `length` characters; -1: none. */
static int find_device(const vf_context *ctx, const char *name, size_t length)
{
    for (int d = 0; d < vf_context_device_count(ctx); d++) {
        const char *spec = vf_device_spec(vf_context_device(ctx, d));
        if (strlen(spec) == length && strncmp(spec, name, length) == 0)
            return d;
    }
    return -1;
}

vf_status vf_simulation_read(vf_context *ctx, int devices, int64_t *at)
{
    const long most = 1000000000;
    const char *text = getenv(variable);
    int64_t all[VF_MAX_DEVICES];
    for (int d = 0; d < VF_MAX_DEVICES; d++)
        all[d] = -1;
    /* NAME@PIECE; the name of a single device contains no comma. */
    for (const char *word = text; word && *text; word = *word == ',' ? word + 1 : NULL) {
        const size_t length = strcspn(word, "@,");
        char *end = NULL;
        const bool number = word[length] == '@' && word[length + 1] >= '0' && word[length + 1] <= '9';
        const long piece = number ? strtol(word + length + 1, &end, 10) : -1;
        if (length == 0 || !number || (*end != ',' && *end != '\0') || piece > most)
            return vf_fail(ctx, VF_ERR_ARGUMENT,
                           "%s '%s': expected a device and the number of the piece that fails, as in cuda:1@3; "
                           "separate several with commas",
                           variable, text);
        const int d = find_device(ctx, word, length);
        if (d < 0 || all[d] >= 0)
            return vf_fail(ctx, VF_ERR_ARGUMENT, "%s '%s': %.*s is %s", variable, text, (int)length, word,
                           d < 0 ? "not a device in use" : "named twice");
        all[d] = piece;
        word = end;
    }
    for (int d = 0; d < devices; d++)
        at[d] = all[d];
    return VF_OK;
}

vf_status vf_simulation_of(const vf_device *device, int64_t *at)
{
    vf_context *ctx = vf_device_context(device);
    const int devices = vf_context_device_count(ctx);
    int64_t all[VF_MAX_DEVICES];
    vf_status status = vf_simulation_read(ctx, devices, all);
    *at = -1;
    for (int d = 0; status == VF_OK && d < devices; d++)
        if (vf_context_device(ctx, d) == device)
            *at = all[d];
    return status;
}

vf_status vf_simulation_fail(const vf_device *device)
{
    return vf_fail(vf_device_context(device), VF_ERR_DEVICE, "%s (%s): a failure simulated by %s",
                   vf_device_spec(device), vf_device_name(device), variable);
}
