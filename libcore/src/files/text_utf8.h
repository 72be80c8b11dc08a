/* UTF-8 in texts from anywhere. */
#ifndef VOXFIELD_TEXT_UTF8_H
#define VOXFIELD_TEXT_UTF8_H

#include <stddef.h>

/* The length of the well-formed UTF-8 sequence at s (RFC 3629), or 0. */
size_t vf_utf8_length(const unsigned char *s);

#endif
