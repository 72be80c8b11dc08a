/* Feeds arbitrary bytes to the readers of AMBER's NetCDF trajectories in the classic format (fuzz_trajectories.h). fuzz_replay.c says how to run
 * this. */
#include "fuzz_trajectories.h"

vf_status fuzz_one(const uint8_t *data, size_t size)
{
    return fuzz_trajectory(data, size);
}
