/* What the Python package calls: the library's functions with plain arguments. cffi reads the part between the two marks, and the
 * C compiler all of it.
 *
 * Each function that can fail returns a vf_status as int, and leaves the message in the session. Calls of one session must not
 * overlap; the package holds a lock. While a call of the process's main thread runs, SIGINT also cancels its session, if Python
 * has a handler for it; the call returns VF_ERR_CANCELLED then, and the session can be used again.
 */
#ifndef VOXFIELD_BINDING_H
#define VOXFIELD_BINDING_H

#include <stddef.h>
#include <stdint.h>

/* cffi: begin */

typedef struct binding_session binding_session;

/* A context with its first device and a queue on it; without them for `devices` NULL, for programs, which choose devices themselves.
 * `message`: room for 1024 bytes. *out is NULL after an error. */
int binding_open(const char *devices, int threads, binding_session **out, char *message);
void binding_close(binding_session *session);                /* NULL is allowed; everything made in it must be freed */
const char *binding_message(const binding_session *session); /* of the last call that failed */
void binding_cancel(binding_session *session);               /* stops the session's call; any thread may call it */
const char *binding_status_name(int status);
const char *binding_device_name(const binding_session *session);
int binding_threads(const binding_session *session);
int binding_has_cuda(void);
const char *binding_version(void);

/* Where the arrays of a call are: in host memory, or in the memory of the session's device. In the latter case the work runs
 * after that which is now in `stream` (a cudaStream_t), and `stream` waits for it; the call does not. */
typedef struct binding_place {
    int on_device;
    uintptr_t stream;
} binding_place;

/* ---- sums between scattered points and a grid (gridding.h). Arrays are complex, of single or double precision. ---- */

typedef struct binding_nufft binding_nufft;
/* `k` or `exact`, the other is NULL: positions in single or double precision, [count][3]. */
int binding_nufft_create(binding_session *session, const int64_t matrix[3], int64_t count, const float *k,
                         const double *exact, double tolerance, int is_double, int most_batch, binding_nufft **out);
int binding_nufft_set_points(binding_session *session, binding_nufft *plan, int64_t count, const float *k,
                             const double *exact);
/* `batch` vectors, of any number. */
int binding_nufft_apply(binding_session *session, binding_nufft *plan, int adjoint, int64_t batch, const void *in,
                        void *out, const binding_place *place);
int64_t binding_nufft_bytes(const binding_nufft *plan);
void binding_nufft_destroy(binding_nufft *plan); /* NULL is allowed */

/* ---- the encoding of a scan: W^(1/2) F s_c x (kernel_operators.h) ---- */

typedef struct binding_imaging binding_imaging;
typedef struct binding_scan {
    int64_t matrix[3], samples;
    const float *k, *time, *field; /* host memory; time and field may be NULL */
    const double *weights;         /* W [samples], or NULL */
    int coils;
    const void *maps; /* [coils][z][y][x] complex of the precision, host memory; NULL: one coil of 1 */
    double accuracy;
    int is_double;
} binding_scan;
int binding_imaging_create(binding_session *session, const binding_scan *scan, binding_imaging **out);
/* which: 0 forward, 1 adjoint, 2 normal (the first time, it makes F^H W F). */
int binding_imaging_apply(binding_session *session, binding_imaging *imaging, int which, const void *in, void *out,
                          const binding_place *place);
/* (E^H E + lambda Q(0) sum |s|^2 on average) x = b by conjugate gradients from 0; host memory. */
int binding_imaging_solve(binding_session *session, binding_imaging *imaging, double lambda, int iterations,
                          double tolerance, const void *b, void *x, int *used, double *residual);
void binding_imaging_destroy(binding_imaging *imaging); /* NULL is allowed */

/* ---- potentials (potential.h, point_sum.h) ---- */

typedef struct binding_charges {
    int64_t count;
    const double *x, *y, *z, *charge; /* host memory */
    const double *cell;               /* [3][3], lower triangular; NULL: free space */
    int vacuum;
    double scale, r_min, sigma, tolerance;
} binding_charges;
/* `out` [z][y][x], float or double. `method`: a name, or "auto"; `used` [64] gets the one that was taken. */
int binding_potential(binding_session *session, const binding_charges *charges, const char *method,
                      const double origin[3], const double spacing[3], const int64_t counts[3], int is_double,
                      void *out, const binding_place *place, char *used);
/* values [count]; fields [count][3] or NULL. */
int binding_points(binding_session *session, const binding_charges *charges, int64_t count, const double *points,
                   double *values, double *fields);

/* cffi: end */
#endif
