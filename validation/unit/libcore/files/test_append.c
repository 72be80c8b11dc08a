/* Texts made of pieces: what does not fit is cut off, and nothing behind the array is written. */
#include <stdlib.h>
#include <string.h>

#include "test_main.h"
#include "voxfield/append.h"

enum { GUARD = 32 };

/* For every size of the array, in memory whose other bytes must stay as they are. */
static void test_every_size(void **state)
{
    (void)state;
    const char *whole = "[123, -4567, 89]";
    const size_t length = strlen(whole);
    for (size_t size = 1; size <= length + 3; size++) {
        char *memory = malloc(size + GUARD);
        assert_non_null(memory);
        memset(memory, '#', size + GUARD);
        memory[0] = '\0';
        vf_append(memory, size, "[%d", 123);
        vf_append(memory, size, ", %d", -4567);
        vf_append(memory, size, "%s", "");
        const size_t told = vf_append(memory, size, ", %d]", 89);
        assert_int_equal(told, size - 1 < length ? size - 1 : length);
        assert_int_equal(strlen(memory), told);
        assert_memory_equal(memory, whole, told);
        for (int i = 0; i < GUARD; i++)
            assert_int_equal(memory[size + (size_t)i], '#');
        free(memory);
    }
}

static void test_no_text(void **state)
{
    (void)state;
    char full[4] = {'a', 'b', 'c', 'd'}; /* not terminated */
    assert_int_equal(vf_append(full, sizeof full, "%d", 5), 4);
    assert_memory_equal(full, "abcd", 4);
    assert_int_equal(vf_append(full, 0, "%d", 5), 0);
    assert_memory_equal(full, "abcd", 4);
}

TEST_MAIN(NULL, NULL, cmocka_unit_test(test_every_size), cmocka_unit_test(test_no_text))
