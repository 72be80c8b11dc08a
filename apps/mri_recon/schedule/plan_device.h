/* Chooses the devices, and checks their memory (plan_device.c). */
#ifndef PLAN_DEVICE_H
#define PLAN_DEVICE_H

#include "frames/recon_results.h"
#include "scan/mri_scan.h"
#include "settings.h"
#include "solve/recon_choices.h"

/* Sets the context's devices from the settings and the work, and checks their memory. If a series does not fit,
 * leaves out devices; if it does not fit on the first one either, sets settings->schedule.window. `text` [size] gets the
 * devices, why they were chosen, and how they share the work; *bytes an estimate of the memory needed on each.
 * Errors: as vf_context_set_devices; VF_ERR_MEMORY, VF_ERR_DEVICE_MEMORY. */
VF_MUST_CHECK vf_status plan_device(vf_context *ctx, recon_settings *settings, const mri_scan *raw,
                                    const scan_sampling *sampling, char *text, size_t size, double *bytes);
/* How so many devices share the work. */
recon_sharing share_devices(const recon_settings *settings, const mri_scan *raw, int devices);
/* Whether the devices and the host have enough memory for `sets` sets of coil maps. */
bool plan_fits(vf_context *ctx, const recon_settings *settings, const mri_scan *raw, int sets);
/* Complex numbers that one F^H W F holds on a device of this kind, at least as many as kernels/toeplitz takes: its kernels and
 * the arrays of a batch of coils. Without one, 0 (normal_memory.c). */
double normal_numbers(vf_device_kind kind, const solve_settings *settings, const mri_scan *raw);
/* "cuda:0,1", "cpu:0,opencl:0": the context's first `count` devices, in DEVICE_LIST bytes. */
enum { DEVICE_LIST = 16 * RECON_MAX_DEVICES };
void device_list(const vf_context *ctx, int count, char *text, size_t size);

#endif
