#!/usr/bin/env python3
"""Compares the NUFFT with FINUFFT (PyPI: finufft) at equal tolerance, on the same machine, one after the other.

    compare_finufft.py BENCH_GRIDDING [SPOKES [SAMPLES_A_SPOKE [MATRIX]]]

Runs bench_gridding on the CPU and FINUFFT on the same koosh-ball scan. Prints times and their ratio (above 1:
Voxfield is faster). Exit status 77 if finufft or numpy is missing.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

try:
    import finufft
    import numpy
except ImportError as missing:
    print(f"SKIP: {missing}")
    sys.exit(77)


def koosh_ball(spokes, a_spoke):
    """Positions as in bench_gridding.c, in radians."""
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


def run_bench(bench, sizes):
    """Exit status, and milliseconds by tolerance, precision and direction, with the plan's oversampling."""
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")
        status = subprocess.run([bench, "cpu", report] + [str(n) for n in sizes], check=False).returncode
        if not os.path.exists(report):
            return status, {}
        with open(report, encoding="utf-8") as file:
            cases = json.load(file)["cases"].values()
    times = {}
    for case in cases:
        if "oversampling" not in case:
            times.setdefault((case["tolerance"], case["precision"]), {})[case["direction"]] = case["milliseconds"]
    return status, times


def main():
    bench, sizes = sys.argv[1], [int(a) for a in sys.argv[2:]]
    spokes, a_spoke, matrix = sizes + [2156, 132, 128][len(sizes):]
    threads = len(os.sched_getaffinity(0))
    status, times = run_bench(bench, (spokes, a_spoke, matrix))
    if status or len(times) < 5:
        print(f"FAIL: {bench} ended with {status} and {len(times)} rows")
        return 1
    points = koosh_ball(spokes, a_spoke)
    print(f"\nFINUFFT {finufft.__version__}, {threads} threads; ms adjoint, forward; ratio to Voxfield")
    for (tolerance, precision), ours in times.items():
        adjoint, forward = finufft_ms(points, matrix, tolerance, precision == "single", threads)
        print(f"{tolerance:7g} {precision}  {adjoint:8.2f} {forward:8.2f}   {adjoint / ours['adjoint']:5.2f} "
              f"{forward / ours['forward']:5.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
