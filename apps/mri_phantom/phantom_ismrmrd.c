/* The ISMRMRD layout: group /dataset with `xml` and `data` (Inati et al., Magn. Reson. Med. 77 (2017) 411). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ismrmrd/ismrmrd_types.h"
#include "mri_phantom.h"
#include "voxfield/hdf5_io.h"

enum {
    BATCH = 64,              /* maximum number of acquisitions written at a time, */
    BATCH_SAMPLES = 1 << 20, /* and about the maximum number of samples */
    MOST = UINT16_MAX        /* limit of 16-bit counts in the header */
};

typedef struct writer {
    const phantom_scan *scan;
    vf_h5 *file;
    char *xml;
    hid_t data, memory_type;
    hsize_t written, total;
    int trajectory_dimensions;
    float *trajectory;      /* [batch][length][dimensions] */
    float complex *samples; /* [batch][coil][length] */
    ismrmrd_acquisition batch[BATCH];
    int pending, most; /* pending: acquisitions in the batch */
} writer;

/* No times in the file: the same content gives the same bytes. */
static hid_t without_times(void)
{
    hid_t list = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_obj_track_times(list, false);
    return list;
}

static bool put(hid_t file, const char *name, hid_t type, int rank, const hsize_t *dims, const void *data)
{
    hid_t space = H5Screate_simple(rank, dims, NULL), list = without_times();
    hid_t set = H5Dcreate2(file, name, type, space, H5P_DEFAULT, list, H5P_DEFAULT);
    bool fine = set >= 0 && H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0;
    if (set >= 0)
        H5Dclose(set);
    H5Pclose(list);
    H5Sclose(space);
    H5Tclose(type);
    return fine;
}

/* ---- the header in XML ---- */

static const char *trajectory_word(trajectory_kind kind)
{
    switch (kind) {
    case TRAJECTORY_CARTESIAN:
        return "cartesian";
    case TRAJECTORY_RADIAL:
    case TRAJECTORY_STACK_OF_STARS:
    case TRAJECTORY_KOOSH_BALL:
        return "radial";
    case TRAJECTORY_GOLDEN_ANGLE:
    case TRAJECTORY_KOOSH_BALL_GOLDEN:
        return "goldenangle";
    case TRAJECTORY_SPIRAL:
    case TRAJECTORY_STACK_OF_SPIRALS:
        return "spiral";
    default:
        return "other";
    }
}

static void write_space(FILE *out, const char *name, const phantom_settings *s, int64_t oversample)
{
    fprintf(out,
            "    <%s>\n      <matrixSize><x>%lld</x><y>%lld</y><z>%lld</z></matrixSize>\n"
            "      <fieldOfView_mm><x>%.9g</x><y>%.9g</y><z>%.9g</z></fieldOfView_mm>\n    </%s>\n",
            name, (long long)(s->matrix[0] * oversample), (long long)s->matrix[1], (long long)s->matrix[2],
            s->fov[0] * (double)oversample, s->fov[1], s->fov[2], name);
}

static void limit(FILE *out, const char *name, int64_t first, int64_t count, int64_t centre)
{
    fprintf(out, "      <%s><minimum>%lld</minimum><maximum>%lld</maximum><center>%lld</center></%s>\n", name,
            (long long)first, (long long)(count - 1), (long long)centre, name);
}

/* For regularly undersampled scans with a fully sampled middle. */
static void write_acceleration(FILE *out, const phantom_settings *s)
{
    if (s->accelerate[0] * s->accelerate[1] > 1)
        fprintf(out,
                "    <parallelImaging>\n      <accelerationFactor><kspace_encoding_step_1>%lld"
                "</kspace_encoding_step_1><kspace_encoding_step_2>%lld</kspace_encoding_step_2></accelerationFactor>\n"
                "      <calibrationMode>embedded</calibrationMode>\n    </parallelImaging>\n",
                (long long)s->accelerate[0], (long long)s->accelerate[1]);
}

/* Returns text to free(); NULL: not enough memory. */
static char *make_xml(const phantom_scan *scan)
{
    const phantom_settings *s = scan->settings;
    bool cartesian = s->trajectory == TRAJECTORY_CARTESIAN;
    int64_t partitions = scan->trajectory->partitions;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<ismrmrdHeader xmlns=\"http://www.ismrm.org/ISMRMRD\">\n  "
          "<version>1</version>\n"
          "  <measurementInformation>\n    <patientPosition>HFS</patientPosition>\n",
          out);
    fprintf(out, "    <protocolName>%s</protocolName>\n  </measurementInformation>\n", scan->description);
    fprintf(out,
            "  <acquisitionSystemInformation>\n    <systemModel>mri_phantom (Voxfield)</systemModel>\n"
            "    <receiverChannels>%lld</receiverChannels>\n  </acquisitionSystemInformation>\n",
            (long long)s->coils);
    fputs("  <experimentalConditions>\n    <H1resonanceFrequency_Hz>127740000</H1resonanceFrequency_Hz>\n"
          "  </experimentalConditions>\n  <encoding>\n",
          out);
    write_space(out, "encodedSpace", s, cartesian ? s->oversample : 1);
    write_space(out, "reconSpace", s, 1);
    fputs("    <encodingLimits>\n", out);
    limit(out, "kspace_encoding_step_0", 0, scan->trajectory->length, scan->trajectory->centre);
    limit(out, "kspace_encoding_step_1", cartesian ? undersample_first_line(s, s->readouts) : 0, s->readouts,
          cartesian ? s->matrix[1] / 2 : 0);
    limit(out, "kspace_encoding_step_2", 0, partitions, partitions / 2);
    limit(out, "repetition", 0, s->frames, 0);
    fputs("    </encodingLimits>\n", out);
    fprintf(out, "    <trajectory>%s</trajectory>\n", trajectory_word(s->trajectory));
    write_acceleration(out, s);
    fputs("  </encoding>\n</ismrmrdHeader>\n", out);
    bool fine = !ferror(out);
    if (fclose(out) != 0 || !fine) {
        free(text);
        text = NULL;
    }
    return text;
}

/* ---- HDF5 calls, made through vf_h5_call ---- */

/* Writes the coil maps like libismrmrd's arrays, with one more axis in front. */
static bool put_maps(hid_t file, const phantom_scan *scan)
{
    const phantom_settings *s = scan->settings;
    hsize_t dims[5] = {1, (hsize_t)s->coils, (hsize_t)s->matrix[2], (hsize_t)s->matrix[1], (hsize_t)s->matrix[0]};
    int rank = 5;
    if (!scan->sensitivity)
        return true;
    if (s->matrix[2] == 1) {
        rank = 4;
        dims[2] = dims[3];
        dims[3] = dims[4];
    }
    return put(file, "/dataset/csm", ismrmrd_complex_float_type(), rank, dims, scan->sensitivity);
}

/* Writes the truth like the phantom of ismrmrd_generate_cartesian_shepp_logan: complex, with frames in front. */
static bool put_truth(hid_t file, const phantom_scan *scan)
{
    const phantom_settings *s = scan->settings;
    int rank = s->matrix[2] == 1 ? 3 : 4;
    hsize_t dims[4] = {(hsize_t)s->frames, (hsize_t)s->matrix[2], (hsize_t)s->matrix[1], (hsize_t)s->matrix[0]};
    int64_t count = s->frames * s->matrix[2] * s->matrix[1] * s->matrix[0];
    if (!scan->truth)
        return true;
    if (rank == 3) {
        dims[1] = dims[2];
        dims[2] = dims[3];
    }
    float complex *values = malloc((size_t)count * sizeof *values);
    for (int64_t n = 0; values && n < count; n++)
        values[n] = scan->truth[n];
    bool fine = values && put(file, "/dataset/phantom", ismrmrd_complex_float_type(), rank, dims, values);
    free(values);
    return fine;
}

/* Writes everything except the acquisitions, and creates their dataset. */
static const char *begin(void *user, int64_t id)
{
    writer *w = user;
    hid_t file = (hid_t)id, group = H5Gcreate2(file, "/dataset", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hsize_t one = 1, chunk = w->total < BATCH ? w->total : BATCH,
            most = H5S_UNLIMITED; /* unlimited, because libismrmrd appends to it */
    if (group < 0 || H5Gclose(group) < 0 || !put(file, "/dataset/xml", ismrmrd_text_type(), 1, &one, &w->xml))
        return "write the ISMRMRD header";
    if (!put_maps(file, w->scan))
        return "write the coils' maps";
    if (!put_truth(file, w->scan))
        return "write the truth";
    w->memory_type = ismrmrd_acquisition_memory_type();
    hid_t stored = ismrmrd_acquisition_file_type(), list = without_times();
    hid_t space = H5Screate_simple(1, &w->total, &most);
    H5Pset_chunk(list, 1, &chunk);
    w->data = H5Dcreate2(file, "/dataset/data", stored, space, H5P_DEFAULT, list, H5P_DEFAULT);
    H5Sclose(space);
    H5Pclose(list);
    H5Tclose(stored);
    return w->data < 0 || w->memory_type < 0 ? "create the dataset of acquisitions" : NULL;
}

static const char *put_batch(void *user, int64_t id)
{
    writer *w = user;
    hsize_t count = (hsize_t)w->pending;
    (void)id;
    hid_t where = H5Dget_space(w->data), memory = H5Screate_simple(1, &count, NULL);
    bool fine = H5Sselect_hyperslab(where, H5S_SELECT_SET, &w->written, NULL, &count, NULL) >= 0 &&
                H5Dwrite(w->data, w->memory_type, memory, where, H5P_DEFAULT, w->batch) >= 0;
    H5Sclose(where);
    H5Sclose(memory);
    w->written += count;
    w->pending = 0;
    return fine ? NULL : "write acquisitions";
}

static const char *finish(void *user, int64_t id)
{
    writer *w = user;
    (void)id;
    bool fine = w->data < 0 || H5Dclose(w->data) >= 0;
    if (w->memory_type >= 0)
        H5Tclose(w->memory_type);
    w->data = w->memory_type = -1;
    return fine ? NULL : "finish the acquisitions";
}

/* ---- acquisitions ---- */

static ismrmrd_acquisition_header common_header(const writer *w, int64_t samples)
{
    const phantom_settings *s = w->scan->settings;
    ismrmrd_acquisition_header head = {.version = ISMRMRD_VERSION,
                                       .measurement_uid = 1,
                                       .scan_counter = (uint32_t)(w->written + (hsize_t)w->pending + 1),
                                       .number_of_samples = (uint16_t)samples,
                                       .available_channels = (uint16_t)s->coils,
                                       .active_channels = (uint16_t)s->coils,
                                       .read_dir = {1, 0, 0},
                                       .phase_dir = {0, 1, 0},
                                       .slice_dir = {0, 0, 1}};
    head.sample_time_us = (float)(1e6 * s->readout / (double)s->samples);
    for (int64_t c = 0; c < s->coils; c++)
        head.channel_mask[c / 64] |= UINT64_C(1) << (c % 64);
    return head;
}

/* Flags of the position in the scan, as scanners set them. */
static uint64_t place_flags(const phantom_scan *scan, int64_t frame, int64_t readout)
{
    const phantom_trajectory *t = scan->trajectory;
    int64_t last = t->readouts - 1;
    uint64_t flags = 0;
    if (readout == 0 || t->step[1][readout - 1] != t->step[1][readout])
        flags |= ISMRMRD_BIT(ISMRMRD_FIRST_IN_STEP1);
    if (readout == last || t->step[1][readout + 1] != t->step[1][readout])
        flags |= ISMRMRD_BIT(ISMRMRD_LAST_IN_STEP1);
    if (t->use[readout] == USE_CALIBRATION)
        flags |= ISMRMRD_BIT(ISMRMRD_CALIBRATION);
    if (t->use[readout] == USE_BOTH)
        flags |= ISMRMRD_BIT(ISMRMRD_CALIBRATION_AND_IMAGING);
    if (readout == 0)
        flags |= ISMRMRD_BIT(ISMRMRD_FIRST_IN_SLICE) | ISMRMRD_BIT(ISMRMRD_FIRST_IN_REPETITION);
    if (readout == last)
        flags |= ISMRMRD_BIT(ISMRMRD_LAST_IN_SLICE) | ISMRMRD_BIT(ISMRMRD_LAST_IN_REPETITION);
    if (readout == last && frame == scan->settings->frames - 1)
        flags |= ISMRMRD_BIT(ISMRMRD_LAST_IN_MEASUREMENT);
    return flags;
}

/* The k of a readout in the units of the file. */
static void convert_trajectory(const writer *w, int64_t frame, int64_t readout, float *out)
{
    const phantom_settings *s = w->scan->settings;
    int64_t length = w->scan->trajectory->length;
    const float *from = w->scan->trajectory->k + frame % w->scan->trajectory->sets * w->scan->trajectory->samples * 3;
    for (int64_t i = 0; i < length; i++)
        for (int a = 0; a < w->trajectory_dimensions; a++) {
            double k = from[(readout * length + i) * 3 + a], size = (double)s->matrix[a];
            *out++ = (float)(s->units == UNITS_FOV ? k : s->units == UNITS_RADIANS ? 2 * M_PI * k / size : k / size);
        }
}

static vf_status add_readout(writer *w, int64_t frame, int64_t readout)
{
    const phantom_trajectory *t = w->scan->trajectory;
    int64_t coils = w->scan->settings->coils;
    ismrmrd_acquisition *a = &w->batch[w->pending];
    float *k = w->trajectory + w->pending * t->length * w->trajectory_dimensions;
    float complex *samples = w->samples + w->pending * t->length * coils;
    a->head = common_header(w, t->length);
    a->head.flags = place_flags(w->scan, frame, readout);
    a->head.center_sample = (uint16_t)t->centre;
    a->head.trajectory_dimensions = (uint16_t)w->trajectory_dimensions;
    a->head.idx.kspace_encode_step_1 = t->step[0][readout];
    a->head.idx.kspace_encode_step_2 = t->step[1][readout];
    a->head.idx.repetition = (uint16_t)frame;
    convert_trajectory(w, frame, readout, k);
    for (int64_t c = 0; c < coils; c++)
        memcpy(samples + c * t->length, w->scan->data + (frame * coils + c) * t->samples + readout * t->length,
               (size_t)t->length * sizeof *samples);
    a->traj = (hvl_t){(size_t)(t->length * w->trajectory_dimensions), k};
    a->data = (hvl_t){(size_t)(2 * t->length * coils), samples};
    w->pending++;
    return w->pending == w->most ? vf_h5_call(w->file, put_batch, w) : VF_OK;
}

static vf_status add_noise(writer *w)
{
    int64_t floats = 2 * w->scan->settings->coils * NOISE_SAMPLES;
    union { /* hvl_t has no const */
        const float complex *from;
        void *to;
    } noise = {w->scan->noise};
    w->batch[0] = (ismrmrd_acquisition){.head = common_header(w, NOISE_SAMPLES), .data = {(size_t)floats, noise.to}};
    w->batch[0].head.flags = ISMRMRD_BIT(ISMRMRD_NOISE);
    w->pending = 1;
    vf_status status = vf_h5_call(w->file, put_batch, w);
    w->pending = 0;
    return status;
}

static vf_status write_acquisitions(vf_context *ctx, writer *w)
{
    const phantom_scan *scan = w->scan;
    vf_status status = scan->settings->noise_scan ? add_noise(w) : VF_OK;
    for (int64_t frame = 0; frame < scan->settings->frames; frame++)
        for (int64_t readout = 0; status == VF_OK && readout < scan->trajectory->readouts; readout++)
            status = vf_cancelled(ctx) ? vf_fail(ctx, VF_ERR_CANCELLED, "interrupted") : add_readout(w, frame, readout);
    return status == VF_OK && w->pending > 0 ? vf_h5_call(w->file, put_batch, w) : status;
}

/* ---- the file ---- */

vf_status phantom_check_ismrmrd(vf_context *ctx, const phantom_settings *s, const phantom_trajectory *trajectory)
{
    if (s->arrays & (ARRAY_PHI | ARRAY_REFERENCE))
        return vf_fail(ctx, VF_ERR_ARGUMENT, "--phi and --reference need the plain layout; ISMRMRD cannot store them");
    if (s->poisson > 0 && s->matrix[2] == 1)
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "--poisson in 2D takes single samples, which ISMRMRD cannot store; use -o scan.h5, or a "
                       "--matrix with z > 1");
    if (trajectory->length > MOST || s->readouts > MOST)
        return vf_fail(ctx, VF_ERR_ARGUMENT,
                       "ISMRMRD has 16-bit counts of samples per readout and of readouts: %lld and %lld are too many",
                       (long long)trajectory->length, (long long)s->readouts);
    if (s->field > 0)
        vf_warn(ctx,
                "ISMRMRD cannot store a field map: the data in %s are distorted by a ramp of %g Hz that the file does "
                "not mention",
                s->output, s->field);
    return VF_OK;
}

static vf_status prepare(vf_context *ctx, writer *w)
{
    const phantom_settings *s = w->scan->settings;
    int64_t length = w->scan->trajectory->length, most = BATCH_SAMPLES / (length * s->coils);
    w->most = most < 1 ? 1 : most < BATCH ? (int)most : BATCH;
    w->total = (hsize_t)(w->scan->trajectory->readouts * s->frames + s->noise_scan);
    w->trajectory_dimensions = s->trajectory == TRAJECTORY_CARTESIAN ? 0 : s->matrix[2] > 1 ? 3 : 2;
    w->xml = make_xml(w->scan);
    w->trajectory = malloc((size_t)(w->most * length) * 3 * sizeof *w->trajectory);
    w->samples = malloc((size_t)(w->most * length * s->coils) * sizeof *w->samples);
    if (!w->xml || !w->trajectory || !w->samples)
        return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory to write %s", s->output);
    return VF_OK;
}

vf_status phantom_write_ismrmrd(vf_context *ctx, const phantom_scan *scan)
{
    writer *w = calloc(1, sizeof *w);
    if (!w)
        return vf_fail(ctx, VF_ERR_MEMORY, "not enough memory to write %s", scan->settings->output);
    w->scan = scan;
    w->data = w->memory_type = -1;
    vf_status status = prepare(ctx, w);
    VF_TRY(status, vf_h5_create(ctx, scan->settings->output, &w->file));
    if (status != VF_OK)
        goto done;
    status = vf_h5_call(w->file, begin, w);
    VF_TRY(status, write_acquisitions(ctx, w));
    vf_status finished = vf_h5_call(w->file, finish, w);
    VF_TRY(status, finished);
    VF_TRY(status, vf_h5_commit(&w->file));
done:
    vf_h5_close(&w->file);
    free(w->xml);
    free(w->trajectory);
    free(w->samples);
    free(w);
    return status;
}
