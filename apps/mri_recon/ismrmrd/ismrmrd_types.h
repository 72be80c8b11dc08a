/* ISMRMRD's records in HDF5: acquisitions and images (version 1 of the format; Inati et al., Magn. Reson. Med. 77
 * (2017) 411), and HDF5 types to read and write them by the names of their members.
 *
 * The structures here have C's alignment. In files they are packed (340 and 198 bytes); HDF5 converts. */
#ifndef ISMRMRD_TYPES_H
#define ISMRMRD_TYPES_H

#include <hdf5.h>
#include <stddef.h>
#include <stdint.h>

/* Those of the format's flags that are read or written, numbered from 1: bit n - 1 of `flags`. */
typedef enum ismrmrd_flag {
    ISMRMRD_FIRST_IN_STEP1 = 1,
    ISMRMRD_LAST_IN_STEP1 = 2,
    ISMRMRD_FIRST_IN_SLICE = 7,
    ISMRMRD_LAST_IN_SLICE = 8,
    ISMRMRD_FIRST_IN_REPETITION = 13,
    ISMRMRD_LAST_IN_REPETITION = 14,
    ISMRMRD_NOISE = 19,
    ISMRMRD_CALIBRATION = 20,
    ISMRMRD_CALIBRATION_AND_IMAGING = 21,
    ISMRMRD_REVERSE = 22,
    ISMRMRD_NAVIGATION = 23,
    ISMRMRD_PHASE_CORRECTION = 24,
    ISMRMRD_LAST_IN_MEASUREMENT = 25,
    ISMRMRD_HP_FEEDBACK = 26,
    ISMRMRD_DUMMY_SCAN = 27,
    ISMRMRD_RT_FEEDBACK = 28,
    ISMRMRD_SURFACE_COIL_CORRECTION = 29,
    ISMRMRD_PHASE_STABILIZATION_REFERENCE = 30,
    ISMRMRD_PHASE_STABILIZATION = 31,
    ISMRMRD_COMPRESSION1 = 53 /* 53 to 56: compressed samples */
} ismrmrd_flag;
#define ISMRMRD_BIT(flag) (UINT64_C(1) << ((flag)-1))

enum { ISMRMRD_VERSION = 1 }; /* of the records */

typedef struct ismrmrd_counters {
    uint16_t kspace_encode_step_1, kspace_encode_step_2;
    uint16_t average, slice, contrast, phase, repetition, set, segment;
    uint16_t user[8];
} ismrmrd_counters;

typedef struct ismrmrd_acquisition_header {
    uint16_t version;
    uint64_t flags;
    uint32_t measurement_uid, scan_counter, acquisition_time_stamp;
    uint32_t physiology_time_stamp[3];
    uint16_t number_of_samples, available_channels, active_channels;
    uint64_t channel_mask[16];
    uint16_t discard_pre, discard_post; /* samples to drop at the two ends */
    uint16_t center_sample;             /* the sample at k = 0 of a Cartesian readout */
    uint16_t encoding_space_ref;
    uint16_t trajectory_dimensions; /* 0: no trajectory */
    float sample_time_us;
    float position[3], read_dir[3], phase_dir[3], slice_dir[3]; /* mm and unit vectors, LPS */
    float patient_table_position[3];
    ismrmrd_counters idx;
    int32_t user_int[8];
    float user_float[8];
} ismrmrd_acquisition_header;

/* One element of the dataset `data`. */
typedef struct ismrmrd_acquisition {
    ismrmrd_acquisition_header head;
    hvl_t traj; /* float: [sample][trajectory_dimensions]; len in floats */
    hvl_t data; /* float: [channel][sample]{re, im}; len in floats */
} ismrmrd_acquisition;

/* data_type and image_type of complex images. */
enum { ISMRMRD_CXFLOAT = 7, ISMRMRD_IMTYPE_COMPLEX = 5 };

/* One element of the dataset `header` of an image series. */
typedef struct ismrmrd_image_header {
    uint16_t version;
    uint16_t data_type;
    uint64_t flags;
    uint32_t measurement_uid;
    uint16_t matrix_size[3];
    float field_of_view[3]; /* mm */
    uint16_t channels;
    float position[3], read_dir[3], phase_dir[3], slice_dir[3]; /* mm and unit vectors, LPS */
    float patient_table_position[3];
    uint16_t average, slice, contrast, phase, repetition, set;
    uint32_t acquisition_time_stamp;
    uint32_t physiology_time_stamp[3];
    uint16_t image_type;
    uint16_t image_index, image_series_index;
    int32_t user_int[8];
    float user_float[8];
    uint32_t attribute_string_len;
} ismrmrd_image_header;

/* HDF5 types of the structures above: `_memory_type` in C's layout, `_file_type` packed as in the format. Close them
 * with H5Tclose; negative if HDF5 fails. */
hid_t ismrmrd_acquisition_header_memory_type(void);
hid_t ismrmrd_acquisition_memory_type(void);
hid_t ismrmrd_acquisition_file_type(void);
hid_t ismrmrd_image_header_memory_type(void);
hid_t ismrmrd_image_header_file_type(void);

/* {real, imag} of floats, the format's type of complex arrays: images, `csm`, `phantom`. */
hid_t ismrmrd_complex_float_type(void);

/* Text of variable length, ASCII and zero-terminated: the dataset `xml`, and the attributes of images. */
hid_t ismrmrd_text_type(void);

#endif
