/* The number of thread blocks of a launch: it covers all threads, and impossible numbers are detected.
 */

#include "backend/launch_blocks.h"
#include "test_main.h"

static void test_blocks(void **state)
{
    (void)state;
    assert_int_equal(vf_blocks_for(0, 256), 0);
    assert_int_equal(vf_blocks_for(1, 256), 1);
    assert_int_equal(vf_blocks_for(256, 256), 1);
    assert_int_equal(vf_blocks_for(257, 256), 2);
    assert_int_equal(vf_blocks_for((int64_t)1 << 32, 1024), 1 << 22);
}

/* Beyond 2^31 - 1 blocks, where a conversion to 32 bits would give 0 or a small number. */
static void test_too_many(void **state)
{
    (void)state;
    const int64_t most = INT32_MAX;
    assert_int_equal(vf_blocks_for(most, 1), most);
    assert_int_equal(vf_blocks_for(256 * most, 256), most);
    assert_int_equal(vf_blocks_for(256 * most + 1, 256), UINT32_MAX);
    assert_int_equal(vf_blocks_for((int64_t)1 << 40, 256), UINT32_MAX);
    assert_int_equal(vf_blocks_for(((int64_t)1 << 40) + 1, 256), UINT32_MAX);
    assert_int_equal(vf_blocks_for(INT64_MAX, 1), UINT32_MAX);
    assert_int_equal(vf_blocks_for(INT64_MAX, 1024), UINT32_MAX);
}

TEST_MAIN(NULL, NULL, cmocka_unit_test(test_blocks), cmocka_unit_test(test_too_many))
