#!/usr/bin/env python3
"""mri_recon from end to end: phantoms whose signal is known in closed form, reconstructed and compared with the truth.

usage: test_mri_recon.py PROGRAM [DEVICE] [test_name ...]     VOXFIELD_PHANTOM names mri_phantom
"""
import gzip
import json
import os
import re
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import time

import program
from made_scan import h5py, image, need_h5py, numpy, phantom, relative
from program import DEVICE, Skip, command, listing, make, on_a_terminal, refuse, run



def error(*arguments):
    """Returns PSNR in dB and percent error, as printed by the program."""
    out = make(*arguments, "--compare", "truth", "-o", "compared.h5").out
    found = re.search(r"^error +MSE (\S+), PSNR (\S+) dB, SNR (\S+) dB, (\S+) %$", out, re.M)
    assert found, out
    return float(found[2]), float(found[4])


CONVERGED = ("--lambda", 0.1, "--tolerance", 1e-6, "--iterations", 500)


# ---- truth ----


def test_iterative_beats_gridding(_):
    """The published comparison, smaller: a noiseless koosh-ball with an anatomical reference. The iterative image is
    at least 10 dB better than bilinear gridding."""
    phantom("s.h5", "--matrix", 48, "--spokes", 800, "--phi", "--reference")
    cg = error("s.h5", "--tolerance", 0, "--prior", "reference", "--lambda", 10)[0]
    bilinear = error("s.h5", "--method", "bilinear")[0]
    gridding = error("s.h5", "--method", "gridding")[0]
    print(f"    PSNR: cg {cg}, gridding {gridding}, bilinear {bilinear} dB")
    assert cg >= bilinear + 10, (cg, bilinear)
    assert gridding > bilinear, (gridding, bilinear)


def test_every_trajectory(_):
    """With each trajectory of mri_phantom, only ringing at edges remains (Gibbs: 9 % of a jump)."""
    for name, matrix in [("radial", "64,64,1"), ("golden-angle", "64,64,1"), ("spiral", "64,64,1"), ("rosette", "64,64,1"),
                         ("cartesian", "64,64,1"), ("koosh-ball", "32"), ("koosh-ball-golden", "32"), ("cones", "32"),
                         ("stack-of-stars", "32"), ("stack-of-spirals", "32"), ("cartesian", "32")]:
        phantom("t.h5", "--trajectory", name, "--matrix", matrix)
        psnr, percent = error("t.h5", "--lambda", 1e-4)
        print(f"    {name} {matrix}: PSNR {psnr} dB, {percent} %")
        assert psnr > 18, (name, psnr)


def test_coils(_):
    """Eight coils with maps from the file, estimated maps, and no maps, on the same half-sampled radial scan."""
    phantom("c.h5", "--matrix", "96,96,1", "--coils", 8, "--spokes", 48)
    figures = {how: error("c.h5", "--coils", how, "--prior", "spectrum")[0] for how in ("file", "espirit", "walsh", "rss")}
    print("    PSNR", figures)
    # With the true maps only the limited k-space is missing. Root-sum-of-squares cannot use the differences between
    # coils.
    assert figures["file"] > figures["rss"] + 1, figures
    assert figures["walsh"] > 15, figures
    assert figures["espirit"] > figures["file"] - 2, figures  # measured: 1.9 less; wrong maps: 10
    compressed = error("c.h5", "--coils", "file", "--compress", 6, "--prior", "spectrum")[0]
    assert compressed > figures["file"] - 3, (compressed, figures)


def test_off_resonance(_):
    """A field of +-100 Hz over a readout of 10 ms blurs the image unless F includes it."""
    phantom("f.h5", "--matrix", "64,64,1", "--trajectory", "spiral", "--interleaves", 24, "--field-hz", 100, "--readout-ms", 10)
    phantom("g.h5", "--matrix", "64,64,1", "--trajectory", "spiral", "--interleaves", 24, "--field-hz", 100, "--readout-ms", 10,
            "--without", "field-map")
    corrected, blurred = error("f.h5")[0], error("g.h5")[0]
    print(f"    PSNR {corrected} dB with the field map, {blurred} dB without")
    assert corrected > blurred + 5, (corrected, blurred)


def test_operators_agree(_):
    """Direct sum and NUFFT, single and double, give the same image. Differences are the operators' errors (1e-6,
    rounding of single precision) times the condition number. The largest eigenvalue is that of k = 0, which every
    readout of the ball passes: about a hundred times the diagonal. Lambda is a tenth of the diagonal."""
    phantom("o.h5", "--matrix", 16, "--coils", 2)
    images = {}
    for operator in ("direct", "nufft"):
        for precision in ("single", "double"):
            name = f"{operator}-{precision}.h5"
            make("o.h5", "--operator", operator, "--precision", precision, "--lambda", 0.1, "--tolerance", 1e-6, "--iterations",
                 500, "-o", name)
            images[name] = image(name)
    for name, one in images.items():
        difference = relative(one, images["direct-double.h5"])
        print(f"    {name}: {difference:.2g}")
        assert difference < 1e-3, name


def test_lambda_does_not_depend_on_scale(_):
    """Data a thousand times as large give a thousand times the image; every sample twice gives the same image."""
    need_h5py()
    phantom("a.h5", "--matrix", 24, "--snr", 20)
    for name in ("b.h5", "c.h5"):
        with h5py.File("a.h5") as old, h5py.File(name, "w") as new:
            scan = new.create_group("scan")
            for key, value in old["scan"].attrs.items():
                scan.attrs[key] = value
            twice = name == "c.h5"
            k, d = old["scan/trajectory"][...], old["scan/data"][...]
            scan["trajectory"] = numpy.concatenate([k, k]) if twice else k
            scan["data"] = numpy.concatenate([d, d], axis=-1) if twice else d * numpy.float32(1000)
    for name in "abc":
        make(f"{name}.h5", "--lambda", 0.1, "--tolerance", 1e-6, "--iterations", 500, "-o", f"{name}_image.h5")
    a, b, c = (image(f"{name}_image.h5") for name in "abc")
    assert relative(b / 1000, a) < 1e-3 and relative(c, a) < 1e-3, (relative(b / 1000, a), relative(c, a))


def test_frames(_):
    """Frames of one file give the same images as several files. Iterations are counted over all frames, and pictures
    and files say so."""
    need_h5py()

    def iterations(path):
        with h5py.File(path) as file:
            return re.search(r", (\d+) iterations([^,]*), ", file.attrs["method"]).groups()

    phantom("all.h5", "--matrix", "48,48,1", "--frames", 3)
    make("all.h5", "-o", "all_image.h5", "--lambda", 0.001)  # lambda auto would use the noise of all frames
    whole, counted = image("all_image.h5"), 0
    assert whole.shape == (3, 1, 48, 48), whole.shape
    with h5py.File("all.h5") as old:
        for f in range(3):
            with h5py.File("one.h5", "w") as new:
                scan = new.create_group("scan")
                for key, value in old["scan"].attrs.items():
                    scan.attrs[key] = value
                scan["trajectory"] = old["scan/trajectory"][...]
                scan["data"] = old["scan/data"][f]
            make("one.h5", "-o", "one_image.h5", "--lambda", 0.001)
            assert (image("one_image.h5")[0] == whole[f]).all(), f
            counted += int(iterations("one_image.h5")[0])
    assert iterations("all_image.h5") == (str(counted), " in all frames")


def test_layouts_agree(_):
    """The same scan as a plain file and as ISMRMRD, in every unit, gives the same image; oversampling is cropped.
    Radians round k. Converged images differ by that rounding times the condition number; earlier iterates differ
    by more."""
    phantom("plain.h5", "--matrix", "64,64,1", "--trajectory", "radial", "--without", "sensitivity,truth")
    make("plain.h5", "-o", "plain_image.h5", *CONVERGED)
    expected = image("plain_image.h5")[0, 0]
    for units in ("normalized", "fov", "radians"):
        phantom("raw.mrd", "--matrix", "64,64,1", "--trajectory", "radial", "--trajectory-units", units)
        done = make("raw.mrd", "-o", "raw_image.h5", *CONVERGED)
        found = image("raw_image.h5")[0, 0]
        assert units in done.out or "cycles" in done.out, done.out
        assert relative(found, expected) < 1e-4, units
    phantom("cart.mrd", "--matrix", "64,48,1", "--trajectory", "cartesian", "--oversample", 2)
    make("cart.mrd", "-o", "cart_image.h5", "--lambda", 1e-5, "--operator", "nufft")
    assert image("cart_image.h5").shape == (1, 1, 48, 64)
    make("cart.mrd", "-o", "cart_wide.h5", "--keep-oversampling", "--lambda", 1e-5, "--operator", "nufft")
    assert image("cart_wide.h5").shape == (1, 1, 48, 128)
    assert (image("cart_wide.h5")[..., 32:96] == image("cart_image.h5")).all()  # auto: test_mri_cartesian.py


def test_reference_prior(_):
    """Few noisy spokes: smoothing suppresses noise, and smoothing that knows the edges does better."""
    phantom("r.h5", "--matrix", "96,96,1", "--spokes", 60, "--snr", 25, "--reference")
    figures = {prior: error("r.h5", "--prior", prior, "--lambda", 1)[0] for prior in ("identity", "differences", "reference")}
    print("    PSNR", figures)
    assert figures["reference"] > figures["differences"] and figures["reference"] > figures["identity"] + 1, figures


def test_matrix_of_other_arrays(_):
    """Arrays on the scan's own matrix, one kind at a time, exclude another one."""
    for name, *options in (("sensitivity",), ("reference", "--reference"), ("field-map", "--field-hz", 20)):
        others = {"sensitivity", "field-map", "truth"} - {name}
        phantom("s.h5", "--matrix", "24,24,1", "--coils", 2, *options, "--without", ",".join(sorted(others)))
        refuse(2, ["--matrix", "24 x 24 x 1"], "s.h5", "--matrix", 20, "-o", "i.h5")


def test_times_in_seconds(_):
    """Milliseconds are suspected by the span of the times, not by when they begin."""
    need_h5py()
    phantom("s.h5", "--matrix", "16,16,1", "--field-hz", 20)
    for factor, start, warned in ((1, 0, False), (1, 10, False), (1000, 0, True)):
        with h5py.File("s.h5", "r+") as file:
            file["scan/time"][...] = file["scan/time"][...] * factor + start
        assert ("check that they are in seconds" in make("s.h5", "--dry-run").err) == warned, (factor, start)


def test_kz_of_a_plane(_):
    """Along an axis of one voxel k has no effect, and no bound."""
    need_h5py()
    phantom("s.h5", "--matrix", "16,16,1")
    images = []
    for kz in (0, 7):
        with h5py.File("s.h5", "r+") as file:
            assert file["scan/trajectory"].shape[-1] == 3
            file["scan/trajectory"][..., 2] = kz
        make("s.h5", "-o", "i.h5", *CONVERGED)
        images.append(image("i.h5"))
    assert relative(images[1], images[0]) < 1e-5, relative(images[1], images[0])


# ---- files ----


def test_outputs(_):
    phantom("scan.h5", "--matrix", "32,24,16", "--fov", "160,120,80")
    make("scan.h5", "--picture", "p.png", "--report", "r.json")
    with open("p.png", "rb") as file:
        assert file.read(8) == b"\x89PNG\r\n\x1a\n"
    with open("r.json", encoding="utf-8") as file:
        report = json.load(file)
    assert report["reconstruction"]["iterations"] >= 1 and report["seconds"]["solve"] >= 0
    assert report["input"]["matrix"] == [32, 24, 16]
    make("scan.h5", "-o", "i.nii.gz")
    with gzip.open("i.nii.gz") as file:
        header = file.read(348)
    assert struct.unpack_from("<4h", header, 40) == (3, 32, 24, 16), "NIfTI dimensions"
    assert struct.unpack_from("<3f", header, 80) == (5, 5, 5), "voxels of 5 mm"
    make("scan.h5", "-o", "i.mrd")
    if h5py:
        a = image("scan_image.h5")
        assert a.shape == (1, 16, 24, 32) and a.dtype == numpy.complex64
        with h5py.File("i.mrd") as file:
            assert any("image_0" in name for name in file["dataset"]), list(file["dataset"])
        with gzip.open("i.nii.gz") as file:
            values = numpy.frombuffer(file.read()[int(struct.unpack_from("<f", header, 108)[0]):], "<f4").reshape(16, 24, 32)
        assert relative(values, abs(a[0])) < 1e-6


def two_slabs(path, matrix="16,12,8"):
    """A Cartesian scan with each acquisition twice: as slice 0, and as slice 1 with twice the signal, oblique and
    below. Returns the position and the three directions of the volumes, in the order of the positions."""
    places = [((10, -20, 30), ((1, 0, 0), (0, 1, 0), (0, 0, 1))), ((-5, 8, -60), ((0, 0.8, 0.6), (0, -0.6, 0.8), (1, 0, 0)))]
    phantom("one.mrd", "--matrix", matrix, "--trajectory", "cartesian", "--fov", "160,144,120")
    with h5py.File("one.mrd") as old, h5py.File(path, "w") as new:
        lines = old["dataset/data"][...]
        both = numpy.concatenate([lines, lines])
        for n, line in enumerate(both):
            head, slab = line["head"], n // len(lines)
            head["idx"]["slice"] = slab
            head["position"], directions = places[slab]
            head["read_dir"], head["phase_dir"], head["slice_dir"] = directions
            line["data"] = line["data"] * numpy.float32(1 + slab)
        new["dataset/xml"] = old["dataset/xml"][...]
        new.create_dataset("dataset/data", data=both, dtype=old["dataset/data"].dtype)
    return places[::-1]


def test_slabs_lie_where_they_were(_):
    """Each volume of a scan of several slabs has its own position and directions in .h5 and .mrd. A NIfTI file has one set,
    so each volume has its own file. Slices of several orientations are volumes, too."""
    need_h5py()
    places = two_slabs("slabs.mrd")
    affines = numpy.empty((2, 3, 4))
    for affine, (position, directions) in zip(affines, places):
        affine[:, :3] = numpy.transpose(directions) * [10, 12, 15]
        affine[:, 3] = position - affine[:, :3] @ [8, 6, 4]
    done = make("slabs.mrd", "--method", "adjoint", "-o", "i.h5")
    assert "2 slabs" in done.err and "position" not in done.err, done.err
    assert ", 2 volumes, " in done.out, done.out
    two_slabs("stack.mrd", "16,12,1")
    assert ", 2 volumes, " in make("stack.mrd", "--dry-run").out
    volumes = image("i.h5")
    assert abs(volumes[1]).max() > 0 and (volumes[0] == 2 * volumes[1]).all(), "the slab below comes first"
    with h5py.File("i.h5") as file:
        # Directions are in single precision (6e-8); positions are about 100 mm.
        assert abs(file["affine"][...] - affines).max() < 1e-4, file["affine"][...]
        about = file["image"].attrs
        assert about["patient_coordinates_known"] == 1 and "affine" in about["axis_order"], dict(about)
        assert abs(about["origin"] - affines[0, :, 3]).max() < 1e-4 and (about["centre"] == places[0][0]).all(), dict(about)
    done = make("slabs.mrd", "--method", "adjoint", "-o", "i.mrd")
    assert "NIfTI" not in done.err, done.err
    with h5py.File("i.mrd") as file:
        for n, head in enumerate(file["dataset/image_0/header"][...]):
            found = [head[name] for name in ("position", "read_dir", "phase_dir", "slice_dir")]
            assert numpy.allclose(found, [places[n][0], *places[n][1]], atol=1e-6), (n, found)
            assert head["slice"] == n and (file["dataset/image_0/data"]["real"][n, 0] == volumes[n].real).all(), n
    done = make("slabs.mrd", "--method", "adjoint", "-o", "i.nii")
    assert "the others are in files of their own, up to i_2.nii" in done.out + done.err, done.err
    for name, affine in zip(("i.nii", "i_2.nii"), affines):
        with open(name, "rb") as file:
            header = file.read(348)
        rows = numpy.frombuffer(header, "<f4", 12, 280).reshape(3, 4) * [[-1], [-1], [1]]  # RAS to LPS
        assert struct.unpack_from("<2h", header, 252) == (1, 1) and abs(rows - affine).max() < 1e-4, (name, rows)


def test_q_is_kept(_):
    phantom("scan.h5", "--matrix", 16)
    make("scan.h5", "--operator", "nufft", "--save-q", "q.h5", "-o", "a.h5")
    make("scan.h5", "--operator", "nufft", "--load-q", "q.h5", "-o", "b.h5")
    assert (image("a.h5") == image("b.h5")).all()
    phantom("other.h5", "--matrix", 16, "--spokes", 300)
    refuse(3, ["q.h5", "another trajectory"], "other.h5", "--operator", "nufft", "--load-q", "q.h5", "-o", "c.h5")
    refuse(3, ["scan.h5", "/q"], "other.h5", "--load-q", "scan.h5", "-o", "c.h5")
    refuse(2, "--load-q cannot be combined with --save-q", "scan.h5", "--load-q", "q.h5", "--save-q", "r.h5", "-o", "c.h5")
    for bad in numpy.nan, numpy.inf, -numpy.inf:
        with h5py.File("q.h5", "r+") as file:
            file["q"][0, 0, 4, 5] = complex(0, bad)
        refuse(3, ["q.h5", "NaN or infinite"], "scan.h5", "--operator", "nufft", "--load-q", "q.h5", "-o", "c.h5")


def test_same_bits_every_run(_):
    phantom("scan.h5", "--matrix", 24, "--coils", 3)
    kept = []
    for threads in (1, 2, 2, 3):
        make("scan.h5", "--threads", threads, "--iterations", 10, "-o", "i.h5")
        kept.append(image("i.h5").tobytes())
    assert len(set(kept)) == 1


# ---- invalid input ----


def test_bad_options(_):
    phantom("scan.h5", "--matrix", "16,16,1", "--without", "truth")
    for words, arguments in [
            ("no input", []), ("all 2 inputs", ["nothing", "scan.h5", "-o", "image.h5"]),
            ("--iterations '0'", ["--iterations", "0", "scan.h5"]),
            ("--device needs a value, but --quiet follows", ["scan.h5", "--device", "--quiet"]), ("--lambda '-1'", ["--lambda", "-1", "scan.h5"]),
            ("--lambda 'nan'", ["--lambda", "nan", "scan.h5"]), ("cg, adjoint", ["--method", "magic", "scan.h5"]),
            ("--matrix '0'", ["--matrix", "0", "scan.h5"]), ("of 16 x 16 x 1", ["--matrix", "16,16,8", "scan.h5"]),
            ("--accuracy", ["--accuracy", "1e-9", "scan.h5"]), ("--operator direct", ["--variant", "ref", "scan.h5"]),
            ("--tune needs --variant", ["--tune", "scan.h5"]),
            ("tuned-structs, not ref", ["--tune", "--operator", "direct", "--variant", "ref", "--device", "cpu", "scan.h5"]),
            ("--tune needs an NVIDIA GPU", ["--tune", "--operator", "direct", "--variant", "tuned-structs", "--device", "cpu", "scan.h5"]),
            (".jpg", ["--picture", "a.jpg", "scan.h5"]), ("image.xyz", ["-o", "image.xyz", "scan.h5"]),
            ("same file", ["-o", "scan.h5", "scan.h5"]), ("--progress cannot be combined with --quiet", ["-q", "--progress", "scan.h5"])]:
        refuse(2, words, *arguments)
    refuse(3, ["scan.h5", "truth"], "--compare", "truth", "scan.h5")
    refuse(3, ["scan.h5", "walsh"], "--coils", "file", "--matrix", "16,16,1", "scan.h5")
    refuse(3, ["scan.h5", "reference"], "--prior", "reference", "scan.h5")
    refuse(4, "nowhere", "-o", "nowhere/image.h5", "scan.h5")


def test_bad_files(_):
    need_h5py()
    refuse(3, "missing.h5", "missing.h5")
    with open("text.h5", "w", encoding="ascii") as file:
        file.write("this is no HDF5\n")
    refuse(3, ["text.h5", "HDF5"], "text.h5")
    with h5py.File("empty.h5", "w"):
        pass
    refuse(3, ["empty.h5", "/scan"], "empty.h5")
    phantom("scan.h5", "--matrix", "16,16,1", "--coils", 2)
    with open("scan.h5", "rb") as file:
        whole = file.read()
    with open("cut.h5", "wb") as file:
        file.write(whole[:len(whole) // 2])
    refuse(3, "cut.h5", "cut.h5")

    def changed(name, change):
        with open(name, "wb") as file:
            file.write(whole)
        with h5py.File(name, "r+") as file:
            change(file["scan"])
        return name

    def replace(key, value):
        def change(scan):
            del scan[key]
            if value is not None:
                scan[key] = value
        return change

    with h5py.File("scan.h5") as file:
        k, d = file["scan/trajectory"][...], file["scan/data"][...]
    nan = d.copy()
    nan[1, 7] = numpy.nan
    for name, change, words in [
            ("nodata", replace("data", None), "data"), ("nok", replace("trajectory", None), "trajectory"),
            ("short", replace("data", d[:, :-3]), ["data", "trajectory"]), ("nan", replace("data", nan), "data"),
            ("wide", replace("trajectory", k * 3), "trajectory"), ("flat", replace("trajectory", k[:, :1].copy()), "trajectory"),
            ("none", replace("data", d[:, :0]), "data"), ("maps", replace("sensitivity", numpy.ones((1, 1, 16, 16), "c8")),
                                                          "sensitivity"),
            ("text", replace("data", numpy.array([b"x"])), "data")]:
        refuse(3, [f"{name}.h5"] + ([words] if isinstance(words, str) else words), changed(f"{name}.h5", change))

    def no_matrix(scan):
        del scan.attrs["matrix"]

    refuse(3, ["nomatrix.h5", "matrix"], changed("nomatrix.h5", no_matrix))


def test_interrupt_leaves_nothing(_):
    phantom("scan.h5", "--matrix", 64, "--coils", 4)
    before = listing()
    process = subprocess.Popen(command("scan.h5", "--tolerance", 0, "--iterations", 100000, "-o", "image.h5"),
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    text = process.communicate(timeout=60)[1].decode()
    assert process.returncode == 130 and "interrupted" in text, (process.returncode, text)
    assert listing() == before


def spins(**more):
    """How long threads spin, as GCC's OpenMP says when it is loaded: once, or twice if the program reloads it."""
    environment = {k: v for k, v in os.environ.items() if k not in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")}
    return re.findall(r"GOMP_SPINCOUNT = '(\w+)'",
                      run("--version", env={**environment, "OMP_DISPLAY_ENV": "VERBOSE", **more}).err)


def test_threads_spin_less_beside_other_programs(_):
    """The program reloads OpenMP if other processes want the cores."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range((os.cpu_count() or 1) + 1)]
    try:
        time.sleep(0.5)
        if not spins():
            raise Skip("the OpenMP library is not GCC's")
        assert spins()[-1] == "1000", spins()
        assert spins(OMP_WAIT_POLICY="active") == spins(OMP_WAIT_POLICY="active")[:1], "the user's setting has no effect"
    finally:
        for other in others:
            other.kill()
            other.wait()


def test_progress_on_a_terminal(_):
    """Every stage prints its name, the solver its progress, and the screen is clean at the end."""
    phantom("scan.h5", "--matrix", 24, "--coils", 2, "--frames", 2)
    # So many iterations that they take longer than the delay before the first progress line, on a GPU too.
    steps = 300 if DEVICE == "cpu" else 4000
    shown = on_a_terminal("scan.h5", "-o", "i.h5", "--coils", "walsh", "--operator", "direct", "--tolerance", 0, "--iterations", steps)
    for stage in ("read", "noise", "noise: coil maps", "noise: Q", "F^H d", "solve", "write"):
        assert f"\r{stage} ..." in shown, (stage, shown)
    assert re.search(rf"\rsolving, iteration \d+ of {steps}, residual \d\.\de-\d+: +\d+ %, \S+ (m?s|min) left", shown), shown
    # A terminal shows the last character written into each column.
    lines = []
    for line in shown.replace("\r\n", "\n").split("\n"):
        screen = ""
        for piece in re.sub(r"\r\033\[K", "\n", line).split("\n")[-1].split("\r"):
            screen = piece + screen[len(piece):]
        lines.append(screen.rstrip())
    assert not any("..." in line or "left" in line for line in lines), lines
    assert [line.split()[0] for line in lines if line and line[0] != " "] == [
        "scan", "device", "method", "prior", "image", "coils", "encoding", "noise", "done"], lines


def test_large_off_resonance(_):
    """24 turns of phase between voxels: the coefficients of the segments must not grow, or single precision diverges
    (to 1,200 %). Double precision leaves 10 %, which is due to the resolution (7 % for 96 voxels along a side); half as much
    again is allowed."""
    phantom("scan.h5", "--matrix", "64,64,1", "--trajectory", "spiral", "--readout-ms", 30, "--field-hz", 400)
    _, single = error("scan.h5")
    _, double = error("scan.h5", "--precision", "double")
    print(f"    {single} %, {double} % in double precision")
    assert single < 15 and abs(single - double) < 0.1, (single, double)


def test_far_from_the_tolerance(_):
    """stderr has a warning for too few iterations, also with --quiet. Without a tolerance the user chose the number,
    so there is no warning."""
    phantom("scan.h5", "--matrix", "32,32,1")
    few = make("scan.h5", "--iterations", 2, "-q", "-o", "i.h5")
    assert "residual" in few.err and "--iterations" in few.err, few.err
    assert make("scan.h5", "--iterations", 2, "--tolerance", 0, "-o", "j.h5").err == ""
    assert make("scan.h5", "-o", "k.h5").err == ""


def test_too_large_numbers(_):
    """Finite data whose squares overflow."""
    need_h5py()
    phantom("scan.h5", "--matrix", "16,16,1", "--without", "truth")
    with h5py.File("scan.h5", "r+") as file:
        d = file["scan/data"]
        d[...] = d[...] / abs(d[...]).max() * numpy.float32(1e36)
    refuse(3, ["scan.h5", "too large", "--precision double"], "scan.h5", "-o", "i.h5")
    make("scan.h5", "--precision", "double", "-o", "i.h5")


def test_limited_file_size(_):
    """A limit on file sizes is an error like a full disk. A signal must not kill the program."""
    if not spins():
        raise Skip("LLVM's OpenMP ends the process if file sizes are limited")
    phantom("scan.h5", "--matrix", "64,64,1")
    refuse(4, "i.h5", "scan.h5", "-o", "i.h5",
           preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000)))


def test_no_memory(_):
    """An image too large for any memory is rejected at once."""
    phantom("scan.h5", "--matrix", 16, "--without", "sensitivity,truth")
    done = run("scan.h5", "--matrix", 100000, "-o", "i.h5")
    assert done.status in (2, 4, 5, 7) and done.err.count("error:") == 1, (done.status, done.err)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        scan = phantom(os.path.join(folder, "probe.h5"), "--matrix", "8,8,1")
        program.main(globals(), probe=(scan, "--dry-run"))
