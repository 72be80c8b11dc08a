/* XTC trajectories of GROMACS. A frame, in big-endian numbers:
 *
 *   4   1995, or 2023 in GROMACS from 2023 on if there are more than 298,261,617 atoms
 *   4   the number of atoms N
 *   4+4 step; time
 *   36  the box: nine floats, nm
 *   4   N again
 *   12N x, y, z of each atom: floats, nm; only if N <= 9
 *       or else the precision (float), the lowest and highest integers (6 integers), the index of the size of
 *       differences, the number of bytes that follow (4 bytes; 8 of 2023), and the compressed coordinates
 *       (xtc_coordinates.h), filled up to a multiple of 4 bytes. */
#include <inttypes.h>
#include <stdlib.h>

#include "text/stored_number.h"
#include "trajectory_file.h"
#include "xtc_coordinates.h"

enum {
    MAGIC = 1995,
    MAGIC_LARGE = 2023,
    BOX = 16, /* offsets in a frame */
    AGAIN = 52,
    HEAD = 56,        /* up to and with N again */
    MOST_CODING = 40, /* bytes from the precision to the number of bytes */
    MOST_UNCOMPRESSED = 9
};

/* The header of a frame. `got` is how many of its bytes the file has. */
typedef struct xtc_header {
    unsigned char bytes[HEAD + MOST_CODING];
    int32_t atoms;
    bool compressed, complete;
    xtc_coding coding;
    int64_t begin, size; /* of the coordinates' bytes, filled up */
} xtc_header;

static void take_coding(xtc_header *h, bool large)
{
    const unsigned char *from = h->bytes + HEAD;
    xtc_coding *c = &h->coding;
    c->precision = stored_float(from, true);
    for (int a = 0; a < 3; a++) {
        c->lo[a] = xdr_integer(from + 4 + 4 * a);
        c->hi[a] = xdr_integer(from + 16 + 4 * a);
    }
    c->small = xdr_integer(from + 28);
    c->bytes = large ? (int64_t)stored_unsigned(from + 32, 8, true) : xdr_integer(from + 32);
}

/* Reads the header of frame `number` at `offset`. It is incomplete if the file ends within it. */
static vf_status read_header(const trajectory *t, int64_t number, int64_t offset, xtc_header *h)
{
    const int64_t rest = t->size - offset, most = rest < HEAD + MOST_CODING ? rest : HEAD + MOST_CODING;
    const char *why;
    *h = (xtc_header){0};
    const vf_status status = trajectory_bytes(t, offset, h->bytes, (size_t)most);
    if (status != VF_OK)
        return status;
    const int32_t magic = xdr_integer(h->bytes);
    if (most >= 4 && magic != MAGIC && magic != MAGIC_LARGE)
        return xdr_fail(t, number, offset, "does not begin as a frame of an XTC file does (with 1995 or 2023)");
    h->atoms = xdr_integer(h->bytes + 4);
    if (most >= 8 && h->atoms < 1)
        return xdr_fail(t, number, offset, "has no atoms, or 2^31 and more");
    h->compressed = h->atoms > MOST_UNCOMPRESSED;
    const bool large = magic == MAGIC_LARGE;
    h->begin = HEAD + (h->compressed ? (large ? MOST_CODING : MOST_CODING - 4) : 0);
    h->complete = most >= h->begin;
    if (!h->complete)
        return VF_OK;
    if (xdr_integer(h->bytes + AGAIN) != h->atoms)
        return xdr_fail(t, number, offset, "states two different numbers of atoms");
    h->size = 12 * (int64_t)h->atoms;
    if (!h->compressed)
        return VF_OK;
    take_coding(h, large);
    if (!xtc_coding_valid(&h->coding, h->atoms, &why))
        return xdr_fail(t, number, offset, why);
    h->size = h->coding.bytes > t->size ? h->coding.bytes : (h->coding.bytes + 3) / 4 * 4;
    return VF_OK;
}

static vf_status look(const trajectory *t, int64_t number, int64_t offset, xdr_header *out)
{
    xtc_header h;
    const vf_status status = read_header(t, number, offset, &h);
    out->atoms = h.atoms;
    out->positions = true;
    if (status == VF_OK && h.complete)
        out->bytes = h.size > INT64_MAX - h.begin ? INT64_MAX : h.begin + h.size;
    return status;
}

static vf_status open_xtc(trajectory *t)
{
    return xdr_find_frames(t, look);
}

static vf_status read_frame(const trajectory *t, int64_t frame, double *x, double *y, double *z)
{
    const int64_t offset = t->xdr.offset[frame];
    xtc_header h;
    vf_status status = read_header(t, frame + 1, offset, &h);
    if (status == VF_OK && (h.atoms != t->atoms || !h.complete))
        status = xdr_fail(t, frame + 1, offset, "has changed since the file was opened");
    if (status != VF_OK)
        return status;
    if (!h.compressed)
        return xdr_positions(t, frame, offset + h.begin, 4, x, y, z);
    unsigned char *bits = h.coding.bytes <= t->size ? malloc((size_t)h.coding.bytes + 1) : NULL;
    if (!bits)
        return vf_fail(t->ctx, VF_ERR_MEMORY, "%s: no memory for %" PRId64 " bytes of a frame", t->path,
                       h.coding.bytes);
    status = trajectory_bytes(t, offset + h.begin, bits, (size_t)h.coding.bytes);
    if (status == VF_OK && !xtc_decode(&h.coding, bits, t->atoms, x, y, z))
        status = trajectory_fail(t,
                                 "frame %" PRId64 ", at byte %" PRId64
                                 ": its compressed coordinates are damaged; copy the file again, or leave out that "
                                 "frame with --frames",
                                 frame + 1, offset);
    free(bits);
    return status;
}

static vf_status read_cell(const trajectory *t, int64_t frame, unit_cell *cell)
{
    enum { BYTES = AGAIN - BOX };
    unsigned char box[BYTES];
    const vf_status status = trajectory_bytes(t, t->xdr.offset[frame] + BOX, box, sizeof box);
    if (status == VF_OK)
        xdr_box(box, 4, cell);
    return status;
}

const trajectory_format xtc_format = {open_xtc, read_frame, read_cell, xdr_close};
