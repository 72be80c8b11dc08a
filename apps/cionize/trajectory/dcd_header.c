/* Reads and checks the header of a DCD file, and finds the frames (dcd_file.h). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/stored_number.h"
#include "trajectory_file.h"

enum {
    CONTROL_BYTES = 84,               /* of the first record */
    MOST_ATOMS = (INT32_MAX - 8) / 4, /* limit of a 32-bit marker for a record's length */
};

/* Checks that the header's record at `offset` lies within the file and that its markers agree. */
static vf_status enter_record(const trajectory *t, const char *what, int64_t offset, int64_t *bytes)
{
    int64_t behind = -1;
    if (t->size - offset < 2 * t->dcd.marker)
        return trajectory_fail(t, "the file ends before its %s; copy it again", what);
    vf_status status = dcd_read_marker(t, offset, bytes);
    if (status != VF_OK)
        return status;
    if (*bytes < 0 || *bytes > t->size - offset - 2 * t->dcd.marker)
        return trajectory_fail(t,
                               "the record of its %s, at byte %" PRId64 ", should have %" PRId64
                               " bytes, but the file ends before; it is damaged or incomplete: copy it again",
                               what, offset, *bytes);
    status = dcd_read_marker(t, offset + t->dcd.marker + *bytes, &behind);
    if (status == VF_OK && behind != *bytes)
        return trajectory_fail(t,
                               "the record of its %s, at byte %" PRId64 ", begins with a length of %" PRId64
                               " and ends with %" PRId64 "; the file is damaged; copy it again",
                               what, offset, *bytes, behind);
    return status;
}

/* Whether a record of this size would lie within the file and end with the length `said`. */
static bool ends_there(const trajectory *t, int64_t offset, int64_t bytes, int64_t said)
{
    int64_t behind = -1;
    return bytes >= 0 && bytes <= t->size - offset - 2 * t->dcd.marker &&
           dcd_read_marker(t, offset + t->dcd.marker + bytes, &behind) == VF_OK && behind == said;
}

/* Enters the record of the titles. Like enter_record, but accepts files like one of MDAnalysis's test data, whose
 * markers say 164 around three titles of 80 bytes and their number. VMD and MDAnalysis trust the number. */
static vf_status enter_titles(const trajectory *t, int64_t offset, int64_t *bytes)
{
    unsigned char number[4];
    int64_t said = -1;
    if (t->size - offset >= 2 * t->dcd.marker + 4) {
        vf_status status = dcd_read_marker(t, offset, &said);
        VF_TRY(status, trajectory_bytes(t, offset + t->dcd.marker, number, sizeof number));
        if (status != VF_OK)
            return status;
        *bytes = 4 + 80 * (int64_t)dcd_integer(t, number);
        if (!ends_there(t, offset, said, said) && ends_there(t, offset, *bytes, said))
            return VF_OK;
    }
    return enter_record(t, "titles", offset, bytes);
}

/* ---- recognising the file ---- */

typedef struct known_format {
    const char *bytes;
    int count;
    const char *advice;
} known_format;

static const known_format others[] = {
    {"\x1f\x8b", 2, "is compressed with gzip; uncompress it (gunzip), because frames are read in any order"},
    {"BZh", 3, "is compressed with bzip2; uncompress it (bunzip2), because frames are read in any order"},
    {"\xfd"
     "7zXZ",
     5, "is compressed with xz; uncompress it (unxz), because frames are read in any order"},
    {"\x28\xb5\x2f\xfd", 4, "is compressed with zstd; uncompress it (unzstd), because frames are read in any order"},
    {"PK\x03\x04", 4, "is a zip archive; unpack it (unzip)"},
};

static bool is_first_record(const unsigned char *head, int marker, bool big_endian, uint64_t bytes)
{
    return stored_unsigned(head, marker, big_endian) == bytes &&
           (memcmp(head + marker, "CORD", 4) == 0 || memcmp(head + marker, "VELD", 4) == 0);
}

/* Determines byte order and marker size from the first record's length and name. */
static vf_status recognise(trajectory *t)
{
    enum { HEAD = 12, WIDE_CONTROL_BYTES = 164 };
    unsigned char head[HEAD] = {0};
    const vf_status status = trajectory_bytes(t, 0, head, t->size < HEAD ? (size_t)t->size : HEAD);
    if (status != VF_OK)
        return status;
    for (int kind = 0; kind < 4; kind++) {
        t->dcd.big_endian = kind & 1;
        t->dcd.marker = kind & 2 ? 8 : 4;
        if (is_first_record(head, t->dcd.marker, t->dcd.big_endian, WIDE_CONTROL_BYTES))
            return vf_fail(t->ctx, VF_ERR_UNSUPPORTED,
                           "%s: is a DCD file with 64-bit integers in its header, which no program supports; "
                           "write it again with a program built for 32-bit integers",
                           t->path);
        if (!is_first_record(head, t->dcd.marker, t->dcd.big_endian, CONTROL_BYTES))
            continue;
        if (head[t->dcd.marker] == 'V')
            return trajectory_fail(t, "holds velocities (VELD), not coordinates; use a trajectory of coordinates");
        return VF_OK;
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (memcmp(head, others[i].bytes, (size_t)others[i].count) == 0)
            return vf_fail(t->ctx, VF_ERR_UNSUPPORTED, "%s: %s", t->path, others[i].advice);
    return trajectory_fail(
        t, "is neither a DCD trajectory, which begins with a record of 84 bytes named CORD, nor one of the formats "
           "XTC, TRR, AMBER NetCDF or GROMACS .gro; convert it to DCD with mdconvert, catdcd, cpptraj or MDAnalysis");
}

/* ---- opening ---- */

/* Reads the first record, the titles, and the number of atoms. *offset moves behind them. */
static vf_status read_header(trajectory *t, int64_t *offset)
{
    unsigned char control[CONTROL_BYTES] = {0};
    int64_t bytes = 0;
    vf_status status = enter_record(t, "header", *offset, &bytes);
    VF_TRY(status, trajectory_bytes(t, *offset + t->dcd.marker, control, sizeof control));
    if (status != VF_OK)
        return status;
    /* control[0..3] is the name; icntrl(n) is at 4 n */
    t->dcd.promised = dcd_integer(t, control + 4);
    t->dcd.version = dcd_integer(t, control + 80);
    t->dcd.cell = t->dcd.version != 0 && dcd_integer(t, control + 44) != 0;
    t->dcd.fourth = t->dcd.version != 0 && dcd_integer(t, control + 48) == 1;
    const int64_t fixed = dcd_integer(t, control + 36);
    *offset += dcd_record_bytes(t, bytes);

    status = enter_titles(t, *offset, &bytes);
    if (status != VF_OK)
        return status;
    *offset += dcd_record_bytes(t, bytes);

    status = enter_record(t, "number of atoms", *offset, &bytes);
    if (status == VF_OK && bytes != 4)
        return trajectory_fail(t,
                               "the record of its number of atoms, at byte %" PRId64 ", has %" PRId64
                               " bytes instead of 4; the file is damaged; copy it again",
                               *offset, bytes);
    VF_TRY(status, trajectory_bytes(t, *offset + t->dcd.marker, control, 4));
    if (status != VF_OK)
        return status;
    t->atoms = dcd_integer(t, control);
    t->dcd.moving = t->atoms - fixed;
    *offset += dcd_record_bytes(t, bytes);
    if (t->atoms < 1 || t->atoms > MOST_ATOMS)
        return trajectory_fail(t, "has %" PRId64 " atoms according to its header; expected 1 to %d", t->atoms,
                               MOST_ATOMS);
    if (fixed < 0 || fixed >= t->atoms)
        return trajectory_fail(
            t, "%" PRId64 " of its %" PRId64 " atom%s %s fixed according to its header; at least one must move", fixed,
            t->atoms, vf_plural(t->atoms), fixed == 1 ? "is" : "are");
    return VF_OK;
}

/* Finds the frames, and how many are complete. */
static vf_status count_frames(trajectory *t)
{
    const int64_t cell = t->dcd.cell ? dcd_record_bytes(t, DCD_CELL_BYTES) : 0, axes = t->dcd.fourth ? 4 : 3;
    t->dcd.first_bytes = cell + axes * dcd_record_bytes(t, 4 * t->atoms);
    t->dcd.frame_bytes = cell + axes * dcd_record_bytes(t, 4 * t->dcd.moving);
    const int64_t behind_first = t->size - t->dcd.begin - t->dcd.first_bytes;
    if (behind_first < 0)
        return trajectory_fail(t,
                               "has no complete frame: a frame of %" PRId64 " atom%s needs %" PRId64
                               " bytes, but only %" PRId64
                               " follow the header; the header is wrong or the file incomplete",
                               t->atoms, vf_plural(t->atoms), t->dcd.first_bytes, t->size - t->dcd.begin);
    t->frames = 1 + behind_first / t->dcd.frame_bytes;
    return VF_OK;
}

static void warn_of_frames(const trajectory *t)
{
    const int64_t rest = (t->size - t->dcd.begin - t->dcd.first_bytes) % t->dcd.frame_bytes;
    char promised[64] = "";
    if (t->dcd.promised > 0 && t->dcd.promised != t->frames)
        snprintf(promised, sizeof promised, ", but its header says %" PRId32, t->dcd.promised);
    if (rest > 0)
        vf_warn(t->ctx,
                "%s: the file ends within frame %" PRId64 ", after %" PRId64 " of its %" PRId64
                " bytes; ignoring that frame, %" PRId64 " %s left%s",
                t->path, t->frames + 1, rest, t->dcd.frame_bytes, t->frames, t->frames == 1 ? "is" : "are", promised);
    else if (*promised)
        vf_warn(t->ctx, "%s: the file has %" PRId64 " frame%s%s", t->path, t->frames, vf_plural(t->frames), promised);
}

/* Reads the list of atoms that move, if atoms are fixed. The size of the file was checked before. */
static vf_status read_index(trajectory *t, int64_t offset)
{
    vf_status status = VF_OK;
    t->dcd.index = malloc((size_t)t->dcd.moving * sizeof *t->dcd.index);
    unsigned char *seen = calloc((size_t)t->atoms, 1);
    if (!t->dcd.index || !seen)
        status = vf_fail(t->ctx, VF_ERR_MEMORY, "%s: no memory for %" PRId64 " atoms", t->path, t->atoms);
    if (status == VF_OK)
        status =
            trajectory_bytes(t, offset + t->dcd.marker, t->dcd.index, (size_t)t->dcd.moving * sizeof *t->dcd.index);
    for (int64_t i = 0; status == VF_OK && i < t->dcd.moving; i++) {
        unsigned char bytes[4];
        memcpy(bytes, &t->dcd.index[i], sizeof bytes);
        t->dcd.index[i] = dcd_integer(t, bytes);
        if (t->dcd.index[i] < 1 || t->dcd.index[i] > t->atoms || seen[t->dcd.index[i] - 1]++)
            status =
                trajectory_fail(t,
                                "number %" PRId64 " of the atoms that move is %" PRId32
                                ", which is not one of the %" PRId64 " atom%s, or is a duplicate; the file is damaged",
                                i + 1, t->dcd.index[i], t->atoms, vf_plural(t->atoms));
    }
    free(seen);
    return status;
}

static vf_status read_fixed(trajectory *t)
{
    vf_status status = VF_OK;
    for (int axis = 0; status == VF_OK && axis < 3; axis++) {
        t->dcd.fixed[axis] = malloc((size_t)t->atoms * sizeof(double));
        status = t->dcd.fixed[axis]
                     ? dcd_read_axis(t, 0, axis, t->dcd.fixed[axis])
                     : vf_fail(t->ctx, VF_ERR_MEMORY, "%s: no memory for %" PRId64 " atoms", t->path, t->atoms);
    }
    return status;
}

vf_status dcd_read_layout(trajectory *t)
{
    int64_t index_at = 0, bytes = 0;
    vf_status status = recognise(t);
    VF_TRY(status, read_header(t, &t->dcd.begin));
    if (status != VF_OK)
        return status;
    if (t->dcd.moving < t->atoms) {
        index_at = t->dcd.begin;
        status = enter_record(t, "list of atoms that move", index_at, &bytes);
        if (status == VF_OK && bytes != 4 * t->dcd.moving)
            status = trajectory_fail(t,
                                     "its list of atoms that move has %" PRId64 " bytes instead of %" PRId64
                                     "; the file is damaged; copy it again",
                                     bytes, 4 * t->dcd.moving);
        t->dcd.begin += dcd_record_bytes(t, bytes);
    }
    VF_TRY(status, count_frames(t));
    /* The second frame shows whether fixed atoms are really left out, the last whether all frames have the same
     * size. */
    const int64_t looks[] = {0, 1, t->frames - 1};
    for (int i = 0; status == VF_OK && i < 3; i++)
        if (looks[i] < t->frames)
            status = dcd_check_frame(t, looks[i]);
    if (status == VF_OK && index_at > 0)
        status = read_index(t, index_at);
    if (status == VF_OK && index_at > 0)
        status = read_fixed(t);
    if (status == VF_OK)
        warn_of_frames(t);
    return status;
}
