#!/usr/bin/env python3
"""What mri_recon reports and advises for difficult scans: undersampled scans, solvers that do not converge, and
slow stages.

usage: test_mri_advice.py PROGRAM [DEVICE] [test_name ...]     VOXFIELD_PHANTOM names mri_phantom
"""
import json
import math
import re

import program
from made_scan import phantom, run_tests
from program import make, on_a_terminal

SLICE = ("--matrix", "64,64,1", "--coils", 8)


def scan_of(*options, name="scan.h5"):
    return phantom(name, *options)


def sampling(name, *options):
    """Returns the output before any work: the line on sampling, and the warnings."""
    done = make(name, "--dry-run", *options)
    lines = [line.strip() for line in done.out.splitlines() if "undersampled, R" in line]
    assert len(lines) <= 1, done.out
    return lines[0] if lines else "", done.err


def factors(name, *options):
    """Returns R overall and at the edge, from the report."""
    make(name, "-o", "i.h5", "--report", "r.json", "--method", "adjoint", *options)
    with open("r.json", encoding="ascii") as file:
        found = json.load(file)["input"]
    values = found["undersampling"], found["undersampling_at_the_edge"]
    assert all(math.isfinite(v) and v >= 1 for v in values), values
    return values


def near(value, expected, share):
    assert abs(value / expected - 1) <= share, (value, expected)


def test_complete_scans(_):
    """No message. Readout oversampling and repeated scans do not change R."""
    for options in (("--trajectory", "radial"), ("--trajectory", "spiral"), ("--trajectory", "cartesian"),
                    ("--trajectory", "cartesian", "--oversample", 2), ("--trajectory", "radial", "--oversample", 4),
                    ("--matrix", "32,32,32"), ("--matrix", "32,32,8", "--trajectory", "stack-of-stars")):
        assert sampling(scan_of(*SLICE, *options)) == ("", ""), options


def test_cartesian(_):
    """Every fourth line, and 16 in the middle: 28 of 64 lines overall, one in four outside. With readout
    oversampling a line is shifted by half a cell, so the first of its 64 cells is half empty."""
    for more, off in (((), 1e-6), (("--oversample", 2), 1 / 64)):
        scan = scan_of(*SLICE, "--trajectory", "cartesian", "--accelerate", 4, "--calibration-lines", 16, *more)
        mean, edge = factors(scan)
        near(mean, 64 / 28, off)
        near(edge, 4, off)
    line, err = sampling(scan)
    assert line.startswith("undersampled, R = 2.3, 4 at the edge of k-space; 8 coils and the prior fill in"), line
    assert not err
    both = scan_of("--matrix", "16,32,32", "--trajectory", "cartesian", "--accelerate", "2,2", "--calibration-lines", 2)
    near(factors(both)[0], 32 * 32 / (16 * 16 + 3), 1e-6)  # one of the four in the middle belongs to the pattern


def test_radial(_):
    """R at the edge relative to Nyquist: pi / 2 N readouts in 2D, pi / 2 N^2 in 3D, divided by the number of
    readouts. The edge is a fifth of the radius, so the mean R there is up to a tenth less. Cells are counted
    instead of areas. Hence 15 %. Readout oversampling changes nothing: 5 %."""
    for options, nyquist in ((("--matrix", "64,64,1", "--trajectory", "radial", "--spokes", 20), math.pi / 2 * 64 / 20),
                             (("--matrix", "32,32,32", "--spokes", 200), math.pi / 2 * 32 ** 2 / 200)):
        mean, edge = factors(scan_of("--coils", 4, *options))
        near(edge, nyquist, 0.15)
        assert 1 < mean < edge
        near(factors(scan_of("--coils", 4, *options, "--oversample", 4))[1], edge, 0.05)


def test_who_fills_in(_):
    scan = scan_of(*SLICE, "--trajectory", "radial", "--spokes", 20)
    assert "8 coils and the prior fill in" in sampling(scan)[0]
    assert "2 coils and the prior fill in" in sampling(scan, "--compress", 2)[0]
    assert "only the prior fills in" in sampling(scan, "--coils", "rss")[0]
    assert "this method does not fill in missing samples" in sampling(scan, "--method", "gridding")[0]
    scan = scan_of("--matrix", "64,64,1", "--trajectory", "radial", "--spokes", 30)
    assert sampling(scan)[0].endswith("only the prior fills in missing samples")


def test_hopeless(_):
    """A warning if there are fewer numbers than 0.55 of the voxels, so if R exceeds 1.8 times the coils. For 6
    spokes of 64 that holds with 2 coils, but not with 8. It also holds for every second line with one coil."""
    words = "undersampled, R = "
    few = ("--matrix", "64,64,1", "--trajectory", "radial", "--spokes", 6)
    two, eight = scan_of("--coils", 2, *few, name="two.h5"), scan_of("--coils", 8, *few, name="eight.h5")
    assert 2 * 2 < factors(two)[0] < 2 * 8
    err = sampling(two)[1]
    assert err.count("warning") == 1 and words in err and "with 2 coils:" in err and "Acquire more" in err, err
    assert not sampling(eight)[1]
    err = sampling(eight, "--compress", 2)[1]
    assert "with 2 coils left by --compress" in err and "keep more coils" in err, err
    err = sampling(eight, "--coils", "rss")[1]
    assert "with 1 coil at a time" in err and "--coils espirit" in err, err
    lines = ("--matrix", "64,64,1", "--trajectory", "cartesian", "--accelerate", 2, "--calibration-lines", 2)
    assert "R = 1.9, with 1 coil:" in sampling(scan_of(*lines))[1]
    reference = scan_of("--reference", *few)  # the reference compensates for that
    assert words in sampling(reference)[1] and not sampling(reference, "--prior", "reference", "--lambda", 50)[1]


def test_not_converged(_):
    """With a small number as lambda, more iterations amplify noise, so the advice is different. With a prior
    weighted by the noise they do not. Of sparse priors a large lambda is slow."""
    scan = scan_of(*SLICE, "--trajectory", "radial", "--spokes", 16, "--image-snr", 20)
    cases = ((("--lambda", 1e-6, "--tolerance", 1e-6), "use --lambda auto or a larger number", "use more --iterations"),
             (("--lambda", 1e-6, "--tolerance", 1e-6, "--iterations", 3), "use more --iterations", "lambda is small"),
             (("--iterations", 1), "use more --iterations", "lambda"),
             (("--iterations", 20, "--lambda", "auto:1e-5", "--tolerance", 1e-6), "use --lambda auto without the factor 1e-05",
              "lambda is small"),
             (("--prior", "tv", "--lambda", 1e5, "--iterations", 60), "use --lambda auto, or more --iterations", "lambda is small"))
    for options, advice, other in cases:
        err = make(scan, "-o", "i.h5", *options).err
        assert err.count("warning") == 1 and "the solver stopped after" in err, (options, err)
        assert advice in err and other not in err.split("tolerance of")[1], (options, err)
    assert not make(scan, "-o", "i.h5").err


def test_silence(_):
    """A stage without progress for more than a second prints its elapsed time: here one piece of a slow sum, 4 s in
    a test."""
    if program.DEVICE != "cpu":
        raise program.Skip("the slow sum is the CPU's")
    shown = on_a_terminal(scan_of("--matrix", 24), "-o", "i.h5", "--method", "adjoint", "--operator", "direct",
                          "--variant", "ref", "--threads", 1)
    assert re.search(r"\rF\^H d \.\.\. 1 s *\rF\^H d \.\.\. 2 s", shown), shown


def test_not_positive_definite(_):
    """Q has errors of 1 % and there is no prior, so some eigenvalues are negative. Conjugate gradients find them
    before they converge."""
    scan = scan_of("--matrix", "128,128,1", "--spokes", 40)
    err = make(scan, "-o", "i.h5", "--accuracy", 0.01, "--lambda", 0, "--iterations", 3000, "--tolerance", 0).err
    assert "is not positive definite" in err and "a finer --accuracy, --lambda auto or a larger number" in err, err


if __name__ == "__main__":
    run_tests(globals())
