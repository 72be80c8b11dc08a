/* mri_recon as functions: the same bits as the program, from files and from arrays; what is refused; what a call leaves behind.
 *
 *     test_mri_calls MRI_PHANTOM MRI_RECON
 */
#include "call_test.h"

#include <complex.h>
#include <limits.h>
#include <math.h>

#include "random_fixture.h"
#include "voxfield/hdf5_io.h"
#include "voxfield/mri_recon.h"

static const char *phantom, *recon;

/* The dataset of a file that the program has written. free() its data. */
static vf_view read_dataset(const char *path, const char *name, vf_dtype type)
{
    vf_context *ctx = new_context();
    vf_h5 *file = NULL;
    vf_dtype stored;
    vf_view view = {.type = type};
    vf_status status = vf_h5_open(ctx, path, &file);
    VF_TRY(status, vf_h5_dataset_shape(file, name, &stored, &view.rank, view.dims));
    size_t bytes = vf_dtype_bytes(type);
    for (int d = 0; d < view.rank; d++)
        bytes *= (size_t)view.dims[d];
    void *data = malloc(bytes + 1);
    VF_TRY(status, vf_h5_read(file, name, type, (const int64_t[VF_H5_MAX_RANK]){0}, view.dims, data));
    check(status == VF_OK, "%s: %s", path, vf_context_message(ctx));
    vf_h5_close(&file);
    vf_context_destroy(ctx);
    view.data = data;
    return view;
}

/* A scan that was read, as arrays for a call; `read` must live as long. */
static vf_mri_scan scan_of(const vf_result *read)
{
    vf_mri_scan scan = {.data = vf_result_view(read, "data"),
                        .trajectory = vf_result_view(read, "trajectory"),
                        .weights = vf_result_view(read, "weights"),
                        .time = vf_result_view(read, "time"),
                        .field_map = vf_result_view(read, "field_map"),
                        .sensitivity = vf_result_view(read, "sensitivity")};
    memcpy(scan.matrix, vf_result_view(read, "matrix").data, sizeof scan.matrix);
    memcpy(scan.fov_mm, vf_result_view(read, "fov_mm").data, sizeof scan.fov_mm);
    if (scan.sensitivity.data) { /* [place][set][coil] of one place and set */
        memmove(scan.sensitivity.dims, scan.sensitivity.dims + 2, 4 * sizeof scan.sensitivity.dims[0]);
        scan.sensitivity.rank = 4;
    }
    if (scan.trajectory.dims[0] == 1) { /* one trajectory for all frames */
        vf_view *const each[] = {&scan.trajectory, &scan.weights, &scan.time};
        for (int n = 0; n < 3; n++)
            if (each[n]->data) {
                memmove(each[n]->dims, each[n]->dims + 1, 2 * sizeof each[n]->dims[0]);
                each[n]->rank--;
            }
    }
    return scan;
}

static vf_result *reconstruct_with(const vf_mri_scan *scan, const vf_option *options, const char *what)
{
    surroundings around;
    vf_context *ctx = new_context();
    vf_result *result = NULL;
    const int threads = 3; /* others than the options say */
    check(vf_context_set_threads(ctx, threads) == VF_OK, "no threads");
    watch_surroundings(&around);
    const vf_status status = vf_mri_reconstruct(ctx, scan, options, &result);
    check_surroundings(&around);
    check(status == VF_OK && result, "%s: %s", what, vf_context_message(ctx));
    check(vf_context_threads(ctx) == threads, "%s: the context has %d threads, not %d", what, vf_context_threads(ctx),
          threads);
    if (!result)
        exit(1);
    const char *report = vf_result_text(result, "report");
    check(report && report[0] == '{' && strstr(report, "\"program\": \"mri_recon\""), "%s: no report", what);
    vf_context_destroy(ctx);
    return result;
}

typedef struct scan_case {
    const char *name, *make, *use; /* options of mri_phantom, and of mri_recon */
    vf_option options[6];          /* the same as `use` */
    bool extras;                   /* with noise map and coil maps */
} scan_case;

static const scan_case cases[] = {
    {"radial",
     "--matrix 32,32,1 --coils 4 --spokes 24 --noise 0.02",
     "--prior wavelet --threads 2",
     {{"prior", "wavelet"}, {"threads", "2"}},
     false},
    {"cartesian",
     "--matrix 32,32,1 --coils 4 --trajectory cartesian --accelerate 2 --calibration-lines 12 --noise 0.02",
     "",
     {{0}},
     false},
    {"maps",
     "--matrix 24,24,1 --coils 3 --field-hz 40 --noise 0.02",
     "--coils file --lambda 0.01 --iterations 8 --replicas 4",
     {{"coils", "file"}, {"lambda", "0.01"}, {"iterations", "8"}, {"replicas", "4"}},
     true},
    {"series",
     "--matrix 24,24,1 --coils 2 --frames 4 --spokes 10 --continue --noise 0.02",
     "--prior wavelet+temporal --precision double",
     {{"prior", "wavelet+temporal"}, {"precision", "double"}},
     false}};

static void check_extras(const scan_case *c, const vf_result *made, const char *what)
{
    vf_view of_file[] = {read_dataset("noise.h5", "noise", VF_F32), read_dataset("noise.h5", "g_factor", VF_F32),
                         read_dataset("coils.h5", "maps", VF_C64)};
    vf_view maps = vf_result_view(made, "maps");
    check(same_bits(vf_result_view(made, "noise"), of_file[0]), "%s, %s: other noise", c->name, what);
    check(same_bits(vf_result_view(made, "g_factor"), of_file[1]), "%s, %s: another g-factor", c->name, what);
    check(maps.rank == 6 && maps.dims[0] == 1 && maps.dims[1] == 1, "%s, %s: maps of another shape", c->name, what);
    memmove(maps.dims, maps.dims + 2, 4 * sizeof maps.dims[0]);
    maps.rank = 4;
    check(same_bits(maps, of_file[2]), "%s, %s: other maps", c->name, what);
    for (int n = 0; n < 3; n++)
        free((void *)of_file[n].data);
}

static void try_case(const scan_case *c)
{
    vf_context *ctx = new_context();
    vf_result *read = NULL;
    vf_option options[12] = {{"device", "cpu"}};
    int count = 1;
    for (int n = 0; c->options[n].name; n++)
        options[count++] = c->options[n];
    if (c->extras) {
        options[count++] = (vf_option){"noise-map", "memory"};
        options[count++] = (vf_option){"save-coils", "memory"};
    }
    run_program("'%s' %s --seed %lld -o scan.h5", phantom, c->make, (long long)integer_below(INT_MAX));
    run_program("'%s' --device cpu %s %s -o image.h5 scan.h5", recon, c->use,
                c->extras ? "--noise-map noise.h5 --save-coils coils.h5" : "");
    const vf_view expected = read_dataset("image.h5", "image", VF_C64);
    const vf_mri_scan file = {.file = "scan.h5"};
    check(vf_mri_read(ctx, "scan.h5", NULL, &read) == VF_OK, "%s: %s", c->name, vf_context_message(ctx));
    const vf_mri_scan arrays = scan_of(read);
    for (int n = 0; n < 2; n++) {
        const char *what = n ? "arrays" : "file";
        vf_result *made = reconstruct_with(n ? &arrays : &file, options, c->name);
        const vf_view image = vf_result_view(made, "image");
        check(same_bits(image, expected), "%s, %s: other bits than the program's", c->name, what);
        if (c->extras)
            check_extras(c, made, what);
        check(vf_mri_write_result(ctx, made, "again.h5") == VF_OK, "%s: %s", c->name, vf_context_message(ctx));
        const vf_view again = read_dataset("again.h5", "image", VF_C64);
        check(same_bits(again, expected), "%s, %s: other bits when written", c->name, what);
        free((void *)again.data);
        vf_result_free(made);
    }
    printf("%s: [%lld][%lld][%lld][%lld]\n", c->name, (long long)expected.dims[0], (long long)expected.dims[1],
           (long long)expected.dims[2], (long long)expected.dims[3]);
    free((void *)expected.data);
    vf_result_free(read);
    vf_context_destroy(ctx);
}

/* ---- k-space on the grid ---- */

/* scan.h5 is Cartesian: its samples on the grid, in another order, give the image to the rounding of single precision. Slices give
 * each the image that it has alone, with maps of its own. */
static void try_grid(void)
{
    enum { N = 32, COILS = 4 };
    static float complex grid[2][COILS][N][N];
    const vf_option options[] = {{"device", "cpu"},  {"compress", "none"}, {"prior", "identity"},
                                 {"lambda", "0.01"}, {"coils", "walsh"},   {0}};
    vf_context *ctx = new_context();
    vf_result *read = NULL;
    run_program("'%s' %s --seed %lld -o scan.h5", phantom, cases[1].make, (long long)integer_below(INT_MAX));
    check(vf_mri_read(ctx, "scan.h5", NULL, &read) == VF_OK, "%s", vf_context_message(ctx));
    const vf_view k = vf_result_view(read, "trajectory"), d = vf_result_view(read, "data");
    const int64_t samples = k.dims[1];
    for (int64_t m = 0; m < samples; m++)
        for (int c = 0; c < COILS; c++) {
            const float *at = (const float *)k.data + 3 * m;
            grid[0][c][(int)at[1] + N / 2][(int)at[0] + N / 2] = ((const float complex *)d.data)[c * samples + m];
        }
    memcpy(grid[1], grid[0], sizeof grid[0]);
    const vf_mri_scan listed = scan_of(read), plane = {.data = {grid, VF_C64, 3, {COILS, N, N}}},
                      slices = {.data = {grid, VF_C64, 4, {2, COILS, N, N}}, .slices = true};
    vf_mri_scan without = listed;
    without.sensitivity = (vf_view){0};
    vf_result *made[] = {reconstruct_with(&without, options, "listed"), reconstruct_with(&plane, options, "grid"),
                         reconstruct_with(&slices, options, "slices")};
    const float complex *x = vf_result_view(made[0], "image").data, *y = vf_result_view(made[1], "image").data,
                        *z = vf_result_view(made[2], "image").data;
    double off = 0, all = 0, apart = 0;
    for (int i = 0; i < N * N; i++) {
        off += pow((double)cabsf(x[i] - y[i]), 2);
        all += pow((double)cabsf(x[i]), 2);
        apart += pow((double)cabsf(y[i] - z[i]), 2) + pow((double)cabsf(z[i + N * N] - z[i]), 2);
    }
    /* 2^-24 times about ten steps in each of some tens of iterations */
    check(sqrt(off / all) < 1e-4, "grid: %g from the image of the listed samples", sqrt(off / all));
    check(vf_result_view(made[2], "image").dims[1] == 2 && sqrt(apart / all) < 1e-4, "slices: %g apart",
          sqrt(apart / all));
    for (int n = 0; n < 3; n++)
        vf_result_free(made[n]);
    vf_result_free(read);
    vf_context_destroy(ctx);
}

/* ---- what is refused ---- */

enum { N = 8, SAMPLES = 64 };
static float small_k[SAMPLES][3], small_data[2][SAMPLES][2];

static vf_mri_scan small_scan(void)
{
    for (int m = 0; m < SAMPLES; m++) {
        small_k[m][0] = (float)(m % N - N / 2);
        small_k[m][1] = (float)(m / N - N / 2);
        small_k[m][2] = 0;
        for (int c = 0; c < 2; c++) {
            small_data[c][m][0] = (float)(1 + c) / (float)(1 + m % N + m / N);
            small_data[c][m][1] = 0.1F;
        }
    }
    return (vf_mri_scan){.data = {small_data, VF_C64, 2, {2, SAMPLES}},
                         .trajectory = {small_k, VF_F32, 2, {SAMPLES, 3}},
                         .matrix = {N, N, 1}};
}

static void expect(const vf_mri_scan *scan, const vf_option *options, vf_status wanted, const char *words)
{
    surroundings around;
    vf_context *ctx = new_context();
    vf_result *result = (vf_result *)&around;
    watch_surroundings(&around);
    const vf_status status = vf_mri_reconstruct(ctx, scan, options, &result);
    check_surroundings(&around);
    check(status == wanted && strstr(vf_context_message(ctx), words), "%s expected with '%s', not %s: %s",
          vf_status_name(wanted), words, vf_status_name(status), vf_context_message(ctx));
    check(!result, "'%s': a result in spite of an error", words);
    vf_result_free(result);
    vf_context_destroy(ctx);
}

static void try_refusals(void)
{
    const struct {
        vf_option option;
        const char *words;
    } options[] = {{{"lamda", "1"}, "unknown option --lamda; did you mean --lambda?"},
                   {{"lambda", "x"}, "--lambda 'x': expected a number"},
                   {{"lambda", NULL}, "option lambda needs a value"},
                   {{"tune", "1"}, "takes no value"},
                   {{"--prior", "tv"}, "without hyphens"},
                   {{"output", "x.h5"}, "option output: a call of mri_recon writes no files"},
                   {{"pict", "x.png"}, "option picture: a call of mri_recon writes no files"},
                   {{"picture", "memory"}, "option picture"},
                   {{"save-q", "memory"}, "option save-q: the result of a call of mri_recon has no place"},
                   {{"report", "r.json"}, "option report"},
                   {{"page", "memory"}, "option page"},
                   {{"part", "1/2"}, "option part: only the program"},
                   {{"resume", NULL}, "option resume: only the program"},
                   {{"journal", "yes"}, "option journal: only the program"},
                   {{"output-dir", "x"}, "option output-dir: only the program"},
                   {{"help", NULL}, "option help: only the program"},
                   {{"replicas", "4"}, "--replicas needs --noise-map"}};
    const vf_mri_scan scan = small_scan();
    for (size_t n = 0; n < sizeof options / sizeof *options; n++)
        expect(&scan, (const vf_option[]){options[n].option, {0}}, VF_ERR_ARGUMENT, options[n].words);
    vf_mri_scan wrong = scan;
    wrong.matrix[0] = 0, wrong.matrix[1] = 0, wrong.matrix[2] = 0;
    expect(&wrong, NULL, VF_ERR_INPUT, "the matrix is missing");
    wrong = scan;
    wrong.trajectory.dims[0]--;
    expect(&wrong, NULL, VF_ERR_INPUT, "64 samples against 63");
    wrong = scan;
    wrong.data.dims[0] = INT64_MAX;
    expect(&wrong, NULL, VF_ERR_ARGUMENT, "invalid length");
    wrong = scan;
    wrong.data.type = (vf_dtype)99;
    expect(&wrong, NULL, VF_ERR_ARGUMENT, "no valid type");
    wrong = (vf_mri_scan){0};
    expect(&wrong, NULL, VF_ERR_INPUT, "/scan/data is missing");
    wrong = scan;
    wrong.file = "scan.h5";
    expect(&wrong, NULL, VF_ERR_ARGUMENT, "a file or arrays, not both");
    wrong = scan;
    wrong.slices = true;
    expect(&wrong, NULL, VF_ERR_INPUT, "on the grid");
    wrong = (vf_mri_scan){.data = {small_data, VF_C64, 3, {2, N, N}}, .weights = {small_k, VF_F32, 1, {SAMPLES}}};
    expect(&wrong, NULL, VF_ERR_INPUT, "/scan/weights needs a trajectory");
    small_data[1][3][0] = NAN;
    expect(&scan, NULL, VF_ERR_INPUT, "/scan/data[1, 3] is nan");
    const vf_mri_scan grid = {.data = {small_data, VF_C64, 3, {2, N, N}}};
    expect(&grid, NULL, VF_ERR_INPUT, "frame 0, coil 1, position (3, 0, 0) along x, y, z is nan");
    (void)small_scan();
    expect(&(vf_mri_scan){.file = "missing.h5"}, NULL, VF_ERR_INPUT, "missing.h5");
}

/* ---- many runs, two at once, and one that is cancelled ---- */

static void run_small(void *user)
{
    const vf_mri_scan *scan = user;
    const vf_option options[] = {{"device", "cpu"},        {"noise-map", "memory"}, {"replicas", "2"},
                                 {"save-coils", "memory"}, {"coils", "walsh"},      {0}};
    vf_context *ctx = new_context();
    for (int n = 0; n < 2; n++) { /* one after another with one context */
        vf_result *result = NULL;
        check(vf_mri_reconstruct(ctx, scan, options, &result) == VF_OK, "%s", vf_context_message(ctx));
        vf_result_free(result);
    }
    vf_context_destroy(ctx);
}

static void run_refused(void *user)
{
    vf_context *ctx = new_context();
    vf_result *result = NULL;
    const vf_option options[] = {
        {"coils", "file"}, {"save-coils", "memory"}, {0}}; /* found out when the scan is read */
    check(vf_mri_reconstruct(ctx, user, options, &result) == VF_ERR_INPUT, "%s", vf_context_message(ctx));
    vf_context_destroy(ctx);
}

typedef struct one_of_two {
    const scan_case *of;
    vf_result *made;
} one_of_two;

static void *run_one(void *user)
{
    one_of_two *one = user;
    vf_context *ctx = new_context();
    char name[32];
    snprintf(name, sizeof name, "%s.h5", one->of->name);
    vf_option options[8] = {{"device", "cpu"}};
    memcpy(options + 1, one->of->options, sizeof one->of->options);
    check(vf_mri_reconstruct(ctx, &(vf_mri_scan){.file = name}, options, &one->made) == VF_OK, "%s",
          vf_context_message(ctx));
    vf_context_destroy(ctx);
    return NULL;
}

static void try_two_at_once(void)
{
    one_of_two alone[2] = {{&cases[0], NULL}, {&cases[1], NULL}}, both[2] = {{&cases[0], NULL}, {&cases[1], NULL}};
    pthread_t thread[2];
    for (int n = 0; n < 2; n++) {
        run_program("'%s' %s -o %s.h5", phantom, cases[n].make, cases[n].name);
        run_one(&alone[n]);
    }
    for (int n = 0; n < 2; n++)
        check(pthread_create(&thread[n], NULL, run_one, &both[n]) == 0, "no thread");
    for (int n = 0; n < 2; n++) {
        pthread_join(thread[n], NULL);
        check(both[n].made && same_bits(vf_result_view(both[n].made, "image"), vf_result_view(alone[n].made, "image")),
              "%s: other bits while another call runs", cases[n].name);
        vf_result_free(alone[n].made);
        vf_result_free(both[n].made);
    }
}

typedef struct heard {
    int calls, shares;
    bool wrong;
    char first[64];
} heard;

static void hear(void *user, const char *stage, double share)
{
    heard *h = user;
    if (h->calls++ == 0)
        snprintf(h->first, sizeof h->first, "%s", stage);
    h->shares += share > 0;
    h->wrong |= !stage[0] || !(share == -1 || (share >= 0 && share <= 1));
}

/* A run of half a minute that is cancelled after a second. */
static void try_cancel(void)
{
    vf_context *ctx = new_context();
    vf_result *result = NULL;
    heard h = {0};
    canceller c = {.ctx = ctx, .after = 1};
    pthread_t thread;
    const vf_option options[] = {{"device", "cpu"},  {"operator", "direct"}, {"iterations", "100000"},
                                 {"tolerance", "0"}, {"lambda", "0.01"},     {0}};
    run_program("'%s' --matrix 64,64,1 --coils 4 --noise 0.02 -o large.h5", phantom);
    vf_context_set_progress(ctx, hear, &h);
    check(pthread_create(&thread, NULL, cancel_later, &c) == 0, "no thread");
    const vf_status status = vf_mri_reconstruct(ctx, &(vf_mri_scan){.file = "large.h5"}, options, &result);
    const double late = vf_now() - c.at;
    pthread_join(thread, NULL);
    check(status == VF_ERR_CANCELLED && !result, "cancelled, but %s: %s", vf_status_name(status),
          vf_context_message(ctx));
    check(late >= 0 && late < LATEST, "the call ended %g s after it was cancelled", late);
    check(h.calls > 3 && h.shares > 0 && !h.wrong && strcmp(h.first, "read") == 0,
          "progress: %d calls, %d with a share, first '%s'", h.calls, h.shares, h.first);
    printf("cancelled: %.3f s later; %d calls of progress\n", late, h.calls);
    vf_context_destroy(ctx);
}

/* Hosts may ignore SIGCHLD: then the process that reads HDF5 is gone when it has ended. radial.h5 is there. */
static void try_host_without_children(void)
{
    vf_context *ctx = new_context();
    vf_result *read = NULL;
    signal(SIGCHLD, SIG_IGN);
    check(vf_mri_read(ctx, "radial.h5", NULL, &read) == VF_OK, "SIGCHLD ignored: %s", vf_context_message(ctx));
    check(vf_mri_read(ctx, "log.txt", NULL, &(vf_result *){NULL}) == VF_ERR_INPUT, "a file that is no scan");
    signal(SIGCHLD, SIG_DFL);
    vf_result_free(read);
    vf_context_destroy(ctx);
}

static void try_images(void)
{
    static float values[2][3][4][5];
    vf_context *ctx = new_context();
    for (int n = 0; n < 120; n++)
        ((float *)values)[n] = (float)n;
    const vf_view image = {values, VF_F32, 4, {2, 3, 4, 5}};
    const double voxel[] = {1, 2, 3};
    check(vf_mri_write_image(ctx, &image, voxel, "written.h5") == VF_OK, "%s", vf_context_message(ctx));
    const vf_view back = read_dataset("written.h5", "image", VF_C64);
    bool same = back.rank == 4;
    for (int n = 0; same && n < 120; n++)
        same = ((const float *)back.data)[2 * n] == (float)n && ((const float *)back.data)[2 * n + 1] == 0;
    check(same, "an image of real numbers is written otherwise");
    free((void *)back.data);
    check(vf_mri_write_image(ctx, &image, voxel, "written.nii.gz") == VF_OK, "%s", vf_context_message(ctx));
    check(vf_mri_write_image(ctx, &image, voxel, "written.xyz") == VF_ERR_ARGUMENT, "an unknown extension");
    vf_context_clear_error(ctx);
    values[1][2][3][4] = NAN;
    check(vf_mri_write_image(ctx, &image, voxel, "nan.h5") == VF_ERR_OUTPUT && access("nan.h5", F_OK) != 0,
          "NaN in an image");
    vf_context_destroy(ctx);
}

int main(int argc, char **argv)
{
    char folder[] = "/tmp/mri_calls_XXXXXX", command[64];
    if (argc != 3 || !mkdtemp(folder) || chdir(folder) != 0)
        return 2;
    phantom = argv[1];
    recon = argv[2];
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++)
        try_case(&cases[n]);
    try_grid();
    try_refusals();
    vf_mri_scan small = small_scan();
    check_growth(run_small, &small, 200); /* 400 calls */
    check_growth(run_refused, &small, 200);
    try_two_at_once();
    try_host_without_children();
    try_cancel();
    try_images();
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    check(chdir("/") == 0 && system(command) == 0, "%s", command);
    printf("%d checks, %d failures\n", checks, failures);
    return failures > 0;
}
