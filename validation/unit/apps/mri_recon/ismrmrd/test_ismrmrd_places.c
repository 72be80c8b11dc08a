/* The reader of ISMRMRD files: positions of slices and slabs in the patient, and of scans in their files. */
#include <math.h>

#include "images/image_files.h"
#include "ismrmrd_fixture.h"

static const char *const cartesian = "<trajectory>cartesian</trajectory>";

/* Four readouts, one per slice, 5 mm apart along z. */
static void acquire_stack(void)
{
    begin_acquisitions();
    for (int i = 0; i < 4; i++) {
        ismrmrd_acquisition *a = acquire(4, 2, 0);
        a->head.idx.slice = (uint16_t)i;
        a->head.idx.kspace_encode_step_1 = 2;
        a->head.position[2] = 5.0f * (float)i;
    }
}

static void expect_not_said(const char *words)
{
    if (strstr(said, words))
        fail_msg("'%s' is in the messages: '%s'", words, said);
}

static void test_each_direction_is_compared(void **state)
{
    (void)state;
    acquire_stack();
    write_scan(plain_header(4, 4, 1, cartesian));
    read_it(NULL, K_AUTO);
    expect_not_said("orientation");
    for (int d = 0; d < 3; d++) {
        acquire_stack();
        ismrmrd_acquisition_header *head = &acquired[2].head;
        float *flipped = d == 0 ? head->read_dir : d == 1 ? head->phase_dir : head->slice_dir;
        flipped[d] = -1;
        write_scan(plain_header(4, 4, 1, cartesian));
        read_it(NULL, K_AUTO);
        expect_said("slices of several orientations: 4 volumes of 1 slice");
    }
}

/* Voxels are 2 mm: 1 % of one is 0.02 mm. */
static void test_slices_beside_the_normal(void **state)
{
    (void)state;
    static const float steps[3] = {0, 0.005f, 0.01f}; /* mm to the side per slice: 0, 0.015, 0.03 in all */
    for (int t = 0; t < 3; t++) {
        acquire_stack();
        for (int i = 0; i < 4; i++)
            acquired[i].head.position[1] = 40 + steps[t] * (float)i;
        write_scan(plain_header(4, 4, 1, cartesian));
        read_it(NULL, K_AUTO);
        assert_true(fabs(s.geometry.slice_step - 5) < 1e-6);
        if (t == 2)
            expect_said("slice positions are not along the slices' normal; the written positions are off by "
                        "up to 0.03 mm");
        else
            expect_not_said("normal");
    }
}

/* Slabs in the order of their positions, which differs from that of their numbers; the second is missing once. */
static void test_slabs(void **state)
{
    (void)state;
    static const int places[5] = {0, 1, 2, 0, 2}, slices[3] = {7, 0, 3};
    begin_acquisitions();
    for (int i = 0; i < 5; i++) {
        ismrmrd_acquisition *a = i == 4 ? acquire_partition(4, 2) : acquire(4, 2, 0);
        a->head.idx.slice = (uint16_t)slices[places[i]];
        a->head.idx.repetition = i >= 3;
        a->head.position[2] = 40.0f * (float)places[i];
    }
    write_scan(plain_header(4, 4, 2, cartesian));
    read_it(NULL, K_AUTO);
    assert_int_equal(s.frames * 100 + s.volumes * 10 + s.slices, 561);
    assert_int_equal(s.places, 3);
    for (int f = 0; f < 5; f++) {
        assert_int_equal(s.frame[f].place, places[f]);
        assert_int_equal(s.frame[f].slice, 0);
        assert_int_equal(s.frame[f].volume, 3 * (f >= 3) + places[f]);
    }
    assert_true(s.geometry.known && s.geometry.slice_step == 0);
    for (int p = 0; p < 3; p++) {
        const scan_geometry *g = &s.place_geometry[p];
        assert_true(g->known && g->centre[0] == 0 && g->centre[2] == 40 * p && g->slice_step == 0);
        assert_true(g->direction[0][0] == 1 && g->direction[2][2] == 1);
    }
    acquire_stack();
    write_scan(plain_header(4, 4, 1, cartesian));
    read_it(NULL, K_AUTO);
    assert_true(s.geometry.known && !s.place_geometry);
    assert_int_equal(s.places, 4);
    for (int f = 0; f < 4; f++)
        assert_int_equal(s.frame[f].place, f);
    begin_acquisitions();
    acquire(4, 2, 0)->head.position[2] = 40; /* a single slab is an ordinary volume */
    acquire_partition(4, 2)->head.position[2] = 40;
    write_scan(plain_header(4, 4, 2, cartesian));
    read_it(NULL, K_AUTO);
    assert_true(s.geometry.known && s.geometry.centre[2] == 40 && !s.place_geometry);
    assert_int_equal(s.places, 1);
}

/* Turns an acquisition's directions: x becomes y, y becomes z, z becomes x. */
static void turn(ismrmrd_acquisition_header *head)
{
    memcpy(head->read_dir, (const float[3]){0, 1, 0}, sizeof head->read_dir);
    memcpy(head->phase_dir, (const float[3]){0, 0, 1}, sizeof head->phase_dir);
    memcpy(head->slice_dir, (const float[3]){1, 0, 0}, sizeof head->slice_dir);
}

/* Alternately two slabs of two readouts each. The file's second slab is turned, and comes first: it lies 64 mm
 * further down along the normal of the first. */
static void acquire_turned_slabs(void)
{
    begin_acquisitions();
    for (int i = 0; i < 4; i++) {
        ismrmrd_acquisition_header *head = &acquire(4, 2, 0)->head;
        head->idx.slice = (uint16_t)(i % 2);
        head->idx.kspace_encode_step_2 = (uint16_t)(i / 2);
        memcpy(head->position, i % 2 ? (const float[3]){-8, 24, -60} : (const float[3]){16, 2, 4},
               sizeof head->position);
        if (i % 2)
            turn(head);
    }
}

static void test_slabs_of_different_directions(void **state)
{
    (void)state;
    static const scan_geometry expected[2] = {
        {true, {{0, 1, 0}, {0, 0, 1}, {1, 0, 0}}, {-8, 24, -60}, 0},
        {true, {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, {16, 2, 4}, 0},
    };
    acquire_turned_slabs();
    write_scan(plain_header(4, 4, 2, cartesian));
    read_it(NULL, K_AUTO);
    expect_not_said("differ in orientation");
    assert_int_equal(s.places, 2);
    for (int p = -1; p < 2; p++) {
        const scan_geometry *g = p < 0 ? &s.geometry : &s.place_geometry[p], *e = &expected[p < 0 ? 0 : p];
        assert_true(g->known && g->slice_step == 0);
        assert_memory_equal(g->direction, e->direction, sizeof e->direction);
        assert_memory_equal(g->centre, e->centre, sizeof e->centre);
    }
    for (int d = 0; d < 3; d++) {
        acquire_turned_slabs();
        ismrmrd_acquisition_header *head = &acquired[3].head;
        float *changed = d == 0 ? head->read_dir : d == 1 ? head->phase_dir : head->slice_dir;
        changed[d] = 0.1f;
        write_scan(plain_header(4, 4, 2, cartesian));
        read_it(NULL, K_AUTO);
        expect_said("acquisitions of a slab differ in orientation; using that of the first");
        assert_memory_equal(s.place_geometry[0].direction, expected[0].direction, sizeof expected[0].direction);
    }
    acquire_turned_slabs(); /* with one centre: in the order of their numbers */
    for (int i = 0; i < 4; i++)
        memset(acquired[i].head.position, 0, sizeof acquired[i].head.position);
    write_scan(plain_header(4, 4, 2, cartesian));
    read_it(NULL, K_AUTO);
    for (int p = 0; p < 2; p++)
        assert_memory_equal(s.place_geometry[p].direction, expected[1 - p].direction, sizeof expected[p].direction);
    expect_not_said("position");
}

/* One geometry if slabs are equal, and none if it is unknown for one of them. */
static void test_slabs_without_places(void **state)
{
    (void)state;
    for (int t = 0; t < 4; t++) {
        acquire_turned_slabs();
        const ismrmrd_acquisition_header first = acquired[0].head;
        for (int i = 0; i < 4; i++) {
            ismrmrd_acquisition_header *head = &acquired[i].head;
            if (t == 0) { /* the first's */
                memcpy(head->position, first.position, sizeof head->position);
                memcpy(head->read_dir, first.read_dir, sizeof head->read_dir);
                memcpy(head->phase_dir, first.phase_dir, sizeof head->phase_dir);
                memcpy(head->slice_dir, first.slice_dir, sizeof head->slice_dir);
            } else if (t == 2 && i % 2) {
                head->position[1] = NAN;
            } else if (t != 2 && i % 2 == (t == 1)) {
                memcpy(head->phase_dir, head->read_dir, sizeof head->phase_dir); /* not orthogonal */
            }
        }
        write_scan(plain_header(4, 4, 2, cartesian));
        read_it(NULL, K_AUTO);
        assert_int_equal(s.places * 10 + s.volumes, 22);
        assert_null(s.place_geometry);
        assert_true(s.geometry.known == (t == 0));
        assert_true(s.geometry.direction[1][1] == 1 && s.geometry.direction[2][0] == 0);
        assert_true(s.geometry.centre[0] == (t == 0 ? 16 : 0) && s.geometry.centre[1] == (t == 0 ? 2 : 0));
        if (t == 0)
            expect_not_said("position");
        else
            expect_said("the position and directions of some slabs are unknown; none are written");
    }
}

static void write_maps(const hsize_t dims[4], const float complex *maps)
{
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), space = H5Screate_simple(4, dims, NULL);
    hid_t type = ismrmrd_complex_float_type();
    hid_t set = H5Dcreate2(file, "/dataset/csm", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, maps) >= 0);
    H5Dclose(set);
    H5Tclose(type);
    H5Sclose(space);
    H5Fclose(file);
}

/* Coil maps beside the acquisitions belong to one volume: they are not used for several slabs. */
static void test_maps_of_slabs(void **state)
{
    (void)state;
    static const hsize_t dims[4] = {2, 2, 4, 4};
    static const float complex maps[2 * 2 * 4 * 4] = {1};
    for (int slabs = 1; slabs <= 2; slabs++) {
        acquire_stack();
        acquisitions = slabs;
        acquire_partition(4, 2);
        write_scan(plain_header(4, 4, 2, cartesian));
        write_maps(dims, maps);
        read_it(NULL, K_AUTO);
        assert_true((s.sensitivity != NULL) == (slabs == 1));
    }
}

/* All-zero maps make an all-zero image, so they are rejected. The description says which sample has k = 0. */
static void test_maps_of_zeros(void **state)
{
    (void)state;
    static const hsize_t dims[4] = {2, 2, 4, 4};
    static const float complex maps[2 * 2 * 4 * 4];
    acquire_stack();
    acquisitions = 1;
    acquire_partition(4, 2);
    write_scan(plain_header(4, 4, 2, cartesian));
    read_it(NULL, K_AUTO);
    assert_non_null(strstr(s.description, "k = 0 at center_sample of line 2 of partition 1"));
    write_maps(dims, maps);
    expect_refusal(NULL, K_AUTO, VF_ERR_INPUT, "the coil maps in 'csm' are 0 everywhere");
    acquisitions = 1;
    write_scan(plain_header(4, 4, 1, cartesian));
    read_it(NULL, K_AUTO);
    assert_non_null(strstr(s.description, "k = 0 at center_sample of line 2"));
    assert_null(strstr(s.description, "partition"));
}

/* An invalid noise bandwidth ratio is not used as a divisor. */
static void test_no_bandwidth_of_noise(void **state)
{
    (void)state;
    static const char *const shares[3] = {"0", "-0.8", "1"};
    for (int i = 0; i < 3; i++) {
        char xml[4096];
        const char *plain = plain_header(4, 4, 1, cartesian), *rest = strstr(plain, "<encoding>");
        snprintf(xml, sizeof xml,
                 "%.*s<acquisitionSystemInformation><relativeReceiverNoiseBandwidth>%s</relativeReceiverNoiseBandwidth>"
                 "</acquisitionSystemInformation>%s",
                 (int)(rest - plain), plain, shares[i], rest);
        begin_acquisitions();
        acquire(4, 1, 0)->head.flags = ISMRMRD_BIT(ISMRMRD_NOISE);
        acquire(4, 1, 0);
        write_scan(xml);
        read_it(NULL, K_AUTO);
        double sum = 0;
        for (int m = 0; m < 4; m++)
            sum += pow((double)cabsf(value_of(0, 0, m)), 2) / 4;
        assert_true(fabs(creal(s.noise[0]) - sum) <= 1e-6 * sum); /* value_of has float precision */
        if (i < 2)
            expect_said("using 1");
        else
            expect_not_said("relativeReceiverNoiseBandwidth");
    }
}

/* ---- groups ---- */

/* Moves the content of /made to `to`, in new groups: "/" is the root. */
static void move_scan(const char *to)
{
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), links = H5Pcreate(H5P_LINK_CREATE);
    static const char *const names[2] = {"xml", "data"};
    H5Pset_create_intermediate_group(links, 1);
    for (int i = 0; i < 2; i++) {
        char from[PATH_SIZE], target[PATH_SIZE];
        snprintf(from, sizeof from, "/made/%s", names[i]);
        snprintf(target, sizeof target, "%.200s%s%s", to, strcmp(to, "/") == 0 ? "" : "/", names[i]);
        assert_true(H5Lmove(file, from, file, target, links, H5P_DEFAULT) >= 0);
    }
    H5Pclose(links);
    H5Fclose(file);
}

static void expect_in(const char *file_path, const char *group, const char *name, bool expected)
{
    char dataset[2 * PATH_SIZE];
    vf_h5 *file;
    snprintf(dataset, sizeof dataset, "%s/%s", group, name);
    need(vf_h5_open(ctx, file_path, &file));
    if (vf_h5_exists(file, dataset) != expected)
        fail_msg("%s is %s", dataset, expected ? "missing" : "there");
    vf_h5_close(&file);
}

/* Images are added next to the scan, wherever it is, also in a group with the name of the plain layout's. */
static void test_images_go_to_the_group_of_the_scan(void **state)
{
    (void)state;
    static const char *const groups[4] = {"/dataset", "/study/scan1", "/scan", "/"};
    static float complex voxels[16];
    char copy[PATH_SIZE + 16];
    snprintf(copy, sizeof copy, "%.200s/copy.mrd", directory);
    for (int g = 0; g < 4; g++) {
        begin_acquisitions();
        acquire(4, 2, 0);
        write_scan_in("/made", plain_header(4, 4, 1, cartesian));
        move_scan(groups[g]);
        read_it(NULL, K_AUTO);
        assert_string_equal(s.layout, "ISMRMRD");
        assert_string_equal(s.group, groups[g]);
        recon_image image = {.frames = 1,
                             .counts = {4, 4, 1},
                             .voxel = {2, 2, 2},
                             .geometry = s.geometry,
                             .data = voxels,
                             .copy_of = path,
                             .group = s.group};
        const char *place = g == 3 ? "" : groups[g];
        need(write_image(ctx, &image, copy));
        expect_in(copy, place, "data", true);
        expect_in(copy, place, "image_0/data", true);
        expect_in(copy, place, "image_0/header", true);
        read_it(groups[g], K_AUTO);
        assert_string_equal(s.group, groups[g]);
        image.copy_of = NULL; /* a separate file: the usual group, whatever the scan's group */
        need(write_image(ctx, &image, copy));
        expect_in(copy, "/dataset", "image_0/data", true);
        expect_in(copy, "/dataset", "xml", true);
    }
    unlink(copy);
}

/* ---- counters of images ---- */

static void read_headers(const char *file_path, int count, ismrmrd_image_header *headers)
{
    hid_t file = H5Fopen(file_path, H5F_ACC_RDONLY, H5P_DEFAULT), type = ismrmrd_image_header_memory_type();
    hid_t set = H5Dopen2(file, "/dataset/image_0/header", H5P_DEFAULT), space = H5Dget_space(set);
    assert_int_equal(H5Sget_simple_extent_npoints(space), count);
    assert_true(H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, headers) >= 0);
    H5Sclose(space);
    H5Dclose(set);
    H5Tclose(type);
    H5Fclose(file);
}

static void test_counters_of_images(void **state)
{
    (void)state;
    enum { MOST = 6 };
    static const scan_frame stack[3] = {/* the second volume's first slice is missing */
                                        {.volume = 0, .slice = 0, .place = 0, .contrast = 1, .set = 4},
                                        {.volume = 0, .slice = 1, .place = 1, .contrast = 1, .set = 4},
                                        {.volume = 1, .slice = 1, .place = 1, .phase = 2, .repetition = 9}};
    static const scan_frame slabs[2] = {{.volume = 0, .place = 0, .repetition = 3},
                                        {.volume = 1, .place = 1, .repetition = 3}};
    static const int expected[3][4][5] = {/* contrast, phase, repetition, set, slice */
                                          {{1, 0, 0, 4, 0}, {1, 0, 0, 4, 1}, {0, 2, 9, 0, 0}, {0, 2, 9, 0, 1}},
                                          {{0, 0, 3, 0, 0}, {0, 0, 3, 0, 1}},
                                          {{0, 0, 0, 0, 0}, {0, 0, 1, 0, 0}}}; /* nothing known */
    static float complex voxels[2 * 2 * 4 * 4];
    static ismrmrd_image_header headers[MOST];
    char file_path[PATH_SIZE + 16];
    snprintf(file_path, sizeof file_path, "%.200s/image.mrd", directory);
    for (int t = 0; t < 3; t++) {
        const int images = t == 0 ? 4 : 2;
        recon_image image = {.frames = 2,
                             .counts = {4, 4, 2},
                             .voxel = {2, 2, 2},
                             .data = voxels,
                             .sources = t == 0   ? stack
                                        : t == 1 ? slabs
                                                 : NULL,
                             .source_count = t == 0 ? 3 : 2};
        image.geometry = (scan_geometry){.known = true,
                                         .direction = {{0.8, 0, -0.6}, {0, 1, 0}, {0.6, 0, 0.8}},
                                         .centre = {10, -20, 30},
                                         .slice_step = t == 0 ? 5 : 0};
        need(write_image(ctx, &image, file_path));
        read_headers(file_path, images, headers);
        for (int i = 0; i < images; i++) {
            const ismrmrd_image_header *h = &headers[i];
            const int got[5] = {h->contrast, h->phase, h->repetition, h->set, h->slice};
            for (int c = 0; c < 5; c++)
                if (got[c] != expected[t][i][c])
                    fail_msg("case %d, image %d: counter %d is %d, not %d", t, i, c, got[c], expected[t][i][c]);
            assert_int_equal(h->image_index, i + 1);
            const double along = t == 0 ? 5 * (i % 2) : 0; /* a stack's slices lie on its normal, (0.6, 0, 0.8) */
            const double place[3] = {10 + 0.6 * along, -20, 30 + 0.8 * along};
            for (int a = 0; a < 3; a++)
                assert_true(fabs((double)h->position[a] - place[a]) <= 30 * 0x1p-23);
            assert_true(h->read_dir[2] == -0.6f && h->phase_dir[1] == 1 && h->slice_dir[0] == 0.6f);
        }
    }
    unlink(file_path);
}

/* Images of slabs, and of the repetition of one, are at the positions of their acquisitions. */
static void test_places_of_images(void **state)
{
    (void)state;
    enum { IMAGES = 4 };
    static float complex voxels[IMAGES * 2 * 4 * 4];
    static ismrmrd_image_header headers[IMAGES];
    char file_path[PATH_SIZE + 16];
    snprintf(file_path, sizeof file_path, "%.200s/image.mrd", directory);
    acquire_turned_slabs();
    for (int i = 0; i < 2; i++) {
        ismrmrd_acquisition_header *again = &(i == 0 ? acquire(4, 2, 0) : acquire_partition(4, 2))->head;
        memcpy(again->position, acquired[0].head.position, sizeof again->position);
        again->idx.repetition = 1;
    }
    write_scan(plain_header(4, 4, 2, cartesian));
    read_it(NULL, K_AUTO);
    assert_int_equal(s.volumes, IMAGES);
    const recon_image image = {.frames = IMAGES,
                               .counts = {4, 4, 2},
                               .voxel = {2, 2, 2},
                               .geometry = s.geometry,
                               .places = s.places,
                               .place_geometry = s.place_geometry,
                               .data = voxels,
                               .sources = s.frame,
                               .source_count = s.frames};
    need(write_image(ctx, &image, file_path));
    read_headers(file_path, IMAGES, headers);
    for (int i = 0; i < IMAGES; i++) {
        const ismrmrd_acquisition_header *of = &acquired[i % 2 ? 0 : 1].head; /* the second slab comes first */
        const ismrmrd_image_header *h = &headers[i];
        assert_memory_equal(h->position, of->position, sizeof h->position);
        assert_memory_equal(h->read_dir, of->read_dir, sizeof h->read_dir);
        assert_memory_equal(h->phase_dir, of->phase_dir, sizeof h->phase_dir);
        assert_memory_equal(h->slice_dir, of->slice_dir, sizeof h->slice_dir);
        if (i != 2) /* the missing one has no counters */
            assert_int_equal(h->slice * 10 + h->repetition, i % 2 * 10 + i / 2);
    }
    unlink(file_path);
}

ISMRMRD_MAIN(TEST(test_each_direction_is_compared), TEST(test_slices_beside_the_normal), TEST(test_slabs),
             TEST(test_slabs_of_different_directions), TEST(test_slabs_without_places), TEST(test_maps_of_slabs),
             TEST(test_maps_of_zeros), TEST(test_places_of_images), TEST(test_no_bandwidth_of_noise),
             TEST(test_images_go_to_the_group_of_the_scan), TEST(test_counters_of_images))
