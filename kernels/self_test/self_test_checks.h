/* The checks of the self-test; not installed. To add one: a function in a file self_test_NAME.c, and a row in self_test.c. */
#ifndef VOXFIELD_SELF_TEST_CHECKS_H
#define VOXFIELD_SELF_TEST_CHECKS_H

#include "self_test.h"

enum { SELF_TEST_VALUES = 1024 };

typedef struct self_check {
    const char *what;  /* "the Coulomb sum" */
    double allowed[2]; /* in single and in double precision: errors relative to the largest value */
    /* Sets *count <= SELF_TEST_VALUES results of a small case. `reference`: by the reference, on the host's device. */
    vf_status (*compute)(vf_device *device, bool reference, vf_dtype precision, double *values, int *count);
} self_check;

/* [count] values of a precision from a device's array. Waits for the queue. */
VF_MUST_CHECK vf_status self_test_read(vf_queue *queue, const vf_array *from, int count, double *values);

vf_status self_test_coulomb(vf_device *device, bool reference, vf_dtype precision, double *values, int *count);
vf_status self_test_cutoff(vf_device *device, bool reference, vf_dtype precision, double *values, int *count);
vf_status self_test_ewald(vf_device *device, bool reference, vf_dtype precision, double *values, int *count);

#endif
