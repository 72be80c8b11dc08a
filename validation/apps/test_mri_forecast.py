#!/usr/bin/env python3
"""mri_recon: the forecast of its plan. What it says of the solver is compared with what the solver does, not seconds, which
depend on what else the machine does: validation/bench/forecast.py measures those.

The tables of apps/mri_recon/schedule/forecast_counts.c are typical numbers. Of the scans here the worst is off by 2.0.
Where a count does not depend on the image, it is exact.
"""
import json
import math
import pathlib
import re

import program
from made_scan import phantom, run_tests
from program import make

WORST = 2.5  # other compilers and instruction sets change a first image more or less, which is up to a third of the work
SLICE = ("--matrix", "64,64,1", "--noise", 0.02)
COILS = ("--coils", 4, "--without", "sensitivity")
CARTESIAN = ("--trajectory", "cartesian")
SCANS = {
    "Cartesian": (*SLICE, *CARTESIAN),
    "Cartesian, coils": (*SLICE, *CARTESIAN, *COILS),
    "Cartesian, R = 2, coils": (*SLICE, *CARTESIAN, *COILS, "--accelerate", 2, "--calibration-lines", 16),
    "Poisson disc, coils": (*SLICE, *CARTESIAN, *COILS, "--poisson", 3),
    "radial": SLICE,
    "radial, coils": (*SLICE, *COILS),
    "radial, R = 2": (*SLICE, "--spokes", 48),
    "radial, R = 2, coils": (*SLICE, *COILS, "--spokes", 48),
    "radial, R = 2, maps of the file": (*SLICE, "--coils", 4, "--spokes", 48),
    "spiral, coils": (*SLICE, *COILS, "--trajectory", "spiral"),
    "koosh ball": ("--matrix", 24, "--noise", 0.02),
    "series": ("--matrix", "48,48,1", "--noise", 0.02, *COILS, "--frames", 8, "--spokes", 12, "--continue"),
}


def report_of(*options, scan="s.h5"):
    """The report of a run, and what it printed."""
    out = make(scan, "-o", "i.h5", "--report", "r.json", *options).out
    return json.loads(pathlib.Path("r.json").read_text()), out


def seconds_of(text):
    """The number of vf_format_seconds, below a minute, and half of its last digit."""
    number, unit = re.search(r", about ([\d.]+) (ms|s)\n", text).groups()
    scale = {"ms": 1e-3, "s": 1}[unit]
    return float(number) * scale, 0.5 * 10 ** -len(number.partition(".")[2]) * scale


def work_of(counts, frames):
    """Applications of F^H W F to one frame. Conjugate gradients take one an iteration."""
    return counts["first_iterations"] + (counts.get("applications_of_normal", 0) * frames or counts["iterations"])


def test_counts_are_typical():
    for name, options in SCANS.items():
        phantom("s.h5", *options)
        report, _ = report_of()
        made, expected = report["reconstruction"], report["forecast"]
        frames = report["input"]["frames"]
        ratio = work_of(expected, frames) / work_of(made, frames)
        print(f"    {name}: {work_of(made, frames)} applications of F^H W F, forecast {work_of(expected, frames):.0f}")
        assert 1 / WORST <= ratio <= WORST, (name, ratio)
        # Up to three first images; without coil maps, one or two.
        assert 1 <= made["first_images"] <= 3 and 1 <= expected["first_images"] <= 3, name


def test_counts_without_a_tolerance():
    """Then a solver takes all iterations: the forecast is exact, for each way in which frames and coils are solved."""
    cases = (((*SLICE, *CARTESIAN), (), 1), (SLICE, ("--lambda", 0.01), 1), ((*SLICE, "--spokes", 48), (), 1),
             ((*SLICE, "--coils", 3, *CARTESIAN), ("--coils", "rss"), 3),  # each coil by itself
             ((*SLICE, "--coils", 3, *CARTESIAN), (), 1), ((*SLICE, *CARTESIAN, "--frames", 5), (), 5),
             (SCANS["series"], (), 1), (SCANS["series"], ("--prior", "temporal", "--window", 4), 3))  # 8 frames in windows of 4 that share 2
    for scan, options, solutions in cases:
        phantom("s.h5", *scan)
        report, _ = report_of("--tolerance", 0, "--iterations", 7, *options)
        made, expected = report["reconstruction"], report["forecast"]
        assert made["iterations"] == 7 * solutions, (scan, options, made["iterations"])
        assert expected["iterations"] == made["iterations"], (scan, options, expected["iterations"])


def test_limits_and_tolerances():
    phantom("s.h5", *SLICE)
    usual = report_of()[0]["forecast"]["iterations"]
    assert report_of("--iterations", 5)[0]["forecast"]["iterations"] == 5
    # Conjugate gradients gain as many digits in each iteration: 1e-5, the default, has five.
    for digits in (2, 4):
        found = report_of("--tolerance", 10 ** -digits)[0]["forecast"]["iterations"]
        assert abs(found / (usual * digits / 5) - 1) < 1e-9, (digits, found, usual)


def test_known_noise():
    """After a noise scan, one first image is enough."""
    phantom("s.mrd", *SLICE, "--coils", 4, "--noise-scan")
    report, _ = report_of(scan="s.mrd")
    assert report["forecast"]["first_images"] == report["reconstruction"]["first_images"] == 1, report["forecast"]


def test_parts():
    """The parts are the report's stages, and add up to what the plan prints."""
    phantom("s.h5", *SCANS["radial, R = 2, coils"])
    for options in ((), ("--method", "adjoint"), ("--lambda", 0.01, "--threads", 3)):
        report, out = report_of(*options)
        expected, stages = report["forecast"], report["seconds"]
        parts = expected["seconds"]
        assert all(math.isfinite(x) and x >= 0 for x in parts.values()), parts
        assert abs(sum(parts.values()) - expected["total"]) <= 1e-12 * expected["total"], expected
        printed, rounding = seconds_of(out)
        assert abs(printed - expected["total"]) <= rounding * (1 + 1e-6), (printed, expected)
        names = {"before", "gpu"} | {name for name, seconds in stages.items() if seconds > 0}
        assert {name for name, seconds in parts.items() if seconds > 0} <= names | {"write"}, (parts, stages)
        assert parts["before"] >= stages["read"], (parts, stages)  # it is measured
        assert list(report["processor_seconds"]) == list(stages) and all(x >= 0 for x in report["processor_seconds"].values())


def test_work_adds_up():
    """What is not measured follows from the counts: more frames, coils and replicas take longer, in proportion."""
    def parts(*options):
        expected = report_of("--tolerance", 0, "--iterations", 2, "--threads", 1, *options)[0]["forecast"]
        assert not any(name.startswith("measured") for name in expected), expected  # too short
        return expected["seconds"]
    one, two = [], []
    for frames, into in ((2, one), (4, two)):
        phantom("s.h5", "--matrix", "32,32,1", *CARTESIAN, "--frames", frames)
        into.append(parts("--lambda", 0.01))
    for name in ("F^H d", "solve") if program.DEVICE == "cpu" else ():  # each frame is like the others; no first images
        assert abs(two[0][name] / one[0][name] - 2) < 1e-9, (name, one, two)
    phantom("s.h5", "--matrix", "32,32,1", *CARTESIAN)
    usual, eight = parts(), parts("--noise-map", "n.h5", "--replicas", 8)
    assert eight["solve"] > usual["solve"], (usual, eight)
    # Two adjoints for the first image, one of them of the envelope, which the frame's own image has, too; one for each replica.
    assert abs(eight["F^H d"] / usual["F^H d"] - (2 + 8) / 2) < 1e-9, (usual, eight)
    phantom("s.h5", "--matrix", "32,32,1", "--spokes", 16)
    usual, sure = parts(), parts("--lambda", "sure")
    assert sure["solve"] > 2 * usual["solve"], (usual, sure)  # twenty more solutions, but as many first images


if __name__ == "__main__":
    run_tests(globals())
