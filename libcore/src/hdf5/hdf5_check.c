/* What files to read may not do: lead to other files, load code, or declare far more than they have. Everything is
 * refused by name, before data are read. The rest of hdf5_io.h is in hdf5_io.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hdf5_internal.h"
#include "voxfield/append.h"

enum {
    MOST_SOFT_LINKS = 16, /* one after the other, like HDF5 itself */
    MOST_RATIO = 1032,    /* deflate packs no better */
    SMALL = 1 << 20       /* bytes that anybody may declare */
};

void vf_h5_restrict(void)
{
    static bool done;
    if (done)
        return;
    done = true;
    H5PLset_loading_state(0);         /* no filters from HDF5_PLUGIN_PATH */
    H5Lunregister(H5L_TYPE_EXTERNAL); /* no other files, however a link is reached */
}

vf_status vf_h5_refuse(void *file, const char *format, ...)
{
    char what[256];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return vf_h5_fail(file, VF_ERR_INPUT, "%s", what);
}

/* ---- links ---- */

static vf_status follow(const vf_h5 *file, const char *name, int depth);

/* Follows the soft link `name`, whose text has `bytes` with its end, to `rest` below it. */
static vf_status follow_soft_link(const vf_h5 *file, const char *name, size_t bytes, const char *rest, int depth)
{
    vf_status status = VF_OK;
    char *text = bytes < 65536 ? calloc(bytes + 1, 1) : NULL, *whole = NULL;
    const char *slash = strrchr(name, '/');
    if (depth >= MOST_SOFT_LINKS)
        status = vf_fail(file->ctx, VF_ERR_INPUT, "%s: '%s' leads through more than %d soft links", file->path, name,
                         MOST_SOFT_LINKS);
    else if (!text || H5Lget_val(file->id, name, text, bytes, H5P_DEFAULT) < 0)
        status = vf_h5_fail(file, VF_ERR_INPUT, "cannot read the link '%s'", name);
    else if (asprintf(&whole, "%.*s%s%s%s%s", text[0] == '/' || !slash ? 0 : (int)(slash - name), name,
                      text[0] == '/' ? "" : "/", text, rest[0] ? "/" : "", rest) < 0)
        status = vf_fail(file->ctx, VF_ERR_MEMORY, "%s: not enough memory to follow the link '%s'", file->path, name);
    else
        status = follow(file, whole, depth + 1);
    free(whole);
    free(text);
    return status;
}

/* Checks each link of a path. A link that is missing is not an error here. */
static vf_status follow(const vf_h5 *file, const char *name, int depth)
{
    vf_status status = VF_OK;
    char *path = strdup(name);
    bool goes_on = path != NULL;
    for (char *at = path; goes_on && status == VF_OK && *at;) {
        H5L_info_t info;
        at += strspn(at, "/");
        at += strcspn(at, "/");
        const char kept = *at;
        *at = '\0';
        goes_on = path[strspn(path, "/")] && H5Lexists(file->id, path, H5P_DEFAULT) > 0;
        if (goes_on && H5Lget_info(file->id, path, &info, H5P_DEFAULT) < 0)
            status = vf_h5_fail(file, VF_ERR_INPUT, "cannot read the link '%s'", path);
        else if (goes_on && info.type == H5L_TYPE_EXTERNAL)
            status = vf_fail(file->ctx, VF_ERR_INPUT,
                             "%s: '%s' is an external link; links to other files are not followed; copy what it leads "
                             "to into the file",
                             file->path, path);
        else if (goes_on && info.type != H5L_TYPE_HARD && info.type != H5L_TYPE_SOFT)
            status = vf_fail(file->ctx, VF_ERR_INPUT, "%s: '%s' is a link of another program's kind", file->path, path);
        else if (goes_on && info.type == H5L_TYPE_SOFT) {
            status = follow_soft_link(file, path, info.u.val_size, kept ? at + 1 : "", depth);
            goes_on = false; /* the rest is checked there */
        }
        *at = kept;
    }
    if (!path)
        status = vf_fail(file->ctx, VF_ERR_MEMORY, "%s: not enough memory to find '%s'", file->path, name);
    free(path);
    return status;
}

vf_status vf_h5_check_links(void *state, const char *name)
{
    const vf_h5 *file = state;
    return file->output && !file->inside ? VF_OK : follow(file, name, 0);
}

/* ---- storage ---- */

static vf_status refuse(const vf_h5 *file, const char *name, const char *why)
{
    return vf_fail(file->ctx, VF_ERR_INPUT, "%s: the dataset '%s' %s", file->path, name, why);
}

enum { LZF_OF_H5PY = 32000 }; /* its number in the list of registered filters */

static bool is_built_in(H5Z_filter_t filter)
{
    return filter == H5Z_FILTER_DEFLATE || filter == H5Z_FILTER_SHUFFLE || filter == H5Z_FILTER_FLETCHER32 ||
           filter == H5Z_FILTER_SZIP || filter == H5Z_FILTER_NBIT || filter == H5Z_FILTER_SCALEOFFSET;
}

static vf_status check_storage(const vf_h5 *file, const char *name, hid_t list)
{
    if (H5Pget_layout(list) == H5D_VIRTUAL)
        return refuse(file, name,
                      "is virtual: its data are in other datasets or files; copy them into one dataset, for example "
                      "with h5repack");
    if (H5Pget_external_count(list) > 0)
        return refuse(file, name,
                      "has its data in other files, which are not read; copy them into the file, for "
                      "example with h5repack");
    for (int f = 0; f < H5Pget_nfilters(list); f++) {
        unsigned flags = 0, config = 0;
        size_t values = 0;
        char filter[64] = "", text[200];
        const H5Z_filter_t id =
            H5Pget_filter2(list, (unsigned)f, &flags, &values, NULL, sizeof filter, filter, &config);
        filter[sizeof filter - 1] = '\0';
        if (is_built_in(id))
            continue;
        snprintf(text, sizeof text,
                 "needs the filter %d (%s); only HDF5's own filters are used; write it again with gzip, for example "
                 "with %s",
                 (int)id, filter[0] ? filter : "without a name",
                 id == LZF_OF_H5PY ? "h5py, which has this filter: h5repack has not" : "h5repack -f GZIP=1");
        return refuse(file, name, text);
    }
    return VF_OK;
}

/* A dataset whose parts were never written takes no space in the file, but all of it in memory. */
static vf_status check_size(const vf_h5 *file, const char *name, hid_t id)
{
    const hid_t type = H5Dget_type(id), space = H5Dget_space(id);
    const hssize_t count = space >= 0 ? H5Sget_simple_extent_npoints(space) : -1;
    const double bytes = (double)count * (double)(type >= 0 ? H5Tget_size(type) : 0);
    const double stored = bytes > SMALL ? (double)H5Dget_storage_size(id) : 0;
    vf_status status = VF_OK;
    if (count < 0)
        status = vf_h5_fail(file, VF_ERR_INPUT, "cannot read the type and shape of the dataset '%s'", name);
    else if (bytes > SMALL && bytes > stored * MOST_RATIO)
        status = vf_fail(file->ctx, VF_ERR_INPUT,
                         "%s: the dataset '%s' declares %.3g GB, but only %.0f bytes of it are stored; the file is "
                         "damaged, or was not written to its end",
                         file->path, name, bytes / 1e9, stored);
    if (space >= 0)
        H5Sclose(space);
    if (type >= 0)
        H5Tclose(type);
    return status;
}

/* Opens it again with a cache for a row of its chunks, if the usual cache is too small for one. */
static hid_t open_with_cache(const vf_h5 *file, const char *name, hid_t id, hid_t list)
{
    enum { USUAL_CACHE = 1 << 20 };
    hsize_t dims[H5S_MAX_RANK], chunk[H5S_MAX_RANK];
    const hid_t type = H5Dget_type(id), space = H5Dget_space(id);
    const int rank = space >= 0 ? H5Sget_simple_extent_dims(space, dims, NULL) : -1;
    const size_t element = type >= 0 ? H5Tget_size(type) : 0;
    if (rank > 0 && H5Pget_layout(list) == H5D_CHUNKED && H5Pget_chunk(list, rank, chunk) == rank) {
        const double row = vf_h5_row_bytes(element, rank, dims, chunk);
        if (row > USUAL_CACHE && row <= VF_H5_CACHE_MOST) {
            const hid_t access = vf_h5_access(element, rank, dims, chunk);
            H5Dclose(id);
            id = H5Dopen2(file->id, name, access);
            H5Pclose(access);
        }
    }
    if (space >= 0)
        H5Sclose(space);
    if (type >= 0)
        H5Tclose(type);
    return id;
}

vf_status vf_h5_dataset_open(void *state, const char *name, int64_t *out)
{
    const vf_h5 *file = state;
    const bool foreign = !file->output || file->inside;
    *out = H5I_INVALID_HID;
    vf_status status = vf_h5_check_links(state, name);
    if (status != VF_OK)
        return status;
    hid_t id = H5Dopen2(file->id, name, H5P_DEFAULT);
    if (id < 0)
        return vf_h5_fail(file, vf_h5_error(file), "cannot open the dataset '%s'", name);
    if (foreign) {
        const hid_t list = H5Dget_create_plist(id);
        if (list < 0)
            status = vf_h5_fail(file, VF_ERR_INPUT, "cannot read how the dataset '%s' is stored", name);
        VF_TRY(status, check_storage(file, name, list));
        VF_TRY(status, check_size(file, name, id));
        if (status == VF_OK)
            id = open_with_cache(file, name, id, list);
        if (list >= 0)
            H5Pclose(list);
        if (status == VF_OK && id < 0)
            status = vf_h5_fail(file, VF_ERR_INPUT, "cannot open the dataset '%s'", name);
    }
    if (status != VF_OK && id >= 0)
        H5Dclose(id);
    else
        *out = id;
    return status;
}

/* ---- versions ---- */

/* Releases before these have holes that were published. No version is known to have none. */
static const struct {
    unsigned major, minor, release;
    const char *holes;
} closed_in[] = {{1, 14, 4, "such as CVE-2024-33873"}, {2, 0, 0, "such as CVE-2025-2915"}};

const char *vf_h5_about(char text[VF_H5_ABOUT])
{
    unsigned major = 0, minor = 0, release = 0;
    const char *holes = NULL;
    H5get_libversion(&major, &minor, &release);
    for (size_t i = 0; i < sizeof closed_in / sizeof *closed_in && !holes; i++) {
        const unsigned fixed[3] = {closed_in[i].major, closed_in[i].minor, closed_in[i].release},
                       here[3] = {major, minor, release};
        int d = 0;
        while (d < 2 && here[d] == fixed[d])
            d++;
        if (here[d] < fixed[d])
            holes = closed_in[i].holes;
    }
    text[0] = '\0';
    vf_append(text, VF_H5_ABOUT, "HDF5 %u.%u.%u; files are read %s", major, minor, release, vf_sealed_text());
    if (holes)
        vf_append(text, VF_H5_ABOUT,
                  "\nwarning: this version of HDF5 has published holes (%s), unless your distribution closed them",
                  holes);
    return text;
}
