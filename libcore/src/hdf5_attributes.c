/* Attributes of HDF5 files: the rest of hdf5_io.h is in hdf5_io.c. */
#include "hdf5_internal.h"

/* Writes one attribute, in place of any of that name. */
static vf_status write_attribute(vf_h5 *file, const char *object, const char *name, hid_t stored, hid_t memory,
                                 hid_t space, const void *value)
{
    vf_status status = VF_OK;
    hid_t attribute = H5I_INVALID_HID;
    hid_t id = H5Oopen(file->id, object, H5P_DEFAULT);
    if (id >= 0 && H5Aexists(id, name) > 0)
        H5Adelete(id, name);
    if (id >= 0)
        attribute = H5Acreate2(id, name, stored, space, H5P_DEFAULT, H5P_DEFAULT);
    if (attribute < 0 || H5Awrite(attribute, memory, value) < 0)
        status = vf_h5_fail(file, VF_ERR_OUTPUT, "cannot write the attribute '%s' of '%s'", name, object);
    if (attribute >= 0)
        H5Aclose(attribute);
    if (id >= 0)
        H5Oclose(id);
    return status;
}

vf_status vf_h5_attribute_text(vf_h5 *file, const char *object, const char *name, const char *text)
{
    /* Of variable length: Python gets str, not bytes, and the text may be longer than the 64 KiB of an attribute. */
    vf_h5_printing before = vf_h5_enter();
    hid_t type = H5Tcopy(H5T_C_S1);
    hid_t space = H5Screate(H5S_SCALAR);
    H5Tset_size(type, H5T_VARIABLE);
    H5Tset_cset(type, H5T_CSET_UTF8);
    vf_status status = write_attribute(file, object, name, type, type, space, &text);
    H5Sclose(space);
    H5Tclose(type);
    return vf_h5_leave(file, before, status);
}

static vf_status write_vector(vf_h5 *file, const char *object, const char *name, hid_t stored, hid_t memory,
                              const void *values, int n)
{
    hsize_t length = (hsize_t)n;
    hid_t space = n == 1 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &length, NULL);
    vf_status status = write_attribute(file, object, name, stored, memory, space, values);
    if (space >= 0)
        H5Sclose(space);
    return status;
}

vf_status vf_h5_attribute_doubles(vf_h5 *file, const char *object, const char *name, const double *values, int n)
{
    vf_h5_printing before = vf_h5_enter();
    vf_status status = write_vector(file, object, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, values, n);
    return vf_h5_leave(file, before, status);
}

vf_status vf_h5_attribute_integers(vf_h5 *file, const char *object, const char *name, const int64_t *values, int n)
{
    vf_h5_printing before = vf_h5_enter();
    vf_status status = write_vector(file, object, name, H5T_STD_I64LE, H5T_NATIVE_INT64, values, n);
    return vf_h5_leave(file, before, status);
}

vf_status vf_h5_attribute_get_doubles(vf_h5 *file, const char *object, const char *name, double *values, int n)
{
    vf_status status = VF_OK;
    hid_t space = H5I_INVALID_HID, type = H5I_INVALID_HID;
    vf_dtype closest;
    vf_h5_printing before = vf_h5_enter();
    hid_t attribute = H5Aopen_by_name(file->id, object, name, H5P_DEFAULT, H5P_DEFAULT);
    if (attribute < 0) {
        status = vf_h5_fail(file, VF_ERR_INPUT, "no attribute '%s' at '%s'", name, object);
        goto done;
    }
    space = H5Aget_space(attribute);
    type = H5Aget_type(attribute);
    if (space < 0 || type < 0 || !vf_h5_closest_type(type, &closest) || H5Sget_simple_extent_npoints(space) != n)
        status = vf_fail(file->ctx, VF_ERR_INPUT, "%s: the attribute '%s' of '%s' is not %d number%s", file->path, name,
                         object, n, n == 1 ? "" : "s");
    else if (H5Aread(attribute, H5T_NATIVE_DOUBLE, values) < 0)
        status = vf_h5_fail(file, VF_ERR_INPUT, "cannot read the attribute '%s' of '%s'", name, object);
done:
    if (type >= 0)
        H5Tclose(type);
    if (space >= 0)
        H5Sclose(space);
    if (attribute >= 0)
        H5Aclose(attribute);
    return vf_h5_leave(file, before, status);
}
