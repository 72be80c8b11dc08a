/* Replaces bench_ceilings.cu, bench_peers.cu and bench_cub_sort.cu in builds without CUDA. */
#include "bench_ceilings.h"
#include "bench_peers.h"
#include "bench_sort_peers.h"

double bench_ceiling_rsqrt(int ordinal)
{
    (void)ordinal;
    return 0;
}

double bench_ceiling_gpu_fma(int ordinal)
{
    (void)ordinal;
    return 0;
}

double bench_ceiling_sincos(int ordinal)
{
    (void)ordinal;
    return 0;
}

const char *bench_peer_name(bench_peer peer)
{
    (void)peer;
    return "none";
}

size_t bench_peer_scratch(bench_peer peer, int64_t n)
{
    (void)peer;
    (void)n;
    return SIZE_MAX;
}

int bench_peer_run(bench_peer peer, void *stream, void *scratch, size_t scratch_bytes, int64_t n, bench_peer_input in,
                   void *out)
{
    (void)peer;
    (void)stream;
    (void)scratch;
    (void)scratch_bytes;
    (void)n;
    (void)in;
    (void)out;
    return 0;
}

double bench_gpu_seconds(void *stream, void (*put)(void *user), void *user)
{
    (void)stream;
    (void)put;
    (void)user;
    return -1;
}

int bench_cub_sort(bench_sort_type type, void *stream, void *scratch, size_t *bytes, int64_t n, const void *const in[2],
                   void *const out[2])
{
    (void)type;
    (void)stream;
    (void)scratch;
    (void)bytes;
    (void)n;
    (void)in;
    (void)out;
    return 0;
}
