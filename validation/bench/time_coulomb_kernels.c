/* The seconds of one launch of a Coulomb sum's kernel, case by case, for cionize_study.py.
 *
 * usage: time_coulomb_kernels DEVICE REPORT.json SECONDS VARIANT:ATOMS:EDGE...
 *
 * A case is a variant, a number of random atoms and a grid of EDGE points along each axis, 0.5 angstrom apart, in
 * single precision. After a warm-up run, the time is the median of as many runs as fit into 0.1 s, but at least 3;
 * or of 1 if a run takes longer than that. A case is left out if it is expected to take more than SECONDS per run,
 * at the rate of the variant's previous case.
 */
#include <math.h>

#include "bench_device.h"
#include "coulomb_sum.h"

enum { MOST_RUNS = 101, LEAST_RUNS = 3 };
static const double case_seconds = 0.1;

typedef struct kernel_case {
    char variant[32];
    long atoms, edge;
} kernel_case;

static double *random_atoms(const kernel_case *c)
{
    double *data = room((size_t)c->atoms * 4, sizeof *data);
    seed_random();
    for (long i = 0; i < 4 * c->atoms; i++)
        data[i] = uniform() * (i < 3 * c->atoms ? 0.5 * (double)c->edge : 2) - (i < 3 * c->atoms ? 0 : 1);
    return data;
}

static double time_once(const vf_coulomb *plan, const vf_box *box, vf_array *values)
{
    const double began = vf_now();
    need(vf_coulomb_execute(plan, queue, box, values->data));
    need(vf_queue_sync(queue));
    return vf_now() - began;
}

/* Seconds a run. */
static double run_case(const kernel_case *c)
{
    double seconds[MOST_RUNS], spent = 0, *data = random_atoms(c);
    const vf_grid grid = {.spacing = {0.5, 0.5, 0.5}, .counts = {c->edge, c->edge, c->edge}};
    const vf_box box = vf_grid_box(&grid);
    const vf_coulomb_atoms atoms = {
        .count = c->atoms, .x = data, .y = data + c->atoms, .z = data + 2 * c->atoms, .charge = data + 3 * c->atoms};
    const vf_coulomb_options options = {.scale = 1, .r_min = 0.1, .variant = c->variant};
    vf_array values = {0};
    vf_coulomb *plan;
    int runs = 0;
    need(vf_coulomb_create(device, &grid, &atoms, &options, &plan));
    need(vf_array_create(device, VF_SPACE_DEVICE, VF_F32, vf_grid_points(&grid), &values));
    const double first = time_once(plan, &box, &values);
    while (runs < MOST_RUNS && (runs < (first > case_seconds ? 1 : LEAST_RUNS) || spent < case_seconds))
        spent += seconds[runs++] = time_once(plan, &box, &values);
    vf_array_free(&values);
    vf_coulomb_destroy(plan);
    free(data);
    return median(seconds, runs);
}

static bool parse_case(const char *text, kernel_case *c)
{
    int end = 0;
    return sscanf(text, "%31[a-z0-9]:%ld:%ld%n", c->variant, &c->atoms, &c->edge, &end) == 3 && text[end] == '\0' &&
           c->atoms > 0 && c->edge > 0 && c->edge < 2000;
}

int main(int argc, char **argv)
{
    const double limit = argc > 3 ? atof(argv[3]) : 0;
    if (argc < 5 || !(limit > 0)) {
        fprintf(stderr, "usage: time_coulomb_kernels DEVICE REPORT.json SECONDS VARIANT:ATOMS:EDGE...\n");
        return 2;
    }
    const int ended = begin("time_coulomb_kernels", argv[1], argv[2]);
    if (ended >= 0)
        return ended;
    kernel_case before = {.variant = ""};
    double rate = INFINITY;
    vf_report_integer(report, "threads", vf_context_threads(ctx));
    vf_report_begin(report, "seconds");
    for (int a = 4; a < argc; a++) {
        kernel_case c;
        if (!parse_case(argv[a], &c)) {
            fprintf(stderr, "time_coulomb_kernels: %s: expected VARIANT:ATOMS:EDGE\n", argv[a]);
            return 2;
        }
        const double pairs = (double)c.atoms * pow((double)c.edge, 3);
        if (strcmp(c.variant, before.variant) == 0 && pairs / rate > limit)
            continue;
        const double seconds = run_case(&c);
        vf_report_number(report, argv[a], seconds);
        rate = pairs / seconds;
        before = c;
    }
    vf_report_end(report);
    return end();
}
