/* TRR trajectories of GROMACS, in single or double precision. A frame, in big-endian numbers:
 *
 *   4     1993
 *   4+16  13; 12 and the text "GMX_trn_file"
 *   40    the bytes of ten parts: input record, energies, box, virial, pressure, topology, symbols, x, v, f
 *   12    the number of atoms, step, number of energies
 *   8|16  time and lambda, of the file's precision
 *   then the parts: box, virial, pressure (nine numbers each); x, v, f (three of each atom), nm. A part of 0 bytes is
 *   missing. GROMACS writes no others.
 *
 * The precision follows from the bytes of a part. Frames without x have velocities or forces alone. */
#include <inttypes.h>
#include <string.h>

#include "trajectory_file.h"

enum { MAGIC = 1993, HEAD = 76, FLOAT = 4, DOUBLE = 8 };
enum { PART_BOX = 2, PART_VIRIAL, PART_PRESSURE, PART_X = 7, PART_V, PART_F, PARTS };

typedef struct trr_header {
    int64_t part[PARTS]; /* bytes */
    int64_t atoms;
    int width; /* of a number: FLOAT or DOUBLE */
    bool complete;
} trr_header;

/* Finds the width of a number and checks the bytes of all parts. */
static bool take_parts(trr_header *h, const unsigned char *bytes)
{
    for (int p = 0; p < PARTS; p++) {
        const int64_t most = p < PART_BOX || (p > PART_PRESSURE && p < PART_X) ? 0 : p < PART_X ? 9 : 3 * h->atoms;
        h->part[p] = xdr_integer(bytes + 4 * p);
        if (h->part[p] == 0)
            continue;
        const int width = h->part[p] == most * FLOAT ? FLOAT : h->part[p] == most * DOUBLE ? DOUBLE : 0;
        if (most == 0 || width == 0 || (h->width > 0 && h->width != width))
            return false;
        h->width = width;
    }
    return true;
}

static vf_status read_header(const trajectory *t, int64_t number, int64_t offset, trr_header *h)
{
    enum { PARTS_AT = 24, ATOMS_AT = 64 };
    unsigned char bytes[HEAD] = {0};
    const int64_t rest = t->size - offset, most = rest < HEAD ? rest : HEAD;
    *h = (trr_header){0};
    const vf_status status = trajectory_bytes(t, offset, bytes, (size_t)most);
    if (status != VF_OK)
        return status;
    if (most >= PARTS_AT && (xdr_integer(bytes) != MAGIC || memcmp(bytes + 12, "GMX_trn_file", 12) != 0))
        return xdr_fail(t, number, offset, "does not begin as a frame of a TRR file does (with 1993 and GMX_trn_file)");
    h->complete = most == HEAD;
    if (!h->complete)
        return VF_OK;
    h->atoms = xdr_integer(bytes + ATOMS_AT);
    if (h->atoms < 1)
        return xdr_fail(t, number, offset, "has no atoms, or 2^31 and more");
    if (!take_parts(h, bytes + PARTS_AT))
        return xdr_fail(t, number, offset, "has parts whose sizes do not fit its number of atoms");
    return h->width > 0 ? VF_OK : xdr_fail(t, number, offset, "has no parts, so its precision is unknown");
}

static vf_status look(const trajectory *t, int64_t number, int64_t offset, xdr_header *out)
{
    trr_header h;
    const vf_status status = read_header(t, number, offset, &h);
    if (status != VF_OK || !h.complete)
        return status;
    out->atoms = h.atoms;
    out->positions = h.part[PART_X] > 0;
    out->bytes = HEAD + 2 * h.width;
    for (int p = 0; p < PARTS; p++)
        out->bytes += h.part[p];
    return VF_OK;
}

static vf_status open_trr(trajectory *t)
{
    return xdr_find_frames(t, look);
}

static vf_status read_again(const trajectory *t, int64_t frame, trr_header *h)
{
    const vf_status status = read_header(t, frame + 1, t->xdr.offset[frame], h);
    if (status == VF_OK && (h->atoms != t->atoms || !h->complete || h->part[PART_X] == 0))
        return xdr_fail(t, frame + 1, t->xdr.offset[frame], "has changed since the file was opened");
    return status;
}

static vf_status read_frame(const trajectory *t, int64_t frame, double *x, double *y, double *z)
{
    trr_header h;
    const vf_status status = read_again(t, frame, &h);
    const int64_t behind = h.part[PART_BOX] + h.part[PART_VIRIAL] + h.part[PART_PRESSURE];
    return status == VF_OK
               ? xdr_positions(t, frame, t->xdr.offset[frame] + HEAD + 2 * h.width + behind, h.width, x, y, z)
               : status;
}

static vf_status read_cell(const trajectory *t, int64_t frame, unit_cell *cell)
{
    unsigned char box[9 * DOUBLE];
    trr_header h;
    vf_status status = read_again(t, frame, &h);
    if (status != VF_OK || h.part[PART_BOX] == 0)
        return status;
    status = trajectory_bytes(t, t->xdr.offset[frame] + HEAD + 2 * h.width, box, (size_t)h.part[PART_BOX]);
    if (status == VF_OK)
        xdr_box(box, h.width, cell);
    return status;
}

const trajectory_format trr_format = {open_trr, read_frame, read_cell, xdr_close};
