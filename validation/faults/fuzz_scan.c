/* Feeds arbitrary bytes to the reader of scans. A scan that is read is complete, finite and consistent. A rejected
 * one leaves an error message and no memory.
 *
 * This does not test HDF5 itself. The first byte selects the part: 'x' the XML header of an ISMRMRD file, 'a'
 * acquisitions, 'p' the shapes and values of the plain layout, 'f' those of fastMRI with the numbers of its header, 'c'
 * those of CMRxRecon.
 *
 * With libFuzzer (clang -fsanitize=fuzzer, VOXFIELD_LIBFUZZER defined) this is a fuzzer; otherwise a program for
 * tests that runs the given files and directories. There, files named ok-* must be read, and files named bad-* must
 * be rejected. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_replay.h"
#include "scan/scan_finish.h"
#include "scan/scan_grid.h"
#include "scan/scan_ismrmrd_reader.h"
#include "scan/scan_ismrmrd_text.h"
#include "voxfield/hdf5_io.h"

static const char PATH[] = "fuzz.h5";

/* ---- conditions ---- */

static void require_trajectory(const mri_scan *s, const scan_trajectory *t)
{
    double weight = 0;
    REQUIRE(t->samples >= 1 && t->k);
    for (int64_t m = 0; m < t->samples; m++) {
        bool inside = true;
        for (int a = 0; a < 3; a++) {
            double k = (double)t->k[3 * m + a];
            REQUIRE(isfinite(k));
            inside = inside && (s->matrix[a] == 1 || fabs(k) <= (double)s->matrix[a] / 2 + 0.5);
        }
        REQUIRE(inside || (t->weights && t->weights[m] == 0));
        REQUIRE(!t->weights || (t->weights[m] >= 0 && isfinite(t->weights[m])));
        REQUIRE(!t->time || isfinite(t->time[m]));
        REQUIRE(!t->phi || (isfinite(crealf(t->phi[m])) && isfinite(cimagf(t->phi[m]))));
        weight += t->weights ? (double)t->weights[m] : 1;
    }
    REQUIRE(weight > 0);
    REQUIRE(t->readouts == 0 || (t->readout[0] == 0 && t->readout[t->readouts] == t->samples));
    for (int64_t n = 0; n < t->readouts; n++)
        REQUIRE(t->readout[n] < t->readout[n + 1]);
}

static void require_frames(const mri_scan *s)
{
    REQUIRE(s->frames >= 1 && (int64_t)s->frames <= (int64_t)s->volumes * s->slices);
    REQUIRE(s->calibrations >= 0 && s->calibrations <= s->places);
    for (int f = 0; f < s->frames + s->calibrations; f++) {
        const scan_frame *frame = &s->frame[f];
        int from = f < s->frames ? 0 : s->frames; /* images and calibrations have separate places */
        REQUIRE(frame->trajectory >= 0 && frame->trajectory < s->trajectories + s->calibrations);
        REQUIRE((f < s->frames) == (frame->trajectory < s->trajectories));
        REQUIRE(frame->volume >= 0 && frame->volume < s->volumes && frame->slice >= 0 && frame->slice < s->slices);
        REQUIRE(frame->place >= 0 && frame->place < s->places);
        for (int g = from; g < f; g++)
            REQUIRE(s->frame[g].volume != frame->volume || s->frame[g].slice != frame->slice);
        int64_t samples = s->coils * s->trajectory[frame->trajectory].samples;
        for (int64_t m = 0; m < samples; m++)
            REQUIRE(isfinite(crealf(frame->data[m])) && isfinite(cimagf(frame->data[m])));
    }
}

static void require_directions(const scan_geometry *g)
{
    for (int a = 0; a < 3; a++) {
        REQUIRE(isfinite(g->centre[a]));
        for (int d = 0; d < 3; d++)
            REQUIRE(fabs(g->direction[d][a]) <= 1.02);
    }
}

static void require_sound(const mri_scan *s)
{
    for (int a = 0; a < 3; a++) {
        REQUIRE(s->matrix[a] >= 1 && s->crop[a] >= 1 && s->crop[a] <= s->matrix[a]);
        REQUIRE(s->fov[a] > 0 && isfinite(s->fov[a]));
    }
    require_directions(&s->geometry);
    REQUIRE(s->coils >= 1 && s->slices >= 1 && s->volumes >= 1 && s->trajectories >= 1);
    REQUIRE(s->places == s->slices || (s->slices == 1 && s->matrix[2] > 1 && s->volumes % s->places == 0));
    REQUIRE(!s->place_geometry || (s->places > s->slices && s->geometry.known));
    for (int p = 0; s->place_geometry && p < s->places; p++)
        require_directions(&s->place_geometry[p]);
    REQUIRE(s->geometry.slice_step >= 0 && (s->slices == 1) == (s->geometry.slice_step == 0));
    for (int i = 0; i < s->trajectories + s->calibrations; i++)
        require_trajectory(s, &s->trajectory[i]);
    require_frames(s);
    for (int i = 0; s->noise && i < s->coils; i++)
        REQUIRE(creal(s->noise[i * s->coils + i]) >= 0);
    REQUIRE(strlen(s->digest) == VF_DIGEST_TEXT - 1);
    REQUIRE(strlen(s->description) < sizeof s->description && s->layout[0]);
}

static void require_message(void *user, vf_log_level level, const char *text)
{
    (void)user;
    text += level == VF_LOG_NOTE && strncmp(text, "note: ", 6) == 0 ? 6 : 0;
    REQUIRE(strncmp(text, PATH, sizeof PATH - 1) == 0);
    for (; *text; text++)
        REQUIRE(*text >= ' ' && *text <= '~'); /* no control characters for a terminal */
}

/* ---- numbers from bytes ---- */

typedef struct bytes {
    const uint8_t *at, *end;
} bytes;

static unsigned take(bytes *b)
{
    return b->at < b->end ? *b->at++ : 0;
}

/* Mostly valid values, sometimes invalid ones. */
static float take_float(bytes *b)
{
    static const float special[] = {NAN, INFINITY, -INFINITY, 3e38f, 1e-40f, 0.5f, -0.5f, 3.1415927f};
    unsigned byte = take(b);
    return byte < 8 ? special[byte] : (float)((int)byte - 132) / 64;
}

static int64_t take_size(bytes *b)
{
    static const int64_t special[] = {0, 255, 65535, INT64_C(1) << 31, INT64_C(1) << 40, INT64_C(1) << 62};
    unsigned byte = take(b);
    return byte >= 250 ? special[byte - 250] : byte % 9;
}

/* ---- acquisitions ---- */

enum { MOST_ACQUISITIONS = 24 };

typedef struct made_up {
    int64_t count;
    ismrmrd_acquisition_header head[MOST_ACQUISITIONS];
    ismrmrd_body body[MOST_ACQUISITIONS];
    float *memory[MOST_ACQUISITIONS][2];
} made_up;

/* A separate allocation that ends where the floats end, so that a sanitizer detects reads beyond it. */
static const float *make_floats(bytes *b, int64_t count, float **memory)
{
    *memory = malloc(count ? (size_t)count * sizeof(float) : 1);
    REQUIRE(*memory);
    for (int64_t i = 0; i < count; i++)
        (*memory)[i] = take_float(b);
    return *memory;
}

static int64_t off_by(unsigned byte, int64_t count)
{
    return byte < 4 ? count + (int)byte - 2 < 0 ? 0 : count + (int)byte - 2 : count;
}

static void make_acquisition(made_up *m, int64_t i, bytes *b)
{
    ismrmrd_acquisition_header *h = &m->head[i];
    unsigned flag = take(b), size = take(b), more = take(b);
    h->flags = flag < 64 ? UINT64_C(1) << flag : 0;
    h->number_of_samples = (uint16_t)(size % 12);
    h->active_channels = (uint16_t)(more % 16 == 15 ? 3 : more % 16 == 14 ? 0 : 2);
    h->trajectory_dimensions = (uint16_t)((more / 16) % 6);
    h->discard_pre = (uint16_t)(size / 64);
    h->discard_post = (uint16_t)(size / 100);
    h->center_sample = (uint16_t)take(b);
    h->encoding_space_ref = flag == 200;
    h->sample_time_us = take_float(b);
    for (int a = 0; a < 3; a++) {
        h->read_dir[a] = a == 0 ? 1.0f : take_float(b);
        h->phase_dir[a] = a == 1;
        h->slice_dir[a] = a == 2 ? 1.0f : 0;
        h->position[a] = take_float(b);
    }
    h->idx.kspace_encode_step_1 = (uint16_t)take(b);
    h->idx.kspace_encode_step_2 = (uint16_t)(take(b) % 16);
    unsigned where = take(b);
    h->idx.slice = (uint16_t)(where % 4);
    h->idx.repetition = (uint16_t)(where / 4 % 4);
    h->idx.contrast = (uint16_t)(where / 16 % 4);
    h->idx.set = (uint16_t)(where == 255 ? 65535 : where / 64);
    int64_t traj = off_by(take(b), (int64_t)h->number_of_samples * h->trajectory_dimensions);
    int64_t data = off_by(take(b), 2 * (int64_t)h->number_of_samples * h->active_channels);
    m->body[i].traj = make_floats(b, traj, &m->memory[i][0]);
    m->body[i].data = make_floats(b, data, &m->memory[i][1]);
    m->body[i].traj_floats = traj;
    m->body[i].data_floats = data;
}

static vf_status made_up_heads(vf_context *ctx, void *user, int64_t first, int64_t count,
                               ismrmrd_acquisition_header *out)
{
    const made_up *m = user;
    (void)ctx;
    REQUIRE(first >= 0 && count >= 1 && first + count <= m->count);
    memcpy(out, m->head + first, (size_t)count * sizeof *out);
    return VF_OK;
}

static vf_status made_up_bodies(vf_context *ctx, void *user, int64_t first, int64_t count, size_t size,
                                ismrmrd_body *out)
{
    const made_up *m = user;
    size_t used = 0;
    REQUIRE(first >= 0 && count >= 1 && first + count <= m->count);
    for (int64_t i = 0; i < count; i++) {
        out[i] = m->body[first + i];
        used += (size_t)(out[i].traj_floats + out[i].data_floats) * sizeof(float);
    }
    return used <= size ? VF_OK : vf_fail(ctx, VF_ERR_INPUT, "%s: more than the headers say", PATH);
}

static vf_status assemble(vf_context *ctx, made_up *m, const ismrmrd_protocol *protocol, k_units units, mri_scan *s)
{
    const ismrmrd_source source = {PATH, m, m->count, 0, made_up_heads, made_up_bodies, NULL, false};
    return ismrmrd_assemble(ctx, &source, protocol, &(scan_request){.units = units}, s);
}

static vf_status run_acquisitions(vf_context *ctx, bytes b, mri_scan *s)
{
    made_up m = {.count = 1 + take(&b) % MOST_ACQUISITIONS};
    ismrmrd_protocol protocol;
    ismrmrd_protocol_reset(&protocol);
    ismrmrd_encoding *e = &protocol.encoding[0];
    k_units units = (k_units)(take(&b) % 4);
    for (int a = 0; a < 3; a++) {
        e->encoded.matrix[a] = (int64_t)take(&b) % 65;
        e->recon.matrix[a] = (int64_t)take(&b) % 65;
        e->encoded.fov[a] = (double)(take(&b) * 2);
        e->recon.fov[a] = (double)take(&b);
    }
    e->step_1.center = (int64_t)take(&b) - 1;
    static const char *const names[] = {"cartesian", "", "radial", "epi", "other"};
    snprintf(e->trajectory, sizeof e->trajectory, "%s", names[take(&b) % 5]);
    for (int64_t i = 0; i < m.count; i++)
        make_acquisition(&m, i, &b);
    vf_status status = assemble(ctx, &m, &protocol, units, s);
    for (int64_t i = 0; i < m.count; i++) {
        free(m.memory[i][0]);
        free(m.memory[i][1]);
    }
    return status;
}

/* ---- the XML header, and three readouts that match it ---- */

static vf_status run_xml(vf_context *ctx, bytes b, mri_scan *s)
{
    static float zeros[2 * 8], line[8 * 2];
    made_up m = {.count = 3};
    ismrmrd_protocol protocol;
    size_t size = (size_t)(b.end - b.at);
    char *text = malloc(size ? size : 1);
    REQUIRE(text);
    memcpy(text, b.at, size);
    vf_status status = ismrmrd_parse_xml(ctx, PATH, text, size, &protocol);
    free(text);
    if (status != VF_OK)
        return status;
    for (int i = 0; i < 8; i++)
        line[2 * i] = (float)(i - 4) / 8;
    for (int i = 0; i < 3; i++) {
        m.head[i] = (ismrmrd_acquisition_header){.number_of_samples = 8, .active_channels = 1, .center_sample = 4};
        m.head[i].trajectory_dimensions = protocol.encoding[0].trajectory[0] == 'r' ? 2 : 0;
        m.head[i].idx.kspace_encode_step_1 = (uint16_t)i;
        m.body[i] = (ismrmrd_body){line, zeros, 8 * m.head[i].trajectory_dimensions, 16};
    }
    return assemble(ctx, &m, &protocol, K_AUTO, s);
}

/* ---- the plain layout ---- */

typedef struct made_up_set {
    const char *name;
    bool exists;
    vf_dtype type;
    int rank;
    int64_t dims[VF_H5_MAX_RANK];
} made_up_set;

enum { PLAIN_SETS = 10 };
typedef struct made_up_file {
    vf_context *ctx;
    bytes values;
    int64_t matrix[3];
    double fov[3];
    made_up_set sets[PLAIN_SETS];
} made_up_file;

static made_up_set *find_set(made_up_file *f, const char *name)
{
    for (int i = 0; i < PLAIN_SETS; i++)
        if (strcmp(f->sets[i].name, name) == 0)
            return &f->sets[i];
    abort();
}

static bool plain_exists(void *user, const char *name)
{
    return find_set(user, name)->exists;
}

static vf_status plain_shape(void *user, const char *name, vf_dtype *type, int *rank, int64_t *dims)
{
    const made_up_set *set = find_set(user, name);
    REQUIRE(set->exists);
    *type = set->type;
    *rank = set->rank;
    memcpy(dims, set->dims, sizeof set->dims);
    return VF_OK;
}

static vf_status plain_read(void *user, const char *name, vf_dtype type, const int64_t *start, const int64_t *count,
                            void *data)
{
    made_up_file *f = user;
    const made_up_set *set = find_set(f, name);
    int64_t values = type == VF_C64 ? 2 : 1;
    REQUIRE((type == VF_C64 || type == VF_F32) && (type == VF_C64) == (vf_dtype_real(set->type) != set->type));
    for (int d = 0; d < set->rank; d++) {
        REQUIRE(start[d] >= 0 && count[d] >= 1 && start[d] + count[d] <= set->dims[d]);
        values *= count[d];
    }
    if (values > 1 << 20) /* would only be slow */
        return vf_fail(f->ctx, VF_ERR_INPUT, "%s: too much", PATH);
    for (int64_t i = 0; i < values; i++)
        ((float *)data)[i] = take_float(&f->values);
    return VF_OK;
}

static vf_status plain_integers(void *user, const char *object, const char *name, int64_t *values, int n)
{
    REQUIRE(n == 3 && strcmp(object, "/scan") == 0 && strcmp(name, "matrix") == 0);
    memcpy(values, ((made_up_file *)user)->matrix, 3 * sizeof *values);
    return VF_OK;
}

static vf_status plain_doubles(void *user, const char *object, const char *name, double *values, int n)
{
    REQUIRE(n == 3 && strcmp(object, "/scan") == 0 && strcmp(name, "fov_mm") == 0);
    memcpy(values, ((made_up_file *)user)->fov, 3 * sizeof *values);
    return VF_OK;
}

/* Kinds and shapes of `count` datasets. */
static void make_sets(made_up_file *f, const char *const *names, int count, bytes *b)
{
    for (int i = 0; i < PLAIN_SETS; i++) {
        made_up_set *set = &f->sets[i];
        unsigned kind = i < count ? take(b) : 0;
        set->name = i < count ? names[i] : "";
        set->exists = kind % 16 != 0;
        set->type = (vf_dtype)(kind / 16 % 4);
        set->rank = set->exists ? (int)(take(b) % 9) : 0;
        for (int d = 0; d < set->rank; d++)
            set->dims[d] = take_size(b);
    }
}

static vf_status run_plain(vf_context *ctx, bytes b, mri_scan *s)
{
    static const char *const names[PLAIN_SETS] = {
        "/scan/data",        "/scan/trajectory", "/scan/weights",   "/scan/time",  "/scan/phi",
        "/scan/sensitivity", "/scan/field_map",  "/scan/reference", "/scan/truth", "/scan/noise"};
    made_up_file f = {.ctx = ctx};
    for (int a = 0; a < 3; a++) {
        f.matrix[a] = take_size(&b);
        f.fov[a] = (double)take_float(&b);
    }
    k_units units = (k_units)(take(&b) % 4);
    make_sets(&f, names, PLAIN_SETS, &b);
    f.values = b;
    const plain_source source = {PATH, &f, plain_exists, plain_shape, plain_read, plain_integers, plain_doubles};
    return scan_read_plain(ctx, &source, units, s);
}

/* ---- fastMRI and CMRxRecon ---- */

enum { GRID_SETS = 5 };

/* Their readers are called only for files that have k-space, which the file's list of datasets says. */
static vf_status run_grid(vf_context *ctx, bytes b, bool fastmri, mri_scan *s)
{
    static const char *const names[2][GRID_SETS] = {
        {"kspace_full", "mask04", "kspace_single_full", "-", "--"},
        {"kspace", "mask", "reconstruction_rss", "reconstruction_esc", "-"}};
    made_up_file f = {.ctx = ctx};
    ismrmrd_protocol protocol;
    ismrmrd_protocol_reset(&protocol);
    for (int a = 0; a < 3; a++) {
        protocol.encoding[0].encoded.matrix[a] = take_size(&b);
        protocol.encoding[0].recon.matrix[a] = take_size(&b);
        protocol.encoding[0].encoded.fov[a] = (double)take_float(&b);
        protocol.encoding[0].recon.fov[a] = (double)take_float(&b);
    }
    const bool single = take(&b) % 2;
    make_sets(&f, names[fastmri], GRID_SETS, &b);
    f.values = b;
    const plain_source source = {PATH, &f, plain_exists, plain_shape, plain_read, plain_integers, plain_doubles};
    if (!f.sets[single && !fastmri ? 2 : 0].exists)
        return vf_fail(ctx, VF_ERR_INPUT, "%s: no k-space", PATH);
    if (fastmri)
        return scan_read_fastmri(ctx, &source, &protocol, s);
    return scan_read_cmrxrecon(ctx, &source, names[0][single ? 2 : 0], f.sets[1].exists ? "mask04" : NULL, s);
}

/* ---- one input ---- */

vf_status fuzz_one(const uint8_t *data, size_t size)
{
    static const mri_scan nothing;
    vf_context *ctx;
    mri_scan s = nothing;
    bytes rest = {data + (size > 0), data + size};
    if (vf_context_create(&ctx) != VF_OK)
        return VF_ERR_MEMORY;
    vf_context_set_log(ctx, require_message, NULL);
    int part = size > 0 ? data[0] : 0;
    vf_status status = part == 'x'   ? run_xml(ctx, rest, &s)
                       : part == 'a' ? run_acquisitions(ctx, rest, &s)
                       : part == 'f' ? run_grid(ctx, rest, true, &s)
                       : part == 'c' ? run_grid(ctx, rest, false, &s)
                                     : run_plain(ctx, rest, &s);
    if (status == VF_OK)
        status = scan_finish(ctx, PATH, &s);
    if (status == VF_OK)
        require_sound(&s);
    else
        require_message(NULL, VF_LOG_NOTE, vf_context_message(ctx));
    REQUIRE(status == VF_OK || status == VF_ERR_INPUT || status == VF_ERR_MEMORY || status == VF_ERR_UNSUPPORTED);
    scan_free(&s);
    REQUIRE(memcmp(&s, &nothing, sizeof s) == 0);
    vf_context_destroy(ctx);
    return status;
}
