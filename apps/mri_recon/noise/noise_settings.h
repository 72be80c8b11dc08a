/* The noise and its map, and the phase where one side of k-space is missing: the settings of noise/. */
#ifndef NOISE_SETTINGS_H
#define NOISE_SETTINGS_H

#include <stdbool.h>

typedef struct noise_settings {
    const char *map;      /* file to write; NULL: none */
    int replicas;         /* of noise, for the noise map */
    bool equal;           /* with sparse priors: all frames have the common noise */
    bool partial_fourier; /* use the phase's smoothness if one side of k-space is missing */
} noise_settings;

#endif
