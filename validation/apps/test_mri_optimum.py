#!/usr/bin/env python3
"""The optimum of every sparse prior equals that of an independent solver (convex_reference.py), which also
certifies the distance of its own solution from the minimum.

usage: test_mri_optimum.py PROGRAM [DEVICE] [test_name ...]     VOXFIELD_PHANTOM names mri_phantom
"""
import json
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy: several threads make small matrices slower

from made_scan import h5py, need_h5py, numpy, run_tests  # noqa: E402
from program import make  # noqa: E402
from seeds import generator  # noqa: E402

if numpy:
    from convex_reference import LowRank, Problem, Sparse, Temporal, blocks, gradient, wavelet

COILS, BLOCK, LEAST_BALANCE = 4, 8, 0.3
BOTH = ("admm", "primal-dual")


# ---- scans ----


def positions(shape):
    axes = numpy.meshgrid(*[(numpy.arange(n) - n // 2) / n for n in shape], indexing="ij")
    return numpy.stack([axis.ravel() for axis in axes[::-1]], axis=-1)  # x, y, z


def write(shape, frames, rng):
    """Writes weighted samples near each point of the grid of k-space, so that A is well conditioned. The coils see
    the voxels unevenly, and one side hardly at all. Returns A and b of the objective, from a dense F, exp(-2 pi i
    k.r), and sum |s|^2."""
    r, count = positions(shape), int(numpy.prod(shape))
    maps = numpy.exp(-((r[None] - rng.uniform(-0.5, 0.5, (COILS, 1, 3))) ** 2).sum(axis=2) / 0.4
                     + 1j * rng.uniform(-2, 2, (COILS, 3)) @ r.T)
    shade = numpy.where(r[:, 0] >= 0.3, 0.2, 1 - rng.uniform(-0.4, 0.4) * r[:, 1])
    maps = (maps * shade / numpy.linalg.norm(maps, axis=0)).astype("c8")
    grid = numpy.round(r * shape[::-1])
    k, data, weights = [], [], rng.uniform(0.5, 2, (frames, count)).astype("f4")
    for frame in range(frames):
        moved = grid + rng.uniform(-0.4, 0.4, grid.shape) * (numpy.array(shape[::-1]) > 1)
        k.append(rng.permutation(moved).astype("f4"))
        image = (1 + (r[:, 1] > 0.1) + (r[:, 0] > 0.2 * frame - 0.3)) * (abs(r) < 0.4).all(axis=1) * numpy.exp(
            3j * r[:, 1] + 1j * (r[:, 0] > 0))
        clean = (maps * image) @ numpy.exp(-2j * numpy.pi * k[-1].astype(float) @ r.T).T
        noise = rng.standard_normal((2, *clean.shape))
        sigma = 0.3 * numpy.linalg.norm(clean) / clean.size ** 0.5
        data.append((clean + sigma * (noise[0] + 1j * noise[1])).astype("c8"))
    with h5py.File("s.h5", "w") as file:
        scan = file.create_group("scan")
        scan.attrs["matrix"], scan.attrs["fov_mm"] = shape[::-1], [200.0] * 3
        scan["trajectory"], scan["data"], scan["weights"] = numpy.array(k), numpy.array(data), weights
        scan["sensitivity"] = maps.reshape(COILS, *shape)
    encoding = [numpy.exp(-2j * numpy.pi * at.astype(float) @ r.T) for at in k]
    a = [sum(s.conj()[:, None] * (f.conj().T @ (w[:, None] * f)) * s for s in maps.astype(complex))
         for f, w in zip(encoding, weights.astype(float))]
    b = [sum(s.conj() * (f.conj().T @ (w * d)) for s, d in zip(maps.astype(complex), coils.astype(complex)))
         for f, w, coils in zip(encoding, weights.astype(float), data)]
    return numpy.array(a), numpy.array(b), (abs(maps.astype(complex)) ** 2).sum(axis=0)


def even_noise(a, b, seen):
    """E and U, as in reconstruction.md: the penalties act on v = image / E, and |U^1/2 v|^2 / 2 is added to the
    objective. The diagonal of A is sum |s|^2 times the sum of the samples' weights."""
    brightness = abs(b[0]) ** 2
    power = (brightness * seen).sum() / brightness.sum()
    even = 1 / numpy.maximum(numpy.sqrt(seen / power), LEAST_BALANCE)
    mean = numpy.einsum("fii->i", a).real.mean() / seen.mean() / len(a) * power
    return even, mean * (1 - numpy.minimum(1, seen / power / LEAST_BALANCE ** 2))


# ---- shifts, by the rule of penalties.h ----


def numbers_from(state):
    """splitmix64, as the program must draw them."""
    mask = 2 ** 64 - 1
    while True:
        state = state + 0x9e3779b97f4a7c15 & mask
        x = (state ^ state >> 30) * 0xbf58476d1ce4e5b9 & mask
        x = (x ^ x >> 27) * 0x94d049bb133111eb & mask
        yield x ^ x >> 31


def wavelet_shift(shape, number, shifts, second, numbers):
    """Along z, y, x."""
    bits, shift = [number & 1, number >> 1 & 1, number >> 2], [0, 0, 0]
    if shifts <= 4:
        bits[2] = (bits[0] + bits[1] + second) % 2
    for axis in (a for a in (2, 1, 0) if shape[a] > 1):
        shift[axis] = 2 * (next(numbers) % 8) + bits.pop(0)
    return shift


def block_shift(shape, numbers):
    shift = [0, 0, 0]
    for axis in (a for a in (2, 1, 0) if shape[a] > 1):
        shift[axis] = next(numbers) % min(BLOCK, shape[axis])
    return shift


def terms_of(prior, weight, shape, moments, shifts, numbers):
    if prior == "tv":
        return [Sparse(weight, gradient(shape))]
    if prior == "temporal":
        return [Temporal(weight)]
    if prior == "nuclear":
        return [LowRank(weight, blocks(shape, max(shape), (0, 0, 0)))]
    shifts = shifts or min(4, 2 ** sum(n > 1 for n in shape))
    if prior == "llr":
        return [LowRank(weight / shifts, blocks(shape, BLOCK, block_shift(shape, numbers))) for _ in range(shifts)]
    all_moments = [moments] if moments else [1, 2]
    matrices = [wavelet(shape, m, wavelet_shift(shape, i, shifts, w == 1, numbers))
                for w, m in enumerate(all_moments) for i in range(shifts)]
    return [Sparse(weight / len(matrices), numpy.concatenate(matrices, axis=1))]


def reconstruct(*options):
    make("s.h5", *options, "--iterations", 200000, "--coils", "file", "--precision", "double", "--threads", 1, "-q",
         "-o", "i.h5", "--report", "r.json")
    with h5py.File("i.h5") as file, open("r.json", encoding="ascii") as report:
        x = file["image"][...].astype(complex)
        assert numpy.all(numpy.isfinite(x)), options
        return x, json.load(report)["reconstruction"]


def reach(terms, x):
    """L sqrt(sum |T_i|^2) |x|: the largest change of the penalties if x changes by |x|. L is their Lipschitz
    constant, sqrt(sum weight^2 count)."""
    slopes = sum(term.weight ** 2 * term.count(term.forward(x)) for term in terms)
    return (slopes * sum(term.largest for term in terms)) ** 0.5 * numpy.linalg.norm(x)


def check(prior, shape, number, frames=1, moments=0, shifts=0, solvers=("admm",)):
    """Checks the program's image x. The objective P has the minimum P* at x*, and A has the least and the largest
    eigenvalues m and M. The errors:

    Converged: with the reported residual r, |A x - b + T^H y| <= r |b| and |T x - z| <= r X, where y is a
    subgradient at z, so |y| <= L. X is the largest |T x| of all iterations, assumed to be at most 2 |T| |x|.
    Convexity gives P(x) - P* <= r |b| |x - x*| - m |x - x*|^2 / 2 + 2 L r X <= (r |b|)^2 / 2 m + 4 r reach(x).
    Transforms: F is accurate to 1e-9 in double precision. With D = 1e-9 (M |x| + |b|), P(x) - P* rises by
    2 D^2 / m.
    File: single precision changes x by e, |e| <= 2^-24 |x|. That changes P by |A x - b| |e| + M |e|^2 / 2 + 2^-24
    reach(x), and a term by its part of 2^-24 reach(x).
    The image: m |x - x*|^2 / 2 <= P(x) - P*."""
    need_h5py()
    rng = generator(*shape, frames, moments)
    a, b, seen = write(shape, frames, rng)
    even, unseen = even_noise(a, b, seen)
    assert even.max() == 1 / LEAST_BALANCE and unseen.max() > 0
    seed = int(rng.integers(1000))
    options = ["--prior", prior, "--lambda", number, "--seed", seed] + (["--shifts", shifts] if shifts else [])
    options += ["--wavelet", {1: "haar", 2: "db2"}[moments]] if moments else []
    problem = best = lower = None
    for solver in solvers:
        tolerance = 1e-6 if "+" in prior or solver == "primal-dual" else 1e-7  # these need many more steps
        x, said = reconstruct(*options, "--solver", solver, "--tolerance", tolerance)
        x = x.reshape(frames, -1) / even
        if not problem:
            numbers = numbers_from(seed)
            parts = {name: terms_of(name, said[name]["lambda"], shape, moments, shifts, numbers)
                     for name in prior.split("+")}
            problem = Problem(even[:, None] * a * even + numpy.diag(unseen), even * b, sum(parts.values(), []))
            best, lower = problem.solve()
        m, size, r = problem.least, numpy.linalg.norm(x), said["residual"]
        of_b, change = numpy.linalg.norm(problem.b), 2 ** -24 * size
        whole, value = reach(problem.terms, x), problem.objective(x)
        in_file = problem.slope(x) * change + problem.most * change ** 2 / 2 + 2 ** -24 * whole
        allowed = ((r * of_b) ** 2 / 2 + 2 * (1e-9 * (problem.most * size + of_b)) ** 2) / m + 4 * r * whole + in_file
        allowed += 1e-12 * abs(value)  # double precision
        off, in_best = numpy.linalg.norm(x - best), max(problem.objective(best) - lower, 0)
        of_image = (2 / m) ** 0.5 * (allowed ** 0.5 + in_best ** 0.5)
        above = (value - lower) / abs(value)
        print(f"    {prior} {shape} {solver}: {said['iterations']} iterations, {above:.1e} above the bound (allowed "
              f"{allowed / abs(value):.0e}), image off by {off / size:.1e} (allowed {of_image / size:.0e})")
        assert in_best <= 3e-6 * abs(value), ("the reference did not converge", prior, in_best)
        assert r <= tolerance, (prior, solver, r)
        assert -1e-12 * abs(value) <= value - lower <= allowed + in_best, (prior, solver, value, lower, allowed)
        assert off <= of_image, (prior, solver, off)
        transforms = 1e-9 * (problem.most * size / 2 + of_b) * size
        assert abs(said["objective"] - value) <= in_file + transforms, (prior, solver, said["objective"], value)
        for name, terms in parts.items():
            term = sum(part.weight * part.norm(part.forward(x)) for part in terms)
            assert term > 3e-3 * abs(value), (prior, name, term, value)  # the term is large enough to matter
            assert abs(said[name]["term"] - term) <= 2 ** -24 * reach(terms, x), (prior, name, said[name], term)


def test_wavelet(_):
    """One wavelet with one shift, with and without padding; the mean over shifts and wavelets in 1D, 2D and 3D."""
    check("wavelet", (1, 16, 16), 2, moments=1, shifts=1, solvers=("admm", "primal-dual", "fista"))
    check("wavelet", (1, 17, 15), 2, moments=2, shifts=1)
    check("wavelet", (1, 1, 31), 2, shifts=2)
    check("wavelet", (1, 13, 12), 1, solvers=BOTH)
    check("wavelet", (8, 5, 6), 1, shifts=3)  # the numbers of odd and even shifts along z differ


def test_tv(_):
    check("tv", (1, 9, 11), 1, solvers=BOTH)
    check("tv", (4, 5, 6), 1)


def test_temporal(_):
    check("temporal", (1, 15, 8), 2, frames=4, solvers=BOTH)


def test_llr(_):
    """Several blocks, the last of one voxel along y; the grid within one block."""
    check("llr", (1, 9, 10), 5, frames=4, solvers=BOTH)
    check("llr", (5, 6, 7), 5, frames=3, shifts=3)


def test_nuclear(_):
    check("nuclear", (1, 12, 9), 10, frames=4, solvers=BOTH)
    check("nuclear", (1, 1, 3), 3, frames=5)  # more frames than voxels


def test_two(_):
    check("wavelet+tv", (1, 9, 10), 1, solvers=BOTH)
    check("tv+temporal", (1, 9, 8), 1, frames=3)
    check("llr+wavelet", (1, 10, 9), 2, frames=3, moments=1, shifts=2)


if __name__ == "__main__":
    run_tests(globals())
