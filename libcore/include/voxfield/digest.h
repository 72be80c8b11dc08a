/* Voxfield - SHA-256 (FIPS 180-4), to identify the input of a result; and a fast checksum, to see that it has changed. */
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

/* A checksum of 64 bits that goes on from `before` (0 at first): FNV-1a (Fowler, Noll and Vo) of words of eight bytes,
 * mixed. It tells data from others that differ by accident, not on purpose. The bytes of a file may come in pieces of
 * any multiple of eight; only the last may have another length. */
uint64_t vf_fingerprint(uint64_t before, const void *data, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
