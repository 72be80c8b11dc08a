/* The interface between the CPU backend (low_rank_cpu.c: blocks, threads) and each instruction set (low_rank_isa.inc,
 * compiled once for each set); not installed.
 *
 * Matrices have separate real and imaginary parts and rows of `width` numbers, a multiple of LOW_RANK_PAD. */
#ifndef VOXFIELD_LOW_RANK_SIMD_H
#define VOXFIELD_LOW_RANK_SIMD_H

enum { LOW_RANK_PAD = 8, LOW_RANK_TILE = 64 };

typedef struct low_rank_parts {
    double *re, *im;
} low_rank_parts;

typedef struct low_rank_isa {
    /* gram += tile^H tile, at least its lower triangle: gram[width][width], tile[LOW_RANK_TILE][width]. */
    void (*add_gram)(int width, low_rank_parts tile, low_rank_parts gram);
    /* out = tile p: p[width][width], of whose rows the first `rows` count; out and tile [LOW_RANK_TILE][width]. */
    void (*multiply)(int width, int rows, low_rank_parts tile, low_rank_parts p, low_rank_parts out);
} low_rank_isa;

extern const low_rank_isa low_rank_isa_baseline, low_rank_isa_avx2, low_rank_isa_avx512;

#endif
