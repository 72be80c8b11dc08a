/* Launches of the kernels of ewald.cl, and what they need from the host. */
#include <stdio.h>
#include <stdlib.h>

#include "backend/count_places.h"
#include "ewald_opencl.h"
#include "ewald_simd.h"

extern const char vf_text_ewald[];

enum { TILE = 8, GROUP = 64, WORDS = 48 };

typedef struct spread_task {
    int64_t mesh[3], bins[3], row, plane, periodic, degree;
} spread_task;

typedef struct output_task {
    int64_t mesh[3], row, counts[3], lo[3], size[3], periodic, degree, add;
} output_task;

static vf_opencl_kernel kernel_of(const ewald_level *level, const char *name, vf_dtype out, int64_t threads,
                                  char words[WORDS])
{
    static const char *const texts[] = {vf_text_opencl_words, vf_text_ewald, NULL};
    snprintf(words, WORDS, "-DWIDTH=%d -DOUT=%s", level->at.width, out == VF_F64 ? "double" : "float");
    return (vf_opencl_kernel){texts, name, level->precision, words, {threads}, {0}};
}

static vf_status upload_window(const ewald_level *level, vf_device *device, vf_array *out)
{
    return vf_opencl_reals_of(device, level->precision, VF_PROLATE_POWERS, level->window_powers.coefficient, out);
}

/* ---- spreading ---- */

/* Charges sorted by the tiles where their windows begin, in the caller's order within one. */
typedef struct sorted {
    int64_t *bin, *places, *first; /* [charges], [bins], [bins + 1] */
    char *charges;
    size_t bytes; /* of a charge */
} sorted;

static void put_charge(const ewald_level *level, const sorted *s, int64_t place, const int64_t start[3],
                       const double offset[3], double charge)
{
    for (int a = 0; a < 3; a++)
        if (level->precision == VF_F64) {
            ewald_charge_f64 *c = (ewald_charge_f64 *)s->charges + place;
            c->start[a] = (int32_t)start[a];
            c->offset[a] = offset[a];
            c->charge = charge;
        } else {
            ewald_charge_f32 *c = (ewald_charge_f32 *)s->charges + place;
            c->start[a] = (int32_t)start[a];
            c->offset[a] = (float)offset[a];
            c->charge = (float)charge;
        }
}

static vf_status sort(const ewald_level *level, const int64_t bins[3], const vf_coulomb_atoms *charges, double scale,
                      sorted *s)
{
    const int64_t n = charges->count, all = bins[0] * bins[1] * bins[2];
    int64_t start[3];
    double offset[3];
    s->bytes = level->precision == VF_F64 ? sizeof(ewald_charge_f64) : sizeof(ewald_charge_f32);
    s->bin = malloc((size_t)(n + 1) * sizeof *s->bin);
    s->places = calloc((size_t)all, sizeof *s->places);
    s->first = malloc((size_t)(all + 1) * sizeof *s->first);
    s->charges = malloc((size_t)(n + 1) * s->bytes);
    if (!s->bin || !s->places || !s->first || !s->charges)
        return vf_fail(level->ctx, VF_ERR_MEMORY, "not enough memory to sort %lld charges", (long long)n);
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t i = 0; i < n; i++) {
            ewald_locate(&level->at, (const double[3]){charges->x[i], charges->y[i], charges->z[i]}, start, offset);
            s->bin[i] = (start[2] / TILE * bins[1] + start[1] / TILE) * bins[0] + start[0] / TILE;
            const int64_t place = s->places[s->bin[i]]++;
            if (pass == 1)
                put_charge(level, s, place, start, offset, charges->charge[i] * scale);
        }
        if (pass == 0)
            vf_counts_to_places(1, all, s->places, s->first);
    }
    return VF_OK;
}

vf_status opencl_spread(const ewald_level *level, vf_device *device, vf_queue *queue, const vf_coulomb_atoms *charges,
                        double scale, const vf_array *spectrum)
{
    const int64_t *length = level->at.length;
    spread_task task = {.row = length[0],
                        .plane = length[0] * length[1],
                        .periodic = level->at.periodic,
                        .degree = level->window_powers.degree};
    for (int a = 0; a < 3; a++) {
        task.mesh[a] = level->at.mesh[a];
        task.bins[a] = (level->at.mesh[a] + TILE - 1) / TILE;
    }
    const int64_t bins = task.bins[0] * task.bins[1] * task.bins[2];
    char words[WORDS];
    const vf_opencl_kernel kernel = kernel_of(level, "spread", level->precision, bins * GROUP, words);
    sorted s = {0};
    vf_array window = {0}, there = {0}, first = {0};
    vf_status status = sort(level, task.bins, charges, scale, &s);
    VF_TRY(status, upload_window(level, device, &window));
    VF_TRY(status, vf_opencl_array_of(device, VF_U8, charges->count * (int64_t)s.bytes, s.charges, &there));
    VF_TRY(status, vf_opencl_array_of(device, VF_U8, (bins + 1) * (int64_t)sizeof *s.first, s.first, &first));
    VF_TRY(status, VF_OPENCL_LAUNCH(queue, &kernel, VF_CL_VALUE(task), VF_CL_ARRAY(window.data),
                                    VF_CL_ARRAY(there.data), VF_CL_ARRAY(first.data), VF_CL_ARRAY(spectrum->data)));
    VF_TRY(status, vf_queue_sync(queue));
    vf_array_free(&window);
    vf_array_free(&there);
    vf_array_free(&first);
    free(s.bin);
    free(s.places);
    free(s.first);
    free(s.charges);
    return status;
}

/* ---- the spectrum ---- */

vf_status opencl_multiply(const ewald_level *level, vf_queue *queue, const vf_array *table, const vf_array *spectrum)
{
    const int64_t *n = level->at.length;
    char words[WORDS];
    const vf_opencl_kernel kernel = kernel_of(level, "multiply", level->precision, n[0] * n[1] * n[2], words);
    return VF_OPENCL_LAUNCH(queue, &kernel, VF_CL_INT(n[0]), VF_CL_INT(n[1]), VF_CL_INT(n[2]),
                            VF_CL_INT(!level->at.skewed), VF_CL_ARRAY(table->data), VF_CL_ARRAY(spectrum->data));
}

vf_status opencl_take_real(const ewald_level *level, vf_queue *queue, const vf_array *spectrum)
{
    const int64_t *n = level->at.mesh, *length = level->at.length;
    char words[WORDS];
    const vf_opencl_kernel kernel = kernel_of(level, "take_real", level->precision, n[0] * n[1] * n[2], words);
    return VF_OPENCL_LAUNCH(queue, &kernel, VF_CL_INT(n[0]), VF_CL_INT(n[1]), VF_CL_INT(n[2]), VF_CL_INT(length[0]),
                            VF_CL_INT(length[0] * length[1]), VF_CL_ARRAY(spectrum->data),
                            VF_CL_ARRAY(level->mesh.data));
}

/* ---- results ---- */

vf_status opencl_targets_make(const ewald_level *level, vf_device *device, const int64_t counts[3],
                              const double origin[3], const double edge[3][3], opencl_targets *out)
{
    const int64_t all = counts[0] + counts[1] + counts[2];
    int32_t *whole = malloc((size_t)(3 * all) * sizeof *whole);
    double *parts = malloc((size_t)(3 * all) * sizeof *parts);
    ewald_targets at;
    int64_t place = 0;
    vf_status status =
        whole && parts ? VF_OK : vf_fail(level->ctx, VF_ERR_MEMORY, "not enough memory for interpolation");
    ewald_targets_place(level, counts, origin, edge, &at);
    for (int i = 0; status == VF_OK && i < 3; i++)
        for (int a = 0; a < 3; a++) {
            const double first = i == a ? at.first[i] : 0, step = i == a || at.depends[i] ? at.step[i][a] : 0;
            for (int64_t n = 0; n < counts[a]; n++, place++) {
                const double u = first + step * (double)n, floored = floor(u);
                whole[place] = (int32_t)floored;
                parts[place] = u - floored;
            }
        }
    for (int a = 0; a < 3; a++)
        out->counts[a] = counts[a];
    VF_TRY(status, vf_opencl_array_of(device, VF_I32, 3 * all, whole, &out->whole));
    VF_TRY(status, vf_opencl_reals_of(device, level->precision, 3 * all, parts, &out->parts));
    VF_TRY(status, upload_window(level, device, &out->window));
    free(whole);
    free(parts);
    return status;
}

void opencl_targets_free(opencl_targets *targets)
{
    vf_array_free(&targets->whole);
    vf_array_free(&targets->parts);
    vf_array_free(&targets->window);
}

static output_task task_of(const ewald_level *level, const int64_t counts[3], const int64_t lo[3], const vf_box *box)
{
    output_task task = {.row = level->pitch, .periodic = level->at.periodic, .degree = level->window_powers.degree};
    for (int a = 0; a < 3; a++) {
        task.mesh[a] = level->at.mesh[a];
        task.counts[a] = counts[a];
        task.lo[a] = lo[a];
        task.size[a] = vf_box_extent(box, a);
    }
    return task;
}

vf_status opencl_interpolate(const ewald_level *level, const opencl_targets *targets, vf_queue *queue,
                             const vf_box *box, vf_dtype type, bool add, void *out)
{
    char words[WORDS];
    const vf_opencl_kernel kernel = kernel_of(level, "interpolate", type, vf_box_points(box), words);
    output_task task = task_of(level, targets->counts, box->lo, box);
    task.add = add;
    return VF_OPENCL_LAUNCH(queue, &kernel, VF_CL_VALUE(task), VF_CL_ARRAY(targets->window.data),
                            VF_CL_ARRAY(targets->whole.data), VF_CL_ARRAY(targets->parts.data),
                            VF_CL_ARRAY(level->mesh.data), VF_CL_ARRAY(out));
}

vf_status opencl_copy_box(const ewald_level *level, vf_queue *queue, const int64_t first[3], const vf_box *box,
                          vf_dtype type, void *out)
{
    char words[WORDS];
    const vf_opencl_kernel kernel = kernel_of(level, "copy_box", type, vf_box_points(box), words);
    const output_task task = task_of(level, level->at.mesh, first, box);
    return VF_OPENCL_LAUNCH(queue, &kernel, VF_CL_VALUE(task), VF_CL_ARRAY(level->mesh.data), VF_CL_ARRAY(out));
}

vf_status opencl_add_slope(const ewald_level *level, vf_queue *queue, const int64_t counts[3], const vf_box *box,
                           vf_dtype type, const vf_array *terms, void *out)
{
    char words[WORDS];
    const vf_opencl_kernel kernel = kernel_of(level, "add_slope", type, vf_box_points(box), words);
    const output_task task = task_of(level, counts, box->lo, box);
    return VF_OPENCL_LAUNCH(queue, &kernel, VF_CL_VALUE(task), VF_CL_ARRAY(terms->data), VF_CL_ARRAY(out));
}
