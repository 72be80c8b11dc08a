/* Numeric types in HDF5 files. The rest of hdf5_io.h is in hdf5_io.c. */
#include <string.h>

#include "hdf5_internal.h"

/* Names for the two parts of a complex number. h5py's come first; they are used for writing. */
static const char *const part_names[][2] = {{"r", "i"}, {"real", "imag"}, {"re", "im"}};
enum { NAMINGS = sizeof part_names / sizeof *part_names };

static bool is_complex(vf_dtype type)
{
    return vf_dtype_real(type) != type;
}

bool vf_h5_same_kind(vf_dtype a, vf_dtype b)
{
    return is_complex(a) == is_complex(b);
}

/* The names of the parts of a stored complex number, in either order; NULL if the type is not complex. */
static const char *const *naming_of(hid_t stored)
{
    if (H5Tget_class(stored) != H5T_COMPOUND || H5Tget_nmembers(stored) != 2)
        return NULL;
    for (int n = 0; n < NAMINGS; n++)
        if (H5Tget_member_index(stored, part_names[n][0]) >= 0 && H5Tget_member_index(stored, part_names[n][1]) >= 0)
            return part_names[n];
    return NULL;
}

/* A compound of two parts of type `part`, which the caller closes. */
static hid_t complex_type(hid_t part, const char *const *names)
{
    size_t bytes = H5Tget_size(part);
    hid_t type = H5Tcreate(H5T_COMPOUND, 2 * bytes);
    if (type >= 0 && (H5Tinsert(type, names[0], 0, part) < 0 || H5Tinsert(type, names[1], bytes, part) < 0)) {
        H5Tclose(type);
        type = H5I_INVALID_HID;
    }
    return type;
}

hid_t vf_h5_memory_type(vf_dtype type, hid_t stored)
{
    hid_t part = vf_dtype_real(type) == VF_F32 ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE;
    const char *const *names = stored >= 0 ? naming_of(stored) : NULL;
    return is_complex(type) ? complex_type(part, names ? names : part_names[0]) : H5Tcopy(part);
}

hid_t vf_h5_file_type(vf_dtype type)
{
    hid_t part = vf_dtype_real(type) == VF_F32 ? H5T_IEEE_F32LE : H5T_IEEE_F64LE;
    return is_complex(type) ? complex_type(part, part_names[0]) : H5Tcopy(part);
}

static bool closest_real(hid_t stored, vf_dtype *type)
{
    const H5T_class_t class = H5Tget_class(stored); /* h5py's logical values are an enumeration of 0 and 1 */
    size_t exact_in_float = class == H5T_FLOAT ? 4 : class == H5T_INTEGER || class == H5T_ENUM ? 2 : 0;
    *type = H5Tget_size(stored) <= exact_in_float ? VF_F32 : VF_F64;
    return exact_in_float > 0;
}

bool vf_h5_closest_type(hid_t stored, vf_dtype *type)
{
    if (!naming_of(stored))
        return closest_real(stored, type);
    bool numbers = true;
    *type = VF_C64;
    for (unsigned member = 0; member < 2; member++) {
        vf_dtype part = VF_F32;
        hid_t id = H5Tget_member_type(stored, member);
        numbers = numbers && id >= 0 && closest_real(id, &part);
        if (part == VF_F64)
            *type = VF_C128;
        if (id >= 0)
            H5Tclose(id);
    }
    return numbers;
}
