/* Voxfield - SHA-256 (FIPS 180-4), to identify the input of a result. */
#ifndef VOXFIELD_DIGEST_H
#define VOXFIELD_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { VF_DIGEST_TEXT = 65 }; /* 64 hexadecimal digits and a zero */

/* The digest of `bytes` bytes, in hexadecimal. */
void vf_digest(const void *data, size_t bytes, char text[VF_DIGEST_TEXT]);

#ifdef __cplusplus
}
#endif
#endif
