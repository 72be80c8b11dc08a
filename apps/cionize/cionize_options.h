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

#endif
