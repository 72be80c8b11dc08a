/* Which frames "first:last:step" selects, and invalid selections.
 *
 * usage: test_select_frames [cpu [TEST...]]
 */
#include "device_fixture.h"

#include "select_frames.h"

static void test_selections(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t first, step, count;
    } good[] = {
        {":", 0, 1, 10},    {"::", 0, 1, 10},     {"1:10:1", 0, 1, 10}, {"3:", 2, 1, 8},
        {":3", 0, 1, 3},    {"::3", 0, 3, 4},     {"2:9:3", 1, 3, 3},   {"2:8:3", 1, 3, 3},
        {"2:7:3", 1, 3, 2}, {"7", 6, 1, 1},       {"-1", 9, 1, 1},      {"-3:", 7, 1, 3},
        {":-2", 0, 1, 9},   {"-10:-10", 0, 1, 1}, {"10:10:5", 9, 5, 1}, {"::9223372036854775807", 0, INT64_MAX, 1},
        {"1:-1:4", 0, 4, 3}};
    static const struct {
        const char *text, *says;
    } bad[] = {{"", "expected first"},
               {"0", "no frame 0"},
               {"0:3", "no frame 0"},
               {"11", "it has 10"},
               {"1:11", "no frame 11"},
               {"-11:", "no frame -11"},
               {"::0", "step is 0"},
               {"::-1", "step is -1"},
               {"5:4", "before"},
               {"-1:1", "before"},
               {"a", "expected first"},
               {"1.5:", "expected first"},
               {"1:2:3:4", "expected first"},
               {"1: 2", "expected first"},
               {"1:2:3:", "expected first"},
               {"1,2", "expected first"},
               {"1-5", "expected first"},
               {"99999999999999999999:", "expected first"},
               {"0000000000000000000000000001", "expected first"}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        frame_selection f;
        if (parse_frames(ctx, good[i].text, "the trajectory", 10, &f) != VF_OK)
            fail_msg("'%s': %s", good[i].text, vf_context_message(ctx));
        if (f.first != good[i].first || f.step != good[i].step || f.count != good[i].count)
            fail_msg("'%s': %lld, %lld, %lld", good[i].text, (long long)f.first, (long long)f.step, (long long)f.count);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        frame_selection f;
        const char *says = strcmp(bad[i].says, "it has 10") == 0 ? "the trajectory has 10" : bad[i].says;
        const vf_status status = parse_frames(ctx, bad[i].text, "the trajectory", 10, &f);
        if (status != VF_ERR_ARGUMENT || !strstr(vf_context_message(ctx), says))
            fail_msg("'%s': %s: %s", bad[i].text, vf_status_name(status), vf_context_message(ctx));
        vf_context_clear_error(ctx);
    }
}

/* Against counting them one by one. */
static void test_random_selections(void **state)
{
    (void)state;
    for (int trial = 0; trial < 2000; trial++) {
        const int64_t frames = 1 + integer_below(30), first = 1 + integer_below(frames),
                      last = first + integer_below(frames - first + 1);
        const int64_t step = 1 + integer_below(8);
        const bool back = uniform() < 0.5;
        int64_t expected = 0;
        char text[80];
        frame_selection f;
        for (int64_t n = first; n <= last; n += step)
            expected++;
        snprintf(text, sizeof text, "%lld:%lld:%lld", (long long)(back ? first - frames - 1 : first),
                 (long long)(back ? last : last - frames - 1), (long long)step);
        assert_int_equal(parse_frames(ctx, text, "the trajectory", frames, &f), VF_OK);
        if (f.first != first - 1 || f.step != step || f.count != expected)
            fail_msg("'%s' of %lld: %lld frames", text, (long long)frames, (long long)f.count);
    }
}

DEVICE_MAIN(NULL, NULL, cmocka_unit_test(test_selections), cmocka_unit_test(test_random_selections))
