/* The images that mri_recon writes: the contents of the files, the voxels' positions in the patient, and invalid
 * images. */
#include "image_test.h"

#include <zlib.h>

#include "voxfield/hdf5_io.h"

static char said[1024]; /* the last note or warning */

static void keep_log(void *user, vf_log_level level, const char *text)
{
    (void)user;
    if (level == VF_LOG_WARNING || level == VF_LOG_NOTE)
        snprintf(said, sizeof said, "%s", text);
}

static int set_up_log(void **state)
{
    const int failed = set_up(state);
    if (!failed)
        vf_context_set_log(ctx, keep_log, NULL);
    return failed;
}

static unsigned char *slurp(const char *path, size_t *bytes)
{
    gzFile stream = gzopen(path, "rb"); /* reads uncompressed data unchanged */
    size_t room = 1 << 22;
    unsigned char *content = malloc(room);
    assert_non_null(stream);
    int n = gzread(stream, content, (unsigned)room);
    assert_int_equal(gzclose(stream), Z_OK);
    assert_true(n > 0 && (size_t)n < room);
    *bytes = (size_t)n;
    return content;
}

/* ---- places ---- */

/* To 1e-12: sums of a few products of numbers below 100. */
static void check_affine(const scene *s, int frame, const double affine[3][4])
{
    for (int corner = 0; corner < 8; corner++) {
        int64_t voxel[3];
        double place[3];
        for (int axis = 0; axis < 3; axis++)
            voxel[axis] = corner >> axis & 1 ? s->counts[axis] - 1 : 0;
        scene_place(s, frame, voxel, place);
        for (int row = 0; row < 3; row++) {
            double found = affine[row][3];
            for (int axis = 0; axis < 3; axis++)
                found += affine[row][axis] * (double)voxel[axis];
            if (!(fabs(found - place[row]) <= 1e-12 * 100))
                fail_msg("%s: frame %d, corner %d, coordinate %d is %g, not %g", s->name, frame, corner, row, found,
                         place[row]);
        }
    }
}

static void affine(void **state)
{
    (void)state;
    for (int s = 0; s < SCENES; s++) {
        recon_image image = scene_image(&scenes[s]);
        double a[3][4];
        for (int frame = 0; frame < image.frames; frame++) {
            image_affine(&image, frame, a);
            check_affine(&scenes[s], frame, a);
        }
        recon_image_free(&image);
    }
}

/* ---- HDF5 ---- */

/* The file has an affine for each volume. */
static void check_affines(const scene *s, vf_h5 *file)
{
    vf_dtype type;
    int rank;
    int64_t dims[VF_H5_MAX_RANK];
    const int64_t expected[3] = {s->frames, 3, 4}, start[3] = {0};
    double affines[5][3][4];
    need(vf_h5_dataset_shape(file, "affine", &type, &rank, dims));
    assert_true(type == VF_F64 && rank == 3 && s->frames <= 5);
    assert_memory_equal(dims, expected, sizeof expected);
    memset(affines, 0xff, sizeof affines); /* nan */
    need(vf_h5_read(file, "affine", VF_F64, start, expected, affines));
    for (int frame = 0; frame < s->frames; frame++)
        check_affine(s, frame, affines[frame]);
}

static void h5_comes_back(void **state)
{
    (void)state;
    char path[PATH_SIZE];
    path_of("image.h5", path);
    for (int s = 0; s < SCENES; s++) {
        recon_image image = scene_image(&scenes[s]), back;
        char text[64];
        vf_h5 *file;
        need(write_image(ctx, &image, path));
        need(read_image(ctx, path, &back));
        assert_int_equal(back.frames, image.frames);
        assert_memory_equal(back.counts, image.counts, sizeof back.counts);
        assert_memory_equal(back.voxel, image.voxel, sizeof back.voxel);
        assert_int_equal(back.geometry.known, image.geometry.known);
        assert_memory_equal(back.geometry.direction, image.geometry.direction, sizeof back.geometry.direction);
        assert_memory_equal(back.geometry.centre, image.geometry.centre, sizeof back.geometry.centre);
        assert_true(back.geometry.slice_step == image.geometry.slice_step);
        assert_memory_equal(back.data, image.data, (size_t)(image_volume(&image) * image.frames) * sizeof *image.data);
        need(vf_h5_open(ctx, path, &file));
        need(vf_h5_attribute_get_text(file, "/", "method", text, sizeof text));
        assert_string_equal(text, image.method);
        need(vf_h5_attribute_get_text(file, "/", "scan_sha256", text, sizeof text));
        assert_string_equal(text, image.digest);
        check_affines(&scenes[s], file);
        vf_h5_close(&file);
        recon_image_free(&back);
        recon_image_free(&image);
    }
    unlink(path);
}

/* Images to compare with may come from other programs: fewer dimensions, real numbers, no attributes. */
static void h5_of_others(void **state)
{
    (void)state;
    const int64_t dims[5] = {3, 4, 5, 1, 1}, start[5] = {0};
    double values[60];
    char path[PATH_SIZE];
    vf_h5 *file;
    recon_image back;
    path_of("other.h5", path);
    for (int i = 0; i < 60; i++)
        values[i] = i - 7.5;
    for (int rank = 1; rank <= 5; rank++) {
        need(vf_h5_create(ctx, path, &file));
        need(vf_h5_dataset_create(file, "image", VF_F64, rank, dims, dims, 1));
        need(vf_h5_write(file, "image", VF_F64, start, dims, values));
        need(vf_h5_commit(&file));
        vf_status status = read_image(ctx, path, &back);
        if (rank < 2 || rank > 4) {
            expect_file_error(status, VF_ERR_INPUT, path, "[frame][z][y][x]");
            assert_null(back.data);
            continue;
        }
        need(status);
        const int64_t expected[4][4] = {{1, 1, 3, 4}, {1, 3, 4, 5}, {3, 4, 5, 1}};
        assert_int_equal(back.frames, expected[rank - 2][0]);
        for (int a = 0; a < 3; a++)
            assert_int_equal(back.counts[a], expected[rank - 2][3 - a]);
        for (int i = 0; i < (rank == 2 ? 12 : 60); i++)
            assert_true(back.data[i] == (float)values[i]);
        assert_false(back.geometry.known);
        recon_image_free(&back);
    }
    need(vf_h5_create(ctx, path, &file));
    need(vf_h5_dataset_create(file, "potential", VF_F64, 3, dims, dims, 1));
    need(vf_h5_commit(&file));
    expect_file_error(read_image(ctx, path, &back), VF_ERR_INPUT, path, "dataset 'image' is missing");
    unlink(path);
    expect_file_error(read_image(ctx, path, &back), VF_ERR_INPUT, path, "No such file");
    assert_null(back.data);
}

/* ---- NIfTI ---- */

static float get_float(const unsigned char *header, size_t at)
{
    float value;
    memcpy(&value, header + at, sizeof value);
    return value;
}

static int get_short(const unsigned char *header, size_t at)
{
    int16_t value;
    memcpy(&value, header + at, sizeof value);
    return value;
}

/* The position (RAS) of a voxel by the quaternion, as in nifti1.h ("METHOD 2"). */
static void place_by_quaternion(const unsigned char *header, const int64_t voxel[3], double place[3])
{
    const double b = (double)get_float(header, 256), c = (double)get_float(header, 260),
                 d = (double)get_float(header, 264);
    const double a = sqrt(fmax(0, 1 - b * b - c * c - d * d));
    const double r[3][3] = {{a * a + b * b - c * c - d * d, 2 * b * c - 2 * a * d, 2 * b * d + 2 * a * c},
                            {2 * b * c + 2 * a * d, a * a + c * c - b * b - d * d, 2 * c * d - 2 * a * b},
                            {2 * b * d - 2 * a * c, 2 * c * d + 2 * a * b, a * a + d * d - c * c - b * b}};
    for (int row = 0; row < 3; row++) {
        place[row] = (double)get_float(header, 268 + 4 * (size_t)row);
        for (int axis = 0; axis < 3; axis++)
            place[row] += r[row][axis] * (double)get_float(header, 80 + 4 * (size_t)axis) * (double)voxel[axis] *
                          (axis == 2 ? (double)get_float(header, 76) : 1);
    }
}

static void place_by_rows(const unsigned char *header, const int64_t voxel[3], double place[3])
{
    for (int row = 0; row < 3; row++) {
        const size_t at = 280 + 16 * (size_t)row;
        place[row] = (double)get_float(header, at + 12);
        for (int axis = 0; axis < 3; axis++)
            place[row] += (double)get_float(header, at + 4 * (size_t)axis) * (double)voxel[axis];
    }
}

/* Single precision of coordinates below 100 (4e-6), and of a quaternion (a = 0 may stand for sqrt(1e-7): 3e-4 of 25
 * mm); a voxel is at least 1 mm. */
static void check_places(const scene *s, int frame, const unsigned char *header)
{
    for (int corner = 0; corner < 8; corner++) {
        int64_t voxel[3];
        double expected[3], rows[3], quaternion[3];
        for (int axis = 0; axis < 3; axis++)
            voxel[axis] = corner >> axis & 1 ? s->counts[axis] - 1 : 0;
        scene_place(s, frame, voxel, expected);
        expected[0] = -expected[0]; /* LPS to RAS */
        expected[1] = -expected[1];
        place_by_rows(header, voxel, rows);
        place_by_quaternion(header, voxel, quaternion);
        for (int row = 0; row < 3; row++)
            if (!(fabs(rows[row] - expected[row]) <= 1e-4 && fabs(quaternion[row] - expected[row]) <= 1e-2))
                fail_msg("%s: corner %d, coordinate %d is %g and %g, not %g", s->name, corner, row, rows[row],
                         quaternion[row], expected[row]);
    }
}

/* The file of one place: its volumes and their position. */
static void check_nifti(const scene *s, const recon_image *image, int place, const char *path, const char *packed_path)
{
    const int places = s->place ? s->places : 1, frames = (image->frames - place + places - 1) / places;
    const int64_t voxels = image_volume(image), total = voxels * frames;
    size_t bytes, unpacked_bytes;
    unsigned char *header = slurp(path, &bytes), *unpacked = slurp(packed_path, &unpacked_bytes);
    assert_int_equal(bytes, unpacked_bytes);
    assert_memory_equal(header, unpacked, bytes);
    assert_string_equal((char *)header + 344, "n+1");
    assert_int_equal(get_short(header, 40), frames > 1 ? 4 : 3);
    for (size_t a = 0; a < 3; a++)
        assert_int_equal(get_short(header, 42 + 2 * a), image->counts[a]);
    assert_int_equal(get_short(header, 48), frames);
    assert_int_equal(get_short(header, 70), 16); /* float32 */
    for (size_t at = 252; at <= 254; at += 2)
        assert_int_equal(get_short(header, at), image->geometry.known);
    check_places(s, place, header);
    assert_memory_equal(header + 360, "program: ", 9);
    const size_t offset = (size_t)get_float(header, 108);
    assert_int_equal(offset % 16, 0);
    assert_int_equal(bytes, offset + 4 * (size_t)total);
    for (int64_t i = 0; i < total; i++) { /* two roundings to single precision, 6e-8 each */
        const int64_t from = (place + i / voxels * places) * voxels + i % voxels;
        const double expected = (double)cabsf(image->data[from]),
                     found = (double)get_float(header, offset + 4 * (size_t)i);
        if (!(fabs(found - expected) <= 2e-7 * expected))
            fail_msg("%s: value %lld of place %d is %g, not %g", s->name, (long long)i, place, found, expected);
    }
    free(header);
    free(unpacked);
    unlink(path);
    unlink(packed_path);
}

/* Volumes at other places go to files of their own, and a message says so. */
static void nifti_holds_the_image(void **state)
{
    (void)state;
    for (int s = 0; s < SCENES; s++) {
        recon_image image = scene_image(&scenes[s]);
        char path[PATH_SIZE], packed_path[PATH_SIZE], name[64];
        path_of("image.nii", path);
        path_of("image.nii.gz", packed_path);
        said[0] = 0;
        need(write_image(ctx, &image, path));
        need(write_image(ctx, &image, packed_path));
        assert_true((strstr(said, "the others are in files of their own") != NULL) == (scenes[s].place != NULL));
        assert_true((said[0] != 0) == (scenes[s].place != NULL));
        check_nifti(&scenes[s], &image, 0, path, packed_path);
        for (int p = 1; scenes[s].place && p < scenes[s].places; p++) {
            snprintf(name, sizeof name, "image_%d.nii", p + 1);
            path_of(name, path);
            snprintf(name, sizeof name, "image_%d.nii.gz", p + 1);
            path_of(name, packed_path);
            check_nifti(&scenes[s], &image, p, path, packed_path);
        }
        recon_image_free(&image);
    }
}

/* Rotations from all over the sphere of quaternions, with either handedness: each of the four parts is the largest
 * in some.
 */
static void nifti_of_any_rotation(void **state)
{
    (void)state;
    char path[PATH_SIZE];
    path_of("image.nii", path);
    for (int turn = 0; turn < 100; turn++) {
        scene s = {"rotation", 1, {5, 4, 3}, {1, 2, 3}, {.known = true, .centre = {1, -2, 3}}, 1, NULL};
        double q[4], norm = 0;
        size_t bytes;
        for (int i = 0; i < 4; i++) {
            q[i] = sin(1 + 12.9898 * turn + 78.233 * i); /* anything */
            norm += q[i] * q[i];
        }
        for (int a = 0; a < 3; a++) /* axis a, turned: v + 2 u x (u x v + w v) */
            for (int row = 0; row < 3; row++) {
                const double dot = q[1 + a] * q[1 + row];
                const int third = 3 - a - row;
                const double cross = row == a ? 0 : (third == (a + 2) % 3 ? 1 : -1) * q[0] * q[1 + third];
                const double diagonal = row == a ? q[0] * q[0] - (norm - q[0] * q[0]) : 0;
                s.geometry.direction[a][row] = (diagonal + 2 * dot + 2 * cross) / norm * (a == 2 && turn % 2 ? -1 : 1);
            }
        recon_image image = scene_image(&s);
        need(write_image(ctx, &image, path));
        unsigned char *header = slurp(path, &bytes);
        assert_int_equal(get_short(header, 252), 1);
        check_places(&s, 0, header);
        free(header);
        recon_image_free(&image);
    }
    unlink(path);
}

/* No rotation can represent axes that are not at right angles: only the rows describe them. */
static void skewed_axes(void **state)
{
    (void)state;
    char path[PATH_SIZE];
    size_t bytes;
    recon_image image = plain_image(1, 4, 4, 4);
    image.geometry = (scan_geometry){.known = true, .direction = {{1, 0, 0}, {0.6, 0.8, 0}, {0, 0, 1}}};
    need(write_image(ctx, &image, path_of("image.nii", path)));
    unsigned char *header = slurp(path, &bytes);
    assert_int_equal(get_short(header, 252), 0);
    assert_int_equal(get_short(header, 254), 1);
    free(header);
    recon_image_free(&image);
    unlink(path);
}

/* ---- ISMRMRD ---- */

static void mrd_holds_the_image(void **state)
{
    (void)state;
    char path[PATH_SIZE], copy[PATH_SIZE];
    path_of("image.mrd", path);
    path_of("copy.mrd", copy);
    for (int s = 0; s < SCENES; s++) {
        recon_image image = scene_image(&scenes[s]);
        const bool stack = scenes[s].geometry.slice_step != 0;
        const int64_t slices = stack ? image.counts[2] : 1, start[5] = {0};
        const int64_t expected[5] = {image.frames * slices, 1, image.counts[2] / slices, image.counts[1],
                                     image.counts[0]};
        const size_t bytes = (size_t)(image_volume(&image) * image.frames) * sizeof *image.data;
        float complex *back = malloc(bytes);
        for (int copied = 0; copied < 2; copied++) {
            vf_h5 *file;
            vf_dtype type;
            int rank;
            int64_t dims[VF_H5_MAX_RANK];
            image.copy_of = copied ? path : NULL;
            need(write_image(ctx, &image, copied ? copy : path));
            need(vf_h5_open(ctx, copied ? copy : path, &file));
            assert_true(vf_h5_exists(file, "dataset/xml"));
            for (int series = 0; series <= copied; series++) {
                const char *name = series ? "dataset/image_1/data" : "dataset/image_0/data";
                need(vf_h5_dataset_shape(file, name, &type, &rank, dims));
                assert_int_equal(type, VF_C64);
                assert_int_equal(rank, 5);
                assert_memory_equal(dims, expected, sizeof expected);
                memset(back, 0xff, bytes);
                need(vf_h5_read(file, name, VF_C64, start, dims, back));
                assert_memory_equal(back, image.data, bytes);
            }
            assert_false(vf_h5_exists(file, copied ? "dataset/image_2" : "dataset/image_1"));
            vf_h5_close(&file);
        }
        free(back);
        recon_image_free(&image);
    }
    unlink(path);
    unlink(copy);
}

/* ---- all formats ---- */

/* Compressed files are compared in compressed form, too. */
static void same_bytes_whatever_the_threads(void **state)
{
    (void)state;
    enum { MOST = 1 << 22 };
    char path[PATH_SIZE];
    char *content[2][ALL];
    size_t bytes[2][ALL];
    recon_image image = plain_image(2, 70, 60, 33); /* several blocks of every kind */
    for (int run = 0; run < 2; run++) {
        need(vf_context_set_threads(ctx, run ? 7 : 1));
        for (int f = 0; f < ALL; f++) {
            need(write_image(ctx, &image, path_of(all_names[f], path)));
            FILE *stream = fopen(path, "rb");
            content[run][f] = malloc(MOST);
            bytes[run][f] = fread(content[run][f], 1, MOST, stream);
            fclose(stream);
            unlink(path);
        }
        sleep(run == 0); /* so that a time stamp would show */
    }
    for (int f = 0; f < ALL; f++) {
        assert_true(bytes[0][f] == bytes[1][f] && bytes[0][f] < MOST);
        assert_memory_equal(content[0][f], content[1][f], bytes[0][f]);
        free(content[0][f]);
        free(content[1][f]);
    }
    need(vf_context_set_threads(ctx, 3));
    recon_image_free(&image);
}

TEST_MAIN(set_up_log, close_folder, cmocka_unit_test(affine), cmocka_unit_test(h5_comes_back),
          cmocka_unit_test(h5_of_others), cmocka_unit_test(nifti_holds_the_image),
          cmocka_unit_test(nifti_of_any_rotation), cmocka_unit_test(skewed_axes), cmocka_unit_test(mrd_holds_the_image),
          cmocka_unit_test(same_bytes_whatever_the_threads))
