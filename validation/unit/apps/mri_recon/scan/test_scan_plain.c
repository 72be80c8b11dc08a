/* Shapes of the plain layout as no file of a friend has them, from a source in memory. */
#include <stdlib.h>
#include <string.h>

#include "scan/scan_plain.h"
#include "test_main.h"

static bool exists(void *user, const char *name)
{
    (void)user;
    return strcmp(name, "/scan/trajectory") == 0 || strcmp(name, "/scan/data") == 0;
}

/* As many axes as a dataset may have, each as long as a number can say, and the last one empty. */
static vf_status shape(void *user, const char *name, vf_dtype *type, int *rank, int64_t *dims)
{
    (void)user;
    *type = strcmp(name, "/scan/data") == 0 ? VF_C64 : VF_F32;
    *rank = VF_H5_MAX_RANK;
    for (int d = 0; d < *rank; d++)
        dims[d] = d + 1 < *rank ? INT64_MAX : 0;
    return VF_OK;
}

static vf_status no_values(void *user, const char *name, vf_dtype type, const int64_t *start, const int64_t *count,
                           void *data)
{
    (void)name, (void)type, (void)start, (void)count, (void)data;
    return vf_fail(user, VF_ERR_INPUT, "read before its shape was checked");
}

static vf_status integers(void *user, const char *object, const char *name, int64_t *values, int n)
{
    (void)user, (void)object, (void)name;
    for (int i = 0; i < n; i++)
        values[i] = 1;
    return VF_OK;
}

static vf_status doubles(void *user, const char *object, const char *name, double *values, int n)
{
    (void)user, (void)object, (void)name;
    for (int i = 0; i < n; i++)
        values[i] = 1;
    return VF_OK;
}

static void test_longest_shape(void **state)
{
    (void)state;
    vf_context *ctx = NULL;
    mri_scan scan = {0};
    assert_int_equal(vf_context_create(&ctx), VF_OK);
    const plain_source source = {"scan.h5", ctx, exists, shape, no_values, integers, doubles};
    assert_int_equal(scan_read_plain(ctx, &source, K_AUTO, &scan), VF_ERR_INPUT);
    const char *said = vf_context_message(ctx), *list = strchr(said, '[');
    assert_non_null(list);
    for (int d = 0; d + 1 < VF_H5_MAX_RANK; d++, list += strlen("9223372036854775807, "))
        assert_memory_equal(list + 1, "9223372036854775807, ", strlen("9223372036854775807, "));
    assert_memory_equal(list + 1, "0]", 2);
    scan_free(&scan);
    vf_context_destroy(ctx);
}

TEST_MAIN(NULL, NULL, cmocka_unit_test(test_longest_shape))
