/* All bytes at a place of a file, whatever interrupts. False, with errno: an error; 0: the file ends before. */
#ifndef VOXFIELD_EXACT_IO_H
#define VOXFIELD_EXACT_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

bool read_at(int fd, off_t at, void *data, size_t bytes);
bool write_at(int fd, off_t at, const void *data, size_t bytes);

#endif
