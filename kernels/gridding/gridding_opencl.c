/* The OpenCL backend of the NUFFT: samples sorted on the host, one vector and segment at a time. */
#include <math.h>
#include <stdlib.h>

#include "gridding_locate.h"
#include "turns_opencl.h"
#include "voxfield/fft.h"

extern const char vf_text_gridding[];

/* As in gridding.cl. */
typedef struct shape {
    int64_t voxels[3], grid[3], width[3], tiles[3], tile[3], samples, degree, points;
} shape;

typedef struct opencl_state {
    shape shape;
    vf_array first, places, offsets; /* samples in the order of tiles */
    vf_array table, scale, factor;   /* of the plan's precision */
    vf_array field;                  /* VF_I64: factors of phases */
    vf_array grid;
    vf_turn_exponents exponents;
    vf_fft *fft;
} opencl_state;

enum { ARRAYS = 8 };

static void list_arrays(opencl_state *s, vf_array *arrays[ARRAYS])
{
    vf_array *all[ARRAYS] = {&s->first, &s->places, &s->offsets, &s->table, &s->scale, &s->factor, &s->field, &s->grid};
    for (int i = 0; i < ARRAYS; i++)
        arrays[i] = all[i];
}

static void destroy(vf_nufft *plan)
{
    opencl_state *s = plan->state;
    vf_array *arrays[ARRAYS];
    list_arrays(s, arrays);
    for (int i = 0; i < ARRAYS; i++)
        vf_array_free(arrays[i]);
    vf_fft_destroy(s->fft);
    free(s);
    plan->state = NULL;
}

static vf_status no_memory(const vf_nufft *plan)
{
    return vf_fail(plan->ctx, VF_ERR_MEMORY, "NUFFT: not enough memory to sort %lld samples", (long long)plan->samples);
}

static vf_status put_places(const vf_nufft *plan, opencl_state *s, const gridding_record *sorted, const double *exact)
{
    int32_t *places = malloc((size_t)(4 * plan->samples + 1) * sizeof *places);
    double *offsets = malloc((size_t)(3 * plan->samples + 1) * sizeof *offsets);
    vf_status status = places && offsets ? VF_OK : no_memory(plan);
    for (int64_t i = 0; status == VF_OK && i < plan->samples; i++) {
        const gridding_place place =
            exact ? gridding_locate_exact(plan->axis, exact + 3 * i) : gridding_locate(plan->axis, sorted[i].k);
        for (int a = 0; a < 3; a++) {
            places[4 * i + a] = (int32_t)place.start[a];
            offsets[3 * i + a] = place.offset[a];
        }
        places[4 * i + 3] = (int32_t)sorted[i].index;
    }
    VF_TRY(status, vf_opencl_array_of(plan->device, VF_I32, 4 * plan->samples, places, &s->places));
    VF_TRY(status, vf_opencl_reals_of(plan->device, plan->real, 3 * plan->samples, offsets, &s->offsets));
    free(places);
    free(offsets);
    return status;
}

/* The segments' factors in the order of the sorted samples, and the field. */
static vf_status put_segments(vf_nufft *plan, opencl_state *s, const gridding_record *sorted, const float *field)
{
    const int64_t segments = plan->segments.count, samples = plan->samples;
    double latest = 0;
    if (segments == 0)
        return VF_OK;
    for (int64_t l = 0; l < segments; l++)
        latest = fmax(latest, fabs(plan->segments.time[l]));
    s->exponents = vf_turn_exponents_for(latest);
    double *factor = malloc((size_t)(2 * segments * samples + 1) * sizeof *factor);
    int64_t *turns = malloc((size_t)plan->voxels * sizeof *turns);
    vf_status status = factor && turns ? VF_OK : no_memory(plan);
    for (int64_t i = 0; status == VF_OK && i < segments * samples; i++)
        for (int part = 0; part < 2; part++)
            factor[2 * i + part] =
                plan->segments.coefficient[2 * (i / samples * samples + sorted[i % samples].index) + part];
    for (int64_t n = 0; status == VF_OK && n < plan->voxels; n++)
        turns[n] = vf_turn_factor(plan->real, (double)field[n], s->exponents.second);
    VF_TRY(status, vf_opencl_reals_of(plan->device, plan->complex_type, segments * samples, factor, &s->factor));
    VF_TRY(status, vf_opencl_array_of(plan->device, VF_I64, plan->voxels, turns, &s->field));
    free(factor);
    free(turns);
    free(plan->segments.coefficient); /* only the sorted copy is used */
    plan->segments.coefficient = NULL;
    return status;
}

/* Tiles as small as a kernel: fewer samples to look at for each point. */
static vf_status sort_samples(vf_nufft *plan, opencl_state *s, const vf_nufft_samples *samples, const float *field)
{
    gridding_tiles tiles;
    for (int a = 0; a < 3; a++) {
        tiles.count[a] = s->shape.tiles[a] = plan->axis[a].grid / plan->axis[a].width;
        tiles.size[a] = s->shape.tile[a] = plan->axis[a].grid / tiles.count[a];
    }
    const int64_t total = tiles.count[0] * tiles.count[1] * tiles.count[2];
    gridding_record *sorted = malloc(((size_t)plan->samples + 1) * sizeof *sorted);
    int64_t *first = malloc(((size_t)total + 1) * sizeof *first);
    unsigned char *starts = calloc((size_t)(plan->axis[1].grid * plan->axis[2].grid), 1);
    double *exact = samples->exact ? malloc((3 * (size_t)plan->samples + 1) * sizeof *exact) : NULL;
    vf_status status = sorted && first && starts && (exact || !samples->exact) ? VF_OK : no_memory(plan);
    VF_TRY(status, gridding_sort(plan, samples, &tiles, 0, sorted, first, starts, exact));
    VF_TRY(status, vf_opencl_array_of(plan->device, VF_I64, total + 1, first, &s->first));
    VF_TRY(status, put_places(plan, s, sorted, exact));
    VF_TRY(status, put_segments(plan, s, sorted, field));
    free(sorted);
    free(first);
    free(starts);
    free(exact);
    return status;
}

static vf_status put_table(const vf_nufft *plan, opencl_state *s)
{
    const gridding_kernel *kernel = &plan->kernel;
    const int rows = kernel->degree + 1, width = kernel->width;
    double table[3 * (GRIDDING_MAX_DEGREE + 1) * GRIDDING_MAX_WIDTH];
    for (int a = 0; a < 3; a++)
        for (int p = 0; p < rows; p++)
            for (int j = 0; j < width; j++)
                table[(a * rows + p) * width + j] =
                    plan->axis[a].width > 1 ? kernel->coefficient[p][j] : (double)(j == 0 && p == kernel->degree);
    return vf_opencl_reals_of(plan->device, plan->real, 3 * rows * width, table, &s->table);
}

static vf_status put_scale(const vf_nufft *plan, opencl_state *s)
{
    const int64_t total = plan->axis[0].voxels + plan->axis[1].voxels + plan->axis[2].voxels;
    double *all = malloc((size_t)total * sizeof *all);
    int64_t next = 0;
    for (int a = 0; all && a < 3; a++)
        for (int64_t i = 0; i < plan->axis[a].voxels; i++)
            all[next++] = plan->scale[a][i];
    const vf_status status =
        all ? vf_opencl_reals_of(plan->device, plan->real, total, all, &s->scale) : no_memory(plan);
    free(all);
    return status;
}

static vf_status create(vf_nufft *plan, const vf_nufft_samples *samples, const float *field)
{
    opencl_state *s = calloc(1, sizeof *s);
    const int64_t dims[3] = {plan->axis[2].grid, plan->axis[1].grid, plan->axis[0].grid};
    if (!s)
        return no_memory(plan);
    plan->state = s;
    s->shape = (shape){.samples = plan->samples, .degree = plan->kernel.degree, .points = plan->kernel.width};
    for (int a = 0; a < 3; a++) {
        s->shape.voxels[a] = plan->axis[a].voxels;
        s->shape.grid[a] = plan->axis[a].grid;
        s->shape.width[a] = plan->axis[a].width;
    }
    vf_status status = sort_samples(plan, s, samples, field);
    VF_TRY(status, put_table(plan, s));
    VF_TRY(status, put_scale(plan, s));
    VF_TRY(status,
           vf_array_create(plan->device, VF_SPACE_DEVICE, plan->complex_type, dims[0] * dims[1] * dims[2], &s->grid));
    VF_TRY(status, vf_fft_create(plan->device, plan->complex_type, 3, dims, 1, &s->fft));
    if (status != VF_OK)
        return status;
    vf_array *arrays[ARRAYS];
    list_arrays(s, arrays);
    plan->bytes = vf_fft_bytes(s->fft);
    for (int i = 0; i < ARRAYS; i++)
        plan->bytes += arrays[i]->count * (int64_t)vf_dtype_bytes(arrays[i]->type);
    return VF_OK;
}

static vf_opencl_kernel kernel_for(const vf_nufft *plan, const char *name, int64_t threads)
{
    static const char *const texts[] = {vf_text_opencl_words, vf_text_turns, vf_text_gridding, NULL};
    return (vf_opencl_kernel){texts, name, plan->real, .words = "-DPIECE=64 -DMOST_WIDTH=24", .threads = {threads}};
}

static void *factors_of(const vf_nufft *plan, int segment)
{
    const opencl_state *s = plan->state;
    return plan->segments.count > 0 ? vf_array_at(&s->factor, segment * plan->samples) : NULL;
}

static int64_t time_of(const vf_nufft *plan, int segment, int sign)
{
    const opencl_state *s = plan->state;
    return plan->segments.count > 0
               ? vf_turn_factor(plan->real, sign * plan->segments.time[segment], s->exponents.first)
               : 0;
}

static vf_status adjoint_segment(const vf_nufft *plan, vf_queue *queue, int segment, const void *values, void *image)
{
    const opencl_state *s = plan->state;
    const vf_opencl_kernel spread = kernel_for(plan, "spread", s->grid.count),
                           crop = kernel_for(plan, "crop_grid", plan->voxels);
    const int64_t time = time_of(plan, segment, 1);
    vf_status status =
        VF_OPENCL_LAUNCH(queue, &spread, VF_CL_VALUE(s->shape), VF_CL_ARRAY(s->first.data), VF_CL_ARRAY(s->places.data),
                         VF_CL_ARRAY(s->offsets.data), VF_CL_ARRAY(s->table.data),
                         VF_CL_ARRAY(factors_of(plan, segment)), VF_CL_ARRAY(values), VF_CL_ARRAY(s->grid.data));
    VF_TRY(status, vf_fft_execute(s->fft, queue, VF_FFT_BACKWARD, s->grid.data));
    VF_TRY(status, VF_OPENCL_LAUNCH(queue, &crop, VF_CL_VALUE(s->shape), VF_CL_INT(segment > 0), VF_CL_VALUE(time),
                                    VF_CL_ARRAY(s->field.data), VF_CL_ARRAY(s->scale.data), VF_CL_ARRAY(s->grid.data),
                                    VF_CL_ARRAY(image)));
    return status;
}

static vf_status forward_segment(const vf_nufft *plan, vf_queue *queue, int segment, const void *image, void *values)
{
    const opencl_state *s = plan->state;
    const vf_opencl_kernel pad = kernel_for(plan, "pad_image", s->grid.count),
                           interpolate = kernel_for(plan, "interpolate", plan->samples);
    const int64_t time = time_of(plan, segment, -1);
    vf_status status =
        VF_OPENCL_LAUNCH(queue, &pad, VF_CL_VALUE(s->shape), VF_CL_VALUE(time), VF_CL_ARRAY(s->field.data),
                         VF_CL_ARRAY(s->scale.data), VF_CL_ARRAY(image), VF_CL_ARRAY(s->grid.data));
    VF_TRY(status, vf_fft_execute(s->fft, queue, VF_FFT_FORWARD, s->grid.data));
    VF_TRY(status,
           VF_OPENCL_LAUNCH(queue, &interpolate, VF_CL_VALUE(s->shape), VF_CL_INT(segment > 0),
                            VF_CL_ARRAY(s->places.data), VF_CL_ARRAY(s->offsets.data), VF_CL_ARRAY(s->table.data),
                            VF_CL_ARRAY(factors_of(plan, segment)), VF_CL_ARRAY(s->grid.data), VF_CL_ARRAY(values)));
    return status;
}

/* Calls `how` for each vector and segment. */
static vf_status for_all(vf_nufft *plan, vf_queue *queue, int batch, const void *in, int64_t in_count, void *out,
                         int64_t out_count, vf_status (*how)(const vf_nufft *, vf_queue *, int, const void *, void *))
{
    const int segments = plan->segments.count > 0 ? plan->segments.count : 1;
    vf_status status = VF_OK;
    for (int i = 0; i < batch * segments && status == VF_OK; i++)
        status =
            how(plan, queue, i % segments, vf_offset(plan->device, in, plan->complex_type, i / segments * in_count),
                vf_offset(plan->device, out, plan->complex_type, i / segments * out_count));
    return status;
}

static vf_status adjoint(vf_nufft *plan, vf_queue *queue, int batch, const void *c, void *y)
{
    return for_all(plan, queue, batch, c, plan->samples, y, plan->voxels, adjoint_segment);
}

static vf_status forward(vf_nufft *plan, vf_queue *queue, int batch, const void *x, void *c)
{
    return for_all(plan, queue, batch, x, plan->voxels, c, plan->samples, forward_segment);
}

const gridding_backend gridding_opencl = {.create = create, .adjoint = adjoint, .forward = forward, .destroy = destroy};
