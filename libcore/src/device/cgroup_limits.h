/* The memory and the processor time that control groups leave this process, as Slurm, systemd and containers set them. */
#ifndef VOXFIELD_CGROUP_LIMITS_H
#define VOXFIELD_CGROUP_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Lowers *free_bytes and *total_bytes to what the limits of the process's group and of all groups above it leave, in
 * both versions of control groups. `groups` and `mounts` have the form of /proc/self/cgroup and /proc/self/mountinfo;
 * what cannot be read limits nothing. */
void vf_cgroup_memory(const char *groups, const char *mounts, uint64_t *free_bytes, uint64_t *total_bytes);

/* The cores whose time the least quota of these groups equals, rounded up; INT_MAX: there is none. */
int vf_cgroup_cores(const char *groups, const char *mounts);

/* The value of the first line "key: value" or "key value" of a small text file, as in /proc and /sys; false if there
 * is none. */
bool vf_read_field(const char *path, const char *key, char *value, size_t size);

#endif
