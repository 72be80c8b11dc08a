/* Addresses for buffers: pages are reserved that nobody can touch, as many as the buffer has bytes. So pointers into device memory
 * can be added to, compared and told from those of the host, and a wrong access on the host stops the program. */
#include <stdlib.h>
#include <sys/mman.h>

#include "opencl_functions.h"

typedef struct range {
    char *first;
    size_t bytes;
    cl_mem buffer;
} range;

/* Sorted by address. */
static struct {
    pthread_mutex_t lock;
    range *of;
    int count, room;
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The number of ranges that begin at the address or before it. */
static int before(const char *address)
{
    int low = 0, high = table.count;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (table.of[middle].first <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

cl_mem vf_opencl_find(const void *address, size_t *at)
{
    cl_mem buffer = NULL;
    pthread_mutex_lock(&table.lock);
    const int n = before(address) - 1;
    if (n >= 0 && (size_t)((const char *)address - table.of[n].first) < table.of[n].bytes) {
        buffer = table.of[n].buffer;
        *at = (size_t)((const char *)address - table.of[n].first);
    }
    pthread_mutex_unlock(&table.lock);
    return buffer;
}

static bool insert(range added)
{
    bool room = true;
    pthread_mutex_lock(&table.lock);
    if (table.count == table.room) {
        const int more = table.room ? 2 * table.room : 64;
        range *of = realloc(table.of, (size_t)more * sizeof *of);
        room = of != NULL;
        table.of = room ? of : table.of;
        table.room = room ? more : table.room;
    }
    if (room) {
        const int n = before(added.first);
        for (int i = table.count++; i > n; i--)
            table.of[i] = table.of[i - 1];
        table.of[n] = added;
    }
    pthread_mutex_unlock(&table.lock);
    return room;
}

static range take_out(const char *address)
{
    pthread_mutex_lock(&table.lock);
    const int n = before(address) - 1;
    const range found = table.of[n];
    table.count--;
    for (int i = n; i < table.count; i++)
        table.of[i] = table.of[i + 1];
    pthread_mutex_unlock(&table.lock);
    return found;
}

static vf_status refuse(vf_device *device, size_t bytes)
{
    const vf_opencl_state *s = vf_opencl_state_of(device);
    const uint64_t used = __atomic_load_n(&s->used, __ATOMIC_RELAXED);
    return vf_fail(device->ctx, VF_ERR_DEVICE_MEMORY,
                   "%s (%s): not enough device memory: %.3g GiB asked for, %.3g of %.3g GiB in use here, %.3g in one "
                   "array at most",
                   device->spec, device->name, (double)bytes / 0x1p30, (double)used / 0x1p30, (double)s->total / 0x1p30,
                   (double)s->most_in_array / 0x1p30);
}

vf_status vf_opencl_reserve(vf_device *device, size_t bytes, void **address)
{
    vf_opencl_state *s = vf_opencl_state_of(device);
    cl_int error = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    const uint64_t used = __atomic_add_fetch(&s->used, bytes, __ATOMIC_RELAXED);
    cl_mem buffer = NULL;
    if (bytes <= s->most_in_array && used <= s->total) /* some drivers promise more than they have */
        buffer = vf_cl.CreateBuffer(s->context, CL_MEM_READ_WRITE, bytes, NULL, &error);
    if (!buffer) {
        const vf_status status = refuse(device, bytes);
        __atomic_sub_fetch(&s->used, bytes, __ATOMIC_RELAXED);
        return status;
    }
    void *pages = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages != MAP_FAILED && insert((range){pages, bytes, buffer})) {
        *address = pages;
        return VF_OK;
    }
    if (pages != MAP_FAILED)
        munmap(pages, bytes);
    vf_cl.ReleaseMemObject(buffer);
    __atomic_sub_fetch(&s->used, bytes, __ATOMIC_RELAXED);
    return vf_fail(device->ctx, VF_ERR_MEMORY, "%s: not enough addresses for an array of %.3g GiB", device->spec,
                   (double)bytes / 0x1p30);
}

void vf_opencl_free(vf_device *device, void *address)
{
    const range r = take_out(address);
    vf_cl.ReleaseMemObject(r.buffer);
    munmap(r.first, r.bytes);
    __atomic_sub_fetch(&vf_opencl_state_of(device)->used, r.bytes, __ATOMIC_RELAXED);
}
