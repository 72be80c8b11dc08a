/* Energies of solvation for validation/tables/solvent_study.py and for tests against other programs: a line of JSON.
 *
 * usage: solvent_cases born|sphere|pair|FILE.pqr KEY=VALUE...
 *
 * Keys: spacing; points (along each axis; 0: what the border needs), nx, ny, nz (points along one axis), border, cx, cy, cz (the grid's middle; of the molecule's bounds by
 * default), shift (of the grid in spacings, along x; y and z by other parts), eps_m, eps_s, kappa, stern, probe, surface (0, 1, 2, 3:
 * the values of vf_surface_kind), threads, tolerance; moved: also tells what the solution is worth as a start for one in which each atom has
 * moved by so much (rms along an axis), as in the next frame of a trajectory; and faces=FILE, for the permittivities of all faces, as 32-bit numbers in the order of
 * vf_stencil_options: those along x, then y, then z. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "molecule/molecule.h"
#include "solvent_internal.h"
#include "solvent_truth.h"
#include "voxfield/context.h"
#include "voxfield/device.h"
#include "voxfield/timer.h"

/* kJ/mol times angstrom over e^2: 332.063713 kcal/mol (docs/conventions.md). */
static const double kilojoules = 332.063713 * 4.184;

typedef struct keys {
    double spacing, points, counts[3], border, centre[3], shift, eps_m, eps_s, kappa, stern, probe, surface, threads,
        tolerance, moved;
    const char *faces;
} keys;

static bool read_key(keys *k, const char *text)
{
    static const char faces[] = "faces=";
    if (strncmp(text, faces, sizeof faces - 1) == 0) {
        k->faces = text + sizeof faces - 1;
        return true;
    }
    const struct {
        const char *name;
        double *to;
    } all[] = {{"spacing", &k->spacing}, {"points", &k->points},       {"border", &k->border}, {"cx", &k->centre[0]},
               {"cy", &k->centre[1]},    {"cz", &k->centre[2]},        {"shift", &k->shift},   {"nx", &k->counts[0]},
               {"ny", &k->counts[1]},    {"nz", &k->counts[2]},        {"eps_m", &k->eps_m},   {"eps_s", &k->eps_s},
               {"kappa", &k->kappa},     {"stern", &k->stern},         {"probe", &k->probe},   {"surface", &k->surface},
               {"threads", &k->threads}, {"tolerance", &k->tolerance}, {"moved", &k->moved}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const size_t length = strlen(all[i].name);
        char *end;
        if (strncmp(text, all[i].name, length) == 0 && text[length] == '=') {
            *all[i].to = strtod(text + length + 1, &end);
            return *end == '\0' && end != text + length + 1;
        }
    }
    return false;
}

/* ---- molecules whose energy is known ---- */

static void set_atom(molecule *m, int64_t i, const double at[3], double charge, double radius)
{
    m->x[i] = at[0];
    m->y[i] = at[1];
    m->z[i] = at[2];
    m->charge[i] = charge;
    m->radius[i] = radius;
}

static double make_sphere(const keys *k, bool born, molecule *m)
{
    const truth_sphere ion = {3, k->eps_m, k->eps_s, k->kappa, k->stern, 1, {{0}}, {1}};
    truth_sphere s = {
        10,
        k->eps_m,
        k->eps_s,
        k->kappa,
        k->stern,
        6,
        {{6.2, 0.2, -0.3}, {-6.2, 0.1, 0.2}, {0.3, 6.1, 0.2}, {0.2, -6.2, 0.4}, {-0.1, 0.3, 6.2}, {0.4, 0.2, -6.1}},
        {1, 1, -1, 1, -1, 1}};
    s = born ? ion : s;
    m->atoms = s.charges + 1;
    set_atom(m, 0, (double[3]){0}, 0, s.radius);
    for (int i = 0; i < s.charges; i++)
        set_atom(m, i + 1, s.at[i], s.charge[i], 1);
    return truth_sphere_energy(&s);
}

static double make_pair(const keys *k, molecule *m)
{
    const truth_pair p = {{3, 2}, {1, -1}, {1, 0.5}, 5.5, k->eps_m, k->eps_s, k->kappa};
    m->atoms = 4;
    for (int i = 0; i < 2; i++) {
        set_atom(m, 2 * i, (double[3]){0, 0, i * p.distance}, 0, p.radius[i]);
        set_atom(m, 2 * i + 1, (double[3]){0, 0, i ? p.distance - p.offset[1] : p.offset[0]}, p.charge[i], 1);
    }
    return truth_pair_energy(&p);
}

/* ---- the solution ---- */

static void lay_grid(const keys *k, const molecule *m, vf_grid *grid)
{
    const double *const at[3] = {m->x, m->y, m->z}, parts[3] = {1, 0.37, -0.61};
    for (int a = 0; a < 3; a++) {
        double lo = INFINITY, hi = -INFINITY;
        for (int64_t i = 0; i < m->atoms; i++) {
            lo = fmin(lo, at[a][i] - m->radius[i]);
            hi = fmax(hi, at[a][i] + m->radius[i]);
        }
        const double middle = isnan(k->centre[a]) ? (lo + hi) / 2 : k->centre[a];
        grid->spacing[a] = k->spacing;
        const double wanted = k->counts[a] > 0 ? k->counts[a] : k->points;
        grid->counts[a] = wanted > 0 ? (int64_t)wanted : (int64_t)ceil((hi - lo + 2 * k->border) / k->spacing) + 1;
        grid->origin[a] = middle - k->spacing * ((double)(grid->counts[a] - 1) / 2 - k->shift * parts[a]);
    }
}

static vf_status write_faces(vf_context *ctx, const vf_solvent *plan, const char *path)
{
    FILE *file = fopen(path, "wb");
    bool good = file != NULL;
    for (int a = 0; good && a < 3; a++) {
        const size_t faces = (size_t)(plan->points / plan->grid.counts[a] * (plan->grid.counts[a] + 1));
        good = fwrite(plan->faces[a].data, sizeof(float), faces, file) == faces;
    }
    good = file && fclose(file) == 0 && good;
    return good ? VF_OK : vf_fail(ctx, VF_ERR_OUTPUT, "%s cannot be written", path);
}

/* The residual that `before` leaves of another frame's equation, relative, and the iterations from 0 and from there. Where a point
 * has changed sides, the start is 0. */
static vf_status try_start(const vf_solvent *before, const vf_coulomb_atoms *charges, const double *radius)
{
    const vf_spheres spheres = {charges->count, charges->x, charges->y, charges->z, radius};
    const size_t bytes = (size_t)before->points * sizeof(double);
    const double tolerance = before->options.tolerance;
    vf_solvent next = {.ctx = before->ctx,
                       .device = before->device,
                       .grid = before->grid,
                       .options = before->options,
                       .points = before->points};
    double *b = malloc(bytes), *left = malloc(bytes), *x = malloc(bytes), size = 0, rest = 0;
    vf_cg_result from_zero = {0}, from_start = {0};
    vf_status status = b && left && x ? VF_OK : vf_fail(before->ctx, VF_ERR_MEMORY, "not enough memory");
    VF_TRY(status, solvent_matrix(&next, &spheres));
    VF_TRY(status, solvent_right_side(&next, charges, radius, b));
    for (int64_t i = 0; status == VF_OK && i < before->points; i++) {
        x[i] = before->inside[i] == next.inside[i] ? ((const double *)before->unknown.data)[i] : 0;
        left[i] = b[i];
        size += b[i] * b[i];
    }
    if (status == VF_OK)
        solvent_subtract_product(&next, NULL, x, left);
    for (int64_t i = 0; status == VF_OK && i < before->points; i++)
        rest += left[i] * left[i];
    rest = sqrt(rest / size);
    VF_TRY(status, solvent_solve_system(&next, NULL, tolerance, 100, b, x, &from_zero));
    if (rest > tolerance)
        VF_TRY(status, solvent_solve_system(&next, NULL, fmin(tolerance / rest, 0.9), 100, left, x, &from_start));
    printf(", \"start_residual\": %.3g, \"iterations_from_zero\": %d, \"iterations_from_start\": %d", rest,
           from_zero.iterations, from_start.iterations);
    for (int a = 0; a < 3; a++)
        vf_array_free(&next.faces[a]);
    vf_array_free(&next.reaction);
    free(next.inside);
    free(next.ends.point);
    free(next.ends.value);
    free(next.shell.point);
    free(next.shell.level);
    free(b);
    free(left);
    free(x);
    return status;
}

static vf_status try_moved(const vf_solvent *before, const molecule *m, double by)
{
    const size_t count = (size_t)m->atoms;
    double *moved = malloc(3 * count * sizeof *moved);
    const double *const at[3] = {m->x, m->y, m->z};
    for (size_t n = 0; moved && n < 3 * count; n++) /* a sine of large steps: as good as random numbers here */
        moved[n] = at[n / count][n % count] + by * sqrt(2) * sin(12.9898 * (double)(n * n % 7919));
    const vf_coulomb_atoms charges = {m->atoms, moved, moved + count, moved + 2 * count, m->charge};
    const vf_status status =
        moved ? try_start(before, &charges, m->radius) : vf_fail(before->ctx, VF_ERR_MEMORY, "not enough memory");
    free(moved);
    return status;
}

static vf_status solve(vf_context *ctx, const keys *k, const molecule *m, double truth)
{
    const vf_coulomb_atoms charges = {m->atoms, m->x, m->y, m->z, m->charge};
    vf_grid grid = {.counts = {0}};
    vf_solvent_options o = vf_solvent_defaults();
    vf_solvent *plan = NULL;
    double *u = calloc((size_t)m->atoms, sizeof *u), energy = 0;
    lay_grid(k, m, &grid);
    o.molecule_dielectric = k->eps_m;
    o.solvent_dielectric = k->eps_s;
    o.kappa = k->kappa;
    o.stern = k->stern;
    o.probe = k->probe;
    o.surface = (vf_surface_kind)k->surface;
    o.tolerance = k->tolerance;
    const double start = vf_now();
    vf_status status = u ? VF_OK : vf_fail(ctx, VF_ERR_MEMORY, "not enough memory");
    VF_TRY(status, vf_solvent_create(vf_context_device(ctx, 0), &grid, &charges, m->radius, &o, &plan));
    VF_TRY(status, vf_solvent_reaction(plan, m->atoms, m->x, m->y, m->z, u));
    if (k->faces)
        VF_TRY(status, write_faces(ctx, plan, k->faces));
    for (int64_t i = 0; i < m->atoms && status == VF_OK; i++)
        energy += m->charge[i] * u[i] / 2 * kilojoules;
    if (status == VF_OK) {
        const vf_solvent_result r = vf_solvent_outcome(plan);
        printf(
            "{\"energy\": %.9g, \"spacing\": %g, \"points\": [%lld, %lld, %lld], \"iterations\": %d, \"seconds\": %.2f",
            energy, k->spacing, (long long)grid.counts[0], (long long)grid.counts[1], (long long)grid.counts[2],
            r.iterations, vf_now() - start);
        if (k->moved > 0)
            status = try_moved(plan, m, k->moved);
        if (!isnan(truth))
            printf(", \"truth\": %.9g, \"error\": %.3e", truth * kilojoules, energy / (truth * kilojoules) - 1);
        printf("}\n");
    }
    vf_solvent_destroy(plan);
    free(u);
    return status;
}

static vf_status run(vf_context *ctx, const keys *k, const char *what)
{
    enum { MADE = TRUTH_CHARGES + 1 };
    double room[5][MADE];
    molecule made = {.x = room[0], .y = room[1], .z = room[2], .charge = room[3], .radius = room[4]}, m = {0};
    vf_status status = vf_context_set_devices(ctx, "cpu");
    VF_TRY(status, vf_context_set_threads(ctx, (int)k->threads));
    if (status == VF_OK && (strcmp(what, "born") == 0 || strcmp(what, "sphere") == 0)) {
        const double truth = make_sphere(k, what[0] == 'b', &made);
        return solve(ctx, k, &made, truth);
    }
    if (status == VF_OK && strcmp(what, "pair") == 0) {
        const double truth = make_pair(k, &made);
        return solve(ctx, k, &made, truth);
    }
    VF_TRY(status, read_molecule(ctx, what, &m));
    VF_TRY(status, solve(ctx, k, &m, NAN));
    molecule_free(&m);
    return status;
}

int main(int argc, char **argv)
{
    keys k = {.spacing = 0.5,
              .border = 10,
              .centre = {NAN, NAN, NAN},
              .eps_m = 2,
              .eps_s = 78.54,
              .stern = 2,
              .probe = 1.4,
              .surface = VF_SURFACE_EXCLUDED,
              .threads = 1,
              .tolerance = 1e-7};
    vf_context *ctx;
    for (int i = 2; i < argc; i++)
        if (!read_key(&k, argv[i])) {
            fprintf(stderr, "solvent_cases: %s is no key with a number\n", argv[i]);
            return 2;
        }
    if (argc < 2 || vf_context_create(&ctx) != VF_OK)
        return 2;
    const vf_status status = run(ctx, &k, argv[1]);
    if (status != VF_OK)
        fprintf(stderr, "solvent_cases: %s\n", vf_context_message(ctx));
    vf_context_destroy(ctx);
    return status != VF_OK;
}
