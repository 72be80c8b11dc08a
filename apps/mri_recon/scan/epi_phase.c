/* The constant and the linear phase of a profile: a first estimate that no wrap of the phase disturbs (Ahn and Cho, IEEE
 * Trans. Med. Imaging 6 (1987) 32), then weighted least squares. */
#include <math.h>

#include "epi_readout.h"

/* rad: the weight of larger differences falls with their size (Huber). */
static const double LIMIT = 0.2;

static double position(int n, int i)
{
    return (double)(i - n / 2) / n;
}

static double complex rest(int n, const double complex *p, int i, const epi_phase *f)
{
    return p[i] * cexp(-I * (f->turn + 2 * M_PI * f->shift * position(n, i)));
}

/* One step of weighted least squares on the phases that are left. Returns whether it changed anything. */
static bool improve(int n, const double complex *p, epi_phase *f)
{
    double w = 0, wx = 0, wxx = 0, wr = 0, wxr = 0;
    for (int i = 0; i < n; i++) {
        const double complex left = rest(n, p, i, f);
        const double size = cabs(left), r = carg(left), x = position(n, i);
        const double weight = fabs(r) <= LIMIT ? size : size * LIMIT / fabs(r);
        w += weight;
        wx += weight * x;
        wxx += weight * x * x;
        wr += weight * r;
        wxr += weight * x * r;
    }
    const double determinant = w * wxx - wx * wx;
    if (!(w > 0))
        return false;
    if (!(determinant > 1e-9 * w * w)) { /* one position: no slope */
        f->turn += wr / w;
        return false;
    }
    const double turn = (wr * wxx - wxr * wx) / determinant, slope = (w * wxr - wx * wr) / determinant;
    f->turn += turn;
    f->shift += slope / (2 * M_PI);
    return fabs(turn) > 1e-9 || fabs(slope) > 1e-9;
}

void epi_fit_phase(int n, const double complex *p, epi_phase *out)
{
    enum { STEPS = 50 };
    double complex neighbours = 0, sum = 0;
    double size = 0;
    *out = (epi_phase){0};
    for (int i = 1; i < n; i++)
        neighbours += p[i] * conj(p[i - 1]);
    out->shift = n * carg(neighbours) / (2 * M_PI);
    for (int i = 0; i < n; i++)
        sum += rest(n, p, i, out);
    out->turn = carg(sum);
    for (int step = 0; step < STEPS && improve(n, p, out); step++)
        ;
    out->turn = remainder(out->turn, 2 * M_PI);
    sum = 0;
    for (int i = 0; i < n; i++) {
        sum += rest(n, p, i, out);
        size += cabs(p[i]);
    }
    out->coherence = size > 0 ? cabs(sum) / size : 0;
}
