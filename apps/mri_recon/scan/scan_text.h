/* Text of files in messages. */
#ifndef SCAN_TEXT_H
#define SCAN_TEXT_H

#include <stddef.h>

/* Copies text from a file for messages: characters other than printable ASCII become '?'. */
const char *scan_printable(const char *text, char *out, size_t size);

#endif
