#!/usr/bin/env python3
"""The figures of series_study.py on problems with known results.

    test_series_study.py MRI_RECON"""
import math
import pathlib
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path[:0] = map(str, pathlib.Path(__file__).resolve().parents[:2])
import series_study as study  # noqa: E402 - first: it finds a Python with numpy
import image_scans as scans  # noqa: E402
from image_study import bart_data, changed  # noqa: E402
from mri_peers import np  # noqa: E402
from seeds import program_seed  # noqa: E402
from test_bart import bart, read_cfl  # noqa: E402

SEED = program_seed()
N, SPOKES, FRAMES = 24, 5, 8


def series(make, frames=FRAMES):
    k = scans.radial(N, SPOKES * frames).reshape(frames, -1, 3)
    return scans.Series(make, (N, N, 1), k, 3, SEED, centre=8)


def test_bars():
    def row(own, spectrum, best, peer):
        priors = {prior: {"error": own, "best error": best} for prior in study.PRIORS}
        return {"kind": "series", "untouched": {"error": own}, "spectrum": {"error": spectrum}, **priors, **peer}
    rows = {"a": row(0.108, 0.2, 0.1, {"BART temporal": {"error": 0.12}, "BART llr": {"error": 0.109}}),
            "b": row(0.11, 0.1, 0.109, {"BART temporal": {"error": 0.12}, "BART llr": {"error": 0.1}}),
            "c": row(0.2, 0.3, 0.1, {}), "d": row(math.nan, 0.3, 0.1, {})}
    bars = study.bars_of(rows)
    met = {(bar["case"], bar["bar"]): bar["met"] for bar in bars}
    assert {case: ok for (case, bar), ok in met.items() if bar == "default / BART"} == {"a": True, "b": False}
    assert {case: ok for (case, bar), ok in met.items() if bar == "default / spectrum"} == \
        {"a": True, "b": False, "c": True, "d": False}
    for prior in study.PRIORS:
        ratio = {name: met[f"{name}, {prior}", "auto / best factor"] for name in rows}
        assert ratio == {"a": True, "b": True, "c": False, "d": False}, ratio
        assert not met[f"all cases, {prior}", "mean auto / best factor"]
    few = study.bars_of({name: rows[name] for name in "ab"})
    assert all(bar["met"] for bar in few if bar["bar"] == "mean auto / best factor")


def test_objects():
    """Parts that do not change are the same in all frames, up to ringing of the parts that do. Samples and noise
    differ."""
    still = series(scans.still)
    assert np.ptp(still.truth, 0).max() <= 1e-5 * still.truth.max() and not still.changing.any()
    assert len(np.unique(still.k.round(3).reshape(-1, 3), axis=0)) >= FRAMES * SPOKES * (2 * N - 1)
    for make in (scans.perfused, scans.beating):
        scan = series(make)
        share = scan.changing[0].sum() / scan.region[0].sum()
        assert 0.02 < share < 0.4, (make.__name__, share)
        assert np.abs(scan.truth[0] - still.truth[0]).max() <= 1e-5 * still.truth.max() or make is scans.beating
    beats = series(scans.beating).truth  # half of the frames later, it is in the same state
    assert np.abs(beats[:FRAMES // 2] - beats[FRAMES // 2:]).max() <= 1e-5 * beats.max()
    # The noise of 8 x 3 x 240 complex samples has this standard deviation to about 1 %.
    noise = still.noisy(20) - still.data
    wanted = still.truth[0][still.region[0]].mean() / 20 * N
    deviation = noise.real.std(axis=(1, 2)) / wanted
    assert abs(deviation - 1).max() < 0.15 and abs(noise.imag.std() / wanted - 1) < 0.05, deviation
    assert abs(np.corrcoef(noise.reshape(FRAMES, -1).real) - np.eye(FRAMES)).max() < 0.2


def test_figures():
    """One scale fits all frames. The voxels that change also have a separate error."""
    scan = series(scans.perfused)
    case = study.SeriesCase(scan, scan.data)
    exact = case.figures(3j * scan.truth)
    assert exact["error"] < 1e-12 and exact["changing"] < 1e-12, exact
    other = scan.truth * np.linspace(0.9, 1.1, FRAMES)[:, None, None, None]
    assert case.figures(other)["error"] > 0.05
    off = scan.truth + 0.3 * scan.changing * np.where(np.arange(FRAMES) % 2, 1, -1)[:, None, None, None] * scan.truth
    figures = case.figures(off)
    assert 0.27 < figures["changing"] < 0.33 and figures["error"] < figures["changing"], figures
    alone = study.SeriesCase(series(scans.still), series(scans.still).data)
    assert "changing" not in alone.figures(alone.truth)


def test_frames():
    """BART's files have the samples of each frame, and mri_recon's file has the same number of frames."""
    scan = series(scans.beating)
    case = study.SeriesCase(scan, scan.data)
    assert case.image("--prior", "spectrum", "--iterations", 2).shape == scan.truth.shape
    if not shutil.which("bart"):
        print("    SKIP: no bart here")
        return
    bart_data(case)
    t, k = (read_cfl(name).reshape(first, -1, last, FRAMES) for name, first, last in (("t", 3, 1), ("k", 1, 3)))
    for f in range(FRAMES):
        assert np.array_equal(t[:, :, 0, f].real.T, scan.k[f].astype(np.float32))
        assert np.array_equal(k[0, :, :, f].T, scan.data[f].astype(np.complex64))
    bart("nufft", "-a", "-d", f"{N}:{N}:1", "t", "k", "a")  # BART itself sees frames in dimension 10
    assert read_cfl("a").shape[10] == FRAMES


def main():
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            with tempfile.TemporaryDirectory(prefix="series_study-") as folder, changed(folder):
                test()
            print(f"{name}: ok")


main()
