/* Copies within host memory with several threads. Not installed. */
#ifndef VOXFIELD_HOST_COPY_H
#define VOXFIELD_HOST_COPY_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* memcpy, with `threads` threads. */
void vf_host_copy(int threads, void *to, const void *from, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
