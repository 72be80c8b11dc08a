/* Plans of transforms of lines side by side: factors, tables and the order of frequencies. */
#include "backend/fft_lanes.h"

#include <math.h>
#include <stdlib.h>

enum { LONGEST = 1 << 29 };

static const int odd_radices[] = {3, 5, 7, 11, 13};

static bool add_stage(fft_lanes *plan, int radix, int64_t points)
{
    if (plan->stages == FFT_LANES_STAGES)
        return false;
    plan->stage[plan->stages++] = (fft_lanes_stage){.radix = radix, .points = points};
    return true;
}

/* Makes the stages, without tables; false if a factor has no stage. Of 2, 4, 8 and 16, fours and eights take the least time. */
static bool make_stages(fft_lanes *plan)
{
    int64_t rest = plan->n;
    bool fits = true;
    while (rest % 2 == 0 && fits) {
        /* 16 = 4 x 4, 32 = 8 x 4 */
        const int radix = rest % 8 == 0 && (rest % 16 != 0 || rest % 32 == 0) ? 8 : rest % 4 == 0 ? 4 : 2;
        fits = add_stage(plan, radix, rest);
        rest /= radix;
    }
    for (size_t i = 0; i < sizeof odd_radices / sizeof *odd_radices; i++)
        for (; rest % odd_radices[i] == 0 && fits; rest /= odd_radices[i])
            fits = add_stage(plan, odd_radices[i], rest);
    return fits && rest == 1;
}

static void put(void *table, vf_dtype precision, int64_t i, double re, double im)
{
    if (precision == VF_F64) {
        ((double *)table)[2 * i] = re;
        ((double *)table)[2 * i + 1] = im;
    } else {
        ((float *)table)[2 * i] = (float)re;
        ((float *)table)[2 * i + 1] = (float)im;
    }
}

static void *allocate(vf_dtype precision, int64_t count)
{
    return malloc((size_t)(count > 0 ? count : 1) * 2 * vf_dtype_bytes(precision));
}

static bool make_twiddles(fft_lanes_stage *s, vf_dtype precision)
{
    const int64_t apart = s->points / s->radix, each = s->radix - 1;
    s->twiddle = allocate(precision, apart * each);
    for (int64_t j = 0; s->twiddle && j < apart; j++)
        for (int64_t u = 1; u <= each; u++) {
            const double angle = -2 * M_PI * (double)(j * u % s->points) / (double)s->points;
            put(s->twiddle, precision, j * each + u - 1, cos(angle), sin(angle));
        }
    return s->twiddle;
}

/* Point p = u_1 n / r_1 + u_2 n / (r_1 r_2) + ... is frequency u_1 + r_1 u_2 + r_1 r_2 u_3 + ... */
static bool make_order(fft_lanes *plan)
{
    plan->order = malloc((size_t)plan->n * sizeof *plan->order);
    for (int64_t p = 0; plan->order && p < plan->n; p++) {
        int64_t rest = p, frequency = 0, weight = 1;
        for (int s = 0; s < plan->stages; s++) {
            const int64_t apart = plan->stage[s].points / plan->stage[s].radix;
            frequency += weight * (rest / apart);
            weight *= plan->stage[s].radix;
            rest %= apart;
        }
        plan->order[p] = (int32_t)(plan->stages > 0 ? frequency : p);
    }
    return plan->order;
}

/* The shortest length of at least `least` points, of those with one odd factor, 1 to 15, that transforms take little time for. */
static int64_t convolution_length(int64_t least)
{
    static const int odd[] = {1, 3, 5, 9, 15};
    int64_t best = 0;
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        int64_t length = odd[i];
        while (length < least)
            length *= 2;
        best = best == 0 || length < best ? length : best;
    }
    return best;
}

/* The transform of conj(chirp)(m), -n < m < n, in the inner plan's order, which does the work: lane 0 of its data. */
static vf_status make_response(vf_context *ctx, fft_lanes *plan, vf_dtype precision)
{
    fft_lanes *exact = NULL; /* in double precision */
    vf_status status = fft_lanes_create(ctx, VF_F64, plan->room, &exact);
    if (status != VF_OK)
        return status;
    const size_t lanes = (size_t)exact->simd->lanes, bytes = (size_t)plan->room * 2 * lanes * sizeof(double);
    double *data = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!data) {
        fft_lanes_destroy(exact);
        return vf_fail(ctx, VF_ERR_MEMORY, "FFT: not enough memory for a plan");
    }
    for (size_t i = 0; i < bytes / sizeof *data; i++)
        data[i] = 0;
    for (int64_t m = 0; m < plan->n; m++) {
        /* m^2 modulo 2 n is exact */
        const double angle = M_PI * (double)(m * m % (2 * plan->n)) / (double)plan->n;
        put(plan->chirp, precision, m, cos(angle), -sin(angle));
        for (int side = 0; side < 2; side++) {
            double *at = data + 2 * lanes * (size_t)(side && m > 0 ? plan->room - m : m);
            at[0] = cos(angle);
            at[lanes] = sin(angle);
        }
    }
    fft_lanes_forward(exact, data);
    for (int64_t p = 0; p < plan->room; p++)
        put(plan->response, precision, p, data[2 * lanes * (size_t)p] / (double)plan->room,
            data[2 * lanes * (size_t)p + lanes] / (double)plan->room);
    free(data);
    fft_lanes_destroy(exact);
    return VF_OK;
}

static vf_status make_convolution(vf_context *ctx, fft_lanes *plan, vf_dtype precision)
{
    for (int s = 0; s < plan->stages; s++)
        plan->stage[s] = (fft_lanes_stage){0};
    plan->stages = 0;
    plan->room = convolution_length(2 * plan->n - 1);
    plan->chirp = allocate(precision, plan->n);
    plan->response = allocate(precision, plan->room);
    if (!plan->chirp || !plan->response)
        return vf_fail(ctx, VF_ERR_MEMORY, "FFT: not enough memory for a plan");
    vf_status status = fft_lanes_create(ctx, precision, plan->room, &plan->inner);
    return status == VF_OK ? make_response(ctx, plan, precision) : status;
}

vf_status fft_lanes_create(vf_context *ctx, vf_dtype precision, int64_t n, fft_lanes **out)
{
    static const fft_lanes_isa *const sets[VF_ISA_COUNT] = {
        &fft_lanes_isa_baseline,
#if defined(__x86_64__)
        &fft_lanes_isa_avx2,
        &fft_lanes_isa_avx512,
#endif
    };
    *out = NULL;
    if (n < 1 || n > LONGEST)
        return vf_fail(ctx, VF_ERR_ARGUMENT, "FFT: lines of %lld points are not supported", (long long)n);
    fft_lanes *plan = calloc(1, sizeof *plan);
    if (!plan)
        return vf_fail(ctx, VF_ERR_MEMORY, "FFT: not enough memory for a plan");
    plan->simd = precision == VF_F64 ? sets[vf_cpu_isa()]->f64 : sets[vf_cpu_isa()]->f32;
    plan->n = plan->room = n;
    vf_status status = make_stages(plan) ? VF_OK : make_convolution(ctx, plan, precision);
    bool made = status != VF_OK || make_order(plan);
    for (int s = 0; s < plan->stages && made; s++)
        made = make_twiddles(&plan->stage[s], precision);
    if (!made)
        status = vf_fail(ctx, VF_ERR_MEMORY, "FFT: not enough memory for a plan");
    if (status != VF_OK) {
        fft_lanes_destroy(plan);
        plan = NULL;
    }
    *out = plan;
    return status;
}

/* The folded point at p is this one. */
static int64_t unfolded(int64_t p, int64_t n)
{
    return 2 * p < n ? 2 * p : 2 * (n - p) - 1;
}

static bool make_cycles(fft_lanes *plan)
{
    const int64_t n = plan->n;
    bool *done = calloc((size_t)n, sizeof *done);
    plan->cycles = malloc((size_t)(2 * n + 1) * sizeof *plan->cycles);
    int32_t *next = plan->cycles;
    for (int64_t first = 0; done && next && first < n; first++) {
        int32_t *const length = next;
        if (done[first] || unfolded(first, n) == first)
            continue;
        *next++ = 0;
        for (int64_t p = first; !done[p]; p = unfolded(p, n), ++*length) {
            *next++ = (int32_t)p;
            done[p] = true;
        }
    }
    if (next)
        *next = 0;
    free(done);
    return done && next;
}

static bool make_pairs(fft_lanes *plan, vf_dtype precision)
{
    const int64_t n = plan->n;
    int32_t *place = malloc((size_t)n * sizeof *place); /* of a frequency */
    plan->pairs = malloc((size_t)(n + 1) * sizeof *plan->pairs);
    plan->turns = allocate(precision, n / 2);
    const bool made = place && plan->pairs && plan->turns;
    for (int64_t p = 0; made && p < n; p++)
        place[plan->order[p]] = (int32_t)p;
    int64_t count = 0;
    for (int64_t k = 1; made && 2 * k < n; k++, count++) {
        const double angle = -M_PI * (double)k / (double)(2 * n);
        plan->pairs[2 * count] = place[k];
        plan->pairs[2 * count + 1] = place[n - k];
        put(plan->turns, precision, count, cos(angle), sin(angle));
    }
    if (made)
        plan->pairs[2 * count] = -1;
    free(place);
    return made;
}

vf_status fft_lanes_create_cosine(vf_context *ctx, vf_dtype precision, int64_t n, fft_lanes **out)
{
    vf_status status = fft_lanes_create(ctx, precision, n, out);
    if (status == VF_OK && (!make_cycles(*out) || !make_pairs(*out, precision))) {
        status = vf_fail(ctx, VF_ERR_MEMORY, "FFT: not enough memory for a plan");
        fft_lanes_destroy(*out);
        *out = NULL;
    }
    return status;
}

void fft_lanes_destroy(fft_lanes *plan)
{
    if (!plan)
        return;
    for (int s = 0; s < plan->stages; s++)
        free(plan->stage[s].twiddle);
    fft_lanes_destroy(plan->inner);
    free(plan->chirp);
    free(plan->response);
    free(plan->order);
    free(plan->cycles);
    free(plan->pairs);
    free(plan->turns);
    free(plan);
}
