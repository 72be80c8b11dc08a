/* Reductions and scans by C functions: products of 2 x 2 matrices of integers, which do not commute, and concatenation of
 * text. Both are exact, so results equal those of a loop. */
#include "reduce_fixture.h"
#include "refusal_fixture.h"
#include "voxfield/reduce.h"
#include "voxfield/scan.h"

static const int64_t sizes[] = {0, 1, 2, 3, 31, 16383, 16384, 16385, 49153, 100003};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* ---- matrices ---- */

typedef struct matrix {
    uint32_t of[4];
} matrix;

static void unit(const void *user, void *state)
{
    *(matrix *)state = *(const matrix *)user;
}

static void take(const void *user, const void *element, void *state)
{
    (void)user;
    memcpy(state, element, sizeof(matrix));
}

static void multiply(const void *user, void *state, const void *next)
{
    const matrix a = *(matrix *)state, *b = next;
    (void)user;
    for (int i = 0; i < 4; i++)
        ((matrix *)state)->of[i] = a.of[i & 2] * b->of[i & 1] + a.of[(i & 2) + 1] * b->of[(i & 1) + 2];
}

static const matrix one = {{1, 0, 0, 1}};
static const vf_monoid products = {sizeof(matrix), sizeof(matrix), unit, take, multiply, &one};

/* ---- text: its length, first and last characters, and a hash that depends on the order of all of them ---- */

enum { ENDS = 12 };
typedef struct text {
    uint64_t hash, power;
    int64_t length;
    char first[ENDS], last[ENDS];
} text;

static void no_text(const void *user, void *state)
{
    (void)user;
    *(text *)state = (text){.power = 1};
}

static void letter(const void *user, const void *element, void *state)
{
    text t = {.hash = *(const uint8_t *)element, .power = 1099511628211U, .length = 1};
    t.first[0] = t.last[ENDS - 1] = *(const char *)element;
    assert_null(user);
    *(text *)state = t;
}

static void append(const void *user, void *state, const void *next)
{
    const text a = *(text *)state, *b = next;
    text t = {.hash = a.hash * b->power + b->hash, .power = a.power * b->power, .length = a.length + b->length};
    (void)user;
    for (int i = 0; i < ENDS; i++) {
        const int64_t in_b = i - a.length, back = ENDS - 1 - i; /* from the end */
        t.first[i] = i < a.length ? a.first[i] : in_b < b->length ? b->first[in_b] : 0;
        t.last[i] = back < b->length ? b->last[i] : back - b->length < ENDS ? a.last[i + b->length] : 0;
    }
    *(text *)state = t;
}

static const vf_monoid texts = {1, sizeof(text), no_text, letter, append, NULL};

/* ---- both ---- */

static void check_monoid(const vf_monoid *op, int64_t n, const uint8_t *x)
{
    const size_t size = op->state_bytes, bytes = (size_t)n * size;
    unsigned char *want = allocate_host(bytes), *got = allocate_host(bytes);
    _Alignas(16) unsigned char state[VF_MOST_STATE], next[VF_MOST_STATE], all[VF_MOST_STATE];
    for (int exclusive = 0; exclusive < 2; exclusive++) {
        op->identity(op->user, state);
        for (int64_t i = 0; i < n; i++) {
            if (exclusive)
                memcpy(want + (size_t)i * size, state, size);
            op->start(op->user, x + (size_t)i * op->element_bytes, next);
            op->combine(op->user, state, next);
            if (!exclusive)
                memcpy(want + (size_t)i * size, state, size);
        }
        memset(got, SENTINEL, bytes);
        need(vf_scan_by(queue, op, exclusive, n, x, got));
        assert_memory_equal(got, want, bytes);
    }
    need(vf_reduce_by(queue, op, n, x, all));
    assert_memory_equal(all, state, size);
    free(want);
    free(got);
}

static void test_operators_in_order(void **state)
{
    (void)state;
    static const int threads[] = {1, 2, 7};
    const int before = vf_context_threads(ctx);
    if (!vf_device_is_host(device))
        return;
    for (int s = 0; s < SIZES; s++)
        for (int t = 0; t < 3; t++) {
            const int64_t n = sizes[s];
            need(vf_context_set_threads(ctx, threads[t]));
            matrix *x = random_elements(VF_I32, 4 * n);
            for (int64_t i = 0; i < 4 * n; i++)
                x[i / 4].of[i % 4] |= i % 3 == 0; /* odd on the diagonal: products do not vanish */
            check_monoid(&products, n, (const uint8_t *)x);
            check_monoid(&texts, n, (const uint8_t *)x);
            free(x);
        }
    need(vf_context_set_threads(ctx, before));
}

static void test_refusals(void **state)
{
    (void)state;
    static const char reduction[] = "a reduction with a vf_monoid", scan[] = "a scan with a vf_monoid";
    matrix x = one, y;
    if (!vf_device_is_host(device)) {
        assert_int_equal(vf_reduce_by(queue, &products, 1, &x, &y), VF_ERR_UNSUPPORTED);
        assert_non_null(strstr(vf_context_message(ctx), "reduce.cuh"));
        vf_context_clear_error(ctx);
        assert_int_equal(vf_scan_by(queue, &products, false, 1, &x, &y), VF_ERR_UNSUPPORTED);
        assert_non_null(strstr(vf_context_message(ctx), "templates"));
        vf_context_clear_error(ctx);
        return;
    }
    vf_monoid no_identity = products, no_start = products, no_combine = products, too_large = products,
              empty = products, nothing = products;
    no_identity.identity = NULL;
    no_start.start = NULL;
    no_combine.combine = NULL;
    too_large.state_bytes = VF_MOST_STATE + 1;
    empty.state_bytes = 0;
    nothing.element_bytes = 0;
    assert_refused(ctx, vf_reduce_by(queue, NULL, 1, &x, &y), reduction, "op is NULL");
    assert_refused(ctx, vf_reduce_by(queue, &no_identity, 1, &x, &y), reduction, "identity is NULL");
    assert_refused(ctx, vf_reduce_by(queue, &no_start, 1, &x, &y), reduction, "start is NULL");
    assert_refused(ctx, vf_scan_by(queue, &no_combine, false, 1, &x, &y), scan, "combine is NULL");
    assert_refused(ctx, vf_reduce_by(queue, &too_large, 1, &x, &y), reduction, "states of 65");
    assert_refused(ctx, vf_scan_by(queue, &empty, false, 1, &x, &y), scan, "states of 0");
    assert_refused(ctx, vf_reduce_by(queue, &nothing, 1, &x, &y), reduction, "elements of 0");
    assert_refused(ctx, vf_reduce_by(queue, &products, -1, &x, &y), reduction, "-1 elements");
    assert_refused(ctx, vf_scan_by(queue, &products, false, INT64_MAX, &x, &y), scan, "elements of 16 bytes");
    assert_refused(ctx, vf_reduce_by(queue, &products, 1, NULL, &y), reduction, "x is NULL");
    assert_refused(ctx, vf_reduce_by(queue, &products, 1, &x, NULL), reduction, "state is NULL");
    assert_refused(ctx, vf_scan_by(queue, &products, false, 1, &x, NULL), scan, "y is NULL");
    need(vf_scan_by(queue, &products, true, 0, NULL, NULL));
    need(vf_reduce_by(queue, &products, 0, NULL, &y));
    assert_memory_equal(&y, &one, sizeof y);
}

DEVICE_MAIN(make_queue, drop_queue, cmocka_unit_test(test_operators_in_order), cmocka_unit_test(test_refusals))
