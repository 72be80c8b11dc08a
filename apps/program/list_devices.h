/* The devices of this machine, for users who look for a name to give to --device. */
#ifndef VOXFIELD_LIST_DEVICES_H
#define VOXFIELD_LIST_DEVICES_H

#include <stdio.h>

#include "voxfield/context.h"

/* Prints a line for the CPU and each GPU: its name for --device, its own name, its memory and what it is good for; of one that cannot
 * be used, why. Starts the GPUs' driver. Changes the devices of the context. */
void list_devices(vf_context *ctx, FILE *to);

#endif
