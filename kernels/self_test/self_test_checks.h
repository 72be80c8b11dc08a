/* The checks of the self-test; not installed. To add one: a function in a file self_test_NAME.c, and a row in self_test.c. */
#ifndef VOXFIELD_SELF_TEST_CHECKS_H
#define VOXFIELD_SELF_TEST_CHECKS_H

#include "self_test.h"

enum { SELF_TEST_VALUES = 4096, SELF_TEST_GROUPS = 16, SELF_TEST_ARRAYS = 16 };

/* One check on one device: what it works with, and its results. */
typedef struct self_test_run {
    vf_device *device;
    vf_queue *queue;
    vf_dtype real, complex; /* the precision */
    bool reference;         /* by the reference, on the host's device */
    vf_array arrays[SELF_TEST_ARRAYS];
    int used;
    double values[SELF_TEST_VALUES];
    int ends[SELF_TEST_GROUPS],
        groups; /* where the groups of values end; errors are relative to a group's largest value */
} self_test_run;

typedef struct self_check {
    const char *what;  /* "the Coulomb sum" */
    unsigned of;       /* vf_self_tested, or both */
    bool twice;        /* needs a device with double precision */
    double allowed[2]; /* errors in single and in double precision */
    vf_status (*compute)(self_test_run *run);
} self_check;

/* The check of one kernel, by its name. Remembers nothing. */
VF_MUST_CHECK vf_status self_test_kernel(vf_device *device, const char *name, vf_dtype precision);

/* Makes an array in device memory: numbers between -0.5 and 0.5, others for each seed; of integers, between -50 and 50. The run frees
 * it. */
VF_MUST_CHECK vf_status self_test_put(self_test_run *run, vf_dtype type, int count, int seed, void **data);
/* The same for host memory of the type, which is copied. */
VF_MUST_CHECK vf_status self_test_upload(self_test_run *run, vf_dtype type, int count, const void *from, void **data);

/* Number n of a seed, as self_test_put has it. */
double self_test_number(int seed, int n);

/* Adds a group of results: `count` elements in device memory, or one number. Waits for the queue. */
VF_MUST_CHECK vf_status self_test_take(self_test_run *run, vf_dtype type, int count, const void *data);
void self_test_value(self_test_run *run, double value);

/* self_test_potential.c */
vf_status self_test_coulomb(self_test_run *run);
vf_status self_test_published(self_test_run *run);
vf_status self_test_cutoff(self_test_run *run);
vf_status self_test_ewald(self_test_run *run);
vf_status self_test_ions(self_test_run *run);

/* self_test_core.c */
vf_status self_test_copies(self_test_run *run);
vf_status self_test_reductions(self_test_run *run);
vf_status self_test_vectors(self_test_run *run);
vf_status self_test_fft(self_test_run *run);

/* self_test_sums.c */
vf_status self_test_fourier_adjoint(self_test_run *run);
vf_status self_test_fourier_forward(self_test_run *run);
vf_status self_test_nufft_adjoint(self_test_run *run);
vf_status self_test_nufft_forward(self_test_run *run);
vf_status self_test_toeplitz(self_test_run *run);

/* self_test_priors.c */
vf_status self_test_wavelet(self_test_run *run);
vf_status self_test_differences(self_test_run *run);
vf_status self_test_first_differences(self_test_run *run);
vf_status self_test_low_rank(self_test_run *run);

#endif
