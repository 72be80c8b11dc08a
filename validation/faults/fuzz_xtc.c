/* Feeds arbitrary bytes to the readers of XTC and TRR trajectories (fuzz_trajectories.h). fuzz_replay.c says how to run
 * this. */
#include "fuzz_trajectories.h"

vf_status fuzz_one(const uint8_t *data, size_t size)
{
    return fuzz_trajectory(data, size);
}
