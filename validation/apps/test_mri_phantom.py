#!/usr/bin/env python3
"""mri_phantom by its command line: both layouts, every trajectory, the signal, the noise, and the errors.

    test_mri_phantom.py PROGRAM [test_name ...]

Files are read by h5dump; ISMRMRD files also by h5py and libismrmrd's own program, if installed. Exit status 0, 1
if a test failed, 77 if none could run.
"""
import array
import cmath
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import program
from program import PROGRAM, Skip

FLAT = ("radial", "golden-angle", "spiral", "rosette", "cartesian")
SOLID = ("koosh-ball", "koosh-ball-golden", "cones", "stack-of-stars", "stack-of-spirals", "cartesian")


def run(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)


def make(*arguments):
    """Runs the program, which must succeed with nothing on stderr."""
    done = run(*arguments)
    assert done.returncode == 0 and not done.stderr, f"{arguments}: exit {done.returncode}: {done.stderr}"
    return done.stdout


def refuse(status, words, *arguments):
    """Runs the program, which must end with `status`, one line of error that contains the words, and no file."""
    before = sorted(os.listdir("."))
    done = run(*arguments)
    what = f"{arguments}: exit {done.returncode}: {done.stderr!r}"
    assert done.returncode == status, what
    assert done.stderr.count("error:") == 1 and done.stderr.splitlines()[-1].startswith("mri_phantom: error: "), what
    for word in words:
        assert word in done.stderr, f"{what}, expected '{word}'"
    assert sorted(os.listdir(".")) == before, f"{what}: it left {os.listdir('.')}"


def dump(*arguments):
    if not shutil.which("h5dump"):
        raise Skip("no h5dump")
    return subprocess.run(["h5dump", *map(str, arguments)], check=True, capture_output=True, text=True).stdout


def names(path):
    return set(re.findall(r"^ dataset\s+/scan/(\w+)", dump("-n", path), re.MULTILINE))


class Dataset:
    """Shape, and numbers as stored (complex numbers as pairs)."""

    def __init__(self, path, name, group="/scan/"):
        header = dump("-H", "-d", group + name, path)
        self.shape = tuple(int(n) for n in re.search(r"SIMPLE \{ \(([^)]*)\)", header).group(1).split(","))
        self.complex = "COMPOUND" in header
        if self.complex:
            members = re.findall(r'(H5T_\w+) "(\w+)"', header)
            assert members == [("H5T_IEEE_F32LE", "r"), ("H5T_IEEE_F32LE", "i")], members
        else:
            assert "H5T_IEEE_F32LE" in header, header
        with tempfile.NamedTemporaryFile() as raw:
            dump("-d", group + name, "-b", "FILE", "-o", raw.name, path)
            self.values = array.array("f", pathlib.Path(raw.name).read_bytes())
        if sys.byteorder == "big":
            self.values.byteswap()
        assert len(self.values) == math.prod(self.shape) * (2 if self.complex else 1)
        assert all(map(math.isfinite, self.values)), f"{path}: {name} is not finite"

    def __getitem__(self, n):
        return complex(self.values[2 * n], self.values[2 * n + 1]) if self.complex else self.values[n]

    def rows(self):
        """The columns of a dataset [n][3]."""
        return [tuple(self.values[n:n + 3]) for n in range(0, len(self.values), 3)]


def attribute(path, name):
    text = dump("-m", "%.17g", "-y", "-a", f"/scan/{name}", path).split("DATA {")[1].split("}")[0]
    return [float(v) for v in text.replace(",", " ").split()]


# ---- the plain layout ----

def test_plain_layout():
    make("--matrix", "12,10,8", "--fov", "240,200,80.5", "--coils", 3, "--frames", 2, "--spokes", 5, "--samples", 14, "--phi",
         "--reference", "--field-hz", 10, "-o", "a.h5")
    shapes = {name: Dataset("a.h5", name).shape for name in names("a.h5")}
    assert shapes == {"trajectory": (70, 3), "data": (2, 3, 70), "time": (70,), "phi": (70,), "sensitivity": (3, 8, 10, 12),
                      "field_map": (8, 10, 12), "reference": (1, 8, 10, 12), "truth": (2, 8, 10, 12)}, shapes
    assert attribute("a.h5", "matrix") == [12, 10, 8] and attribute("a.h5", "fov_mm") == [240, 200, 80.5]
    for fov, expected in (([], [240, 240, 5]), (["--fov", 180], [180, 180, 5]), (["--fov", "180,170,3"], [180, 170, 3])):
        make("--matrix", "12,10,1", *fov, "-o", "slice.h5")
        assert attribute("slice.h5", "fov_mm") == expected, attribute("slice.h5", "fov_mm")
    make("--matrix", 8, "--fov", 100, "-o", "cube.h5")
    assert attribute("cube.h5", "fov_mm") == [100, 100, 100]
    make("--matrix", "12,10,8", "--spokes", 5, "--coils", 2, "--without", "time,truth,sensitivity", "-o", "b.hdf5")
    assert names("b.hdf5") == {"trajectory", "data"}, names("b.hdf5")
    assert Dataset("b.hdf5", "data").shape == (2, 60)
    make("--matrix", "12,10,8", "--spokes", 5, "-o", "c.h5")  # one coil: no map
    assert names("c.h5") == {"trajectory", "data", "time", "truth"}, names("c.h5")
    field = Dataset("a.h5", "field_map")
    assert abs(field[0] + 10) < 1e-5 and max(field.values) < 10, (field[0], max(field.values))
    phi = Dataset("a.h5", "phi")
    for n, k in enumerate(Dataset("a.h5", "trajectory").rows()):
        assert abs(phi[n] - math.prod(sinc(k[a] / (12, 10, 8)[a]) for a in range(3))) < 1e-6


def sinc(x):
    return math.sin(math.pi * x) / (math.pi * x) if x else 1.0


def test_compression_keeps_every_bit():
    make("--matrix", 16, "--coils", 2, "--spokes", 9, "-o", "a.h5")
    make("--matrix", 16, "--coils", 2, "--spokes", 9, "--compress", 9, "-o", "b.h5")
    assert os.path.getsize("b.h5") < os.path.getsize("a.h5")
    for name in names("a.h5"):
        assert Dataset("a.h5", name).values == Dataset("b.h5", name).values, name


# ---- trajectories ----

def check_trajectory(name, matrix, path):
    text = make("--trajectory", name, "--matrix", ",".join(map(str, matrix)), "--readout-ms", 4, "-o", path)
    readouts, length, total = map(int, re.search(r"(\d+) readouts of (\d+) samples, (\d+) in all", text).groups())
    k, time = Dataset(path, "trajectory").rows(), Dataset(path, "time").values
    assert len(k) == len(time) == readouts * length == total, (len(k), text)
    for a in range(3):
        least, most = min(r[a] for r in k), max(r[a] for r in k)
        assert -matrix[a] / 2 <= least and most < matrix[a] / 2, f"{name}: axis {a} spans {least} to {most}"
        # Complete, except for the last sample or two and the directions of the outermost readouts.
        assert most - least >= (0.88 * matrix[a] if matrix[a] > 1 else 0), f"{name}: axis {a} spans {least} to {most}"
    assert len(set(k)) >= total * 0.75, f"{name}: {len(set(k))} places, {total} samples"
    for r in range(readouts):
        first = r * length
        steps = [math.dist(k[m], k[m + 1]) for m in range(first, first + length - 1)]
        assert max(steps) < 1.1, f"{name}: readout {r} leaves a gap of {max(steps)}"
        centre = k[first + (0 if name in ("spiral", "stack-of-spirals", "cones", "rosette") else length // 2)]
        if name != "cartesian":
            assert centre[:2] == (0, 0) and ("stack" in name or centre[2] == 0), f"{name}: readout {r} is at {centre}"
        assert time[first] == 0 and abs(time[first + length - 1] - 0.004 * (length - 1) / length) < 1e-9
    return k, readouts, length


def test_flat_trajectories():
    for name in FLAT:
        check_trajectory(name, (32, 24, 1), f"{name}.h5")


def test_solid_trajectories():
    for name in SOLID:
        check_trajectory(name, (16, 16, 12), f"{name}.h5")


def test_golden_angle():
    make("--matrix", "16,16,1", "--spokes", 7, "--samples", 16, "--frames", 2, "--continue", "-o", "a.h5")
    k = Dataset("a.h5", "trajectory")
    assert k.shape == (2, 112, 3) and Dataset("a.h5", "data").shape == (2, 1, 112)
    rows = k.rows()
    for n in range(14):
        x, y, _ = rows[16 * n]
        turned = (math.atan2(-y, -x) - n * math.radians(111.24611797498108)) % math.pi
        assert min(turned, math.pi - turned) < 1e-5, (n, turned)


def test_the_balls_are_even():
    """For directions d spread evenly, the mean of (d.u)^2 is 1/3 for any u; each half has half of them."""
    for name in ("koosh-ball", "koosh-ball-golden"):
        make("--trajectory", name, "--matrix", 16, "--spokes", 377, "--samples", 16, "-o", "a.h5", "--without", "truth,time")
        ends = Dataset("a.h5", "trajectory").rows()[::16]
        for u in ((1, 0, 0), (0, 1, 0), (0, 0, 1), (0.6, 0.8, 0), (0.36, 0.48, 0.8)):
            mean = sum((sum(a * b for a, b in zip(d, u)) / 8) ** 2 for d in ends) / 377
            assert abs(mean - 1 / 3) < 0.01, f"{name}: {u}: {mean}"


def test_rounding_stays_inside():
    """With so many spokes, the outermost sample of the last is at 8 - 1e-7, which float rounds to 8."""
    make("--trajectory", "radial", "--matrix", "16,16,1", "--spokes", 20000, "--samples", 2, "--without", "truth", "-o", "a.h5")
    k = Dataset("a.h5", "trajectory").values
    assert -8 <= min(k) and 7.9999 < max(k) < 8, (min(k), max(k))


def test_accelerated_cartesian():
    make("--trajectory", "cartesian", "--matrix", "64,64,1", "--accelerate", 4, "--calibration-lines", 8, "--oversample", 2,
         "-o", "a.h5")
    rows = Dataset("a.h5", "trajectory").rows()
    lines = sorted({r[1] for r in rows})
    assert lines == [y for y in range(-32, 32) if y % 4 == 0 or -4 <= y < 4], lines
    assert sorted({r[0] for r in rows}) == [x / 2 for x in range(-64, 64)]


def test_published_case():
    make("--case", 128, "-o", "case128.h5")
    k, data = Dataset("case128.h5", "trajectory"), Dataset("case128.h5", "data")
    assert k.shape == (284592, 3) and data.shape == (1, 284592) and 284592 == 132 * 2156
    assert attribute("case128.h5", "matrix") == [128] * 3
    assert -64 <= min(k.values) and max(k.values) < 64
    # The volumes of the phantom's ellipsoids times their values; semi-axes are in halves of the field of view.
    table = [(0.69, 0.92, 0.9, 2), (0.6624, 0.874, 0.88, -0.8), (0.41, 0.16, 0.21, -0.2), (0.31, 0.11, 0.22, -0.2),
             (0.21, 0.25, 0.5, 0.2), (0.046, 0.046, 0.046, 0.2), (0.046, 0.023, 0.02, 0.1), (0.046, 0.023, 0.02, 0.1),
             (0.056, 0.04, 0.1, 0.2), (0.056, 0.056, 0.1, -0.2)]
    expected = 128 ** 3 * sum(4 / 3 * math.pi / 8 * a * b * c * v for a, b, c, v in table)
    for spoke in (0, 7, 2155):
        assert k.rows()[132 * spoke + 66] == (0, 0, 0)
        assert abs(data[132 * spoke + 66] / expected - 1) < 1e-7, (data[66], expected)


# ---- the signal ----

def check_signal(matrix, *options):
    """Samples near the middle against the sum over voxels of truth, maps and field of the same file. The truth is
    the object convolved with a voxel, hence the sinc. Aliasing, and the variation of map and field within a
    voxel, remain: each about 1e-3 at |k| < 2."""
    make("--matrix", ",".join(map(str, matrix)), "--samples", matrix[0], "--spokes", 8, *options, "-o", "s.h5")
    k, time, data = Dataset("s.h5", "trajectory").rows(), Dataset("s.h5", "time"), Dataset("s.h5", "data")
    truth, arrays = Dataset("s.h5", "truth"), names("s.h5")
    maps = Dataset("s.h5", "sensitivity") if "sensitivity" in arrays else None
    field = Dataset("s.h5", "field_map") if "field_map" in arrays else None
    x, y, z = matrix
    voxels = [(n, (n % x - x // 2) / x, (n // x % y - y // 2) / y, (n // (x * y) - z // 2) / z)
              for n in range(x * y * z) if truth[n]]
    coils, samples = data.shape[-2:]
    middle = [m for m in range(samples) if max(map(abs, k[m])) < 2]
    assert len(middle) >= 8
    for c in range(coils):
        off = size = 0
        for m in middle:
            total = 0
            for n, rx, ry, rz in voxels:
                turns = k[m][0] * rx + k[m][1] * ry + k[m][2] * rz + (field[n] * time[m] if field else 0)
                total += truth[n] * (maps[c * x * y * z + n] if maps else 1) * cmath.exp(-2j * math.pi * turns)
            total /= math.prod(sinc(k[m][a] / matrix[a]) for a in range(3) if matrix[a] > 1)
            off += abs(total - data[c * samples + m]) ** 2
            size += abs(total) ** 2
        assert math.sqrt(off / size) < 0.01, f"{matrix} {options}: coil {c} is off by {math.sqrt(off / size)}"


def test_signal():
    check_signal((24, 24, 1))
    check_signal((24, 20, 1), "--phantom", "ellipsoids", "--coils", 3, "--field-hz", 100, "--trajectory", "spiral", "--turns", 1)
    check_signal((16, 16, 16), "--phantom", "ball", "--coils", 2, "--field-hz", 100)
    check_signal((16, 16, 12), "--phantom", "ellipsoids", "--seed", 4)


def test_point():
    """A point is one voxel of value 1, so its signal is 1 everywhere."""
    for matrix in ("16,12,1", "16,12,8"):
        make("--phantom", "point", "--matrix", matrix, "-o", "a.h5")
        data, truth = Dataset("a.h5", "data"), Dataset("a.h5", "truth")
        assert all(abs(data[n] - 1) < 1e-6 for n in range(len(data.values) // 2))
        x, y, z = map(int, matrix.split(","))
        assert [n for n, v in enumerate(truth.values) if v] == [(z // 2 * y + y // 2) * x + x // 2]


def test_frames():
    make("--matrix", "16,16,1", "--frames", 3, "-o", "a.h5")
    make("--matrix", "16,16,1", "-o", "b.h5")
    data, alone = Dataset("a.h5", "data").values, Dataset("b.h5", "data").values
    each = len(alone)
    assert data[:each] == alone and data[each:2 * each] != alone and data[2 * each:] != data[each:2 * each]
    truth = Dataset("a.h5", "truth").values
    assert truth[:256] == Dataset("b.h5", "truth").values and truth[256:512] != truth[:256]


# ---- noise ----

def test_noise():
    small = ("--matrix", "32,32,1", "--coils", 4)
    make(*small, "-o", "clean.h5")
    make(*small, "--noise", 0.1, "-o", "noisy.h5")
    make(*small, "--snr", 20, "--threads", 1, "-o", "same.h5")
    make(*small, "--noise", 0.1, "--seed", 2, "-o", "other.h5")
    clean, noisy, other = (Dataset(f"{name}.h5", "data").values for name in ("clean", "noisy", "other"))
    assert Dataset("same.h5", "data").values == noisy != other
    count = len(clean) // 2
    rms = math.sqrt(sum(v * v for v in clean) / count)
    sigma = math.sqrt(sum((a - b) ** 2 for a, b in zip(noisy, clean)) / count)
    assert abs(attribute("noisy.h5", "noise_sigma")[0] / (0.1 * rms) - 1) < 1e-6
    assert abs(sigma / (0.1 * rms) - 1) < 5 / math.sqrt(count), sigma / rms
    # Seeds are independent: the correlation of 2 n numbers is 0 +- 1 / sqrt(2 n).
    product = sum((a - c) * (b - c) for a, b, c in zip(noisy, other, clean)) / count / sigma ** 2
    assert abs(product) < 5 / math.sqrt(2 * count), product


def test_same_options_same_bytes():
    options = ("--matrix", 16, "--coils", 2, "--snr", 10, "--seed", 5, "--phantom", "ellipsoids")
    for ending in ("h5", "mrd"):
        make(*options, "--threads", 1, "-o", f"a.{ending}")
        make(*options, "--threads", 2, "-o", f"b.{ending}")
        assert pathlib.Path(f"a.{ending}").read_bytes() == pathlib.Path(f"b.{ending}").read_bytes(), ending


# ---- ISMRMRD ----

def test_ismrmrd_has_what_plain_has():
    try:
        import h5py
        import numpy
    except ImportError as error:
        raise Skip(str(error)) from None
    two, three = ("--matrix", "16,12,1", "--coils", 3, "--frames", 2), ("--matrix", "16,12,8", "--coils", 2)
    for options, matrix, dims in (((*two, "--continue"), (16, 12, 1), 2), ((*three, "--trajectory", "stack-of-stars"), (16, 12, 8), 3)):
        options = (*options, "--snr", 20)
        make(*options, "-o", "a.h5")
        for unit, scale in (("normalized", 1 / numpy.array(matrix[:dims])), ("fov", numpy.ones(dims)),
                            ("radians", 2 * numpy.pi / numpy.array(matrix[:dims]))):
            make(*options, "--trajectory-units", unit, "-o", "a.mrd")
            with h5py.File("a.h5") as plain, h5py.File("a.mrd") as raw:
                k, data = plain["scan/trajectory"][...], plain["scan/data"][...]
                data = data.reshape((-1,) + data.shape[-2:])
                k = numpy.broadcast_to(k.reshape((-1,) + k.shape[-2:]), (len(data),) + k.shape[-2:])
                readouts = raw["dataset/data"][...]
                length = readouts[0]["head"]["number_of_samples"]
                each = len(readouts) // len(data)
                for n, readout in enumerate(readouts):
                    frame, at = n // each, slice(n % each * length, (n % each + 1) * length)
                    head = readout["head"]
                    assert (head["idx"]["repetition"], head["active_channels"], head["trajectory_dimensions"], head["version"]) \
                        == (frame, data.shape[1], dims, 1)
                    line, partition = n % each % 26, n % each // 26  # 26 spokes: pi / 2 times 16
                    assert (head["idx"]["kspace_encode_step_1"], head["idx"]["kspace_encode_step_2"]) == (line, partition)
                    assert numpy.array_equal(readout["data"].view("complex64").reshape(data.shape[1], length), data[frame, :, at])
                    assert numpy.allclose(readout["traj"].reshape(length, dims), k[frame, at, :dims] * scale, rtol=2e-7, atol=0)
                csm = raw["dataset/csm"][0]
                csm = csm["real"] + 1j * csm["imag"]
                assert numpy.array_equal(csm.reshape(plain["scan/sensitivity"].shape), plain["scan/sensitivity"][...])
                xml = raw["dataset/xml"][0].decode()
            x, y, z = matrix
            assert xml.count(f"<x>{x}</x><y>{y}</y><z>{z}</z>") == 2 and "<receiverChannels>%d<" % data.shape[1] in xml


def test_ismrmrd_cartesian():
    try:
        import h5py
        import numpy
    except ImportError as error:
        raise Skip(str(error)) from None
    options = ("--trajectory", "cartesian", "--matrix", "16,32,6", "--fov", "160,320,66", "--oversample", 2, "--accelerate", 3,
               "--calibration-lines", 8)
    make(*options, "-o", "a.h5")
    make(*options, "-o", "a.mrd")
    with h5py.File("a.h5") as plain, h5py.File("a.mrd") as raw:
        k, readouts, xml = plain["scan/trajectory"][...].reshape(-1, 32, 3), raw["dataset/data"][...], raw["dataset/xml"][0].decode()
    assert len(k) == len(readouts) == 6 * 16, (k.shape, len(readouts))
    flags = [int(r["head"]["flags"]) for r in readouts]
    for at, readout in zip(k, readouts):
        head = readout["head"]
        assert (at[:, 1] == int(head["idx"]["kspace_encode_step_1"]) - 16).all()
        assert (at[:, 2] == int(head["idx"]["kspace_encode_step_2"]) - 3).all()
        assert at[head["center_sample"], 0] == 0 and head["trajectory_dimensions"] == 0 and len(readout["traj"]) == 0
        assert abs(head["sample_time_us"] - 5000 / 32) < 1e-3
    assert [n for n, f in enumerate(flags) if f & 1 << 0] == list(range(0, 96, 16))  # first of the lines of a partition
    assert [n for n, f in enumerate(flags) if f & 1 << 24] == [95]  # last of all
    assert "<x>32</x><y>32</y><z>6</z>" in xml and "<x>16</x><y>32</y><z>6</z>" in xml
    assert "<x>320</x><y>320</y><z>66</z>" in xml and "<x>160</x><y>320</y><z>66</z>" in xml
    for n, last, centre in ((0, 31, 16), (1, 31, 16), (2, 5, 3)):
        assert (f"<kspace_encoding_step_{n}><minimum>0</minimum><maximum>{last}</maximum><center>{centre}</center>" in xml), (n, xml)


def test_ismrmrd_noise_scan():
    try:
        import h5py
        import numpy
    except ImportError as error:
        raise Skip(str(error)) from None
    options = ("--matrix", "16,16,1", "--coils", 3, "--snr", 10, "--noise-correlation", 0.5)
    make(*options, "-o", "a.h5")
    make(*options, "--noise-scan", "-o", "a.mrd")
    with h5py.File("a.mrd") as raw, h5py.File("a.h5") as plain:
        noise = [r for r in raw["dataset/data"] if int(r["head"]["flags"]) & 1 << 18]
        assert len(noise) == 1 and len(raw["dataset/data"]) == 27
        samples = noise[0]["data"].view("complex64").reshape(3, -1)
        covariance = samples @ samples.conj().T / samples.shape[1] / plain["scan"].attrs["noise_sigma"] ** 2
        assert numpy.allclose(covariance, 0.5 + 0.5 * numpy.eye(3), atol=5 / math.sqrt(samples.shape[1])), covariance


def test_libismrmrd_reconstructs_it():
    """libismrmrd's own program reconstructs the truth from the Cartesian file, upright."""
    if not shutil.which("ismrmrd_recon_cartesian_2d"):
        raise Skip("no ismrmrd_recon_cartesian_2d (package ismrmrd-tools)")
    options = ("--trajectory", "cartesian", "--matrix", "64,48,1", "--oversample", 2, "--phantom", "ellipsoids", "--seed", 3)
    make(*options, "-o", "a.h5")
    make(*options, "-o", "a.mrd")
    done = subprocess.run(["ismrmrd_recon_cartesian_2d", "a.mrd"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    image, truth = Dataset("a.mrd", "data", "/dataset/cpp/"), Dataset("a.h5", "truth")
    assert image.shape == (1, 1, 1, 48, 64), image.shape
    product = sum(abs(a) * b for a, b in zip(truth.values, image.values))
    alike = product / math.sqrt(sum(v * v for v in truth.values) * sum(v * v for v in image.values))
    # Gibbs ringing leaves 0.99; a turned or mirrored image, or one that is a voxel off, is below 0.97.
    assert alike > 0.985, alike


# ---- invalid options ----

def test_bad_options():
    small = ("--matrix", 16)
    flat = ("--matrix", "16,16,1")
    for words, options in (
            (["missing option --output"], ()),
            (["--output ''"], ("-o", "")),
            (["use .h5"], ("-o", "scan.dat")),
            (["--matrix '15'", "even"], ("-o", "a.h5", "--matrix", 15)),
            (["--matrix '16,16'"], ("-o", "a.h5", "--matrix", "16,16")),
            (["--matrix '16,1,16'"], ("-o", "a.h5", "--matrix", "16,1,16")),
            (["--matrix '1e2'"], ("-o", "a.h5", "--matrix", "1e2")),
            (["--matrix '4096'"], ("-o", "a.h5", "--matrix", 4096)),
            (["--fov '0'"], ("-o", "a.h5", "--fov", 0)),
            (["--fov 'nan'"], ("-o", "a.h5", "--fov", "nan")),
            (["--coils '0'"], ("-o", "a.h5", "--coils", 0)),
            (["--frames '-1'"], ("-o", "a.h5", "--frames", -1)),
            (["--phantom 'cat'", "shepp-logan"], ("-o", "a.h5", "--phantom", "cat")),
            (["--trajectory 'epi'", "koosh-ball"], ("-o", "a.h5", "--trajectory", "epi")),
            (["radial", "--matrix 16,16,1"], ("-o", "a.h5", *small, "--trajectory", "radial")),
            (["cones", "z > 1"], ("-o", "a.h5", *flat, "--trajectory", "cones")),
            (["--spokes '0'"], ("-o", "a.h5", "--spokes", 0)),
            (["--spokes", "cartesian"], ("-o", "a.h5", *flat, "--trajectory", "cartesian", "--spokes", 4)),
            (["--accelerate"], ("-o", "a.h5", *flat, "--accelerate", 2)),
            (["--turns", "koosh-ball"], ("-o", "a.h5", *small, "--turns", 2)),
            (["--continue", "koosh-ball"], ("-o", "a.h5", *small, "--continue")),
            (["--case '64'", "128"], ("-o", "a.h5", "--case", 64)),
            (["--snr cannot be combined with --noise"], ("-o", "a.h5", "--noise", 0.1, "--snr", 20)),
            (["--noise 'inf'"], ("-o", "a.h5", "--noise", "inf")),
            (["--noise-correlation", "--coils"], ("-o", "a.h5", "--noise-correlation", 0.5, "--noise", 1)),
            (["--noise-scan needs"], ("-o", "a.h5", "--noise-scan")),
            (["--noise-scan needs"], ("-o", "a.mrd", "--noise-scan")),
            (["--phi", "plain"], ("-o", "a.mrd", *flat, "--phi")),
            (["16-bit"], ("-o", "a.mrd", *flat, "--samples", 70000, "--spokes", 1)),
            (["--without 'truth,cat'"], ("-o", "a.h5", "--without", "truth,cat")),
            (["--without", "field map"], ("-o", "a.h5", *flat, "--without", "time", "--field-hz", 5)),
            (["--layout 'nifti'"], ("-o", "a.h5", "--layout", "nifti")),
            (["--seed '1.5'"], ("-o", "a.h5", "--seed", 1.5)),
            (["'input'"], ("input", "-o", "a.h5")),
            (["1e10"], ("-o", "a.h5", *small, "--spokes", 10000000, "--samples", 1000000)),
            (["--help"], ("-o", "a.h5", "--nonsense")),
            (["--help"], ("--matrix",))):
        refuse(2, words, *options)


def test_output_that_cannot_be_written():
    refuse(4, ["missing/a.h5", "No such file"], "--matrix", 16, "-o", "missing/a.h5")
    refuse(4, ["missing/a.mrd", "No such file"], "--matrix", 16, "-o", "missing/a.mrd")
    os.mkdir("folder.h5")
    refuse(4, ["folder.h5"], "--matrix", 16, "-o", "folder.h5")


def test_too_large():
    refuse(5, ["needs about", "TiB"], "--matrix", 2048, "--coils", 1024, "--spokes", 1, "--samples", 2, "-o", "a.h5")


def test_field_map_warning():
    done = run("--matrix", "16,16,1", "--field-hz", 50, "-o", "a.mrd")
    assert done.returncode == 0 and done.stderr.startswith("mri_phantom: warning: ") and "field map" in done.stderr, done.stderr


def test_help_and_version():
    assert "usage: mri_phantom" in make("--help") and re.match(r"mri_phantom \(Voxfield\) \d+\.\d+\.\d+\n$", make("--version"))
    assert make("--matrix", "16,16,1", "--quiet", "-o", "a.h5") == ""


program.main(globals())
