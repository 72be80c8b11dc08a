#include "xdr_frames.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "text/stored_number.h"
#include "trajectory_file.h"

static const double angstrom = 10; /* of a nm */

/* ---- numbers ---- */

int32_t xdr_integer(const unsigned char *bytes)
{
    return stored_integer(bytes, true);
}

double xdr_real(const unsigned char *bytes, int width)
{
    return width == 4 ? (double)stored_float(bytes, true) : stored_double(bytes, true);
}

void xdr_box(const unsigned char *bytes, int width, unit_cell *out)
{
    double vectors[3][3];
    for (int i = 0; i < 9; i++)
        vectors[i / 3][i % 3] = xdr_real(bytes + i * width, width);
    cell_of_vectors(vectors, angstrom, out);
}

vf_status xdr_positions(const trajectory *t, int64_t frame, int64_t offset, int width, double *x, double *y, double *z)
{
    enum { CHUNK = 2048, MOST_BYTES = 8 };
    unsigned char bytes[CHUNK * 3 * MOST_BYTES];
    double *const out[3] = {x, y, z};
    for (int64_t from = 0; from < t->atoms; from += CHUNK) {
        const int64_t some = t->atoms - from < CHUNK ? t->atoms - from : CHUNK, row = 3 * width;
        const vf_status status = trajectory_bytes(t, offset + from * row, bytes, (size_t)(some * row));
        if (status != VF_OK)
            return status;
        for (int64_t i = 0; i < 3 * some; i++) {
            const double value = angstrom * xdr_real(bytes + i * width, width);
            out[i % 3][from + i / 3] = value;
            if (!isfinite(value))
                return trajectory_not_finite(t, frame, (int)(i % 3), from + i / 3, value);
        }
    }
    return VF_OK;
}

/* ---- frames ---- */

static vf_status add_frame(trajectory *t, int64_t offset)
{
    if (t->frames == t->xdr.capacity) {
        const int64_t capacity = 2 * t->xdr.capacity + 64;
        int64_t *larger = realloc(t->xdr.offset, (size_t)capacity * sizeof *larger);
        if (!larger)
            return vf_fail(t->ctx, VF_ERR_MEMORY, "%s: no memory for a list of %" PRId64 " frames", t->path, capacity);
        t->xdr.offset = larger;
        t->xdr.capacity = capacity;
    }
    t->xdr.offset[t->frames++] = offset;
    return VF_OK;
}

static vf_status take_frame(trajectory *t, int64_t number, int64_t offset, const xdr_header *head)
{
    if (!head->positions) {
        t->xdr.left_out++;
        return VF_OK;
    }
    if (t->frames > 0 && head->atoms != t->atoms)
        return trajectory_fail(t,
                               "frame %" PRId64 ", at byte %" PRId64 ", has %" PRId64
                               " atom%s, but the first has %" PRId64 "; all frames must have the same atoms",
                               number, offset, head->atoms, vf_plural(head->atoms), t->atoms);
    t->atoms = head->atoms;
    return add_frame(t, offset);
}

vf_status xdr_fail(const trajectory *t, int64_t number, int64_t offset, const char *why)
{
    return trajectory_fail(t,
                           "frame %" PRId64 ", at byte %" PRId64
                           ", %s; the file is damaged: copy it again, or write the "
                           "frames before with gmx trjconv -e",
                           number, offset, why);
}

/* The file ends within frame `number`, after `rest` of its bytes. */
static void warn_of_end(const trajectory *t, int64_t number, int64_t rest, int64_t bytes)
{
    char of[64] = "";
    if (bytes > 0)
        snprintf(of, sizeof of, ", after %" PRId64 " of its %" PRId64 " bytes", rest, bytes);
    vf_warn(t->ctx, "%s: the file ends within frame %" PRId64 "%s; ignoring that frame, %" PRId64 " %s left", t->path,
            number, of, t->frames, t->frames == 1 ? "is" : "are");
}

vf_status xdr_find_frames(trajectory *t, xdr_look look)
{
    enum { FRAMES_BETWEEN_LOOKS = 1 << 12 };
    vf_status status = VF_OK;
    int64_t offset = 0, number = 0;
    while (status == VF_OK && offset < t->size) {
        xdr_header head = {0};
        number++;
        status = look(t, number, offset, &head);
        if (status == VF_OK && number % FRAMES_BETWEEN_LOOKS == 0 && vf_cancelled(t->ctx))
            status = vf_fail(t->ctx, VF_ERR_CANCELLED, "%s: interrupted while reading", t->path);
        if (status != VF_OK)
            break;
        const int64_t rest = t->size - offset;
        if (head.bytes == 0 || head.bytes > rest) {
            if (t->frames == 0)
                return trajectory_fail(t, "has no complete frame%s: it ends after %" PRId64 " bytes; copy it again",
                                       t->xdr.left_out > 0 ? " with positions" : "", t->size);
            warn_of_end(t, number, rest, head.bytes);
            break;
        }
        status = take_frame(t, number, offset, &head);
        offset += head.bytes;
    }
    if (status == VF_OK && t->frames == 0)
        return trajectory_fail(
            t, "none of its %" PRId64 " frame%s has positions; use the trajectory with positions (GROMACS: nstxout)",
            t->xdr.left_out, vf_plural(t->xdr.left_out));
    if (status == VF_OK && t->xdr.left_out > 0)
        vf_note(t->ctx, "note: %s: %" PRId64 " frame%s no positions and %s left out; %" PRId64 " %s, counted from 1",
                t->path, t->xdr.left_out, t->xdr.left_out == 1 ? " has" : "s have", t->xdr.left_out == 1 ? "is" : "are",
                t->frames, t->frames == 1 ? "is left" : "are left");
    return status;
}

void xdr_close(trajectory *t)
{
    free(t->xdr.offset);
}
