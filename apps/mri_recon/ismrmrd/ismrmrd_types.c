#include "ismrmrd_types.h"

#include <stdbool.h>

typedef enum number { U16, U32, U64, I32, F32 } number;

/* A member of a structure. */
typedef struct member {
    const char *name;
    size_t offset, size;
    number type; /* of an array, that of its elements */
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

/* Rows of members; type and size are those in the structure. */
#define TYPE_OF(member)                                                                                                \
    _Generic((member), uint16_t : U16, uint16_t * : U16, uint32_t : U32, uint32_t * : U32, uint64_t : U64,             \
             uint64_t * : U64, int32_t * : I32, float : F32, float * : F32)
#define MEMBER(record, name)                                                                                           \
    {                                                                                                                  \
#name, offsetof(record, name), sizeof(((record *)NULL)->name), TYPE_OF(((record *)NULL)->name)                 \
    }
#define COUNTER(name) MEMBER(ismrmrd_counters, name)
#define ACQUISITION(name) MEMBER(ismrmrd_acquisition_header, name)
#define IMAGE(name) MEMBER(ismrmrd_image_header, name)

static const member counters[] = {COUNTER(kspace_encode_step_1),
                                  COUNTER(kspace_encode_step_2),
                                  COUNTER(average),
                                  COUNTER(slice),
                                  COUNTER(contrast),
                                  COUNTER(phase),
                                  COUNTER(repetition),
                                  COUNTER(set),
                                  COUNTER(segment),
                                  COUNTER(user),
                                  {NULL, 0, 0, U16}};
static const member before_counters[] = {ACQUISITION(version),
                                         ACQUISITION(flags),
                                         ACQUISITION(measurement_uid),
                                         ACQUISITION(scan_counter),
                                         ACQUISITION(acquisition_time_stamp),
                                         ACQUISITION(physiology_time_stamp),
                                         ACQUISITION(number_of_samples),
                                         ACQUISITION(available_channels),
                                         ACQUISITION(active_channels),
                                         ACQUISITION(channel_mask),
                                         ACQUISITION(discard_pre),
                                         ACQUISITION(discard_post),
                                         ACQUISITION(center_sample),
                                         ACQUISITION(encoding_space_ref),
                                         ACQUISITION(trajectory_dimensions),
                                         ACQUISITION(sample_time_us),
                                         ACQUISITION(position),
                                         ACQUISITION(read_dir),
                                         ACQUISITION(phase_dir),
                                         ACQUISITION(slice_dir),
                                         ACQUISITION(patient_table_position),
                                         {NULL, 0, 0, U16}};
static const member after_counters[] = {ACQUISITION(user_int), ACQUISITION(user_float), {NULL, 0, 0, U16}};
static const member image_header[] = {IMAGE(version),
                                      IMAGE(data_type),
                                      IMAGE(flags),
                                      IMAGE(measurement_uid),
                                      IMAGE(matrix_size),
                                      IMAGE(field_of_view),
                                      IMAGE(channels),
                                      IMAGE(position),
                                      IMAGE(read_dir),
                                      IMAGE(phase_dir),
                                      IMAGE(slice_dir),
                                      IMAGE(patient_table_position),
                                      IMAGE(average),
                                      IMAGE(slice),
                                      IMAGE(contrast),
                                      IMAGE(phase),
                                      IMAGE(repetition),
                                      IMAGE(set),
                                      IMAGE(acquisition_time_stamp),
                                      IMAGE(physiology_time_stamp),
                                      IMAGE(image_type),
                                      IMAGE(image_index),
                                      IMAGE(image_series_index),
                                      IMAGE(user_int),
                                      IMAGE(user_float),
                                      IMAGE(attribute_string_len),
                                      {NULL, 0, 0, U16}};

/* Adds members to a compound. A negative (failed) type stays negative: HDF5 rejects it. */
static bool insert_members(hid_t compound, const member *members)
{
    bool good = compound >= 0;
    for (const member *m = members; good && m->name; m++) {
        const hsize_t count = m->size / H5Tget_size(native(m->type));
        hid_t type = count > 1 ? H5Tarray_create2(native(m->type), 1, &count) : native(m->type);
        good = type >= 0 && H5Tinsert(compound, m->name, m->offset, type) >= 0;
        if (count > 1 && type >= 0)
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
