/* Voxfield - calls of libraries that end the process when memory is short.
 *
 * FFTW aborts where an allocation fails, and HDF5 may crash. Our code cannot prevent that, but a program can say what
 * happened: it asks in its signal handler whose code the thread was running.
 */
#ifndef VOXFIELD_FOREIGN_H
#define VOXFIELD_FOREIGN_H

#ifdef __cplusplus
extern "C" {
#endif

/* Around calls of `library` ("FFTW"; a text that stays). Returns what to give to vf_foreign_leave. */
const char *vf_foreign_enter(const char *library);
void vf_foreign_leave(const char *before);

/* The library whose code this thread is running; NULL: none. Async-signal-safe. */
const char *vf_foreign(void);

#ifdef __cplusplus
}
#endif
#endif
