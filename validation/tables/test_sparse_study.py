#!/usr/bin/env python3
"""The figures of sparse_study.py on problems with known results.

    test_sparse_study.py MRI_RECON"""
import math
import pathlib
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[:2])
import sparse_study as study  # noqa: E402 - first: it finds a Python with numpy
import image_scans as scans  # noqa: E402
from image_study import Case, changed  # noqa: E402
from mri_peers import np  # noqa: E402
from seeds import generator, program_seed  # noqa: E402
from test_bart import bart, read_cfl, write_cfl  # noqa: E402

SEED = program_seed()


def test_bars():
    def prior(own, best):
        return {"error": own, "best error": best}
    rows = {"a": {"kind": "sparse", "untouched": {"error": 0.2}, "wavelet": prior(0.109, 0.1), "tv": prior(0.3, 0.2),
                  "BART wavelet": {"error": 0.12}, "BART tv": {"error": 0.12}},
            "b": {"kind": "sparse", "untouched": {"error": 0.2}, "wavelet": prior(0.107, 0.1), "tv": prior(math.nan, 0.1)},
            "c": {"kind": "time", "untouched": {"error": 0.2}, "seconds": {"BART": 11, "ours": 2}},
            "d": {"kind": "time", "untouched": {"error": 0.2}, "seconds": {"BART": 2, "ours": None}},
            "e": {"kind": "time", "untouched": {"error": 0.2}, "seconds": {"BART": 9, "ours": 2}}}
    met = {(bar["case"], bar["bar"]): bar["met"] for bar in study.bars_of(rows)}
    ratio, l2 = "auto / best factor", "auto / untouched"
    assert met == {("a, wavelet", "auto / BART"): True, ("a, wavelet", ratio): True, ("a, wavelet", l2): True,
                   ("a, tv", "auto / BART"): False, ("a, tv", ratio): False, ("a, tv", l2): False,
                   ("b, wavelet", ratio): True, ("b, wavelet", l2): True, ("b, tv", ratio): False, ("b, tv", l2): False,
                   ("c", "seconds / BART"): True, ("d", "seconds / BART"): False, ("e", "seconds / BART"): False,
                   ("all cases, wavelet", "mean auto / best factor"): False,  # of 1.09 and 1.07
                   ("all cases, tv", "mean auto / best factor"): False}, met


def test_time_to():
    series = [{"seconds": s, "objective": o} for s, o in ((1, 5.0), (2, 3.0), (3, math.nan), (4, 1.0))]
    assert [study.time_to(series, o) for o in (9, 5, 4, 2, 0.5)] == [1, 1, 2, 4, None]


def test_objective():
    """In mri_recon's units the objective is |F s x - d|^2 / 2 + our_weight |W x|_1, for random images, data and
    scales."""
    if not shutil.which("bart"):
        print("    SKIP: no bart here")
        return
    rng = generator()
    n = 32
    scan = scans.Scan(scans.head, (n, n, 1), scans.radial(n, 9), 3, SEED)
    case = Case(scan, scan.noisy(10))
    problem = study.BartProblem(case, scan.maps, float(rng.uniform(5, 500)))
    image = rng.standard_normal((1, n, n)) + 1j * rng.standard_normal((1, n, n))
    # F by its definition, in double precision.
    z, y, x = (np.exp(-2j * np.pi * np.outer(case.k[:, a].astype(float), scans.positions(m))) for a, m in ((2, 1), (1, n), (0, n)))
    model = np.array([np.einsum("sy,sx,yx->s", y, x, (image * s)[0]) * z[:, 0] for s in scan.maps])
    write_cfl("o", image.transpose(2, 1, 0))
    bart("wavelet", 3, "o", "v")
    ours = (abs(model - case.data) ** 2).sum() / 2 + problem.our_weight * abs(read_cfl("v")).sum()
    theirs = problem.objective(problem.of_ours(image)) * problem.scale ** 2
    # Sums and BART's files are in single precision: 6e-8 a term, some tens of terms.
    assert abs(theirs - ours) <= 1e-5 * ours, (theirs, ours)


def main():
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            with tempfile.TemporaryDirectory(prefix="sparse_study-") as folder, changed(folder):
                test()
            print(f"{name}: ok")


main()
