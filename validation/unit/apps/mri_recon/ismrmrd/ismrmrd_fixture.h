/* Small ISMRMRD files for the tests of their reader: a header made of parts, and acquisitions whose values identify
 * them. */
#ifndef ISMRMRD_FIXTURE_H
#define ISMRMRD_FIXTURE_H

#include "apps/mri_recon/scan/scan_fixture.h"
#include "ismrmrd/ismrmrd_xml.h"

enum { FIXTURE_ACQUISITIONS = 64, FIXTURE_FLOATS = 1 << 16 };

static ismrmrd_acquisition acquired[FIXTURE_ACQUISITIONS];
static int acquisitions;
static float floats[FIXTURE_FLOATS];
static size_t floats_used;

/* Sample m of channel c of acquisition a. */
static inline float complex value_of(int a, int c, int m)
{
    return (float)(1000 * a + 100 * c + m) + (float)(a + 1) * 0.25f * I;
}

static inline float *take_floats(size_t count)
{
    float *taken = floats + floats_used;
    floats_used += count;
    if (floats_used > FIXTURE_FLOATS)
        fail_msg("the fixture has no room for %zu floats", count);
    return taken;
}

static inline void begin_acquisitions(void)
{
    acquisitions = 0;
    floats_used = 0;
}

/* Adds an acquisition with the samples of value_of, and a trajectory of zeros if `dims` > 0. */
static inline ismrmrd_acquisition *acquire(int samples, int channels, int dims)
{
    int a = acquisitions++;
    ismrmrd_acquisition *it = &acquired[a];
    *it = (ismrmrd_acquisition){.head = {.version = ISMRMRD_VERSION,
                                         .number_of_samples = (uint16_t)samples,
                                         .active_channels = (uint16_t)channels,
                                         .available_channels = (uint16_t)channels,
                                         .center_sample = (uint16_t)(samples / 2),
                                         .trajectory_dimensions = (uint16_t)dims,
                                         .sample_time_us = 5,
                                         .read_dir = {1, 0, 0},
                                         .phase_dir = {0, 1, 0},
                                         .slice_dir = {0, 0, 1}}};
    float complex *data = (float complex *)(void *)take_floats(2 * (size_t)samples * (size_t)channels);
    for (int c = 0; c < channels; c++)
        for (int m = 0; m < samples; m++)
            data[c * samples + m] = value_of(a, c, m);
    it->data = (hvl_t){2 * (size_t)samples * (size_t)channels, data};
    it->traj.len = (size_t)samples * (size_t)dims;
    it->traj.p = take_floats(it->traj.len);
    memset(it->traj.p, 0, it->traj.len * sizeof(float));
    return it;
}

/* A line of the second partition, so that the scan has three dimensions. */
static inline ismrmrd_acquisition *acquire_partition(int samples, int channels)
{
    ismrmrd_acquisition *it = acquire(samples, channels, 0);
    it->head.idx.kspace_encode_step_2 = 1;
    return it;
}

/* The header of a scan: matrix and field of view of the encoded space and of the image, and further elements. */
static inline const char *header(const int encoded[3], const double encoded_fov[3], const int image[3],
                                 const double image_fov[3], const char *rest)
{
    static char text[4096];
    snprintf(text, sizeof text,
             "<?xml version=\"1.0\"?>\n<ismrmrdHeader xmlns=\"http://www.ismrm.org/ISMRMRD\"><encoding>"
             "<encodedSpace><matrixSize><x>%d</x><y>%d</y><z>%d</z></matrixSize>"
             "<fieldOfView_mm><x>%g</x><y>%g</y><z>%g</z></fieldOfView_mm></encodedSpace>"
             "<reconSpace><matrixSize><x>%d</x><y>%d</y><z>%d</z></matrixSize>"
             "<fieldOfView_mm><x>%g</x><y>%g</y><z>%g</z></fieldOfView_mm></reconSpace>%s</encoding></ismrmrdHeader>",
             encoded[0], encoded[1], encoded[2], encoded_fov[0], encoded_fov[1], encoded_fov[2], image[0], image[1],
             image[2], image_fov[0], image_fov[1], image_fov[2], rest);
    return text;
}

/* A header with a matrix without oversampling, and voxels of 2 mm. */
static inline const char *plain_header(int x, int y, int z, const char *rest)
{
    const int n[3] = {x, y, z};
    const double fov[3] = {2.0 * x, 2.0 * y, 2.0 * z};
    return header(n, fov, n, fov, rest);
}

static inline hid_t create_file(const char *group, const char *xml)
{
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t id = H5Gcreate2(file, group, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t type = ismrmrd_text_type(), space = H5Screate(H5S_SCALAR);
    hid_t set = H5Dcreate2(id, "xml", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, &xml) >= 0);
    H5Dclose(set);
    H5Sclose(space);
    H5Tclose(type);
    H5Gclose(id);
    return file;
}

static inline void write_data(hid_t file, const char *group, hid_t stored)
{
    char name[PATH_SIZE];
    hsize_t count = (hsize_t)acquisitions;
    hid_t type = ismrmrd_acquisition_memory_type(), space = H5Screate_simple(1, &count, NULL);
    snprintf(name, sizeof name, "%.200s/data", group);
    hid_t set = H5Dcreate2(file, name, stored, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, acquired) >= 0);
    H5Dclose(set);
    H5Sclose(space);
    H5Tclose(type);
}

static inline void write_scan_in(const char *group, const char *xml)
{
    hid_t file = create_file(group, xml), stored = ismrmrd_acquisition_file_type();
    write_data(file, group, stored);
    H5Tclose(stored);
    assert_true(H5Fclose(file) >= 0);
}

static inline void write_scan(const char *xml)
{
    write_scan_in("/dataset", xml);
}

/* Whether this build cannot read ISMRMRD files; prints a line if so. */
static inline bool built_without_expat(void)
{
    ismrmrd_protocol protocol;
    vf_context *own;
    if (vf_context_create(&own) != VF_OK)
        return false;
    bool missing = ismrmrd_parse_xml(own, "", "", 0, &protocol) == VF_ERR_UNSUPPORTED;
    vf_context_destroy(own);
    if (missing)
        printf("SKIP: built without expat\n");
    return missing;
}

/* The main function of tests that need the reader of XML. */
#define ISMRMRD_MAIN(...)                                                                                              \
    int main(void)                                                                                                     \
    {                                                                                                                  \
        const struct CMUnitTest tests[] = {__VA_ARGS__};                                                               \
        return built_without_expat() ? 77 : cmocka_run_group_tests(tests, NULL, NULL);                                 \
    }

#endif
