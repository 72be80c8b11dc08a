/* NAMD's binary coordinates (.coor): the number of atoms, a 32-bit integer, then x, y and z of each atom as doubles, in angstrom.
 * The byte order is that of the machine that wrote them. Nothing marks the file, so its size must fit its first number. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "binary_coordinates.h"
#include "text/stored_number.h"
#include "voxfield/output.h"
#include "voxfield/timer.h"

enum { COUNT = 4, ATOM = 24 };

static int64_t stated_atoms(const char *bytes, size_t size, bool big_endian)
{
    return size >= COUNT ? stored_integer((const unsigned char *)bytes, big_endian) : 0;
}

static bool fits(const char *bytes, size_t size, bool big_endian)
{
    const int64_t atoms = stated_atoms(bytes, size, big_endian);
    return atoms > 0 && (uint64_t)size == COUNT + ATOM * (uint64_t)atoms;
}

bool is_namdbin(const char *name, const char *bytes, size_t size)
{
    const bool named = vf_path_has_extension(name, ".coor") || vf_path_has_extension(name, ".coor.gz");
    bool binary = size < COUNT; /* a text file of this name is a PDB file */
    for (size_t i = 0; i < COUNT && i < size; i++)
        binary |= (unsigned char)bytes[i] < '\t' || (unsigned char)bytes[i] > '~';
    return fits(bytes, size, false) || fits(bytes, size, true) || (named && binary);
}

vf_status read_namdbin(molecule_reader *r, const char *bytes, size_t size)
{
    const bool big_endian = !fits(bytes, size, false);
    const int64_t atoms = stated_atoms(bytes, size, big_endian);
    if (!fits(bytes, size, big_endian))
        return vf_fail(r->ctx, VF_ERR_INPUT,
                       "%s: as NAMD's binary coordinates, it states %" PRId64 " or, in the other byte order, %" PRId64
                       " atoms, which its %zu bytes do not fit (4, and 24 an atom); copy it again",
                       r->name, stated_atoms(bytes, size, false), stated_atoms(bytes, size, true), size);
    for (int64_t i = 0; i < atoms; i++) {
        double xyz[3];
        for (int a = 0; a < 3; a++) {
            xyz[a] = stored_double((const unsigned char *)bytes + COUNT + ATOM * i + 8 * a, big_endian);
            if (!(fabs(xyz[a]) <= MOST_COORDINATE))
                return binary_coordinate_fail(r, i, a, xyz[a]);
        }
        const vf_status status = reader_add_atom(r);
        if (status != VF_OK)
            return status;
        molecule_place(r->out, i, xyz);
    }
    strcpy(r->out->dialect, "NAMD coordinates");
    return VF_OK;
}
