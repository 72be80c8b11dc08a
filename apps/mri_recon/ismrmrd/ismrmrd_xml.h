/* The header of an ISMRMRD file: reads what a reconstruction needs from the XML, and tolerates common deviations. */
#ifndef ISMRMRD_XML_H
#define ISMRMRD_XML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "voxfield/context.h"

enum { ISMRMRD_XML_MOST = 16 << 20, ISMRMRD_WORD = 64 };

/* A space of an encoding. Missing or unusable values are 0. */
typedef struct ismrmrd_space {
    int64_t matrix[3];
    double fov[3]; /* mm */
} ismrmrd_space;

typedef struct ismrmrd_limit {
    int64_t minimum, maximum, center; /* -1: not in the file */
} ismrmrd_limit;

/* The first encoding, if the file has several. */
typedef struct ismrmrd_protocol {
    int encodings;
    ismrmrd_space encoded, recon;
    ismrmrd_limit step_1, step_2;
    char trajectory[ISMRMRD_WORD];       /* in lower case; "" if the file does not state it */
    char calibration_mode[ISMRMRD_WORD]; /* of parallel imaging, in the form of `trajectory` */
    double noise_bandwidth;              /* relativeReceiverNoiseBandwidth; 1 if the file does not state it */
} ismrmrd_protocol;

/* Parses `size` bytes of XML. `path` is for messages. Errors: VF_ERR_INPUT (not well-formed, with the line; declares
 * entities; no encoding); VF_ERR_MEMORY; VF_ERR_UNSUPPORTED (built without expat). */
VF_MUST_CHECK vf_status ismrmrd_parse_xml(vf_context *ctx, const char *path, const char *text, size_t size,
                                          ismrmrd_protocol *out);

#endif
