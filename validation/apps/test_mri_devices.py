#!/usr/bin/env python3
"""mri_recon on several devices: the bits of one device where frames or voxels are split, the plan, the report, and
failing devices. All devices are on the CPU, so no GPU is needed.

usage: test_mri_devices.py PROGRAM [test_name ...]     VOXFIELD_PHANTOM names mri_phantom
"""
import json
import os
import re

import program
from made_scan import h5py, image, numpy, phantom
from program import listing, make, run

LISTS = ("cpu:0,1", "cpu:3,1,2")
WINDOWS = ("--prior", "wavelet+temporal", "--window", 4)


def on(devices, *arguments, **options):
    return make(*arguments, "--device", devices, **options)


def device_line(text):
    return re.search(r"^device +(.*)$", text, re.M)[1]


def series():
    """Frames that are solved together in three windows."""
    phantom("series.h5", "--matrix", "24,24,1", "--frames", 8, "--coils", 3, "--spokes", 10, "--continue", "--image-snr", 20)


def scans():
    """Scans that are split by frames or voxels, with their options."""
    phantom("frames.h5", "--matrix", "32,32,1", "--frames", 5)
    phantom("voxels.h5", "--matrix", 16)
    phantom("places.mrd", "--matrix", "32,32,1", "--frames", 3, "--coils", 4)
    series()
    return [("frames.h5",), ("frames.h5", "--operator", "nufft", "--precision", "double"),
            ("frames.h5", "--method", "gridding"), ("voxels.h5", "--operator", "direct"),
            ("voxels.h5", "--operator", "direct", "--method", "adjoint"), ("places.mrd", "--coils", "walsh", "--operator", "nufft"),
            ("places.mrd", "--coils", "rss"), ("series.h5", *WINDOWS)]


def test_several_devices_make_the_bits_of_one(_):
    for arguments in scans():
        if "walsh" in arguments or "--window" in arguments:
            devices = LISTS  # three frames or windows, so the work is not split by coils
        else:
            devices = (*LISTS, "cpu:0,1,2,3,4,5,6,7")
        on("cpu", *arguments, "-o", "one.h5")
        expected = image("one.h5")
        assert numpy.abs(expected).max() > 0, arguments
        for name in devices:
            on(name, *arguments, "-o", "several.h5")
            assert (image("several.h5") == expected).all(), (arguments, name)


def test_shared_coils_agree_to_rounding(_):
    """F^H d of 8 coils is added up in another order. The sums differ by at most 2 (2 C + D) u T, where T is the sum
    of the terms' magnitudes (test_recon_devices.c). Over an object that all coils see, T is a few times the
    image, so a factor of 10 is allowed. Every run gives the same bits."""
    phantom("c.h5", "--matrix", "64,64,1", "--coils", 8)
    for name in LISTS:
        for output in ("a.h5", "b.h5"):
            on(name, "c.h5", "--method", "adjoint", "--operator", "nufft", "-o", output)
        on("cpu", "c.h5", "--method", "adjoint", "--operator", "nufft", "-o", "one.h5")
        a, b, one = map(image, ("a.h5", "b.h5", "one.h5"))
        assert (a == b).all(), name
        difference = numpy.linalg.norm(a - one) / numpy.linalg.norm(one)
        print(f"    {name}: {difference:.2g}")
        assert difference <= 10 * 2 * (2 * 8 + 3) * 2.0**-24, (name, difference)


def test_the_plan_says_who_does_what(_):
    phantom("frames.h5", "--matrix", "16,16,1", "--frames", 4)
    phantom("coils.h5", "--matrix", "64,64,1", "--coils", 3)
    phantom("one.h5", "--matrix", 16)
    series()
    cases = [("frames.h5", "cpu:0,1", (), "2 frames at a time"),
             ("frames.h5", "cpu:0,1,2,3,4", (), "4 frames at a time; 1 idle"),
             ("coils.h5", "cpu:0,1,2,3,4", ("--operator", "nufft"), "split by coils; 2 idle"),
             ("coils.h5", "cpu:0,1", ("--operator", "direct"), "split by voxels, the solver by coils"),
             ("one.h5", "cpu:0,1", ("--operator", "direct"), "split by voxels, the solver on the first"),
             ("one.h5", "cpu:0,1", ("--operator", "direct", "--method", "adjoint"), "split by voxels"),
             ("one.h5", "cpu:0,1", ("--operator", "nufft"), "only the first is used"),
             ("coils.h5", "cpu:0,1", ("--operator", "nufft", "--prior", "tv"), "split by coils, the priors on the first"),
             ("series.h5", "cpu:0,1", WINDOWS, "2 windows of series at a time"),
             ("series.h5", "cpu:0,1,2,3", WINDOWS, "3 windows of series at a time; 1 idle"),
             ("series.h5", "cpu:0,1,2,3,4,5", WINDOWS, "3 windows of series at a time, each on 2 devices"),
             ("series.h5", "cpu:0,1", ("--prior", "llr", "--operator", "nufft"),
              "F^H W F split by frames, F^H d by coils, the priors on the first"),
             ("series.h5", "cpu:0,1", ("--prior", "llr", "--operator", "direct"), "split by frames, F^H d by voxels")]
    before = listing()
    for name, devices, more, words in cases:
        line = device_line(on(devices, name, "--dry-run", *more).out)
        assert line.startswith(devices + ": ") and words in line, (words, line)
    assert " of them" not in device_line(on("cpu", "one.h5", "--dry-run").out)
    assert listing() == before


def test_the_report_says_what_each_did(_):
    phantom("f.h5", "--matrix", "16,16,1", "--frames", 5)
    phantom("c.h5", "--matrix", "16,16,1", "--coils", 4)
    for name, frames, each in (("f.h5", 5, 1), ("c.h5", 1, 2)):
        on("cpu:0,1", name, "--operator", "nufft", "--report", "r.json", "-o", "i.h5")
        with open("r.json", encoding="utf-8") as file:
            report = json.load(file)
        devices = report["devices"]
        assert list(devices) == ["cpu:0", "cpu:1"], devices
        assert sum(d["frames"] for d in devices.values()) == frames * each, devices
        assert all(d["seconds"] >= 0 for d in devices.values()) and "failed" not in str(devices), devices
        assert "cpu:0,1" in report["reconstruction"]["method"], report["reconstruction"]


def with_failures(what):
    return {**os.environ, "VOXFIELD_SIMULATE_FAILURE": what}


def test_a_device_that_fails_is_made_up_for(_):
    """The other device takes over the frames: the same bits, one warning, exit status 0, and the report names the
    failed device. A device that finds no frame left never gets to fail, so several runs are tried."""
    phantom("f.h5", "--matrix", "48,48,1", "--frames", 6, "--coils", 3)
    on("cpu", "f.h5", "--operator", "nufft", "-o", "one.h5")
    failed = 0
    for device in ("cpu:0", "cpu:1") * 3:
        done = on("cpu:0,1", "f.h5", "--operator", "nufft", "-o", "i.h5", "--report", "r.json", env=with_failures(device + "@1"))
        assert (image("i.h5") == image("one.h5")).all(), device
        with open("r.json", encoding="utf-8") as file:
            devices = json.load(file)["devices"]
        assert sum(d["frames"] for d in devices.values()) == 6, devices
        if "failed" in devices[device]:
            failed += 1
            assert done.err.count("warning") == 1 and device in done.err and "is dropped" in done.err, done.err
            assert devices[device]["frames"] == 0, devices
        else:
            assert done.err == "", done.err
    assert failed > 0


def test_failures_that_nobody_makes_up_for(_):
    """All devices fail, or one of those that make an image together: exit status 6, one line of error, and no image."""
    phantom("f.h5", "--matrix", "16,16,1", "--frames", 4)
    phantom("c.h5", "--matrix", "16,16,1", "--coils", 4)
    for name, what in (("f.h5", "cpu:0@1,cpu:1@1"), ("f.h5", "cpu:0@0,cpu:1@0"), ("c.h5", "cpu:1@1"), ("c.h5", "cpu:0@0")):
        done = run(name, "--operator", "nufft", "-o", "i.h5", "--device", "cpu:0,1", env=with_failures(what))
        errors = [line for line in done.err.splitlines() if "error:" in line]
        assert done.status == 6 and len(errors) == 1 and "simulated" in errors[0], (name, what, done.status, done.err)
        assert not os.path.exists("i.h5"), (name, what)
    done = run("f.h5", "-o", "i.h5", "--device", "cpu:0,1", env=with_failures("nonsense"))
    assert done.status == 2 and "VOXFIELD_SIMULATE_FAILURE" in done.err and not os.path.exists("i.h5"), done.err


def test_saved_q(_):
    """A Q made by several devices equals that of one, and several devices can read it."""
    phantom("c.h5", "--matrix", 12, "--coils", 3)
    for operator in ("direct", "nufft"):
        on("cpu:0,1,2", "c.h5", "--operator", operator, "--save-q", "three.q", "-o", "a.h5")
        on("cpu", "c.h5", "--operator", operator, "--save-q", "one.q", "-o", "b.h5")
        if h5py:
            with h5py.File("three.q") as three, h5py.File("one.q") as one:
                assert (three["q"][...] == one["q"][...]).all() and numpy.abs(one["q"][...]).max() > 0, operator
        on("cpu:0,1,2", "c.h5", "--operator", operator, "--load-q", "one.q", "-o", "c_image.h5")
        assert (image("c_image.h5") == image("a.h5")).all(), operator


def test_small_images_use_few_threads(_):
    """One for each 75,000 voxels of coils, at least 4: the second scan has 460,800. More threads than cores are warned of once, and
    no number of them changes a bit."""
    cores = len(os.sched_getaffinity(0))
    for most, matrix, coils in ((4, "32,32,1", 2), (6, "160,160,1", 18)):
        phantom("scan.h5", "--matrix", matrix, "--coils", coils, "--spokes", 20)
        images = []
        for threads in (1, 5, 12):
            done = make("scan.h5", "--method", "gridding", "--threads", threads, "--report", "r.json", "-o", "image.h5")
            with open("r.json", encoding="utf-8") as file:
                assert json.load(file)["threads"] == min(threads, most), (threads, most)
            warned = done.err.count(f"--threads {threads}: this process may use")
            assert warned == 1 if threads > cores else threads > 1 or warned == 0, (threads, cores, done.err)
            images.append(image("image.h5"))
        assert abs(images[0]).max() > 0 and all((i == images[0]).all() for i in images), matrix


if __name__ == "__main__":
    program.main(globals())
