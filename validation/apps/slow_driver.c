/* Replaces the CUDA driver library: the first call takes long and fails. For test_warm_up.py. */
#include <unistd.h>

int cuGetProcAddress(void);
int cuGetProcAddress_v2(void);

static int fail_slowly(void)
{
    static const char text[] = "the slow driver is asked\n", answer[] = "the slow driver answers\n";
    (void)!write(2, text, sizeof text - 1);
    sleep(8);
    (void)!write(2, answer, sizeof answer - 1);
    return 999;
}

int cuGetProcAddress(void)
{
    return fail_slowly();
}

int cuGetProcAddress_v2(void)
{
    return fail_slowly();
}
