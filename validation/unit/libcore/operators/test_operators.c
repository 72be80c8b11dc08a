/* Every linear operator: its adjoint, its normal against adjoint of forward, linearity, and that it does not change
 * its input.
 *
 * usage: test_operators DEVICE [TEST...]     (cpu, cuda; exit 77 if there is no such device)
 *
 * The bound. An element of an operator's result is a sum of at most n products, where n is the number of elements of
 * both spaces together. In any order of summation its error is at most (n + 8) u sum |a_j x_j|, where u is the unit
 * roundoff and 8 is for the factors. In the l2 norm that is (n + 8) u sqrt(n) ||A|| |x|, because the matrix of
 * absolute values has at most sqrt(n) times the norm. ||A|| is taken as twice the root of vf_largest_eigenvalue for
 * A^H A, which approaches it from below. A NUFFT's forward and adjoint are exact transposes of each other, so its
 * tolerance matters only if F^H W F is computed without them.
 */
#include "free_all.h"
#include "operator_fixture.h"

/* A bound of ||A||, and the error of A x relative to |x|. */
static double norm_of(const subject *s, double *error)
{
    vf_operator *normal;
    double eigenvalue;
    need(vf_operator_normal_of(s->a, &normal));
    need(vf_largest_eigenvalue(normal, s->queue, 30, 0.01, 7, &eigenvalue, NULL));
    vf_operator_free(normal);
    const double n = (double)(vf_operator_domain(s->a).count + vf_operator_codomain(s->a).count),
                 size = 2 * sqrt(eigenvalue);
    *error = (n + 8) * sqrt(n) * roundoff(s->precision) * size;
    return size;
}

static void check(const subject *s, const char *what, double off, double allowed)
{
    if (!(off <= allowed))
        fail_msg("%s: %s is off by %g, allowed %g (%s precision, %lld x %lld x %lld)", vf_operator_name(s->a), what,
                 off, allowed, s->precision == VF_F64 ? "double" : "single", (long long)s->matrix[0],
                 (long long)s->matrix[1], (long long)s->matrix[2]);
}

static void check_subject(const subject *s)
{
    const vf_vector_space from = vf_operator_domain(s->a), to = vf_operator_codomain(s->a);
    const int64_t n = from.count, m = to.count;
    const bool real = vf_operator_properties(s->a) & VF_OPERATOR_REAL_LINEAR || is_real(from);
    double error;
    const double size = norm_of(s, &error);
    double complex *x = random_numbers(from), *z = random_numbers(from), *y = random_numbers(to);
    double complex *ax = room(m, sizeof *ax), *az = room(m, sizeof *az), *ay = room(n, sizeof *ay);
    double complex *normal = room(n, sizeof *normal), *both = room(n, sizeof *both);
    carry_out(s, vf_operator_forward, s->a, from, to, x, ax);
    carry_out(s, vf_operator_forward, s->a, from, to, z, az);
    carry_out(s, vf_operator_adjoint, s->a, to, from, y, ay);
    /* <A x, y> = <x, A^H y> */
    const double complex apart = inner(m, ax, y) - inner(n, x, ay);
    check(s, "<A x, y> - <x, A^H y>", real ? fabs(creal(apart)) : cabs(apart),
          2 * error * size_of(n, x) * size_of(m, y));
    /* The normal, against the adjoint of the forward result, which has one more rounding. */
    carry_out(s, vf_operator_normal, s->a, from, from, x, normal);
    carry_out(s, vf_operator_adjoint, s->a, to, from, ax, both);
    check(s, "A^H A x", distance(n, normal, both), (4 * error * size + s->normal_error * size * size) * size_of(n, x));
    /* A (a x + z) = a A x + A z. A power of two keeps a x exact; the sum is rounded once per element. */
    const double complex factor = real ? -0.5 : 0.25 * I;
    for (int64_t i = 0; i < n; i++)
        both[i] = rounded(s->precision, factor * x[i] + z[i]);
    carry_out(s, vf_operator_forward, s->a, from, to, both, y);
    for (int64_t i = 0; i < m; i++)
        ax[i] = factor * ax[i] + az[i];
    check(s, "A (a x + z) - a A x - A z", distance(m, y, ax), 3 * error * (size_of(n, x) + size_of(n, z)));
    assert_true(s->voxels == 1 || size_of(m, y) > 0); /* it has an effect; one voxel has no differences */
    FREE_ALL(x, z, y, ax, az, ay, normal, both);
}

static void test_every_operator(void **state)
{
    (void)state;
    for (int i = 0; i < MAKERS * 2 * 3; i++) {
        if (makers[i % MAKERS] == make_real_stencil && vf_device_get_kind(device) == VF_DEVICE_OPENCL)
            continue; /* stencils have no backend there */
        subject *s = open_subject(i % MAKERS, i / MAKERS % 2 ? VF_F64 : VF_F32);
        check_subject(s);
        close_subject(s);
    }
}

/* ---- parts on several devices ---- */

/* y = A x, or A^H x. */
static void carry(subject *s, bool adjoint, vf_operator *a, const double complex *x, double complex *y)
{
    const vf_vector_space domain = vf_operator_domain(a), codomain = vf_operator_codomain(a);
    carry_out(s, adjoint ? vf_operator_adjoint : vf_operator_forward, a, adjoint ? codomain : domain,
              adjoint ? domain : codomain, x, y);
}

static int64_t length(bool adjoint, const vf_operator *a)
{
    return (adjoint ? vf_operator_codomain(a) : vf_operator_domain(a)).count;
}

/* Parts in queues of their own give the bits of the sum of one device, and blocks those of each part by itself. */
static void test_parts_in_other_queues(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        const bool adjoint = i % 2;
        subject *s = open_subject(0, i / 2 ? VF_F64 : VF_F32);
        vf_fourier_destroy(s->fourier);
        s->fourier = NULL;
        vf_operator_free(s->a);
        make_sum_of_sums(s);
        need(vf_queue_create(device, &s->away));
        vf_operator *sum, *blocks;
        const vf_operator_part part[2] = {{s->part[0], NULL}, {s->part[1], s->away}};
        need(vf_operator_sum_of_devices(2, part, &sum));
        need(vf_operator_blocks(2, part, &blocks));
        const int64_t from = length(adjoint, sum), to = length(!adjoint, sum);
        double complex *x = random_numbers((vf_vector_space){vf_dtype_complex(s->precision), 2 * from}),
                       *y = room(2 * to, sizeof *y), *expected = room(2 * to, sizeof *y);
        carry(s, adjoint, s->a, x, expected);
        carry(s, adjoint, sum, x, y);
        assert_memory_equal(y, expected, (size_t)to * sizeof *y);
        for (int p = 0; p < 2; p++)
            carry(s, adjoint, s->part[p], x + p * from, expected + p * to);
        carry(s, adjoint, blocks, x, y);
        assert_memory_equal(y, expected, (size_t)(2 * to) * sizeof *y);
        free(x);
        free(y);
        free(expected);
        vf_operator_free(sum);
        vf_operator_free(blocks);
        free_parts(s);
        close_subject(s);
    }
}

/* ---- invalid arguments ---- */

static void test_refused(void **state)
{
    (void)state;
    enum { COILS_MAKER = 6 };
    assert_ptr_equal(makers[COILS_MAKER], make_coils);
    subject *s = open_subject(COILS_MAKER, VF_F32), *t = open_subject(COILS_MAKER, VF_F64);
    vf_operator *out = s->a, *pair[2] = {s->a, s->a}, *mixed[2] = {s->a, t->a};
    vf_operator_methods none = {.name = "nothing"};
    double eigenvalue;
    vf_cg_result result;
    vf_cg_options options = {.iterations = 1};
    refused(vf_operator_chain(2, pair, &out), "do not fit");
    assert_null(out);
    refused(vf_operator_sum(2, mixed, &out), "do not fit");
    refused(vf_operator_stack(2, mixed, &out), "do not fit");
    refused(vf_operator_scale(NAN, s->a, &out), "factor");
    const vf_operator_part parts[2] = {{s->a, NULL}, {t->a, t->queue}}, none_away[2] = {{s->a, NULL}, {s->a, NULL}};
    refused(vf_operator_sum_of_devices(2, parts, &out), "do not fit");
    refused(vf_operator_sum_of_devices(2, none_away, &out), "do not fit");
    refused(vf_operator_blocks(2, parts, &out), "do not fit");
    assert_null(out);
    refused(vf_operator_create(device, &none, 0, image_space(s), image_space(s), NULL, &out), "missing method");
    refused(vf_operator_forward(s->a, s->queue, NULL, s->array[0].data), "missing");
    refused(vf_operator_forward(s->a, s->queue, s->array[0].data, s->array[0].data), "input is the output");
    refused(vf_largest_eigenvalue(s->a, s->queue, 1, 0, 1, &eigenvalue, NULL), "self-adjoint");
    refused(vf_cg(s->a, s->queue, &options, s->array[0].data, s->array[0].data, &result), "two spaces");
    const vf_prior other = {.kind = VF_PRIOR_IDENTITY, .counts = {s->voxels + 1, 1, 1}}, none_at_all = {0};
    refused(vf_regularized_operator(s->a, &other, &out), "no complex images");
    refused(vf_regularized_operator(s->a, &none_at_all, &out), "0 voxels");
    assert_null(out);
    refused(vf_operator_weights(device, image_space(s), NULL, &out), "weights");
    refused(vf_operator_identity(device, (vf_vector_space){VF_I32, 1}, &out), "VF_I32");
    assert_null(out);
    close_subject(s);
    close_subject(t);
}

/* Between real and complex spaces: operators that are not real-linear, and parts whose spaces have equal lengths but
 * different types. */
static void test_refused_between_real_and_complex(void **state)
{
    (void)state;
    int maker = 0;
    while (makers[maker] != make_real_part)
        maker++;
    subject *s = open_subject(maker, VF_F64);
    vf_operator *out = s->a, *identity, *real;
    vf_cg_result result;
    vf_array *b = put_random(s, VF_C128, s->voxels, -1), *x = put_random(s, VF_C128, s->voxels, -1);
    refused(create_real_part(s, 0, &out), "real-linear");
    assert_null(out);
    refused(create_real_part(s, VF_OPERATOR_REAL_LINEAR | VF_OPERATOR_SELF_ADJOINT, &out), "self-adjoint");
    need(vf_operator_identity(device, vf_operator_domain(s->a), &identity));
    need(vf_operator_identity(device, vf_operator_codomain(s->a), &real));
    refused(vf_operator_chain(2, (vf_operator *[]){s->a, identity}, &out), "do not fit");
    refused(vf_operator_sum(2, (vf_operator *[]){identity, s->a}, &out), "do not fit");
    refused(vf_operator_sum(2, (vf_operator *[]){identity, real}, &out), "do not fit");
    refused(vf_operator_stack(2, (vf_operator *[]){identity, s->a}, &out), "do not fit");
    refused(vf_cg(s->a, s->queue, &(vf_cg_options){.iterations = 1}, b->data, x->data, &result), "two spaces");
    /* Of A's length, but with elements of another size. */
    for (int i = 0; i < 2; i++) {
        const vf_cg_options options = {.iterations = 1, .preconditioner = i ? s->a : real};
        refused(vf_cg(identity, s->queue, &options, b->data, x->data, &result), "another space");
    }
    vf_operator_free(identity);
    vf_operator_free(real);
    close_subject(s);
}

DEVICE_MAIN(NULL, NULL, cmocka_unit_test(test_every_operator), cmocka_unit_test(test_parts_in_other_queues),
            cmocka_unit_test(test_refused), cmocka_unit_test(test_refused_between_real_and_complex))
