/* Voxfield - all public headers. Everything declared here is stable within a minor version; docs/library.md shows how
 * to use it. The library works in three steps: a context (messages, threads, devices), a plan for one computation on
 * one device, and executions of the plan in a queue.
 */
#ifndef VOXFIELD_VOXFIELD_H
#define VOXFIELD_VOXFIELD_H

#include "voxfield/version.h"

#include "voxfield/context.h"
#include "voxfield/copy.h"
#include "voxfield/device.h"
#include "voxfield/grid.h"
#include "voxfield/histogram.h"
#include "voxfield/matrix_product.h"
#include "voxfield/neighbours.h"
#include "voxfield/operator.h"
#include "voxfield/pipeline.h"
#include "voxfield/reduce.h"
#include "voxfield/scan.h"
#include "voxfield/solver.h"
#include "voxfield/sort.h"
#include "voxfield/status.h"
#include "voxfield/stencil.h"
#include "voxfield/vector.h"

#include "voxfield/cartesian.h"
#include "voxfield/circulant.h"
#include "voxfield/coulomb_sum.h"
#include "voxfield/encoding.h"
#include "voxfield/fourier_sum.h"
#include "voxfield/gridding.h"
#include "voxfield/kernel_operators.h"
#include "voxfield/normal.h"
#include "voxfield/penalties.h"
#include "voxfield/prior.h"
#include "voxfield/toeplitz.h"
#include "voxfield/wavelet.h"

#endif
