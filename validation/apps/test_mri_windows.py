#!/usr/bin/env python3
"""Long series: --window solves the frames in overlapping windows.

usage: test_mri_windows.py PROGRAM [DEVICE] [test_name ...]     VOXFIELD_PHANTOM names mri_phantom
"""
import json
import os

from made_scan import h5py, need_h5py, numpy, phantom, relative, run_tests
from program import make, refuse
from seeds import program_seed

SEED = program_seed()
FRAMES, N = 15, 40
SHARED = ("--coils", "file")
FACTOR = 0.3  # of the automatic lambda, with temporal: the head does not move, so frames would be one image


def series(path, *options, spokes=8, thing="head"):
    need_h5py()
    phantom(path, "--phantom", thing, "--matrix", f"{N},{N},1", "--coils", 4, "--spokes", spokes, "--frames", FRAMES,
            "--continue", "--image-snr", 20, "--noise-scan", "--seed", SEED, *options)


def images(scan, *options):
    """Returns the images [frame][voxels], and the report's reconstruction."""
    make(scan, *SHARED, *options, "-q", "-o", "i.h5", "--report", "r.json")
    with h5py.File("i.h5") as file, open("r.json", encoding="ascii") as report:
        values = file["image"][...]
        values = values.view("c8") if values.dtype.kind == "V" else values
        assert numpy.all(numpy.isfinite(values)), options
        return values.reshape(-1, N * N), json.load(report)["reconstruction"]


def largest_step(found, whole):
    """The largest change of the error from frame to frame, relative to a frame. The error is the difference from
    the whole solution."""
    return max(numpy.linalg.norm(numpy.diff(found - whole, axis=0), axis=1) / numpy.linalg.norm(whole, axis=1)[1:])


def test_near_whole(_):
    """Three windows of eight frames against the whole solution. For comparison: (1) pieces of eight and seven
    frames that share no frames; (2) the inner parts of the same windows, without blending. Images jump where these
    meet.

    Measured with 20 seeds: steps are 0.17 to 0.26 of those of the pieces, and 0.3 to 0.6 of those of the inner
    parts. Errors are 0.88 to 0.90 of those of the pieces with llr, because a window has fewer frames everywhere;
    and 0.65 to 0.67 with wavelet+temporal, where only the ends of windows have errors."""
    series("s.h5")
    for prior, factor, most in (("llr", 1, 1), ("wavelet+temporal", FACTOR, 0.8)):
        given = ("--prior", prior, "--lambda", f"auto:{factor}")
        whole, _ = images("s.h5", *given)
        found, report = images("s.h5", *given, "--window", 8)
        first, second, third, rest = (images("s.h5", *given, "--frames", part)[0]
                                      for part in ("1:8", "4:11", "8:15", "9:15"))
        pieces, inner = numpy.concatenate([first, rest]), numpy.concatenate([first[:6], second[3:6], third[2:]])
        ways = (found, pieces, inner)
        steps, errors = [largest_step(way, whole) for way in ways], [relative(way, whole) for way in ways]
        print(f"    {prior}: windows, pieces, inner parts: off by {numpy.round(errors, 4)}, "
              f"steps {numpy.round(steps, 4)}; of the pieces' {errors[0] / errors[1]:.2f}, "
              f"{steps[0] / steps[1]:.2f}; steps of the inner parts' {steps[0] / steps[2]:.2f}")
        assert (report["windows"], report["window_frames"], report["window_overlap"]) == (3, 8, 2), report
        assert 0 < errors[0] <= most * errors[1], (prior, errors)
        assert errors[0] <= errors[2], (prior, errors)
        assert steps[0] <= 0.5 * steps[1] and steps[0] <= 0.8 * steps[2], (prior, steps)


def test_each_frame(_):
    """With a prior of almost no weight, frames do not depend on each other, so windows must give the images of the
    whole series: no frame is lost or doubled, and the weights in the seams add up to 1. The frames' magnitudes are 1,
    2, 3, 1, 2, ... With a tolerance of 3e-3, solutions differ by 0.02 in the smallest frames (measured); 0.06 leaves
    room."""
    series("s.h5", spokes=48, thing="shepp-logan")
    with h5py.File("s.h5", "r+") as file:
        data = file["scan/data"]
        file["scan/data"][...] = data[...] * (1 + numpy.arange(FRAMES, dtype="f4") % 3).reshape(-1, 1, 1)
    free = ("--prior", "temporal", "--lambda", 1e-6)
    for precision, windows in (("single", (4, 7, 11)), ("double", (5,))):
        whole, _ = images("s.h5", *free, "--precision", precision)
        for window in windows:
            found, report = images("s.h5", *free, "--precision", precision, "--window", window)
            off = max(relative(a, b) for a, b in zip(found, whole))
            assert found.shape == whole.shape and off <= 0.06, (window, precision, off)
            assert report["windows"] > 1, report
            print(f"    {precision}, {window}: off by {off:.1e}")


def test_same_bits(_):
    """A window as long as the series, and 0, change nothing. With several windows, the number of threads changes
    nothing. Coils without maps have windows, too."""
    series("s.h5")
    temporal = ("--prior", "temporal", "--iterations", 10)
    whole = images("s.h5", *temporal)[0].tobytes()
    for window in (0, FRAMES, FRAMES + 1, 10 ** 9):
        found, report = images("s.h5", *temporal, "--window", window)
        assert found.tobytes() == whole and report["windows"] == 1, window
    few_frames = ("--frames", "1:8", "--iterations", 6)
    for options in (("--prior", "wavelet+temporal", *few_frames), ("--prior", "llr", "--coils", "rss", *few_frames)):
        few = images("s.h5", *options, "--window", 6, "--threads", 1)[0]
        assert few.tobytes() == images("s.h5", *options, "--window", 6, "--threads", 4)[0].tobytes(), options
        assert few.tobytes() != images("s.h5", *options)[0].tobytes(), options


def test_said(_):
    """The plan states the number of windows. A smaller window needs less memory."""
    series("s.h5")
    plans = [make("s.h5", "--prior", "llr", "--dry-run", *options).out for options in ([], ["--window", 5])]
    assert f"{FRAMES} frames are solved together" in plans[0], plans[0]
    assert "5 windows of 5 frames are solved; each shares at least 2 frames with the next" in plans[1], plans[1]
    need = [float(plan.split("single precision, about ")[1].split(" MiB")[0]) for plan in plans]
    assert need[1] < need[0], need


def test_refused(_):
    series("s.h5")
    for window in (1, 2, 3):
        refuse(2, f"--window {window}: windows overlap, so they need at least 4 frames", "s.h5", "--prior", "llr",
               "--window", window, "-o", "i.h5")
    refuse(2, "--window", "s.h5", "--prior", "llr", "--window", -1, "-o", "i.h5")
    refuse(2, "--window needs --prior temporal, llr or nuclear", "s.h5", "--prior", "wavelet", "--window", 8, "-o",
           "i.h5")
    assert not os.path.exists("i.h5")


if __name__ == "__main__":
    run_tests(globals())
