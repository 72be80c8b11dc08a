/* cionize: the mean of the potential over the frames of a trajectory, and its standard deviation, at every grid point.
 *
 *   mean = 1/n sum_f V_f          deviation = sqrt(1/n sum_f (V_f - mean)^2)
 *
 * V_f is the potential of conventions.md with the molecule's charges at the coordinates of frame f, exactly as a map
 * of that frame alone. The deviation is that of the population: the frames are what is described, not a sample of
 * independent draws, which neighbouring frames are not. One frame has a deviation of 0.
 *
 * How it is computed. The grid is cut into slabs, and a piece of the pipeline (pipeline.h) is a slab for a few frames.
 * Devices sum pieces in any order; the calling thread gets them in theirs, all frames of a slab one after the other,
 * and keeps a running mean m and a sum S of squared deviations of each point in double precision (Welford,
 * Technometrics 4 (1962) 419):
 *
 *   d = V_k - m;  m += d (1/k);  S += d (V_k - m)        k = 1, 2, ..., n
 *
 * So bits depend neither on the number of devices and threads, nor on how the grid is cut, nor on a device that fails.
 *
 * Rounding. With u = 2^-53, m is off by about n u max |V_f| at most, and S relatively by about n u kappa, kappa =
 * sqrt(1 + mean^2 / deviation^2) (Chan, Golub and LeVeque, Am. Stat. 37 (1983) 242). Of n = 10^4 frames in single
 * precision, that is 1e-12 of the largest value, far below the rounding of V_f itself, 6e-8; and even a deviation as
 * small as that, where kappa is 2e7, is good to 1e-5 of itself. Points at which all frames have the same value have a
 * deviation of exactly 0 and that value as their mean. Sums of V and V^2 would lose n u kappa^2 instead.
 *
 * Why the accumulators are on the host, by reckoning, not yet measured. Devices have no double-precision operation on
 * single-precision values (vector.h works in one type), and values in double precision cost a desktop's GPU 30 times
 * the work. What it costs: a pair of an atom and a point takes a GPU 1 / 1.5e12 s, so a point of one frame 0.7 ns for
 * 1,000 atoms; its value is 4 bytes more to copy, 0.16 ns at 25 GB/s, beside the computing; and 12 bytes of host memory
 * to pass, 4 of the value and 32 of reading and writing m and S once for each 4 frames, 0.4 ns at 30 GB/s with all
 * threads. From some 600 atoms on, times the number of GPUs, the sums are all there is to wait for.
 *
 * What a frame's sum costs to prepare (its coordinates are read and copied to the device: about 20 ns an atom and some
 * tenths of a millisecond) is paid once for each slab and frame, on the device that has the piece, by one stage while
 * the other's sums run; holding the prepared sums of all frames instead would take memory that grows with their number.
 * So slabs are thicker than those of one map: a device takes 10 ms for one of a frame at least. Where a frame takes
 * longer than 64 times that there are 64 slabs, so that layers come out, and can be counted, all along. Memory: a piece
 * for each buffer of the plan, and 16 bytes a point of one slab, whatever the number of frames and the size of the map.
 */
#ifndef CIONIZE_AVERAGE_H
#define CIONIZE_AVERAGE_H

#include "potential_plan.h"
#include "trajectory/trajectory.h"

/* Takes layers [first, first + count) of both maps, in the order of the file (see map_format.write), in order, without
 * gaps, in the precision of plan->problem. */
typedef vf_status (*average_sink)(void *user, int64_t first, int64_t count, const void *mean, const void *deviation);

/* Computes both maps on the context's devices, as `plan` of potential_prepare for this grid says, of the
 * selected frames (>= 1), and hands their layers on from the calling thread. Devices that fail are given up while
 * others are left. Errors: VF_ERR_INPUT (the trajectory has another number of atoms than the molecule; a frame that
 * cannot be read, or with an atom farther than 10^6 angstrom from zero), VF_ERR_ARGUMENT (frames that are not there),
 * VF_ERR_MEMORY, VF_ERR_DEVICE_MEMORY, VF_ERR_DEVICE, VF_ERR_CANCELLED, and the sink's. */
VF_MUST_CHECK vf_status average_compute(vf_context *ctx, const molecule *mol, const trajectory *t,
                                        const frame_selection *selection, const potential_plan *plan, average_sink sink,
                                        void *user);

#endif
