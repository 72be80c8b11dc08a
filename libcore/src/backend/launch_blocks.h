/* The number of thread blocks of a launch; not installed. Plain C, so that a test needs no GPU. */
#ifndef VOXFIELD_LAUNCH_BLOCKS_H
#define VOXFIELD_LAUNCH_BLOCKS_H

#include <stdint.h>

/* Blocks of `in_block` threads for `threads` threads; 0 for 0. A launch takes at most 2^31 - 1 blocks along x. Beyond
 * that, this returns UINT32_MAX, which makes the launch fail. A number that wrapped would skip threads silently.
 */
static inline unsigned vf_blocks_for(int64_t threads, int in_block)
{
    const int64_t blocks = threads / in_block + (threads % in_block != 0);
    return blocks <= INT32_MAX ? (unsigned)blocks : UINT32_MAX;
}

#endif
