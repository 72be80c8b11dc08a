#include "hdf5_sink.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

/* HDF5's view of an open file; HDF5's own part comes first. `end`: the end of the allocated space; `size`: of what was
 * written. */
typedef struct sink_file {
    H5FD_t own;
    vf_h5_sink *sink;
    haddr_t end, size;
} sink_file;

static void note(vf_h5_sink *sink, int error)
{
    if (sink->error == 0)
        sink->error = error;
}

static H5FD_t *sink_open(const char *name, unsigned flags, hid_t list, haddr_t most)
{
    (void)name;
    (void)most;
    vf_h5_sink *const *sink = H5Pget_driver_info(list);
    sink_file *file = sink ? calloc(1, sizeof *file) : NULL;
    if (!file)
        return NULL;
    file->sink = *sink;
    if (!(flags & H5F_ACC_TRUNC))
        file->size = file->sink->size;
    return &file->own;
}

static herr_t sink_close(H5FD_t *own)
{
    free(own);
    return 0;
}

static int sink_compare(const H5FD_t *a, const H5FD_t *b)
{
    /* Not by descriptor: a process that reads has its own numbers, and knows those of files this one had open. */
    const uintptr_t x = (uintptr_t)((const sink_file *)a)->sink, y = (uintptr_t)((const sink_file *)b)->sink;
    return x < y ? -1 : x > y;
}

static herr_t sink_query(const H5FD_t *own, unsigned long *features)
{
    (void)own;
    *features = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
                H5FD_FEAT_AGGREGATE_SMALLDATA | H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
    return 0;
}

static haddr_t sink_end(const H5FD_t *own, H5FD_mem_t type)
{
    (void)type;
    return ((const sink_file *)own)->end;
}

static herr_t sink_set_end(H5FD_t *own, H5FD_mem_t type, haddr_t end)
{
    (void)type;
    ((sink_file *)own)->end = end;
    return 0;
}

static haddr_t sink_size(const H5FD_t *own, H5FD_mem_t type)
{
    (void)type;
    return ((const sink_file *)own)->size;
}

/* In a file that is being written, unwritten bytes read as zero; in one to read, there is nothing beyond the end. */
static herr_t sink_read(H5FD_t *own, H5FD_mem_t type, hid_t list, haddr_t address, size_t bytes, void *to)
{
    (void)type;
    (void)list;
    vf_h5_sink *sink = ((sink_file *)own)->sink;
    char *buffer = to;
    while (bytes > 0) {
        ssize_t n = pread(sink->descriptor, buffer, bytes, (off_t)address);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            note(sink, errno);
        if (n <= 0 && !sink->output)
            return -1;
        if (n <= 0)
            break;
        buffer += n;
        address += (haddr_t)n;
        bytes -= (size_t)n;
    }
    memset(buffer, 0, bytes);
    return 0;
}

static herr_t sink_write(H5FD_t *own, H5FD_mem_t type, hid_t list, haddr_t address, size_t bytes, const void *from)
{
    (void)type;
    (void)list;
    sink_file *file = (sink_file *)own;
    const char *buffer = from;
    if (address + bytes > file->size)
        file->size = address + bytes;
    while (bytes > 0 && file->sink->error == 0) {
        ssize_t n = pwrite(file->sink->descriptor, buffer, bytes, (off_t)address);
        if (n < 0 && errno != EINTR)
            note(file->sink, errno);
        if (n > 0) {
            buffer += n;
            address += (haddr_t)n;
            bytes -= (size_t)n;
            vf_output_written(file->sink->output, (size_t)n);
        }
    }
    return 0;
}

static herr_t sink_truncate(H5FD_t *own, hid_t list, hbool_t closing)
{
    (void)list;
    (void)closing;
    sink_file *file = (sink_file *)own;
    /* EINVAL: a device has no settable length. */
    if (file->size != file->end && file->sink->error == 0 && ftruncate(file->sink->descriptor, (off_t)file->end) != 0 &&
        errno != EINVAL)
        note(file->sink, errno);
    file->size = file->end;
    return 0;
}

static const H5FD_class_t driver = {
#if H5_VERSION_GE(1, 13, 0)
    .version = H5FD_CLASS_VERSION,
    .value = (H5FD_class_value_t)0x5646, /* from the range for private drivers */
#endif
    .name = "voxfield_sink",
    .maxaddr = INT64_MAX,
    .fc_degree = H5F_CLOSE_STRONG,
    .fapl_size = sizeof(vf_h5_sink *),
    .open = sink_open,
    .close = sink_close,
    .cmp = sink_compare,
    .query = sink_query,
    .get_eoa = sink_end,
    .set_eoa = sink_set_end,
    .get_eof = sink_size,
    .read = sink_read,
    .write = sink_write,
    .truncate = sink_truncate,
    .fl_map = H5FD_FLMAP_DICHOTOMY,
};

/* Registered once: HDF5 still accesses a driver after closing its last file. */
static hid_t driver_number(void)
{
    static hid_t number = H5I_INVALID_HID;
    if (H5Iget_type(number) != H5I_VFL)
        number = H5FDregister(&driver);
    return number;
}

typedef enum sink_use { SINK_CREATE, SINK_ADD, SINK_READ } sink_use;

static hid_t open_sink(vf_h5_sink *sink, sink_use use)
{
    hid_t id = H5I_INVALID_HID;
    hid_t number = driver_number();
    hid_t list = H5Pcreate(H5P_FILE_ACCESS);
    if (number >= 0 && list >= 0 && H5Pset_driver(list, number, &sink) >= 0 &&
        H5Pset_fclose_degree(list, H5F_CLOSE_STRONG) >= 0)
        id = use == SINK_CREATE ? H5Fcreate("voxfield", H5F_ACC_TRUNC, H5P_DEFAULT, list)
                                : H5Fopen("voxfield", use == SINK_ADD ? H5F_ACC_RDWR : H5F_ACC_RDONLY, list);
    H5E_BEGIN_TRY /* callers see the errors from above */
    {
        if (list >= 0)
            H5Pclose(list);
    }
    H5E_END_TRY
    return id;
}

hid_t vf_h5_sink_create(vf_h5_sink *sink)
{
    return open_sink(sink, SINK_CREATE);
}

hid_t vf_h5_sink_open(vf_h5_sink *sink)
{
    return open_sink(sink, SINK_ADD);
}

hid_t vf_h5_source_open(vf_h5_sink *source)
{
    return open_sink(source, SINK_READ);
}
