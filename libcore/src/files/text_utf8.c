#include "text_utf8.h"

size_t vf_utf8_length(const unsigned char *s)
{
    static const struct {
        unsigned char first_low, first_high, second_low, second_high, length;
    } forms[] = {{0x01, 0x7f, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
                 {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
                 {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4}};
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
        size_t n = forms[f].length;
        if (s[0] < forms[f].first_low || s[0] > forms[f].first_high)
            continue;
        if (n > 1 && (s[1] < forms[f].second_low || s[1] > forms[f].second_high))
            return 0;
        for (size_t i = 2; i < n; i++)
            if ((s[i] & 0xc0) != 0x80)
                return 0;
        return n;
    }
    return 0;
}
