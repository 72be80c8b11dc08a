#include "voxfield/digest.h"

#include <stdio.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

#include "voxfield/device.h"

/* FIPS 180-4, section 4.2.2. */
static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

/* One round. The eight words keep their places; the caller rotates their names instead. */
static inline void turn(uint32_t a, uint32_t b, uint32_t c, uint32_t *d, uint32_t e, uint32_t f, uint32_t g,
                        uint32_t *h, uint32_t constant_and_word)
{
    uint32_t t = *h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + (g ^ (e & (f ^ g))) + constant_and_word;
    *d += t;
    *h = t + (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) | (c & (a | b)));
}

static void compress_one(uint32_t state[8], const unsigned char *block)
{
    uint32_t w[64];
    for (int t = 0; t < 16; t++)
        w[t] = (uint32_t)block[4 * t] << 24 | (uint32_t)block[4 * t + 1] << 16 | (uint32_t)block[4 * t + 2] << 8 |
               block[4 * t + 3];
    for (int t = 16; t < 64; t++) {
        uint32_t s0 = rotate(w[t - 15], 7) ^ rotate(w[t - 15], 18) ^ w[t - 15] >> 3;
        uint32_t s1 = rotate(w[t - 2], 17) ^ rotate(w[t - 2], 19) ^ w[t - 2] >> 10;
        w[t] = w[t - 16] + s0 + w[t - 7] + s1;
    }
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4], f = state[5], g = state[6],
             h = state[7];
    for (int t = 0; t < 64; t += 8) {
        const uint32_t *k = round_constants + t, *v = w + t;
        turn(a, b, c, &d, e, f, g, &h, k[0] + v[0]);
        turn(h, a, b, &c, d, e, f, &g, k[1] + v[1]);
        turn(g, h, a, &b, c, d, e, &f, k[2] + v[2]);
        turn(f, g, h, &a, b, c, d, &e, k[3] + v[3]);
        turn(e, f, g, &h, a, b, c, &d, k[4] + v[4]);
        turn(d, e, f, &g, h, a, b, &c, k[5] + v[5]);
        turn(c, d, e, &f, g, h, a, &b, k[6] + v[6]);
        turn(b, c, d, &e, f, g, h, &a, k[7] + v[7]);
    }
    const uint32_t sums[8] = {a, b, c, d, e, f, g, h};
    for (int i = 0; i < 8; i++)
        state[i] += sums[i];
}

/* Updates the state with `blocks` blocks of 64 bytes. */
typedef void compress_blocks(uint32_t state[8], const unsigned char *data, size_t blocks);

static void compress_portable(uint32_t state[8], const unsigned char *data, size_t blocks)
{
    for (size_t i = 0; i < blocks; i++)
        compress_one(state, data + 64 * i);
}

#if defined(__x86_64__)
/* With Intel's SHA extensions. They hold the state as the words A B E F and C D G H, highest first, and compute two
 * rounds at a time. */
__attribute__((target("sha,sse4.1"))) static void compress_sha(uint32_t state[8], const unsigned char *data,
                                                               size_t blocks)
{
    const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    const __m128i cdab = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(void *)state), 0xb1);
    const __m128i efgh = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(void *)(state + 4)), 0x1b);
    __m128i abef = _mm_alignr_epi8(cdab, efgh, 8), cdgh = _mm_blend_epi16(efgh, cdab, 0xf0);
    for (; blocks > 0; blocks--, data += 64) {
        const __m128i abef_before = abef, cdgh_before = cdgh;
        __m128i w[4];
        for (int i = 0; i < 4; i++)
            w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(const void *)(data + 16 * i)), big_endian);
#pragma GCC unroll 16
        for (int i = 0; i < 16; i++) {
            __m128i *now = &w[i % 4];
            if (i >= 4) {
                const __m128i last = w[(i + 3) % 4], seventh = _mm_alignr_epi8(last, w[(i + 2) % 4], 4);
                *now = _mm_sha256msg1_epu32(*now, w[(i + 1) % 4]);
                *now = _mm_sha256msg2_epu32(_mm_add_epi32(*now, seventh), last);
            }
            const __m128i *constants = (const __m128i *)(const void *)(round_constants + 4 * i);
            const __m128i sum = _mm_add_epi32(*now, _mm_loadu_si128(constants));
            cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
            abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
        }
        abef = _mm_add_epi32(abef, abef_before);
        cdgh = _mm_add_epi32(cdgh, cdgh_before);
    }
    const __m128i feba = _mm_shuffle_epi32(abef, 0x1b), dchg = _mm_shuffle_epi32(cdgh, 0xb1);
    _mm_storeu_si128((__m128i *)(void *)state, _mm_blend_epi16(feba, dchg, 0xf0));
    _mm_storeu_si128((__m128i *)(void *)(state + 4), _mm_alignr_epi8(dchg, feba, 8));
}
#endif

/* AVX2 stands for SSE4.1, so that VOXFIELD_ISA=baseline disables this path. */
static compress_blocks *choose(void)
{
#if defined(__x86_64__)
    unsigned a, b, c, d;
    if (vf_cpu_isa() >= VF_ISA_AVX2 && __get_cpuid_count(7, 0, &a, &b, &c, &d) && b & bit_SHA)
        return compress_sha;
#endif
    return compress_portable;
}

void vf_digest(const void *data, size_t bytes, char text[VF_DIGEST_TEXT])
{
    compress_blocks *compress = choose();
    uint32_t h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    const unsigned char *p = data;
    size_t whole = bytes / 64 * 64, rest = bytes - whole;
    compress(h, p, whole / 64);

    /* The last block or two: the rest, a one bit, zeros, and the length in bits, big-endian. */
    unsigned char tail[128] = {0};
    size_t tail_size = rest < 56 ? 64 : 128;
    if (rest > 0)
        memcpy(tail, p + whole, rest);
    tail[rest] = 0x80;
    for (int i = 0; i < 8; i++)
        tail[tail_size - 1 - (size_t)i] = (unsigned char)((uint64_t)bytes * 8 >> 8 * i);
    compress(h, tail, tail_size / 64);
    for (int i = 0; i < 8; i++)
        snprintf(text + 8 * i, 9, "%08x", h[i]);
}

uint64_t vf_fingerprint(uint64_t before, const void *data, size_t bytes)
{
    const unsigned char *from = data;
    uint64_t state = before ^ 0xcbf29ce484222325;
    while (bytes > 0) {
        uint64_t word = 0;
        const size_t some = bytes < sizeof word ? bytes : sizeof word;
        memcpy(&word, from, some);
        state = (state ^ word) * 0x100000001b3;
        state ^= state >> 29;
        from += some;
        bytes -= some;
    }
    return state ^ 0xcbf29ce484222325;
}
