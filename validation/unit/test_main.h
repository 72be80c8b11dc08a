/* The main function of a test program: its tests, between functions for the whole group, which may be NULL. */
#ifndef TEST_MAIN_H
#define TEST_MAIN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define TEST_MAIN(set_up_group, tear_down_group, ...)                                                                  \
    int main(void)                                                                                                     \
    {                                                                                                                  \
        const struct CMUnitTest tests[] = {__VA_ARGS__};                                                               \
        return cmocka_run_group_tests(tests, set_up_group, tear_down_group);                                           \
    }

#endif
