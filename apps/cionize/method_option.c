/* The argument of --method: a method's name, its variant, and the words of a cutoff. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cionize_options.h"

/* The method's name, for its other names: those of VMD's cionize, and of the sum that is exact. */
static const char *method_name(const char *name)
{
    static const char *const others[][2] = {{"direct", "exact"}, {"standard", "exact"}, {"multilevel", "fast"}};
    for (size_t n = 0; n < sizeof others / sizeof *others; n++)
        if (strcmp(name, others[n][0]) == 0)
            return others[n][1];
    return name;
}

/* Whether a word is up to the next colon, or the end, of a text. */
static bool is_word(const char *word, const char *text)
{
    const size_t size = strlen(word);
    return strncmp(word, text, size) == 0 && (text[size] == '\0' || text[size] == ':');
}

static const char *after_word(const char *text)
{
    const char *colon = strchr(text, ':');
    return colon ? colon + 1 : NULL;
}

/* R[:LAW[:R_ON]][:VARIANT] behind "cutoff:". */
static vf_status cutoff(vf_context *ctx, const char *text, cionize_settings *s)
{
    const char *rest = s->variant ? s->variant : "";
    char *end;
    s->cutoff = strtod(rest, &end);
    if (!(s->cutoff > 0) || !(s->cutoff <= VF_COULOMB_MAX_COORDINATE) || (*end != '\0' && *end != ':'))
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "--method '%s': a cutoff needs a distance in angstrom, above 0 and up to %g, such as cutoff:12",
                       text, VF_COULOMB_MAX_COORDINATE);
    s->cutoff_law = VF_CUTOFF_PLAIN;
    rest = after_word(end);
    for (int law = VF_CUTOFF_PLAIN; rest && law < VF_CUTOFF_LAWS; law++)
        if (is_word(vf_cutoff_law_name((vf_cutoff_law)law), rest)) {
            s->cutoff_law = (vf_cutoff_law)law;
            rest = after_word(rest);
            break;
        }
    s->switch_from = s->cutoff_law == VF_CUTOFF_SWITCHED ? s->cutoff * 5 / 6 : 0;
    if (rest && s->cutoff_law == VF_CUTOFF_SWITCHED && strchr("+-.0123456789", *rest)) {
        s->switch_from = strtod(rest, &end);
        if (!(s->switch_from >= 0) || !(s->switch_from < s->cutoff * (1 - 1e-6)) || (*end != '\0' && *end != ':'))
            return vf_fail(ctx, VF_ERR_ARGUMENT,
                           "--method '%s': the switch must begin at a distance from 0 to below the cutoff, such as "
                           "cutoff:12:switched:10",
                           text);
        rest = after_word(end);
    }
    s->variant = rest;
    for (int kind = VF_DEVICE_CPU; kind < VF_DEVICE_KINDS; kind++)
        for (int i = 0; rest && vf_cutoff_variant_name((vf_device_kind)kind, i); i++)
            if (strcmp(rest, vf_cutoff_variant_name((vf_device_kind)kind, i)) == 0)
                rest = NULL;
    return rest ? vf_fail(
                      ctx, VF_ERR_ARGUMENT,
                      "--method '%s': '%s' is neither a law (plain, shifted, smoothed, switched) nor a variant of the "
                      "cutoff sum",
                      text, rest)
                : VF_OK;
}

/* auto, NAME or NAME:VARIANT; the method itself checks the variant. cutoff:R has words of its own. */
vf_status parse_method(vf_context *ctx, const char *option, const char *text, void *to)
{
    cionize_settings *s = &((cionize_request *)to)->settings;
    char name[32];
    const size_t size = strcspn(text, ":");
    (void)option;
    snprintf(name, sizeof name, "%.*s", (int)(size < sizeof name ? size : sizeof name - 1), text);
    s->variant = text[size] ? text + size + 1 : NULL;
    if (strcmp(name, "ddd") == 0)
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "--method 'ddd': a dielectric that depends on the distance is no method here; use "
                       "--distance-dielectric C, or DDD C in the script");
    vf_status status = vf_potential_method_named(ctx, "--method", method_name(name), &s->method);
    if (status == VF_OK && !s->method && s->variant)
        status = vf_fail(ctx, VF_ERR_ARGUMENT, "--method '%s': a variant needs a method, such as exact:%s", text,
                         s->variant);
    s->cutoff = s->switch_from = 0;
    return status == VF_OK && s->method && s->method->cuts_off ? cutoff(ctx, text, s) : status;
}
