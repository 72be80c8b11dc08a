/* Opens a trajectory: finds out its format, whose functions do the rest. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "molecule/amber_netcdf.h"
#include "molecule/gro_text.h"
#include "trajectory_file.h"
#include "voxfield/output.h"

vf_status trajectory_fail(const trajectory *t, const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return vf_fail(t->ctx, VF_ERR_INPUT, "%s: %s", t->path, text);
}

vf_status trajectory_bytes(const trajectory *t, int64_t offset, void *to, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        const ssize_t got = pread(t->fd, (char *)to + done, bytes - done, (off_t)(offset + (int64_t)done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return trajectory_fail(t, "cannot read: %s", strerror(errno));
        if (got == 0)
            return trajectory_fail(t, "the file ends at byte %" PRId64 ", earlier than its header says; copy it again",
                                   offset + (int64_t)done);
        done += (size_t)got;
    }
    return VF_OK;
}

vf_status trajectory_not_finite(const trajectory *t, int64_t frame, int axis, int64_t atom, double value)
{
    return trajectory_fail(t,
                           "frame %" PRId64 ": %c of atom %" PRId64
                           " is %s; the simulation failed or the file is damaged; leave out that frame with --frames",
                           frame + 1, "xyz"[axis], atom + 1, isnan(value) ? "NaN" : "infinite");
}

static vf_status open_file(trajectory *t)
{
    struct stat info;
    t->fd =
        open(t->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* O_NONBLOCK: opening a pipe without a writer would wait */
    if (t->fd < 0)
        return trajectory_fail(t, "cannot open: %s; check the name and the permissions", strerror(errno));
    if (fstat(t->fd, &info) != 0 || !S_ISREG(info.st_mode))
        return trajectory_fail(t, "is not a regular file; frames are read in any order, which needs one");
    t->size = info.st_size;
    return t->size > 0 ? VF_OK : trajectory_fail(t, "is empty");
}

/* A .gro file shows in its first lines. One that is damaged there counts by its name, so that the message suits it. Where
 * no format shows, the reader of DCD files says what the file is. */
static vf_status recognise(trajectory *t)
{
    enum { LOOK = 4096 };
    static const struct {
        const char *bytes;
        size_t count;
        const trajectory_format *format;
    } known[] = {{"\x00\x00\x07\xcb", 4, &xtc_format},
                 {"\x00\x00\x07\xe7", 4, &xtc_format},
                 {"\x00\x00\x07\xc9", 4, &trr_format}};
    char head[LOOK];
    const size_t bytes = t->size < LOOK ? (size_t)t->size : LOOK;
    const vf_status status = trajectory_bytes(t, 0, head, bytes);
    if (status != VF_OK)
        return status;
    const bool text = !memchr(head, '\0', bytes);
    const bool gro = text && (is_gro((text_piece){head, bytes}) || vf_path_has_extension(t->path, ".gro"));
    t->format = gro ? &gro_format : &dcd_format;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (bytes >= known[i].count && memcmp(head, known[i].bytes, known[i].count) == 0)
            t->format = known[i].format;
    if (is_netcdf(head, bytes))
        t->format = &netcdf_format;
    return VF_OK;
}

vf_status trajectory_open(vf_context *ctx, const char *path, trajectory **out)
{
    *out = NULL;
    trajectory *t = calloc(1, sizeof *t);
    if (!t)
        return vf_fail(ctx, VF_ERR_MEMORY, "%s: no memory to read it", path);
    t->ctx = ctx;
    t->fd = -1;
    t->path = strdup(path);
    vf_status status = t->path ? open_file(t) : vf_fail(ctx, VF_ERR_MEMORY, "%s: no memory to read it", path);
    VF_TRY(status, recognise(t));
    VF_TRY(status, t->format->open(t));
    if (status == VF_OK)
        *out = t;
    else
        trajectory_close(t);
    return status;
}

void trajectory_close(trajectory *t)
{
    if (!t)
        return;
    if (t->format)
        t->format->close(t);
    if (t->fd >= 0)
        close(t->fd);
    free(t->path);
    free(t);
}

/* ---- frames ---- */

static vf_status check_number(const trajectory *t, int64_t frame)
{
    if (frame < 0 || frame >= t->frames)
        return vf_fail(t->ctx, VF_ERR_ARGUMENT, "%s: there is no frame %" PRId64 "; it has %" PRId64, t->path,
                       frame + 1, t->frames);
    return VF_OK;
}

vf_status trajectory_read(const trajectory *t, int64_t frame, double *x, double *y, double *z)
{
    const vf_status status = check_number(t, frame);
    return status == VF_OK ? t->format->read(t, frame, x, y, z) : status;
}

vf_status trajectory_check_places(const trajectory *t, int64_t frame, const double *x, const double *y, const double *z)
{
    int64_t first = -1, count = 0;
    for (int64_t i = 0; i < t->atoms; i++)
        if (x[i] == 0 && y[i] == 0 && z[i] == 0 && count++ == 0)
            first = i;
    if (count < 2)
        return VF_OK;
    return trajectory_fail(t,
                           "frame %" PRId64 ": %" PRId64 " of %" PRId64
                           " atoms have no position, but 0 0 0 (the first is "
                           "atom %" PRId64 "); the frame was not written completely; leave it out with --frames",
                           frame + 1, count, t->atoms, first + 1);
}

/* ---- the molecule ---- */

static double distance(const double *x, const double *y, const double *z, int64_t i)
{
    return sqrt((x[i + 1] - x[i]) * (x[i + 1] - x[i]) + (y[i + 1] - y[i]) * (y[i + 1] - y[i]) +
                (z[i + 1] - z[i]) * (z[i + 1] - z[i]));
}

vf_status trajectory_compare(const trajectory *t, int64_t frame, const char *name, const double *x, const double *y,
                             const double *z)
{
    enum { FEW = 8 };
    const double least = 0.7, most = 1.9, factor = 1.5; /* bonds, in angstrom, and how far none is stretched */
    int64_t pairs = 0, other = 0;
    double here = 0, there = 0;
    double *own = malloc((size_t)t->atoms * 3 * sizeof *own);
    vf_status status = own ? trajectory_read(t, frame, own, own + t->atoms, own + 2 * t->atoms)
                           : vf_fail(t->ctx, VF_ERR_MEMORY, "no memory for %" PRId64 " atoms", t->atoms);
    for (int64_t i = 0; status == VF_OK && i + 1 < t->atoms; i++) {
        const double bond = distance(x, y, z, i);
        if (!(bond > least && bond < most))
            continue;
        const double now = distance(own, own + t->atoms, own + 2 * t->atoms, i);
        pairs++;
        other += now > factor * bond || now < bond / factor;
        here += bond;
        there += now;
    }
    free(own);
    if (pairs >= FEW && 2 * other > pairs)
        vf_warn(t->ctx,
                "%s: frame %" PRId64
                ": atoms that are bonded in %s, %.3g A apart on average, are %.3g A apart here; is it "
                "another molecule, another order of atoms, or another unit than angstrom?",
                t->path, frame + 1, name, here / (double)pairs, there / (double)pairs);
    return status;
}

vf_status trajectory_read_cell(const trajectory *t, int64_t frame, unit_cell *cell)
{
    *cell = (unit_cell){0};
    const vf_status status = check_number(t, frame);
    return status == VF_OK ? t->format->read_cell(t, frame, cell) : status;
}

const char *trajectory_path(const trajectory *t)
{
    return t->path;
}

int64_t trajectory_frames(const trajectory *t)
{
    return t->frames;
}

int64_t trajectory_atoms(const trajectory *t)
{
    return t->atoms;
}
