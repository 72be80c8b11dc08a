/* cionize: the table of options, and what they are read into. */
#ifndef CIONIZE_OPTIONS_H
#define CIONIZE_OPTIONS_H

#include "cionize_settings.h"
#include "ions/ions.h"
#include "options.h"

typedef struct cionize_request {
    cionize_settings settings;
    ion_settings ions;      /* ions.request: free() it */
    const char *output_map; /* of -o */
} cionize_request;

extern const program_option cionize_options[];

#endif
