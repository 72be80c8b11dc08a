/* cionize: the table of options and the settings that it fills. */
#ifndef CIONIZE_OPTIONS_H
#define CIONIZE_OPTIONS_H

#include "cionize_settings.h"
#include "ions/ions.h"
#include "options.h"

typedef struct cionize_request {
    cionize_settings settings;
    ion_settings ions;      /* free() ions.request */
    const char *output_map; /* from -o */
} cionize_request;

extern const program_option cionize_options[];

/* ---- cionize_call.c ---- */

/* The body of main(). */
int cionize_main(int argc, char **argv);

/* ---- method_option.c ---- */

/* Reads auto, NAME[:VARIANT] or cutoff:R[:LAW[:R_ON]][:VARIANT] into a cionize_request, for the table. Errors: VF_ERR_ARGUMENT. */
VF_MUST_CHECK vf_status parse_method(vf_context *ctx, const char *option, const char *text, void *to);

#endif
