#!/usr/bin/env python3
"""mri_recon on an OpenCL device: the images of the CPU, whatever the operator and the prior; teams of both; devices that lack double
precision.

usage: test_mri_opencl.py PROGRAM opencl [test_name ...]     VOXFIELD_PHANTOM names mri_phantom
"""
import os

import program
from made_scan import image, numpy, phantom
from program import make, refuse

# Two images in single precision, each off by the rounding of F^H F and by what --tolerance leaves open, both magnified by the condition
# of the system. Of the volume of two coils with --tolerance 1e-6, from the image in double precision with 1e-10: 2e-4, on the CPU and
# here, by either operator. It has a noise scan: estimated noise differs by 0.3 % where a first image takes an iteration more, and the
# image by 3e-4. A wrong term would be 1e-2 or more.
TIGHT = "--tolerance", 1e-6
BOUND = 5e-4
NO_DOUBLE = {**os.environ, "VOXFIELD_OPENCL_NO_DOUBLE": "1"}


def agrees(*arguments, device="opencl", bound=BOUND, **options):
    make(*arguments, "--device", device, "-o", "a.h5", **options)
    make(*arguments, "--device", "cpu", "-o", "b.h5")
    a, b = image("a.h5"), image("b.h5")
    off = numpy.linalg.norm(a - b) / numpy.linalg.norm(b)
    assert a.shape == b.shape and off <= bound, (arguments, device, off)  # false for NaN
    return off


def test_operators(_):
    phantom("radial.h5", "--matrix", "24,24,1", "--coils", 4, "--noise", 0.01)
    phantom("field.h5", "--matrix", "16,16,1", "--coils", 2, "--field-hz", 60)
    phantom("lines.h5", "--matrix", "32,32,1", "--coils", 4, "--trajectory", "cartesian", "--accelerate", 2)
    phantom("volume.h5", "--matrix", 12, "--coils", 2, "--noise", 0.01, "--noise-scan")
    for operator in ("direct", "nufft"):
        for scan in ("radial.h5", "field.h5", "volume.h5"):
            assert agrees(scan, "--operator", operator, *TIGHT, bound=2.5e-4) > 0  # not the CPU's kernels
    agrees("lines.h5")
    agrees("radial.h5", "--precision", "double", bound=1e-6)
    for method in ("gridding", "adjoint"):
        agrees("radial.h5", "--method", method)


def test_priors(_):
    phantom("series.h5", "--matrix", "24,24,1", "--coils", 3, "--frames", 4, "--spokes", 20, "--noise", 0.01)
    for prior in ("differences", "spectrum", "wavelet", "tv", "tgv", "wavelet+tv", "temporal", "llr"):
        agrees("series.h5", "--prior", prior, "--iterations", 10)


def test_wrong_device_is_refused(_):
    phantom("radial.h5", "--matrix", "16,16,1", "--coils", 2)
    for kernel in ("copies", "the forward NUFFT", "low-rank thresholds"):
        refuse(6, ["opencl:0 (", "driver", f"computes {kernel} wrongly in single precision"], "radial.h5", "-o", "none.h5",
               env={**os.environ, "VOXFIELD_SIMULATE_WRONG": f"opencl:0@{kernel}"})
    assert not os.path.exists("none.h5")


def test_without_double_precision(_):
    phantom("series.h5", "--matrix", "24,24,1", "--coils", 3, "--frames", 2, "--spokes", 20, "--noise", 0.01)
    for more in ((), ("--operator", "direct"), ("--prior", "wavelet+tv", "--iterations", 10)):
        agrees("series.h5", *more, env=NO_DOUBLE)
    refuse(8, "no double precision", "series.h5", "--precision", "double", env=NO_DOUBLE)


def test_teams_of_two_kinds(_):
    """Coils of one image, and frames, on the CPU and an OpenCL device."""
    phantom("coils.h5", "--matrix", "24,24,1", "--coils", 4)
    phantom("frames.h5", "--matrix", "24,24,1", "--coils", 2, "--frames", 3)
    for scan in ("coils.h5", "frames.h5"):
        for operator in ("nufft", "direct"):
            agrees(scan, "--operator", operator, device="cpu,opencl:0")
            agrees(scan, "--operator", operator, device="opencl:0,cpu")


def test_same_bits(_):
    phantom("radial.h5", "--matrix", "24,24,1", "--coils", 3)
    make("radial.h5", "-o", "a.h5")
    make("radial.h5", "-o", "b.h5", "--threads", 1)
    assert (image("a.h5") == image("b.h5")).all()


program.main(globals())
