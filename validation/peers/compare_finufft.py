#!/usr/bin/env python3
"""The NUFFT beside FINUFFT (PyPI: finufft), at equal tolerance, on the same machine, one after the other.

    compare_finufft.py BENCH_GRIDDING [SPOKES [SAMPLES_A_SPOKE [MATRIX]]]

Runs bench_gridding on the CPU and FINUFFT on the same koosh-ball scan; prints times and their ratio (above 1: Voxfield
is faster). Exit status 77 if finufft or numpy is missing.
"""
import os
import re
import statistics
import subprocess
import sys
import time

try:
    import finufft
    import numpy
except ImportError as missing:
    print(f"SKIP: {missing}")
    sys.exit(77)

ROW = re.compile(r"^\s*(\S+) (single|double)\s+(\S+)\s+(\d+)\^3\s+(\d+).* adjoint\s+(\S+) ms\s+forward\s+(\S+) ms")


def koosh_ball(spokes, a_spoke):
    """Radians: the same positions as bench_gridding.c."""
    i = numpy.arange(spokes)
    z = 1 - (2 * i + 1) / spokes
    angle = 2.399963229728653 * i
    direction = numpy.stack([numpy.sqrt(1 - z * z) * numpy.cos(angle), numpy.sqrt(1 - z * z) * numpy.sin(angle), z])
    radius = 2 * numpy.pi * (numpy.arange(a_spoke) / a_spoke - 0.5)
    return [numpy.ascontiguousarray((d[:, None] * radius).ravel()) for d in direction]


def median_ms(work, runs=7):
    work()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append(1e3 * (time.perf_counter() - start))
    return statistics.median(times)


def finufft_ms(points, matrix, tolerance, single, threads):
    real, kind = (numpy.float32, numpy.complex64) if single else (numpy.float64, numpy.complex128)
    random = numpy.random.default_rng(1)
    samples = len(points[0])
    x = [p.astype(real) for p in points]
    c = (random.standard_normal(samples) + 1j * random.standard_normal(samples)).astype(kind)
    image = random.standard_normal((matrix,) * 3).astype(kind)
    result = []
    for direction, vector in ((1, c), (2, image)):
        plan = finufft.Plan(direction, (matrix,) * 3, eps=tolerance, isign=1 if direction == 1 else -1,
                            dtype=kind.__name__, nthreads=threads)
        plan.setpts(*x)
        result.append(median_ms(lambda: plan.execute(vector)))
    return result


def main():
    bench, sizes = sys.argv[1], [int(a) for a in sys.argv[2:]]
    spokes, a_spoke, matrix = sizes + [2156, 132, 128][len(sizes):]
    threads = len(os.sched_getaffinity(0))
    run = subprocess.run([bench, "cpu"] + [str(n) for n in (spokes, a_spoke, matrix)], capture_output=True, text=True)
    print(run.stdout, end="")
    rows = [ROW.match(line) for line in run.stdout.splitlines()]
    rows = [row for row in rows if row and float(row[3]) == 0]
    if run.returncode or len(rows) < 5:
        print(f"FAIL: {bench} ended with {run.returncode} and {len(rows)} rows\n{run.stderr}")
        return 1
    points = koosh_ball(spokes, a_spoke)
    print(f"\nFINUFFT {finufft.__version__}, {threads} threads; ms adjoint, forward; ratio to Voxfield")
    for row in rows:
        adjoint, forward = finufft_ms(points, matrix, float(row[1]), row[2] == "single", threads)
        print(f"{row[1]:>7} {row[2]}  {adjoint:8.2f} {forward:8.2f}   {adjoint / float(row[6]):5.2f} "
              f"{forward / float(row[7]):5.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
