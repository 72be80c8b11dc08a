#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cgroup_limits.h"
#include "context_internal.h"
#include "host_copy.h"
#include "voxfield/team_size.h"

enum { HUGE_PAGE = 2 << 20, LARGE = 8 << 20 }; /* bytes */

vf_isa vf_cpu_isa(void)
{
    vf_isa best = VF_ISA_BASELINE;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        best = VF_ISA_AVX2;
    if (best == VF_ISA_AVX2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw"))
        best = VF_ISA_AVX512;
#endif
    const char *wish = getenv("VOXFIELD_ISA");
    for (int isa = 0; wish && isa < VF_ISA_COUNT; isa++)
        if (strcmp(wish, vf_isa_name((vf_isa)isa)) == 0 && isa < (int)best)
            return (vf_isa)isa;
    return best;
}

const char *vf_isa_name(vf_isa isa)
{
    static const char *const names[] = {"baseline", "avx2", "avx512"};
    return isa < VF_ISA_COUNT ? names[isa] : "unknown";
}

void vf_host_memory(uint64_t *free_bytes, uint64_t *total_bytes)
{
    char text[64];
    *total_bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    *free_bytes = *total_bytes;
    if (vf_read_field("/proc/meminfo", "MemAvailable", text, sizeof text))
        *free_bytes = strtoull(text, NULL, 10) * 1024;
    vf_cgroup_memory("/proc/self/cgroup", "/proc/self/mountinfo", free_bytes, total_bytes);
}

void vf_large_pages(void *memory, size_t bytes)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)memory;
    const uintptr_t first = (from + page - 1) / page * page, end = (from + bytes) / page * page;
    if (memory && bytes >= LARGE)
        (void)madvise((char *)memory + (first - from), end - first, MADV_HUGEPAGE);
}

static vf_status cpu_memory(vf_device *device, uint64_t *free_bytes, uint64_t *total_bytes)
{
    (void)device;
    vf_host_memory(free_bytes, total_bytes);
    return VF_OK;
}

static vf_status cpu_allocate(vf_device *device, vf_space space, size_t bytes, void **out)
{
    (void)space;
    size_t alignment = bytes >= LARGE ? HUGE_PAGE : 64, rounded = (bytes + alignment - 1) / alignment * alignment;
    uint64_t available = 0, total = 0;
    *out = rounded >= bytes ? aligned_alloc(alignment, rounded) : NULL;
    vf_large_pages(*out, rounded);
    if (*out)
        return VF_OK;
    vf_host_memory(&available, &total);
    return vf_fail(device->ctx, VF_ERR_MEMORY, "not enough memory: %.3g GiB requested, %.3g GiB available",
                   (double)bytes / 0x1p30, (double)available / 0x1p30);
}

static void cpu_release(vf_device *device, vf_space space, void *data)
{
    (void)device;
    (void)space;
    free(data);
}

static vf_status cpu_queue_create(vf_device *device, void **native)
{
    (void)device;
    *native = NULL;
    return VF_OK;
}

static void cpu_queue_destroy(vf_device *device, void *native)
{
    (void)device;
    (void)native;
}

static vf_status cpu_queue_sync(vf_device *device, void *native)
{
    (void)device;
    (void)native;
    return VF_OK;
}

static vf_status cpu_queue_after(vf_device *device, void *native, void *before)
{
    (void)device;
    (void)native;
    (void)before;
    return VF_OK;
}

static vf_status cpu_copy(vf_device *device, void *native, void *dst, const void *src, size_t bytes)
{
    (void)native;
    const int threads = bytes < HUGE_PAGE ? 1 : vf_threads_for(device->ctx, (int64_t)(bytes / 8));
    vf_host_copy(threads, dst, src, bytes);
    return VF_OK;
}

static const vf_device_ops cpu_ops = {
    .memory = cpu_memory,
    .allocate = cpu_allocate,
    .release = cpu_release,
    .queue_create = cpu_queue_create,
    .queue_destroy = cpu_queue_destroy,
    .queue_sync = cpu_queue_sync,
    .queue_after = cpu_queue_after,
    .copy = cpu_copy,
};

void vf_device_init_cpu(vf_device *device, int number)
{
    char model[128] = "CPU";
    (void)vf_read_field("/proc/cpuinfo", "model name", model, sizeof model);
    device->ops = &cpu_ops;
    device->kind = VF_DEVICE_CPU;
    device->ordinal = number < 0 ? 0 : number;
    snprintf(device->spec, sizeof device->spec, number < 0 ? "cpu" : "cpu:%d", number);
    snprintf(device->name, sizeof device->name, "%s", model);
}
