/* The records of a DCD file: bytes, markers, and the offsets of a frame's records (dcd_file.h). */
#include <inttypes.h>
#include <math.h>

#include "text/stored_number.h"
#include "trajectory_file.h"

int32_t dcd_integer(const trajectory *t, const unsigned char *bytes)
{
    return stored_integer(bytes, t->dcd.big_endian);
}

/* ---- records ---- */

int64_t dcd_record_bytes(const trajectory *t, int64_t bytes)
{
    return bytes + 2 * t->dcd.marker;
}

vf_status dcd_read_marker(const trajectory *t, int64_t offset, int64_t *value)
{
    unsigned char bytes[8] = {0};
    const vf_status status = trajectory_bytes(t, offset, bytes, (size_t)t->dcd.marker);
    if (status == VF_OK) /* lengths of 2^63 and more become negative, which is also an error */
        *value = t->dcd.marker == 4 ? dcd_integer(t, bytes) : (int64_t)stored_unsigned(bytes, 8, t->dcd.big_endian);
    return status;
}

/* Checks that a record of a frame has the length that follows from the header. */
static vf_status check_record(const trajectory *t, int64_t frame, const char *what, int64_t offset, int64_t bytes)
{
    int64_t before = -1, behind = -1;
    vf_status status = dcd_read_marker(t, offset, &before);
    VF_TRY(status, dcd_read_marker(t, offset + t->dcd.marker + bytes, &behind));
    if (status == VF_OK && (before != bytes || behind != bytes))
        return trajectory_fail(
            t,
            "frame %" PRId64 ": the record of %s, at byte %" PRId64 ", should have %" PRId64
            " bytes according to the header (%" PRId64 " atom%s, %" PRId64 " of them fixed%s%s), but its ends say "
            "%" PRId64 " and %" PRId64 "; the file is damaged or of another kind; write it again with "
            "catdcd, cpptraj or MDAnalysis",
            frame + 1, what, offset, bytes, t->atoms, vf_plural(t->atoms), t->atoms - t->dcd.moving,
            t->dcd.cell ? ", with unit cells" : "", t->dcd.fourth ? ", with a fourth dimension" : "", before, behind);
    return status;
}

/* ---- frames ---- */

static int64_t frame_offset(const trajectory *t, int64_t frame)
{
    return t->dcd.begin + (frame > 0 ? t->dcd.first_bytes + (frame - 1) * t->dcd.frame_bytes : 0);
}

static int64_t atoms_in(const trajectory *t, int64_t frame)
{
    return frame > 0 ? t->dcd.moving : t->atoms;
}

/* The offset of x, y, z (axis 0 to 2) or the fourth dimension (3) of a frame. */
static int64_t axis_offset(const trajectory *t, int64_t frame, int axis)
{
    return frame_offset(t, frame) + (t->dcd.cell ? dcd_record_bytes(t, DCD_CELL_BYTES) : 0) +
           axis * dcd_record_bytes(t, 4 * atoms_in(t, frame));
}

static const char *const axis_names[] = {"x", "y", "z", "the fourth dimension"};

vf_status dcd_check_frame(const trajectory *t, int64_t frame)
{
    vf_status status = VF_OK;
    if (t->dcd.cell)
        status = check_record(t, frame, "the unit cell", frame_offset(t, frame), DCD_CELL_BYTES);
    for (int axis = 0; status == VF_OK && axis < (t->dcd.fourth ? 4 : 3); axis++)
        status = check_record(t, frame, axis_names[axis], axis_offset(t, frame, axis), 4 * atoms_in(t, frame));
    return status;
}

/* Reads one coordinate of the atoms in a frame. */
vf_status dcd_read_axis(const trajectory *t, int64_t frame, int axis, double *out)
{
    enum { CHUNK = 4096 };
    unsigned char bytes[4 * CHUNK];
    const int64_t count = atoms_in(t, frame), offset = axis_offset(t, frame, axis) + t->dcd.marker;
    const int32_t *index = frame > 0 ? t->dcd.index : NULL;
    for (int64_t from = 0; from < count; from += CHUNK) {
        const int64_t some = count - from < CHUNK ? count - from : CHUNK;
        const vf_status status = trajectory_bytes(t, offset + 4 * from, bytes, 4 * (size_t)some);
        if (status != VF_OK)
            return status;
        for (int64_t i = 0; i < some; i++) {
            const int64_t atom = index ? index[from + i] - 1 : from + i;
            out[atom] = (double)stored_float(bytes + 4 * i, t->dcd.big_endian);
            if (!isfinite(out[atom]))
                return trajectory_not_finite(t, frame, axis, atom, out[atom]);
        }
    }
    return VF_OK;
}

vf_status dcd_read_cell(const trajectory *t, int64_t frame, double values[6])
{
    unsigned char bytes[DCD_CELL_BYTES];
    vf_status status = check_record(t, frame, "the unit cell", frame_offset(t, frame), DCD_CELL_BYTES);
    VF_TRY(status, trajectory_bytes(t, frame_offset(t, frame) + t->dcd.marker, bytes, sizeof bytes));
    for (int i = 0; status == VF_OK && i < 6; i++)
        values[i] = stored_double(bytes + 8 * i, t->dcd.big_endian);
    return status;
}
