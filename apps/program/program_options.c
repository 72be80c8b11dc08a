#include <string.h>
#include <strings.h>

#include "program.h"
#include "voxfield/parse.h"

vf_status program_value(vf_context *ctx, char **argv, const struct option *options)
{
    if (!optarg || optarg != argv[optind - 1] || strncmp(optarg, "--", 2) != 0)
        return VF_OK;
    for (; options->name; options++)
        if (strcmp(optarg + 2, options->name) == 0)
            return vf_fail(ctx, VF_ERR_ARGUMENT, "%s needs a value, and %s follows", argv[optind - 2], optarg);
    return VF_OK;
}

vf_status program_number(vf_context *ctx, const char *option, const char *text, double least, double most,
                         double *value)
{
    if (vf_parse_doubles(text, 1, 1, value) != 1 || !(*value >= least && *value <= most))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--%s '%s': expected a number from %g to %g", option, text, least, most);
    return VF_OK;
}

vf_status program_triple(vf_context *ctx, const char *option, const char *text, double least, double most,
                         const char *unit, double *values)
{
    int n = vf_parse_doubles(text, 1, 3, values);
    if (n == 1)
        values[1] = values[2] = values[0];
    for (int a = 0; a < 3; a++)
        if ((n != 1 && n != 3) || !(values[a] >= least && values[a] <= most))
            return vf_fail(ctx, VF_ERR_ARGUMENT, "--%s '%s': expected one number or three (x,y,z) from %g to %g %s",
                           option, text, least, most, unit);
    return VF_OK;
}

vf_status program_integer(vf_context *ctx, const char *option, const char *text, int64_t least, int64_t most,
                          int64_t *value)
{
    if (vf_parse_integers(text, 1, 1, value) != 1 || *value < least || *value > most)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--%s '%s': expected a whole number from %lld to %lld", option, text,
                       (long long)least, (long long)most);
    return VF_OK;
}

vf_status program_counts(vf_context *ctx, const char *option, const char *text, int64_t *values)
{
    int n = vf_parse_integers(text, 1, 3, values);
    if (n == 1)
        values[1] = values[2] = values[0];
    for (int a = 0; a < 3; a++)
        if ((n != 1 && n != 3) || values[a] < 1)
            return vf_fail(ctx, VF_ERR_ARGUMENT, "--%s '%s': expected one whole number or three (nx,ny,nz), 1 or more",
                           option, text);
    return VF_OK;
}

vf_status program_threads(vf_context *ctx, const char *text)
{
    int64_t value = 0;
    vf_status status = program_integer(ctx, "threads", text, 1, 4096, &value);
    return status == VF_OK ? vf_context_set_threads(ctx, (int)value) : status;
}

vf_status program_precision(vf_context *ctx, const char *text, vf_dtype *precision)
{
    *precision = strcmp(text, "double") == 0 ? VF_F64 : VF_F32;
    if (strcmp(text, "double") != 0 && strcmp(text, "single") != 0)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--precision '%s': expected single or double", text);
    return VF_OK;
}

vf_status program_picture(vf_context *ctx, const char *text, const char **path)
{
    static const char *const others[] = {".jpg", ".jpeg", ".gif", ".tif", ".tiff", ".bmp", ".svg",
                                         ".pdf", ".eps",  ".nii", ".gz",  ".h5",   ".mrd"};
    const char *ending = strrchr(text, '.');
    for (size_t n = 0; ending && n < sizeof others / sizeof *others; n++)
        if (strcasecmp(ending, others[n]) == 0)
            return vf_fail(ctx, VF_ERR_ARGUMENT, "--picture '%s': pictures are PNG files: name it .png", text);
    *path = text;
    return VF_OK;
}

vf_status program_word(vf_context *ctx, const char *option, const char *text, const char *const *words, int *number)
{
    char known[256] = "";
    for (int n = 0; words[n]; n++) {
        if (strcmp(text, words[n]) == 0) {
            *number = n;
            return VF_OK;
        }
        strncat(known, n ? ", " : "", sizeof known - strlen(known) - 1);
        strncat(known, words[n], sizeof known - strlen(known) - 1);
    }
    return vf_fail(ctx, VF_ERR_ARGUMENT, "--%s '%s': expected one of %s", option, text, known);
}

vf_status program_input(vf_context *ctx, const program *p, int argc, char **argv, const char *example, const char *one,
                        const char **input)
{
    if (optind == argc || argv[optind][0] == '\0')
        return vf_fail(ctx, VF_ERR_ARGUMENT, "no input: %s %s (%s --help says more)", p->name, example, p->name);
    if (optind + 1 < argc)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "'%s': %s at a time", argv[optind + 1], one);
    *input = argv[optind];
    return VF_OK;
}
