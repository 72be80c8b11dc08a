/* What the files of operators share; not installed. */
#ifndef VOXFIELD_OPERATOR_INTERNAL_H
#define VOXFIELD_OPERATOR_INTERNAL_H

#include "voxfield/operator.h"

/* One user more, who will free it. */
void vf_operator_keep(vf_operator *a);

#endif
