/* cionize: the mean of the potential over the frames of a trajectory, and its standard deviation, at every grid
 * point.
 *
 *   mean = 1/n sum_f V_f          deviation = sqrt(1/n sum_f (V_f - mean)^2)
 *
 * V_f is the potential of conventions.md, with the molecule's charges at the coordinates of frame f, exactly as in a
 * map of that frame alone. The deviation is that of a population: it describes the frames themselves. They are not a
 * sample of independent draws, because neighbouring frames are correlated. One frame has a deviation of 0.
 *
 * Method. The grid is cut into slabs, and the frames into blocks (frame_sums.h). A piece of the pipeline (pipeline.h) is
 * a slab for a few frames of a block. Devices sum pieces in any order. The calling thread receives them in order, all frames
 * of a slab and block one after another, and keeps a running mean and a sum of squared deviations for each point in double
 * precision. The blocks of a slab are joined in their order; or, where processes share the work or pieces outlive the run, the
 * blocks' sums are kept and joined at the end. So the bits do not depend on the number of processes, devices and threads,
 * on the cut of the grid, or on failing devices.
 *
 * Rounding. With u = 2^-53, the error of the mean is at most about n u max |V_f|, and the relative error of the squares
 * about n u kappa, with kappa = sqrt(1 + mean^2 / deviation^2) (Chan, Golub and LeVeque, Am. Stat. 37 (1983) 242), for n
 * frames one after another; with blocks it is smaller. For n = 10^4 frames in single precision, that is 1e-12 of the
 * largest value, far below the rounding of V_f itself, 6e-8. Even a deviation of that size, where kappa is 2e7, has a
 * relative error of only 1e-5. Points with the same value in all frames have a deviation of exactly 0 and that value as
 * their mean. Sums of V and V^2 would have an error of n u kappa^2 instead.
 *
 * Why the accumulators are on the host (an estimate, not measured). Devices have no double-precision operation on
 * single-precision values (vector.h works in one type), and a desktop GPU needs 30 times as long in double
 * precision. The cost: a GPU needs 1 / 1.5e12 s for a pair of an atom and a point, so 0.7 ns for a point of one
 * frame with 1,000 atoms. Copying its value, 4 bytes, takes 0.16 ns at 25 GB/s, at the same time. Accumulating it
 * moves 12 bytes of host memory (4 for the value, and 32 for reading and writing m and S once per 4 frames), which
 * takes 0.4 ns at 30 GB/s with all threads. So from about 600 atoms, times the number of GPUs, the sums alone
 * determine the time.
 *
 * Preparing the sum of a frame (reading coordinates and copying them to the device: about 20 ns per atom and some
 * tenths of a millisecond) is done once per slab and frame, on the piece's device, by one stage while the other's
 * sums run. Keeping the prepared sums of all frames would need memory that grows with their number. So slabs are
 * thicker than those of one map: one frame of a slab takes a device at least 10 ms. If a frame takes longer than 64
 * times that, there are 64 slabs, so that layers and progress come regularly. Memory: a piece for each buffer of the
 * plan, and 16 bytes per point of one slab, 32 with several blocks, for any number of frames and any size of map. Methods
 * whose plans are costly (vf_potential_method), such as those with a mesh, get the whole map as one slab, if memory allows,
 * or few; ranks share the blocks.
 *
 * Periodic cells that change from frame to frame: periodic_frames.h. */
#ifndef CIONIZE_AVERAGE_H
#define CIONIZE_AVERAGE_H

#include "potential_plan.h"
#include "trajectory/trajectory.h"

/* Takes layers [first, first + count) of both maps in file order (see map_format.write), without gaps, in the
 * precision of plan->problem. If the plan has ranges, those that are kept, and there are several blocks, it takes sums
 * instead: double, means and sums of squares, of layer l of block b as number b * layers + l; and so are the ranges' and
 * slabs' numbers. */
typedef vf_status (*average_sink)(void *user, int64_t first, int64_t count, const void *mean, const void *deviation);

/* Takes the part of the work that is done, up to 1: after some frames of a slab, more often than the sink. */
typedef void (*average_progress)(void *user, double part);

/* The slabs that average_compute will compute, for so many ranks, numbered as above. free() the result. NULL: an
 * error. */
layer_range *average_slabs(vf_context *ctx, const molecule *mol, const frame_selection *selection,
                           const potential_plan *plan, int ranks, int64_t *count);

/* Computes both maps from the selected frames (>= 1) on the context's devices, by the plan that potential_prepare
 * made for this grid. Passes their layers to the sink from the calling thread, and what is done to
 * `progress`. Failing devices are given up while
 * others are left. Errors: VF_ERR_INPUT (another number of atoms than the molecule; a frame that cannot be read or
 * has an atom farther than 10^6 angstrom from zero), VF_ERR_ARGUMENT (frames that do not exist), VF_ERR_MEMORY,
 * VF_ERR_DEVICE_MEMORY, VF_ERR_DEVICE, VF_ERR_CANCELLED, and the sink's. */
VF_MUST_CHECK vf_status average_compute(vf_context *ctx, const molecule *mol, const trajectory *t,
                                        const frame_selection *selection, const potential_plan *plan, average_sink sink,
                                        average_progress progress, void *user);

#endif
