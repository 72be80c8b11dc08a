/* The Hermitian eigenproblem of a block of threads: Jacobi rotations of disjoint pairs of rows at a time, in the order
 * of a round-robin tournament (Brent and Luk, SIAM J. Sci. Stat. Comput. 6 (1985) 69). */
#ifndef VOXFIELD_LOW_RANK_CUDA_CUH
#define VOXFIELD_LOW_RANK_CUDA_CUH

namespace low_rank_device
{

template <typename T>
struct __align__(2 * sizeof(T)) number
{
    T re, im;
};

enum { MOST_PAIRS = 32, MOST_SWEEPS = 40 };

/* (p, q) <- (c p - s q, conj(s) p + c q) of rows; c = 1, s = 0 if there is nothing to do. */
struct rotation {
    int p, q;
    double c;
    number<double> s;
};

/* Pair i of a round among k rows, made even by one that takes no part. */
inline __device__ rotation pair_of(int k, int round, int i)
{
    const int turn = k + k % 2 - 1;
    const int a = i == 0 ? turn : (round + i) % turn, b = (round + turn - i) % turn;
    return {a < b ? a : b, a < b ? b : a, 1, {0, 0}};
}

/* The rotation that makes a[p][q] = 0. */
inline __device__ bool find(int k, const number<double> *a, double negligible, rotation *r)
{
    if (r->q >= k)
        return false;
    const number<double> apq = a[r->p * k + r->q];
    const double size = hypot(apq.re, apq.im);
    if (!(size > negligible))
        return false;
    const double theta = (a[r->q * k + r->q].re - a[r->p * k + r->p].re) / (2 * size);
    const double t = (theta < 0 ? -1 : 1) / (fabs(theta) + sqrt(theta * theta + 1));
    r->c = 1 / sqrt(t * t + 1);
    r->s = {t * r->c * (apq.re / size), t * r->c * (apq.im / size)};
    return true;
}

inline __device__ void rotate_rows(const rotation &r, int k, int column, number<double> *m)
{
    const number<double> x = m[r.p * k + column], y = m[r.q * k + column];
    m[r.p * k + column] = {r.c * x.re - (r.s.re * y.re - r.s.im * y.im), r.c * x.im - (r.s.re * y.im + r.s.im * y.re)};
    m[r.q * k + column] = {r.s.re * x.re + r.s.im * x.im + r.c * y.re, r.s.re * x.im - r.s.im * x.re + r.c * y.im};
}

/* The same from the right, conjugated; a[p][q] and a[q][p] become exactly 0. */
inline __device__ void rotate_columns(const rotation &r, int k, int row, number<double> *a)
{
    const number<double> x = a[row * k + r.p], y = a[row * k + r.q];
    const number<double> left = {r.c * x.re - (r.s.re * y.re + r.s.im * y.im),
                                 r.c * x.im - (r.s.re * y.im - r.s.im * y.re)};
    const number<double> right = {r.s.re * x.re - r.s.im * x.im + r.c * y.re,
                                  r.s.re * x.im + r.s.im * x.re + r.c * y.im};
    const number<double> none = {0, 0};
    a[row * k + r.p] = row == r.q ? none : left;
    a[row * k + r.q] = row == r.p ? none : right;
}

/* a[k][k], Hermitian and finite, k <= 2 MOST_PAIRS, becomes diagonal: J a J^H; rows[k][k] becomes J rows. All threads
 * of the block take part; a and rows must be complete before the call, and are after it. */
inline __device__ void diagonalise(int k, number<double> *a, number<double> *rows)
{
    __shared__ rotation turns[MOST_PAIRS];
    __shared__ bool busy[MOST_PAIRS];
    const int pairs = (k + 1) / 2, rounds = k + k % 2 - 1, t = (int)threadIdx.x, threads = (int)blockDim.x;
    double largest = 0;
    for (int i = 0; i < k; i++)
        largest = fmax(largest, fabs(a[i * k + i].re));
    const double negligible = 1e-17 * largest;
    bool again = k > 1;
    for (int sweep = 0; sweep < MOST_SWEEPS && again; sweep++) {
        again = false;
        for (int round = 0; round < rounds; round++) {
            __syncthreads(); /* the last round is complete, and its rotations are no longer read */
            bool found = false;
            if (t < pairs) {
                rotation r = pair_of(k, round, t);
                found = busy[t] = find(k, a, negligible, &r);
                turns[t] = r;
            }
            if (!__syncthreads_or(found)) /* the same for all threads */
                continue;
            again = true;
            for (int e = t; e < pairs * k; e += threads)
                if (busy[e / k]) {
                    rotate_rows(turns[e / k], k, e % k, a);
                    rotate_rows(turns[e / k], k, e % k, rows);
                }
            __syncthreads();
            for (int e = t; e < pairs * k; e += threads)
                if (busy[e / k])
                    rotate_columns(turns[e / k], k, e % k, a);
        }
    }
    __syncthreads();
}

} // namespace low_rank_device

#endif
