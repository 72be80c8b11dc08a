/* The header of an ISMRMRD file: reads what a reconstruction needs from the XML, and tolerates common deviations. */
#ifndef ISMRMRD_XML_H
#define ISMRMRD_XML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "voxfield/context.h"

enum { ISMRMRD_XML_MOST = 16 << 20, ISMRMRD_WORD = 64, ISMRMRD_MOST_ENCODINGS = 16 };

/* A space of an encoding. Missing or unusable values are 0. */
typedef struct ismrmrd_space {
    int64_t matrix[3]; /* rounded: some converters compute it */
    double fov[3];     /* mm */
} ismrmrd_space;

typedef struct ismrmrd_limit {
    int64_t minimum, maximum, center; /* -1: not in the file */
} ismrmrd_limit;

/* The readout of echo-planar imaging, from the parameters of trajectoryDescription. Times in us, 0: not in the file. */
typedef struct ismrmrd_epi {
    double ramp_up, flat_top, ramp_down;
    double delay; /* from the beginning of the ramp to the first sample */
    double dwell;
    int64_t samples;
} ismrmrd_epi;

typedef struct ismrmrd_encoding {
    ismrmrd_space encoded, recon;
    ismrmrd_limit step_1, step_2, slice;
    char trajectory[ISMRMRD_WORD];       /* in lower case; "" if the file does not state it */
    char calibration_mode[ISMRMRD_WORD]; /* of parallel imaging, in the form of `trajectory` */
    bool rounded;                        /* some matrix sizes were not whole */
    int64_t multiband;                   /* slices excited together; 0: not in the file */
    ismrmrd_epi epi;
} ismrmrd_encoding;

typedef struct ismrmrd_protocol {
    int encodings; /* in the file; at most ISMRMRD_MOST_ENCODINGS are kept */
    ismrmrd_encoding encoding[ISMRMRD_MOST_ENCODINGS];
    char vendor[ISMRMRD_WORD]; /* systemVendor, in the form of `trajectory` */
    char diffusion
        [ISMRMRD_WORD]; /* diffusionDimension: the counter of directions and b-values, in the form of `trajectory` */
    char acquisition_type
        [ISMRMRD_WORD];     /* 2d or 3d: the user parameter mrAcquisitionType, which GE's converter writes */
    double noise_bandwidth; /* relativeReceiverNoiseBandwidth; 1 if the file does not state it */
} ismrmrd_protocol;

/* A protocol of one encoding of which nothing is known. */
void ismrmrd_protocol_reset(ismrmrd_protocol *out);

/* Parses `size` bytes of XML. `path` is for messages. Errors: VF_ERR_INPUT (not well-formed, with the line; declares
 * entities; no encoding); VF_ERR_MEMORY; VF_ERR_UNSUPPORTED (built without expat). */
VF_MUST_CHECK vf_status ismrmrd_parse_xml(vf_context *ctx, const char *path, const char *text, size_t size,
                                          ismrmrd_protocol *out);

#endif
