/* cionize as functions: the same bits as the program, from files and from arrays; what is refused; what a call leaves behind.
 *
 *     test_cionize_calls CIONIZE MOLECULE.pqr
 */
#include "call_test.h"

#include <math.h>

#include "random_fixture.h"
#include "voxfield/cionize.h"
#include "voxfield/hdf5_io.h"

static const char *cionize, *sample;

/* The values of a dataset that the program has written, [count]. free() them. */
static void *read_dataset(const char *path, const char *name, vf_dtype type, int64_t *count)
{
    vf_context *ctx = new_context();
    vf_h5 *file = NULL;
    vf_dtype stored;
    int rank = 0;
    int64_t dims[VF_H5_MAX_RANK] = {0};
    vf_status status = vf_h5_open(ctx, path, &file);
    VF_TRY(status, vf_h5_dataset_shape(file, name, &stored, &rank, dims));
    *count = 1;
    for (int d = 0; d < rank; d++)
        *count *= dims[d];
    void *data = malloc((size_t)*count * vf_dtype_bytes(type) + 1);
    VF_TRY(status, vf_h5_read(file, name, type, (const int64_t[VF_H5_MAX_RANK]){0}, dims, data));
    check(status == VF_OK, "%s: %s", path, vf_context_message(ctx));
    vf_h5_close(&file);
    vf_context_destroy(ctx);
    return data;
}

static bool has_bits(const vf_result *result, const char *name, vf_dtype type, const void *expected, int64_t count)
{
    const vf_view view = vf_result_view(result, name);
    int64_t all = 1;
    for (int d = 0; d < view.rank; d++)
        all *= view.dims[d];
    return view.data && view.type == type && all == count &&
           memcmp(view.data, expected, (size_t)count * vf_dtype_bytes(type)) == 0;
}

static vf_molecule molecule_of(const vf_result *read)
{
    return (vf_molecule){.positions = vf_result_view(read, "positions"),
                         .charges = vf_result_view(read, "charges"),
                         .radii = vf_result_view(read, "radii")};
}

static vf_result *call(const vf_molecule *mol, const vf_view *points, const vf_option *options, const char *what)
{
    surroundings around;
    vf_context *ctx = new_context();
    vf_result *result = NULL;
    watch_surroundings(&around);
    const vf_status status = vf_cionize(ctx, mol, points, options, &result);
    check_surroundings(&around);
    check(status == VF_OK && result, "%s: %s", what, vf_context_message(ctx));
    if (!result)
        exit(1);
    const char *report = vf_result_text(result, "report");
    check(report && report[0] == '{' && strstr(report, "\"program\": \"cionize\""), "%s: no report", what);
    vf_context_destroy(ctx);
    return result;
}

#define CPU                                                                                                            \
    {                                                                                                                  \
        "device", "cpu"                                                                                                \
    }

/* ---- maps ---- */

static void try_map(const vf_molecule *mol, const char *what, const char *use, const vf_option *options, vf_dtype type)
{
    int64_t count = 0;
    double *origin;
    run_program("'%s' --device cpu %s -o map.h5 '%s'", cionize, use, sample);
    void *expected = read_dataset("map.h5", "potential", type, &count);
    vf_result *made = call(mol, NULL, options, what);
    check(has_bits(made, "map", type, expected, count), "%s, %s: other bits than the program's", what, use);
    origin = (double *)vf_result_view(made, "origin").data;
    check(origin && vf_result_view(made, "spacing").data && isfinite(origin[0]), "%s: no origin", what);
    free(expected);
    vf_result_free(made);
}

static void try_maps(const vf_molecule *file, const vf_molecule *arrays)
{
    const vf_option single[] = {CPU, {"spacing", "1.5"}, {0}},
                    twice[] = {CPU, {"spacing", "2"}, {"precision", "double"}, {"method", "fast"}, {0}};
    const vf_option periodic[] = {CPU, {"cell", "70,70,80"}, {"spacing", "2"}, {0}};
    for (int n = 0; n < 2; n++) {
        const vf_molecule *mol = n ? arrays : file;
        const char *what = n ? "arrays" : "file";
        try_map(mol, what, "--spacing 1.5", single, VF_F32);
        try_map(mol, what, "--spacing 2 --precision double --method fast", twice, VF_F64);
        try_map(mol, what, "--cell 70,70,80 --spacing 2", periodic, VF_F32);
    }
}

/* ---- points ---- */

static void try_points(const vf_molecule *mol)
{
    enum { POINTS = 3 };
    double points[POINTS][3]; /* in the molecule and around it */
    const vf_view at = {points, VF_F64, 2, {POINTS, 3}};
    const vf_option options[] = {CPU, {"field", NULL}, {0}};
    int64_t count = 0, fields = 0;
    for (int n = 0; n < 3 * POINTS; n++)
        points[n / 3][n % 3] = uniform_between(-60, 60);
    FILE *file = fopen("points.csv", "w");
    check(file != NULL, "no file");
    for (int n = 0; file && n < POINTS; n++)
        fprintf(file, "%.17g,%.17g,%.17g\n", points[n][0], points[n][1], points[n][2]);
    if (file)
        fclose(file);
    run_program("'%s' --device cpu --points points.csv --field --points-out values.h5 '%s'", cionize, sample);
    double *potential = read_dataset("values.h5", "potential", VF_F64, &count),
           *field = read_dataset("values.h5", "field", VF_F64, &fields);
    vf_result *made = call(mol, &at, options, "points"), *again;
    check(has_bits(made, "potential", VF_F64, potential, count) && has_bits(made, "field", VF_F64, field, fields),
          "points: other bits");
    check(has_bits(made, "points", VF_F64, points, POINTS * 3) && !vf_result_view(made, "map").data,
          "points: other points, or a map");
    again =
        call(mol, NULL, (const vf_option[]){CPU, {"points", "points.csv"}, {"field", NULL}, {0}}, "points of a file");
    check(has_bits(again, "potential", VF_F64, potential, count), "points of a file: other bits");
    free(potential);
    free(field);
    vf_result_free(made);
    vf_result_free(again);
}

/* ---- ions, in vacuum and in a solvent; energies ---- */

/* The positions of an .xyz file, which has them to a digit. */
static void check_ions(const vf_result *made, const char *path, int64_t count)
{
    char name[32];
    double r[3];
    int lines = 0;
    FILE *file = fopen(path, "r");
    const vf_view ions = vf_result_view(made, "ions"), names = vf_result_view(made, "ion_names"),
                  charges = vf_result_view(made, "ion_charges");
    check(ions.data && ions.dims[0] == count && names.data && charges.data, "%lld ions, not %lld",
          (long long)ions.dims[0], (long long)count);
    if (!file || !ions.data || ions.dims[0] != count)
        exit(1);
    check(fscanf(file, "%d%*[^\n]", &lines) == 1 && lines == count && fscanf(file, " %*[^\n]") == 0, "%s has %d ions",
          path, lines);
    for (int64_t n = 0; n < count; n++) {
        const double *at = (const double *)ions.data + 3 * n;
        const bool read = fscanf(file, "%31s %lf %lf %lf%*[^\n]", name, &r[0], &r[1], &r[2]) == 4;
        check(read && fabs(at[0] - r[0]) < 1e-3 && fabs(at[1] - r[1]) < 1e-3 && fabs(at[2] - r[2]) < 1e-3,
              "ion %lld is at (%g, %g, %g)", (long long)n, at[0], at[1], at[2]);
    }
    fclose(file);
}

static void try_ions(const vf_molecule *mol)
{
    const vf_option options[] = {
        CPU, {"spacing", "1.5"}, {"place", "SOD:3"}, {"place", "CLA:4"}, {"map", "memory"}, {"mask", "memory"}, {0}};
    run_program(
        "'%s' --device cpu --spacing 1.5 --place SOD:3 --place CLA:4 --ions ions.xyz --mask mask.h5 --map map.h5 '%s'",
        cionize, sample);
    int64_t count = 0;
    float *map = read_dataset("map.h5", "potential", VF_F32, &count);
    vf_result *made = call(mol, NULL, options, "ions");
    check_ions(made, "ions.xyz", 7);
    check(has_bits(made, "map", VF_F32, map, count), "ions: another map");
    const double *charge = vf_result_view(made, "ion_charges").data;
    check(charge[0] == 1 && charge[6] == -1 && strcmp((const char *)vf_result_view(made, "ion_names").data, "SOD") == 0,
          "ions: other kinds");
    const float *mask = vf_result_view(made, "mask").data;
    int64_t found[3] = {0};
    for (int64_t n = 0; mask && n < count; n++)
        if (mask[n] == 0 || mask[n] == 1 || mask[n] == 2)
            found[(int)mask[n]]++;
    check(mask && found[0] > 0 && found[1] > 0 && found[2] > 0 && found[0] + found[1] + found[2] == count,
          "ions: a wrong mask");
    free(map);
    vf_result_free(made);

    /* More than there is room for: what fits is there. */
    vf_context *ctx = new_context();
    const vf_option many[] = {CPU, {"spacing", "2"}, {"border", "8"}, {"ion-ion", "30"}, {"place", "SOD:500"}, {0}};
    check(vf_cionize(ctx, mol, NULL, many, &made) == VF_ERR_INCOMPLETE && made, "500 ions: %s",
          vf_context_message(ctx));
    check(made && vf_result_view(made, "ions").dims[0] > 0 && vf_result_view(made, "ions").dims[0] < 500,
          "500 ions: no ions");
    vf_result_free(made);
    vf_context_destroy(ctx);
}

/* The number behind `key` of a text. */
static double number_after(const char *text, const char *key)
{
    const char *at = text ? strstr(text, key) : NULL;
    return at ? strtod(at + strlen(key), NULL) : NAN;
}

static void try_energies(const vf_molecule *mol)
{
    const vf_option options[] = {CPU, {"solvent", NULL}, {"spacing", "2"}, {"energies", "memory"}, {0}};
    vf_result *made = call(mol, NULL, options, "energies");
    const vf_view reaction = vf_result_view(made, "reaction"), atoms = vf_result_view(made, "atom_reaction");
    const double told = number_after(vf_result_text(made, "report"), "\"reaction_kJ/mol\": ");
    double sum = 0;
    check(reaction.rank == 2 && reaction.dims[0] == 1 && reaction.dims[1] == 1 &&
              *(const double *)reaction.data == told,
          "energies: not those of the report, %g", told);
    for (int64_t n = 0; atoms.data && n < atoms.dims[0]; n++)
        sum += ((const double *)atoms.data)[n];
    /* Sums of thousands of numbers that cancel to a hundredth */
    check(atoms.data && fabs(sum - told) <= 1e-8 * fabs(told), "energies: atoms sum to %g, not %g", sum, told);
    check(!vf_result_view(made, "map").data, "energies: a map that nobody asked for");
    vf_result_free(made);
}

/* ---- what is refused ---- */

static void expect(const vf_molecule *mol, const vf_view *points, const vf_option *options, vf_status wanted,
                   const char *words)
{
    surroundings around;
    vf_context *ctx = new_context();
    vf_result *result = (vf_result *)&around;
    watch_surroundings(&around);
    const vf_status status = vf_cionize(ctx, mol, points, options, &result);
    check_surroundings(&around);
    check(status == wanted && strstr(vf_context_message(ctx), words), "%s expected with '%s', not %s: %s",
          vf_status_name(wanted), words, vf_status_name(status), vf_context_message(ctx));
    check(!result, "'%s': a result in spite of an error", words);
    vf_result_free(result);
    vf_context_destroy(ctx);
}

static void try_refusals(void)
{
    static double place[2][3] = {{0, 0, 0}, {1, 0, 0}}, charge[2] = {1, -1}, radius[2] = {1, 1};
    const vf_molecule mol = {.positions = {place, VF_F64, 2, {2, 3}},
                             .charges = {charge, VF_F64, 1, {2}},
                             .radii = {radius, VF_F64, 1, {2}}};
    const struct {
        vf_option option;
        const char *words;
    } options[] = {{{"spacing", "-1"}, "--spacing '-1': expected"},
                   {{"output", "map.dx"}, "option output: only the program"},
                   {{"map", "map.dx"}, "option map: a call of cionize writes no files"},
                   {{"picture", "memory"}, "option picture"},
                   {{"profile", "z"}, "option profile: only the program"},
                   {{"script", "x"}, "option script: only the program"},
                   {{"apbs", NULL}, "option apbs: only the program"},
                   {{"charges", "x.psf"}, "option charges: it is for files"},
                   {{"mask", "memory"}, "--mask needs"},
                   {{"field", NULL}, "--field needs --points"},
                   {{"part", "1/2"}, "option part: only the program"}};
    for (size_t n = 0; n < sizeof options / sizeof *options; n++)
        expect(&mol, NULL, (const vf_option[]){options[n].option, {0}}, VF_ERR_ARGUMENT, options[n].words);
    expect(&mol, NULL, (const vf_option[]){{"select", "all"}, {"select", "all"}, {0}}, VF_ERR_ARGUMENT,
           "make a call for each");
    vf_molecule wrong = mol;
    wrong.charges.dims[0] = 3;
    expect(&wrong, NULL, NULL, VF_ERR_INPUT, "charges must be real numbers, [2]");
    wrong = mol;
    wrong.positions.type = VF_C64;
    expect(&wrong, NULL, NULL, VF_ERR_INPUT, "positions must be real numbers");
    wrong = (vf_molecule){0};
    expect(&wrong, NULL, NULL, VF_ERR_INPUT, "positions must be real numbers");
    const vf_view at = {place, VF_F64, 1, {6}};
    expect(&mol, &at, NULL, VF_ERR_INPUT, "the points must be real numbers, [n][3]");
    const vf_view twice = {place, VF_F64, 2, {2, 3}};
    expect(&mol, &twice, (const vf_option[]){{"points", "atoms"}, {0}}, VF_ERR_ARGUMENT, "points already");
    charge[1] = NAN;
    expect(&mol, NULL, NULL, VF_ERR_INPUT, "charges[1] is nan");
    charge[1] = -1;
    place[1][2] = INFINITY;
    expect(&mol, NULL, NULL, VF_ERR_INPUT, "positions[1][2] is inf");
    place[1][2] = 0;
    radius[0] = -1;
    expect(&mol, NULL, NULL, VF_ERR_INPUT, "radii[0] is -1");
    expect(&(vf_molecule){.file = "missing.pqr"}, NULL, NULL, VF_ERR_INPUT, "missing.pqr");
}

/* ---- reading, labels, selections ---- */

static void try_reading(vf_result **read)
{
    vf_context *ctx = new_context();
    check(vf_molecule_read(ctx, sample, NULL, read) == VF_OK, "%s", vf_context_message(ctx));
    const vf_view names = vf_result_view(*read, "names"), residues = vf_result_view(*read, "residues");
    check(names.rank == 2 && names.dims[1] == 8 && residues.data &&
              vf_result_view(*read, "residue_numbers").type == VF_I32,
          "no labels");
    vf_context_destroy(ctx);
}

/* Names of arrays count for selections. */
static void try_selection(void)
{
    static const double place[3][3] = {{0, 0, 0}, {3, 0, 0}, {0, 4, 0}}, charge[3] = {1, -2, 0.5},
                        at[1][3] = {{10, 0, 0}};
    static const char *const names[] = {"CA", "NA", "CA"};
    const vf_molecule mol = {
        .positions = {place, VF_F64, 2, {3, 3}}, .charges = {charge, VF_F64, 1, {3}}, .names = names};
    const vf_view points = {at, VF_F64, 2, {1, 3}};
    const vf_option options[] = {CPU, {"select", "name NA"}, {"units", "e/A"}, {0}};
    vf_result *made = call(&mol, &points, options, "a selection");
    const double value = *(const double *)vf_result_view(made, "potential").data;
    check(fabs(value + 2.0 / 7) <= 1e-14, "a selection: %.17g, not -2/7", value);
    vf_result_free(made);
}

/* ---- many runs, two at once, and one that is cancelled ---- */

static void run_small(void *user)
{
    const vf_option options[] = {CPU, {"spacing", "6"}, {"place", "SOD:1"}, {"map", "memory"}, {"mask", "memory"}, {0}};
    vf_context *ctx = new_context();
    vf_result *result = NULL;
    check(vf_cionize(ctx, user, NULL, options, &result) == VF_OK, "%s", vf_context_message(ctx));
    vf_result_free(result);
    vf_context_destroy(ctx);
}

static void run_refused(void *user)
{
    const vf_option options[] = {CPU, {"spacing", "6"}, {"cell", "1,1,1"}, {"place", "SOD:1"}, {"select", "name XYZ"},
                                 {0}};
    vf_context *ctx = new_context();
    vf_result *result = NULL;
    check(vf_cionize(ctx, user, NULL, options, &result) != VF_OK && !result, "a selection of no atoms");
    vf_context_destroy(ctx);
}

typedef struct one_of_two {
    const vf_molecule *mol;
    const char *spacing;
    vf_result *made;
} one_of_two;

static void *run_one(void *user)
{
    one_of_two *one = user;
    const vf_option options[] = {CPU, {"spacing", one->spacing}, {"method", "fast"}, {0}};
    vf_context *ctx = new_context();
    check(vf_cionize(ctx, one->mol, NULL, options, &one->made) == VF_OK, "%s", vf_context_message(ctx));
    vf_context_destroy(ctx);
    return NULL;
}

static void try_two_at_once(const vf_molecule *mol)
{
    one_of_two alone[2] = {{mol, "1.2", NULL}, {mol, "1.1", NULL}}, both[2] = {{mol, "1.2", NULL}, {mol, "1.1", NULL}};
    pthread_t thread[2];
    for (int n = 0; n < 2; n++)
        run_one(&alone[n]);
    for (int n = 0; n < 2; n++)
        check(pthread_create(&thread[n], NULL, run_one, &both[n]) == 0, "no thread");
    for (int n = 0; n < 2; n++) {
        pthread_join(thread[n], NULL);
        check(both[n].made && same_bits(vf_result_view(both[n].made, "map"), vf_result_view(alone[n].made, "map")),
              "other bits while another call runs");
        vf_result_free(alone[n].made);
        vf_result_free(both[n].made);
    }
}

static void hear(void *user, const char *stage, double share)
{
    *(int *)user += share >= 0 && share <= 1 && stage[0];
}

/* The direct sum of a fine map takes a minute. */
static void try_cancel(const vf_molecule *mol)
{
    vf_context *ctx = new_context();
    vf_result *result = NULL;
    int heard = 0;
    canceller c = {.ctx = ctx, .after = 1};
    pthread_t thread;
    const vf_option options[] = {CPU, {"spacing", "0.25"}, {"method", "exact:ref"}, {0}};
    vf_context_set_progress(ctx, hear, &heard);
    check(pthread_create(&thread, NULL, cancel_later, &c) == 0, "no thread");
    const vf_status status = vf_cionize(ctx, mol, NULL, options, &result);
    const double late = vf_now() - c.at;
    pthread_join(thread, NULL);
    check(status == VF_ERR_CANCELLED && !result, "cancelled, but %s: %s", vf_status_name(status),
          vf_context_message(ctx));
    check(late >= 0 && late < LATEST, "the call ended %g s after it was cancelled", late);
    check(heard > 0, "no progress");
    printf("cancelled: %.3f s later; %d calls of progress\n", late, heard);
    vf_context_destroy(ctx);
}

int main(int argc, char **argv)
{
    char folder[] = "/tmp/cionize_calls_XXXXXX", command[64];
    vf_result *read = NULL;
    if (argc != 3 || !mkdtemp(folder) || chdir(folder) != 0)
        return 2;
    cionize = argv[1];
    sample = argv[2];
    try_reading(&read);
    if (!read)
        return 1;
    const vf_molecule file = {.file = sample}, arrays = molecule_of(read);
    try_maps(&file, &arrays);
    try_points(&arrays);
    try_ions(&arrays);
    try_energies(&arrays);
    try_selection();
    try_refusals();
    vf_molecule small = arrays;
    small.positions.dims[0] = small.charges.dims[0] = small.radii.dims[0] = 50;
    check_growth(run_small, &small, 200);
    check_growth(run_refused, &small, 200);
    try_two_at_once(&arrays);
    try_cancel(&arrays);
    vf_result_free(read);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    check(chdir("/") == 0 && system(command) == 0, "%s", command);
    printf("%d checks, %d failures\n", checks, failures);
    return failures > 0;
}
