#include "ismrmrd_types.h"

#include <stdbool.h>
#include <stdio.h>

typedef enum number { U16, U32, U64, I32, F32 } number;

/* A member of a structure. */
typedef struct member {
    const char *name;
    size_t offset;
    number type;
    hsize_t count; /* 0: a scalar, else an array */
} member;

/* HDF5's own types are only available after its start. */
static hid_t native(number type)
{
    switch (type) {
    case U16:
        return H5T_NATIVE_UINT16;
    case U32:
        return H5T_NATIVE_UINT32;
    case U64:
        return H5T_NATIVE_UINT64;
    case I32:
        return H5T_NATIVE_INT32;
    default:
        return H5T_NATIVE_FLOAT;
    }
}

static const member counters[] = {
#define M(name, type, count)                                                                                           \
    {                                                                                                                  \
#name, offsetof(ismrmrd_counters, name), type, count                                                           \
    }
    M(kspace_encode_step_1, U16, 0),
    M(kspace_encode_step_2, U16, 0),
    M(average, U16, 0),
    M(slice, U16, 0),
    M(contrast, U16, 0),
    M(phase, U16, 0),
    M(repetition, U16, 0),
    M(set, U16, 0),
    M(segment, U16, 0),
    M(user, U16, 8),
    {NULL, 0, U16, 0}
#undef M
};

static const member before_counters[] = {
#define M(name, type, count)                                                                                           \
    {                                                                                                                  \
#name, offsetof(ismrmrd_acquisition_header, name), type, count                                                 \
    }
    M(version, U16, 0),
    M(flags, U64, 0),
    M(measurement_uid, U32, 0),
    M(scan_counter, U32, 0),
    M(acquisition_time_stamp, U32, 0),
    M(physiology_time_stamp, U32, 3),
    M(number_of_samples, U16, 0),
    M(available_channels, U16, 0),
    M(active_channels, U16, 0),
    M(channel_mask, U64, 16),
    M(discard_pre, U16, 0),
    M(discard_post, U16, 0),
    M(center_sample, U16, 0),
    M(encoding_space_ref, U16, 0),
    M(trajectory_dimensions, U16, 0),
    M(sample_time_us, F32, 0),
    M(position, F32, 3),
    M(read_dir, F32, 3),
    M(phase_dir, F32, 3),
    M(slice_dir, F32, 3),
    M(patient_table_position, F32, 3),
    {NULL, 0, U16, 0}};
static const member after_counters[] = {M(user_int, I32, 8), M(user_float, F32, 8), {NULL, 0, U16, 0}
#undef M
};

static const member image_header[] = {
#define M(name, type, count)                                                                                           \
    {                                                                                                                  \
#name, offsetof(ismrmrd_image_header, name), type, count                                                       \
    }
    M(version, U16, 0),
    M(data_type, U16, 0),
    M(flags, U64, 0),
    M(measurement_uid, U32, 0),
    M(matrix_size, U16, 3),
    M(field_of_view, F32, 3),
    M(channels, U16, 0),
    M(position, F32, 3),
    M(read_dir, F32, 3),
    M(phase_dir, F32, 3),
    M(slice_dir, F32, 3),
    M(patient_table_position, F32, 3),
    M(average, U16, 0),
    M(slice, U16, 0),
    M(contrast, U16, 0),
    M(phase, U16, 0),
    M(repetition, U16, 0),
    M(set, U16, 0),
    M(acquisition_time_stamp, U32, 0),
    M(physiology_time_stamp, U32, 3),
    M(image_type, U16, 0),
    M(image_index, U16, 0),
    M(image_series_index, U16, 0),
    M(user_int, I32, 8),
    M(user_float, F32, 8),
    M(attribute_string_len, U32, 0),
    {NULL, 0, U16, 0}
#undef M
};

/* Adds members to a compound. A negative (failed) type stays negative: HDF5 rejects it. */
static bool insert_members(hid_t compound, const member *members)
{
    bool good = compound >= 0;
    for (const member *m = members; good && m->name; m++) {
        hid_t type = m->count ? H5Tarray_create2(native(m->type), 1, &m->count) : native(m->type);
        good = type >= 0 && H5Tinsert(compound, m->name, m->offset, type) >= 0;
        if (m->count && type >= 0)
            H5Tclose(type);
    }
    return good;
}

/* Adds a member and closes its type. */
static bool insert_made(hid_t compound, const char *name, size_t offset, hid_t type)
{
    bool good = compound >= 0 && type >= 0 && H5Tinsert(compound, name, offset, type) >= 0;
    if (type >= 0)
        H5Tclose(type);
    return good;
}

/* Returns the type, or closes it and returns a negative value. */
static hid_t keep_if(bool good, hid_t type)
{
    if (!good && type >= 0)
        H5Tclose(type);
    return good ? type : H5I_INVALID_HID;
}

static hid_t packed(hid_t type)
{
    return keep_if(type >= 0 && H5Tpack(type) >= 0, type);
}

static hid_t counters_type(void)
{
    hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(ismrmrd_counters));
    return keep_if(insert_members(type, counters), type);
}

hid_t ismrmrd_acquisition_header_memory_type(void)
{
    hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(ismrmrd_acquisition_header));
    bool good = insert_members(type, before_counters) &&
                insert_made(type, "idx", offsetof(ismrmrd_acquisition_header, idx), counters_type()) &&
                insert_members(type, after_counters);
    return keep_if(good, type);
}

hid_t ismrmrd_acquisition_memory_type(void)
{
    hid_t head = ismrmrd_acquisition_header_memory_type();
    hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(ismrmrd_acquisition));
    bool good = insert_made(type, "head", offsetof(ismrmrd_acquisition, head), head) &&
                insert_made(type, "traj", offsetof(ismrmrd_acquisition, traj), H5Tvlen_create(H5T_NATIVE_FLOAT)) &&
                insert_made(type, "data", offsetof(ismrmrd_acquisition, data), H5Tvlen_create(H5T_NATIVE_FLOAT));
    return keep_if(good, type);
}

hid_t ismrmrd_acquisition_file_type(void)
{
    return packed(ismrmrd_acquisition_memory_type());
}

hid_t ismrmrd_image_header_memory_type(void)
{
    hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(ismrmrd_image_header));
    return keep_if(insert_members(type, image_header), type);
}

hid_t ismrmrd_image_header_file_type(void)
{
    return packed(ismrmrd_image_header_memory_type());
}

hid_t ismrmrd_complex_float_type(void)
{
    hid_t type = H5Tcreate(H5T_COMPOUND, 2 * sizeof(float));
    bool good = type >= 0 && H5Tinsert(type, "real", 0, H5T_NATIVE_FLOAT) >= 0 &&
                H5Tinsert(type, "imag", sizeof(float), H5T_NATIVE_FLOAT) >= 0;
    return keep_if(good, type);
}

hid_t ismrmrd_text_type(void)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    return keep_if(type >= 0 && H5Tset_size(type, H5T_VARIABLE) >= 0, type);
}
