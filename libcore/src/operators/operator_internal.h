/* Declarations shared by the operator files; not installed. */
#ifndef VOXFIELD_OPERATOR_INTERNAL_H
#define VOXFIELD_OPERATOR_INTERNAL_H

#include "voxfield/operator.h"

/* Adds a reference, which the new user releases with vf_operator_free. */
void vf_operator_keep(vf_operator *a);

#endif
