#!/usr/bin/env python3
"""Corrections of the trajectory: gradient delays, measured trajectories, the gradients' response, motion.

usage: test_mri_corrections.py PROGRAM [DEVICE] [test_name ...]     VOXFIELD_PHANTOM names mri_phantom

If the delays are given or estimated, the image must be as good as that of a scan without delays. The samples differ
a little: a few at the ends of spokes are outside the matrix and get the weight 0. So the error may be larger by the
factor LIKE.
"""
import json
import pathlib
import re

from made_scan import h5py, need_h5py, numpy, phantom, relative, run_tests
from plain_scan import disc, forward, maps_of, radial, write_scan
from program import make, refuse

LIKE = 1.1


def error(scan, *options):
    """Returns the error against the truth in percent, and the report's line on corrections."""
    make(scan, "--compare", "truth", "-o", "i.h5", "--report", "r.json", *options)
    report = json.loads(pathlib.Path("r.json").read_text(encoding="utf-8"))
    return report["error"]["percent"], report["input"].get("corrections", "")


def found(text):
    """Returns the delays in a description, along x, y (and z)."""
    numbers = re.search(r"gradient delays x (\S+), y (\S+?),(?: z (\S+?),)?", text)
    assert numbers, text
    return [float(n) for n in numbers.groups() if n]


def check_auto(name, options, delay):
    """Estimated delays are within 0.01 samples of the true ones, so no sample is off by 1 % of a cycle. The image
    is good."""
    phantom("n" + name, *options)
    phantom("d" + name, *options, "--delay", ",".join(map(str, delay)))
    without, text = error("n" + name, "--delays", "auto")
    late, _ = error("d" + name)
    corrected, said = error("d" + name, "--delays", "auto")
    print(f"    {name}: {without:.3g} % without delays, {late:.3g} % with, {corrected:.3g} % corrected; {said}")
    assert "no gradient delays" in text or max(map(abs, found(text))) < 0.01, text
    assert all(abs(a - b) < 0.01 for a, b in zip(found(said), delay)), said
    assert corrected <= LIKE * without and late > 1.5 * without, (without, late, corrected)


def test_delays_2d(_):
    check_auto("2.mrd", ("--matrix", "48,48,1", "--phantom", "head", "--coils", 4, "--spokes", 77, "--oversample", 2,
                         "--image-snr", 50), (1.1, -0.6, 0))


def test_delays_few_spokes(_):
    """Frames of 13 spokes share the delays."""
    check_auto("f.h5", ("--matrix", "32,32,1", "--coils", 4, "--spokes", 13, "--oversample", 2, "--frames", 6,
                        "--continue", "--image-snr", 50), (0.4, 0.9, 0))


def test_delays_series(_):
    """Frames that are cut from one long golden-angle scan use the corrected samples. The images equal, bit for bit,
    those of a scan with these frames and the same k, for given delays and for delays estimated from all spokes. The
    image is good."""
    need_h5py()
    options = ("--matrix", "48,48,1", "--coils", 4, "--spokes", 96, "--oversample", 2, "--image-snr", 50)
    phantom("n.h5", *options)
    phantom("d.h5", *options, "--delay", "0.9,-0.7,0")
    cut = ("--spokes-per-frame", 48)
    without, text = error("n.h5", *cut)
    late, _ = error("d.h5", *cut)
    alone = error("d.h5", "--delays", "auto")[1]
    corrected, said = error("d.h5", *cut, "--delays", "auto")
    print(f"    {without:.3g} % without delays, {late:.3g} % with, {corrected:.3g} % corrected; {said}")
    assert not text and said == alone, (said, alone)
    assert all(abs(a - b) < 0.01 for a, b in zip(found(said), (0.9, -0.7))), said
    assert corrected <= LIKE * without and late > 1.5 * without, (without, late, corrected)
    # Estimated delays are printed to 0.001 samples, so only given ones can be compared bit for bit.
    given = ("--delays", "0.9,-0.7,0", "--coils", "rss", "--lambda", 0.01)
    make("d.h5", "-o", "s.h5", "--report", "s.json", *cut, *given)
    with h5py.File("d.h5") as source, h5py.File("frames.h5", "w") as file:
        source.copy("scan", file)
        scan = file["scan"]
        for name, shape in (("trajectory", (2, -1, 3)), ("data", (4, 2, -1)), ("time", (2, -1))):
            values = scan[name][()].reshape(shape)
            del scan[name]
            scan[name] = {"trajectory": values, "data": values.swapaxes(0, 1), "time": values[0]}[name]
    make("frames.h5", "-o", "f.h5", "--report", "f.json", *given)
    series, frames = (h5py.File(name)["image"][()] for name in ("s.h5", "f.h5"))
    assert series.shape == frames.shape and numpy.isfinite(series).all() and abs(series).max() > 0
    assert series.tobytes() == frames.tobytes(), relative(series, frames)
    digests = [json.loads(pathlib.Path(name).read_text(encoding="utf-8"))["input"]["trajectory_sha256"]
               for name in ("s.json", "f.json")]
    assert digests[0] == digests[1], digests


def test_delays_stack(_):
    check_auto("s.h5", ("--matrix", "32,32,8", "--fov", "200,150,80", "--trajectory", "stack-of-stars", "--coils", 3,
                        "--spokes", 51, "--oversample", 2, "--image-snr", 50), (0.9, 0.5, 0))


def test_delays_3d(_):
    check_auto("3.h5", ("--matrix", "16", "--coils", 3, "--spokes", 220, "--oversample", 2, "--image-snr", 50),
               (0.8, -0.4, 0.5))


def radial_scans():
    options = ("--matrix", "48,48,1", "--coils", 4, "--spokes", 77, "--oversample", 2, "--image-snr", 50)
    phantom("n.h5", *options)
    phantom("d.h5", *options, "--delay", "1,-0.5,0")


def test_three_ways_to_say_it(_):
    """Delays as numbers, as a measured trajectory (.h5 and .cfl), and as a gradient response give the same scan."""
    need_h5py()
    radial_scans()
    without = error("n.h5")[0]
    given, said = error("d.h5", "--delays", "1,-0.5,0")
    assert "x 1, y -0.5, z 0 samples, as given" in said, said
    assert given <= LIKE * without
    expected = h5py.File("i.h5")["image"][()]
    with h5py.File("n.h5") as scan:
        k = scan["scan/trajectory"][()].astype(float)
        times = scan["scan/time"][()]
    length = int(numpy.argmin(numpy.diff(times))) + 1
    k = k.reshape(-1, length, 3)
    step = (k[:, -1:] - k[:, :1]) / (length - 1)
    k = (k - step * [1, -0.5, 0]).astype("f4")
    with h5py.File("k.h5", "w") as file:
        file["scan/trajectory"] = k.reshape(-1, 3)
    numpy.ascontiguousarray(k.reshape(-1, 3)).astype("c8").tofile("k.cfl")
    pathlib.Path("k.hdr").write_text(f"# Dimensions\n3 {length} {len(k)}\n", encoding="ascii")
    for name in ("k.h5", "k.cfl"):
        _, said = error("d.h5", "--trajectory", name)
        assert f"trajectory of {name}" in said, said
        # k is rounded to single precision twice on one path and once on the other: 2^-24 of 24 cycles change a
        # phase by 1e-5.
        difference = relative(h5py.File("i.h5")["image"][()], expected)
        assert difference < 1e-3, (name, difference)
    dwell = float(times[1] - times[0])
    hertz = numpy.linspace(-0.5 / dwell, 0.5 / dwell, 4001)
    with h5py.File("g.h5", "w") as file:
        file["girf/frequency"] = hertz
        file["girf/transfer"] = numpy.exp(-2j * numpy.pi * hertz * numpy.array([1, -0.5, 0])[:, None] * dwell)
    # The response is a delay only from the first sample on, where the gradient begins, so the ends of spokes
    # differ.
    filtered, said = error("d.h5", "--girf", "g.h5")
    assert "gradient response of g.h5" in said and filtered <= 1.5 * without, (filtered, without)


def test_motion(_):
    """Readouts of a moved object. F is the exact sum, so only the solver and the choice of lambda cause errors."""
    need_h5py()
    n, spokes = 24, 44
    k = radial(spokes, n)
    rng = numpy.random.default_rng(5)
    rows = numpy.zeros((spokes, 6))
    rows[spokes // 2:] = [8.0, -5.0, 0, 0, 0, 12.0]
    rows[3:9, 0] = rng.uniform(-10, 10, 6)
    images = disc(n) * maps_of(4, n)
    turn = numpy.deg2rad(rows[:, 5].repeat(2 * n))
    back = numpy.stack([numpy.cos(turn) * k[:, 0] + numpy.sin(turn) * k[:, 1],
                        -numpy.sin(turn) * k[:, 0] + numpy.cos(turn) * k[:, 1], 0 * turn], -1)
    shift = (k[:, :2] * rows[:, :2].repeat(2 * n, 0) / 240).sum(1)
    write_scan("still.h5", k, forward(k, images), maps_of(4, n), truth=disc(n)[None])
    moved = forward(back, images) * numpy.exp(-2j * numpy.pi * shift)
    write_scan("moved.h5", k, moved, maps_of(4, n), truth=disc(n)[None])
    numpy.savetxt("motion.txt", rows, header="x y z mm, about x y z degrees")
    still = error("still.h5", "--lambda", 1e-3)[0]
    moved = error("moved.h5", "--lambda", 1e-3)[0]
    corrected, said = error("moved.h5", "--lambda", 1e-3, "--motion", "motion.txt")
    print(f"    {still:.3g} % still, {moved:.3g} % moved, {corrected:.3g} % corrected")
    assert "motion of 44 readouts" in said, said
    assert corrected <= LIKE * still and moved > 3 * corrected, (still, moved, corrected)
    pathlib.Path("short.txt").write_text("0 0 0 0 0 0\n" * 43, encoding="ascii")
    refuse(3, ["short.txt:43", "44 readouts"], "moved.h5", "--motion", "short.txt")


def test_refusals(_):
    phantom("c.h5", "--matrix", "16,16,1", "--trajectory", "cartesian")
    phantom("s.h5", "--matrix", "16,16,1", "--trajectory", "spiral")
    refuse(3, ["c.h5", "radial", "centre"], "c.h5", "--delays", "auto")
    refuse(3, ["s.h5", "radial", "straight"], "s.h5", "--delays", "0.1")
    refuse(2, ["--delays", "auto, off"], "c.h5", "--delays", "yes")
    refuse(2, ["--delays", "samples"], "c.h5", "--delays", "1,2")
    refuse(2, [".h5, .hdf5, .cfl"], "c.h5", "--trajectory", "k.txt")
    refuse(3, ["m.txt", "cannot open"], "c.h5", "--motion", "m.txt")
    refuse(3, ["g.h5"], "s.h5", "--girf", "g.h5")


run_tests(globals())
