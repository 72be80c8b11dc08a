/* Times one NUFFT case, run by run, as compare_finufft.py asks: so that its runs alternate with those of another library.
 *
 * usage: time_nufft DEVICE THREADS SAMPLES NX,NY,NZ TOLERANCE single|double COILS FOLDER
 *
 * FOLDER has k.raw [samples][3] float, c.raw [coils][samples] and x.raw [coils][z][y][x], complex doubles. For each line
 * "adjoint" or "forward" on standard input it makes a plan, executes it and prints both milliseconds, then the plan's width,
 * grid and bytes, and both processor times of all threads, in milliseconds. "save" first writes the last result as complex
 * doubles to FOLDER/ours.raw. */
#include <time.h>

#include "bench_device.h"
#include "gridding.h"

typedef struct problem {
    int64_t matrix[3], samples, voxels;
    int coils;
    vf_nufft_options options;
    vf_nufft_samples positions;
    const char *folder;
    vf_array c, x, y, d; /* inputs and outputs of both directions, in the plan's precision */
} problem;

static FILE *open_in(const char *folder, const char *name, const char *mode)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, mode);
    if (!file) {
        fprintf(stderr, "%s: cannot open %s\n", program, path);
        exit(1);
    }
    return file;
}

static void read_all(const char *folder, const char *name, void *to, size_t size, size_t count)
{
    FILE *file = open_in(folder, name, "rb");
    if (fread(to, size, count, file) != count) {
        fprintf(stderr, "%s: %s/%s is too short\n", program, folder, name);
        exit(1);
    }
    fclose(file);
}

static void make_vector(const problem *p, const char *name, int64_t count, vf_array *out)
{
    const vf_dtype type = vf_dtype_complex(p->options.precision);
    vf_array host = {0};
    need(vf_array_create(device, VF_SPACE_DEVICE, type, count, out));
    need(vf_array_create(device, VF_SPACE_PINNED, type, count, &host));
    if (name) {
        double *values = room((size_t)count * 2, sizeof *values);
        read_all(p->folder, name, values, 2 * sizeof *values, (size_t)count);
        for (int64_t i = 0; i < 2 * count; i++)
            if (type == VF_C128)
                ((double *)host.data)[i] = values[i];
            else
                ((float *)host.data)[i] = (float)values[i];
        need(vf_array_copy(queue, out, &host, count));
        need(vf_queue_sync(queue));
        free(values);
    }
    vf_array_free(&host);
}

static void save(const problem *p, const vf_array *values)
{
    vf_array host = {0};
    need(vf_array_create(device, VF_SPACE_PINNED, values->type, values->count, &host));
    need(vf_array_copy(queue, &host, values, values->count));
    need(vf_queue_sync(queue));
    FILE *file = open_in(p->folder, "ours.raw", "wb");
    for (int64_t i = 0; i < 2 * host.count; i++) {
        const double v = host.type == VF_C128 ? ((const double *)host.data)[i] : (double)((const float *)host.data)[i];
        if (fwrite(&v, sizeof v, 1, file) != 1)
            exit(1);
    }
    if (fclose(file) != 0)
        exit(1);
    vf_array_free(&host);
}

/* Wall clock and processor time of all threads, in milliseconds. */
typedef struct instant {
    double wall, processor;
} instant;

static instant now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (instant){1e3 * vf_now(), 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec};
}

static void time_one(const problem *p, bool adjoint)
{
    vf_nufft *plan = NULL;
    const instant began = now();
    need(vf_nufft_create(device, p->matrix, &p->positions, p->coils, &p->options, &plan));
    const instant made = now();
    need(adjoint ? vf_nufft_adjoint(plan, queue, p->coils, p->c.data, p->y.data)
                 : vf_nufft_forward(plan, queue, p->coils, p->x.data, p->d.data));
    need(vf_queue_sync(queue));
    const instant ended = now();
    vf_nufft_info info;
    vf_nufft_get_info(plan, &info);
    printf("%.6f %.6f %d %lld %lld %.6f %.6f\n", made.wall - began.wall, ended.wall - made.wall, info.width,
           (long long)info.grid[0], (long long)info.bytes, made.processor - began.processor,
           ended.processor - made.processor);
    fflush(stdout);
    vf_nufft_destroy(plan);
}

static void serve(const problem *p)
{
    char line[64];
    const vf_array *last = &p->y;
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = '\0';
        if (!strcmp(line, "save")) {
            save(p, last);
            printf("saved\n");
            fflush(stdout);
            continue;
        }
        const bool adjoint = !strcmp(line, "adjoint");
        last = adjoint ? &p->y : &p->d;
        time_one(p, adjoint);
    }
}

int main(int argc, char **argv)
{
    long long n[3];
    if (argc != 9 || sscanf(argv[4], "%lld,%lld,%lld", &n[0], &n[1], &n[2]) != 3) {
        fprintf(stderr, "usage: time_nufft DEVICE THREADS SAMPLES NX,NY,NZ TOLERANCE single|double COILS FOLDER\n");
        return 2;
    }
    const int ended = begin("time_nufft", argv[1], NULL);
    if (ended >= 0)
        return ended;
    need(vf_context_set_threads(ctx, (int)whole_number(argv[2], 1024)));
    problem p = {
        .matrix = {n[0], n[1], n[2]},
        .samples = whole_number(argv[3], INT32_MAX),
        .voxels = n[0] * n[1] * n[2],
        .coils = (int)whole_number(argv[7], 1024),
        .options = {.tolerance = strtod(argv[5], NULL), .precision = strcmp(argv[6], "double") ? VF_F32 : VF_F64},
        .folder = argv[8]};
    float *k = room((size_t)p.samples * 3, sizeof *k);
    read_all(p.folder, "k.raw", k, sizeof *k, (size_t)p.samples * 3);
    p.positions = (vf_nufft_samples){.count = p.samples, .k = k};
    make_vector(&p, "c.raw", p.coils * p.samples, &p.c);
    make_vector(&p, "x.raw", p.coils * p.voxels, &p.x);
    make_vector(&p, NULL, p.coils * p.voxels, &p.y);
    make_vector(&p, NULL, p.coils * p.samples, &p.d);
    serve(&p);
    vf_array_free(&p.c);
    vf_array_free(&p.x);
    vf_array_free(&p.y);
    vf_array_free(&p.d);
    free(k);
    return end();
}
