#!/usr/bin/env python3
"""Times the Python package: the overhead of a call, and its NUFFT beside FINUFFT's, with the same threads and measured errors.

usage: time_python.py [--threads N] [--rounds N]       with the package's folder in PYTHONPATH, or the wheel installed

Overhead: the least of 7 rounds of 3000 calls of a plan of 10 points, less the same calls of the C function through cffi; processor
time, which a busy machine changes least. Bar: 20 microseconds. NUFFT: plans are made once; the two take turns, and the ratio is the median of the rounds'. The error is against sums
of FINUFFT at 1e-13 in double precision. FINUFFT is skipped if it is not
installed (pip install finufft). Its points are radians in the precision of the vectors, which limits its error in single precision.
"""
import argparse
import statistics
import sys
import time

import numpy as np
import voxfield
from voxfield._binding import ffi, lib
from voxfield._nufft import Place


def least(function, calls=3000, rounds=7):
    times = []
    for _ in range(rounds):
        start = time.thread_time()
        for _ in range(calls):
            function()
        times.append((time.thread_time() - start) / calls)
    return min(times) * 1e6


def overhead():
    k = np.random.default_rng(0).uniform(-4, 4, (10, 2)).astype(np.float32)
    plan, x, out = voxfield.NUFFT(k, (8, 8), threads=1), np.ones((8, 8), np.complex64), np.empty(10, np.complex64)
    arrays = ffi.from_buffer(x), ffi.from_buffer(out)
    inner = least(lambda: lib.binding_nufft_apply(plan._session.pointer, plan._plan, 0, 1, *arrays, Place.host))
    outer, given = least(lambda: plan.forward(x)), least(lambda: plan.forward(x, out))
    print(f"a call of C {inner:.1f} us; NUFFT.forward {outer:.1f} us, with out= {given:.1f} us: overhead {outer - inner:.1f} and "
          f"{given - inner:.1f} us (bar: 20)")
    return max(outer, given) - inner < 20


def error(value, truth):
    return np.linalg.norm(value - truth) / np.linalg.norm(truth)


CASES = [("radial, 2D", (256, 256), 400 * 256), ("random, 2D", (512, 512), 1 << 19), ("random, 3D", (64, 64, 64), 1 << 19)]


def points(name, shape, count):
    rng = np.random.default_rng(1)
    if name.startswith("radial"):
        spokes, n = count // shape[1], shape[1]
        angle = np.pi * (np.sqrt(5) - 1) / 2 * np.arange(spokes)
        r = np.arange(n) - n / 2
        return np.stack([np.cos(angle)[:, None] * r, np.sin(angle)[:, None] * r], -1).reshape(-1, 2).astype(np.float32)
    return rng.uniform(-np.array(shape[::-1]) / 2, np.array(shape[::-1]) / 2, (count, len(shape))).astype(np.float32)


def best_tolerance(make, truth, given, wanted):
    """The coarsest tolerance, in steps of a quarter of a digit, whose measured error is at most `wanted`."""
    for quarter in range(8, 48):
        tolerance = 10 ** (-quarter / 4)
        if tolerance < (2e-7 if given.dtype == np.complex64 else 1e-12):
            break
        try:
            call = make(tolerance)
        except ValueError:
            break
        if error(call(given), truth) <= wanted:
            return tolerance, call
    raise RuntimeError("no tolerance reaches the error")


def compare(name, shape, count, wanted, dtype, threads, rounds):
    import finufft

    k = points(name, shape, count)
    # FINUFFT's points are in radians, one array for each axis of the grid.
    real = np.float32 if dtype == np.complex64 else np.float64
    turns = [np.ascontiguousarray((2 * np.pi * k[:, len(shape) - 1 - a].astype(float) / shape[a])) for a in range(len(shape))]
    rng = np.random.default_rng(2)
    vectors = {1: rng.standard_normal(len(k)) + 1j * rng.standard_normal(len(k)),
               2: rng.standard_normal(shape) + 1j * rng.standard_normal(shape)}
    fine = True
    for kind in (1, 2):
        exact = finufft.Plan(kind, shape, eps=1e-13, isign=1 if kind == 1 else -1, dtype="complex128", nthreads=threads)
        exact.setpts(*turns)
        truth, given = exact.execute(vectors[kind]), vectors[kind].astype(dtype)

        def theirs(tolerance):
            plan = finufft.Plan(kind, shape, eps=tolerance, isign=1 if kind == 1 else -1, dtype=np.dtype(dtype).name, nthreads=threads)
            plan.setpts(*[t.astype(real) for t in turns])
            return plan.execute

        def ours(tolerance):
            plan = voxfield.NUFFT(k, shape, tolerance, dtype=dtype, threads=threads)
            return plan.adjoint if kind == 1 else plan.forward

        (tol_a, a), (tol_b, b) = best_tolerance(ours, truth, given, wanted), best_tolerance(theirs, truth, given, wanted)
        pairs = []
        for _ in range(rounds):
            start = time.perf_counter()
            a(given)
            middle = time.perf_counter()
            b(given)
            pairs.append((middle - start, time.perf_counter() - middle))
        ratio = statistics.median(y / x for x, y in pairs)
        fine &= ratio >= 1
        print(f"{name}, {'x'.join(map(str, shape))}, {len(k)} points, type {kind}, {np.dtype(dtype).name}, error <= {wanted:g}: voxfield "
              f"{statistics.median(p[0] for p in pairs) * 1e3:.2f} ms ({tol_a:.1e}: {error(a(given), truth):.1e}), finufft "
              f"{statistics.median(p[1] for p in pairs) * 1e3:.2f} ms ({tol_b:.1e}: {error(b(given), truth):.1e}), {ratio:.2f} times as fast",
              flush=True)
    return fine


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=15)
    given = parser.parse_args()
    fine = overhead()
    try:
        import finufft
    except ImportError:
        print("SKIP: no finufft to compare with (pip install finufft)")
        return 0 if fine else 1
    print(f"finufft {finufft.__version__}, {given.threads} threads")
    for case in CASES:
        for wanted, dtype in ((1e-3, np.complex64), (1e-4, np.complex64), (1e-9, np.complex128)):
            fine &= compare(*case, wanted, dtype, given.threads, given.rounds)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
