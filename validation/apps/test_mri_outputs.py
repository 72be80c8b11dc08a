#!/usr/bin/env python3
"""What mri_recon prints and writes besides the image: --compare, --dry-run, --quiet, and disks that are too small.

usage: test_mri_outputs.py PROGRAM [DEVICE] [test_name ...]     VOXFIELD_PHANTOM names mri_phantom
"""
import gzip
import json
import os
import re
import shutil
import struct
import subprocess
import tempfile

import program
from made_scan import h5py, need_h5py, numpy, peak, phantom
from program import Skip, listing, make, refuse, run

LINE = re.compile(r"^(error)? +(.*?)(?:MSE \S+, )?PSNR (\S+) dB, SNR (\S+) dB, (\S+) %(.*)$", re.M)


def test_dry_run_and_quiet(_):
    phantom("scan.h5", "--matrix", 16)
    before = listing()
    done = make("scan.h5", "--dry-run", "--picture", "p.png", "--report", "r.json")
    assert listing() == before and "16 x 16 x 16" in done.out and "done" not in done.out
    assert "the report r.json is not written" in done.out, done.out
    assert "report" not in make("scan.h5", "--dry-run").out and make("-q", "scan.h5", "--dry-run", "--report", "r.json").out == ""
    assert make("-q", "scan.h5").out == ""


def test_one_of_each(_):
    """Singular forms: one coil, sample and iteration."""
    need_h5py()
    with h5py.File("scan.h5", "w") as file:
        scan = file.create_group("scan")
        scan.attrs["matrix"], scan.attrs["fov_mm"] = (4, 4, 1), (4.0, 4.0, 1.0)
        scan["trajectory"], scan["data"] = numpy.zeros((1, 3), "f4"), numpy.ones((1, 1), "c8")
    for options in ([], ["--compress", 3]):
        out = make("scan.h5", "-o", "i.h5", "--iterations", 1, "--tolerance", 1e-12, "--trajectory-units", "fov", *options).out
        assert ": plain, 1 coil, 1 volume, 1 sample\n" in out and ", at most 1 iteration, tolerance" in out, out
        assert not re.search(r"(?<![\d.])1 (coil|volume|sample|iteration|readout|image|frame)s\b", out), out
        assert ("keeps the one coil" in out) == bool(options), out


def test_why_the_cpu(_):
    """Without a GPU, the plan has no estimate for a GPU."""
    phantom("scan.h5", "--matrix", 16)
    done = make("scan.h5", "--device", "auto", "--dry-run")
    why = re.search(r"^device +cpu: .* \(auto: (.*)\)$", done.out, re.M)
    without = why and why[1] in ("the system shows no GPU", "this binary was built without CUDA")
    assert why and (without or program.shows_gpu()), done.out


# ---- comparison ----


def compared(scan, *arguments):
    """Returns the lines of the error, each as (subject, PSNR, SNR, percent, rest), and the report."""
    out = make(scan, "-o", "compared.h5", "--report", "compared.json", "--compare", *arguments).out
    lines = [(found[2], float(found[3]), float(found[4]), float(found[5]), found[6]) for found in LINE.finditer(out)]
    assert len(re.findall("^error ", out, re.M)) == 1 and lines, out
    with open("compared.json", encoding="utf-8") as file:
        return lines, json.load(file)


def in_units(old, new, units, truths=None):
    """Copies a scan, with the data of frame n divided by units[n], and with that many truths."""
    with h5py.File(old) as a, h5py.File(new, "w") as b:
        scan = b.create_group("scan")
        for key, value in a["scan"].attrs.items():
            scan.attrs[key] = value
        scan["trajectory"] = a["scan/trajectory"][...]
        d, t = a["scan/data"][...], a["scan/truth"][...]
        d, t = d.reshape(-1, 1, d.shape[-1]), t.reshape(-1, *t.shape[-3:])
        scan["data"] = numpy.stack([d[n % len(d)] / numpy.float32(unit) for n, unit in enumerate(units)])
        t = numpy.stack([t[n % len(t)] for n in range(truths or len(units))])
        scan["truth"] = t if len(t) > 1 else t[0]


def test_compare_with_a_file(_):
    phantom("scan.h5", "--matrix", 24)
    make("scan.h5", "-o", "a.h5", "--precision", "double", "--tolerance", 1e-6, "--iterations", 500, "--lambda", 0.1)
    lines, _ = compared("scan.h5", "a.h5", "--tolerance", 1e-6, "--iterations", 500, "--lambda", 0.1)
    assert len(lines) == 1 and lines[0][1] > 60, lines
    refuse(3, "nothing.h5", "scan.h5", "-o", "b.h5", "--compare", "nothing.h5")


def nifti(counts, values, kind, slope=0.0, intercept=0.0):
    """A NIfTI-1 file as other programs write it: 352 bytes, then voxels of one of its types."""
    codes = {"u1": 2, "i2": 4, "i4": 8, "f4": 16, "f8": 64, "c8": 32}
    head = bytearray(352)
    struct.pack_into("<i", head, 0, 348)
    struct.pack_into("<8h", head, 40, len(counts), *counts, *[1] * (7 - len(counts)))
    struct.pack_into("<2h", head, 70, codes[kind], 0)
    struct.pack_into("<8f", head, 76, *[1] * 8)
    struct.pack_into("<3f", head, 108, 352, slope, intercept)
    head[344:348] = b"n+1\0"
    return bytes(head) + values.astype(kind).tobytes()


def test_compare_with_every_kind(_):
    """Compares the image with itself in each readable format: only the phase is lost. In 2D and 3D, and several
    volumes."""
    need_h5py()
    for options, volumes in ((("--matrix", 16), 1), (("--matrix", "24,16,1", "--frames", 2), 2)):
        phantom("scan.h5", *options)
        for name in ("a.h5", "a.cfl", "a.nii", "a.nii.gz"):
            make("scan.h5", "-o", name)
            lines, report = compared("scan.h5", name.replace("cfl", "hdr"))
            # Magnitudes in single precision: 2^-24 of each voxel.
            assert len(lines) == volumes and report["error"]["percent"] <= 100 * 2 ** -24, (name, lines)
    phantom("scan.h5", "--matrix", "24,16,1")
    make("scan.h5", "-o", "a.h5")
    with h5py.File("a.h5") as file:
        image = abs(file["image"][0, 0])
    for kind, slope, offset in (("u1", 255, 0), ("i2", 32767, 0), ("i2", 25000, -0.1), ("i4", 1e9, 0), ("f8", 1, 0)):
        scale = slope / image.max()
        stored = numpy.round((image - offset) * scale) if kind[0] != "f" else image
        for write, name in ((open, "n.nii"), (gzip.open, "n.nii.gz")):
            with write(name, "wb") as file:
                file.write(nifti((24, 16), stored, kind, 1 / scale if kind[0] != "f" else 0, offset))
            # Rounding to whole numbers is off by at most a half, relative to a root mean square of at least a tenth of
            # the largest. Single precision adds its rounding.
            whole = 0 if kind[0] == "f" else 0.5 / slope / 0.1
            assert compared("scan.h5", name)[1]["error"]["percent"] <= 100 * (whole + 2 ** -23), (kind, name)
    whole = nifti((24, 16), image, "f4")
    for words, content in (("damaged or incomplete", whole[:-1]), ("damaged or incomplete", whole[:100]), ("damaged", b""),
                           ("not a NIfTI-1 image", b"\0" + whole[1:]), ("24 x 8 x 1 voxels", nifti((24, 8), image[:8], "f4")),
                           ("data type 32", nifti((24, 16), image, "c8")), ("dimensions", nifti((24,), image, "f4")),
                           ("invalid or too large image", nifti((24, 0), image, "f4")),
                           ("not in the file", whole[:108] + b"\0\0\xc0\x7f" + whole[112:])):
        with open("bad.nii", "wb") as file:
            file.write(content)
        refuse(3, ["bad.nii", words], "scan.h5", "-o", "b.h5", "--compare", "bad.nii")
    with gzip.open("bad.nii.gz", "wb") as file:
        file.write(whole)
    os.truncate("bad.nii.gz", os.path.getsize("bad.nii.gz") // 2)
    refuse(3, ["bad.nii.gz", "damaged or incomplete"], "scan.h5", "-o", "b.h5", "--compare", "bad.nii.gz")
    make("scan.h5", "-o", "a.mrd")
    refuse(3, ["a.mrd", ".nii.gz"], "scan.h5", "-o", "b.h5", "--compare", "a.mrd")
    refuse(3, ["no.nii", "No such file"], "scan.h5", "-o", "b.h5", "--compare", "no.nii")
    refuse(3, ["no.hdr", "No such file"], "scan.h5", "-o", "b.h5", "--compare", "no.cfl")
    with open("c.hdr", "w", encoding="ascii") as file:
        file.write("# Dimensions\n24 16 1 2\n")
    numpy.zeros(24 * 16 * 2, "c8").tofile("c.cfl")
    refuse(3, ["c.cfl", "bart rss 8"], "scan.h5", "-o", "b.h5", "--compare", "c.cfl")


def test_compare_in_other_units(_):
    """A scan in other units gives an image in other units. The figures as published are then 100 %; those of the
    scaled image are the image's own. If the units are those of the truth, only one line appears."""
    need_h5py()
    phantom("scan.h5", "--matrix", "32,32,1")
    in_units("scan.h5", "units.h5", [2.0 ** 14])
    (plain,), one = compared("scan.h5", "truth")
    (published, scaled), other = compared("units.h5", "truth")
    assert abs(published[3] - 100) < 0.1 and abs(published[2]) < 0.01, published
    found = re.fullmatch(r"with the image scaled by (\S+) \(best fit\): ", scaled[0])
    assert abs(float(found[1]) / (2 ** 14 * one["error"]["scale"]) - 1) < 0.005, (scaled, one["error"])
    # The best scale is never worse than 1, and here within 5 % of it.
    assert plain[3] - 1 < scaled[3] <= plain[3] + 0.01, (plain, scaled)
    assert one["error"]["scaled"]["percent"] <= one["error"]["percent"] and abs(one["error"]["scale"] - 1) < 0.05, one["error"]
    assert abs(other["error"]["scaled"]["percent"] - one["error"]["scaled"]["percent"]) < 0.01, (other["error"], one["error"])
    assert "error_of_volumes" not in one and "error_mean" not in one, one


def test_compare_volumes(_):
    """Each volume is compared with its own truth. For many volumes, the program prints the first, the worst and the
    mean. With a single truth it compares the first volume."""
    need_h5py()
    phantom("scan.h5", "--matrix", "32,32,1", "--frames", 3)
    (a, b, c), report = compared("scan.h5", "truth")
    assert [line[0] for line in (a, b, c)] == ["volume 0: ", "volume 1: ", "volume 2: "]
    percents = [report["error_of_volumes"][str(n)]["percent"] for n in range(3)]
    assert numpy.allclose(percents, [a[3], b[3], c[3]], rtol=5e-3) and len(set(percents)) == 3, (percents, a, b, c)
    with h5py.File("scan.h5") as scan, h5py.File("compared.h5") as result:
        truths, images = scan["scan/truth"][...].astype(float), abs(result["image"][...].astype(complex))
    for n, (i, t) in enumerate(zip(images, truths)):
        best = (i * t).sum() / (i * i).sum()
        for figures, s in [(report["error_of_volumes"][str(n)], 1), (report["error_of_volumes"][str(n)]["scaled"], best)]:
            assert abs(figures["percent"] / (100 * numpy.linalg.norm(s * i - t) / numpy.linalg.norm(t)) - 1) < 1e-6, (n, figures)
    assert report["error"] == report["error_of_volumes"]["0"], report["error"]
    assert abs(report["error_mean"]["percent"] - sum(percents) / 3) < 1e-9, report["error_mean"]
    in_units("scan.h5", "many.h5", [1] * 7 + [2] + [1] * 4)
    lines, report = compared("many.h5", "truth")
    assert [line[0] for line in lines] == ["volume 0: ", "volume 7: ", lines[2][0], "mean of 12 volumes: ",
                                           "with each volume scaled (best fit): "], lines
    scale = re.fullmatch(r"with the image scaled by (\S+) \(best fit\): ", lines[2][0])
    assert lines[1][4] == " (the worst)" and scale and abs(float(scale[1]) - 2) < 0.1, lines
    assert lines[2][3] < 15 and abs(lines[1][3] - 50) < 5 and len(report["error_of_volumes"]) == 12, lines
    make("many.h5", "-o", "a.h5")
    assert all(report["percent"] < 1e-3 for report in compared("many.h5", "a.h5")[1]["error_of_volumes"].values())
    in_units("scan.h5", "one.h5", [1, 1, 1], truths=1)
    (line,), report = compared("one.h5", "truth")
    assert line[0] == "" and line[4] == " (of the first volume)" and "error_of_volumes" not in report, line


# ---- disks ----


def test_what_is_seldom_meant(_):
    """A warning names values that are valid but unlikely, such as other units or another scan's values."""
    need_h5py()

    def changed(name, change, *options):
        phantom(name, *(options or ("--matrix", "16,16,1", "--without", "truth")))
        with h5py.File(name, "r+") as file:
            change(file["scan"])
        return name

    def volume_on_a_plane(scan):
        scan.attrs["matrix"] = [16, 16, 1]

    def metres(scan):
        scan.attrs["fov_mm"] = scan.attrs["fov_mm"] / 1000

    def milliseconds(scan):
        scan["time"][...] *= 1000
        scan["field_map"][...] *= 0.01

    def no_phi(scan):
        scan["phi"] = numpy.zeros(scan["data"].shape[-1], "c8")

    off_resonance = ("--matrix", "16,16,1", "--field-hz", 60, "--readout-ms", 10, "--without", "truth")
    for name, change, options, words in (
            ("plane.h5", volume_on_a_plane, ("--matrix", 16, "--trajectory", "koosh-ball", "--without", "truth,sensitivity"),
             "but the matrix is 1 along z"),
            ("metres.h5", metres, (), "check the unit"),
            ("ms.h5", milliseconds, off_resonance, " s; check that they are in seconds")):
        said = make("-q", changed(name, change, *options), "-o", "i.h5").err
        assert f"{name}: " in said and words in said, said
    refuse(3, ["phi.h5", "phi is 0"], changed("phi.h5", no_phi), "-o", "i.h5")
    refuse(3, ["far.h5: time and field map: ", "more than 256 segments"],
           changed("far.h5", lambda scan: scan["time"].write_direct(scan["time"][...] * 1000), *off_resonance), "-o", "i.h5",
           "--operator", "nufft")
    assert make("-q", phantom("good.h5", *off_resonance), "-o", "i.h5").err == ""


def test_maps_of_large_and_small_numbers(_):
    """Maps follow from ratios of the data, so the scan's scale does not change them, even near the ends of float."""
    need_h5py()
    images = []
    phantom("scan.h5", "--matrix", "24,24,1", "--coils", 3, "--without", "truth,sensitivity")
    for power in (0, 120, -100):  # float covers 2^-126 to 2^128
        shutil.copy("scan.h5", "scaled.h5")
        with h5py.File("scaled.h5", "r+") as file:
            d = file["scan/data"][...]
            top = numpy.frexp(abs(d).max())[1]
            scale = 2.0 ** (power - top if power else 0)
            file["scan/data"][...] = (d.astype("c16") * scale).astype("c8")
        make("-q", "scaled.h5", "--precision", "double", "-o", "i.h5")
        with h5py.File("i.h5") as file:
            images.append(file["image"][...].astype("c16") / scale)
    for scaled in images[1:]:  # rounding of the smallest data, which are subnormal
        assert numpy.linalg.norm(scaled - images[0]) <= 1e-5 * numpy.linalg.norm(images[0])


def test_residuals_beyond_rounding(_):
    phantom("scan.h5", "--matrix", "16,16,1")
    done = make("scan.h5", "--tolerance", 1e-9, "--iterations", 300, "-o", "i.h5")
    assert "--tolerance 1e-09 is beyond single precision" in done.err and "residual below 1e-06" in done.out, done.err + done.out
    done = make("scan.h5", "--tolerance", 1e-9, "--iterations", 300, "--precision", "double", "-o", "i.h5")
    assert done.err == "" and "below" not in done.out, done.err + done.out


def test_memory_is_as_stated(_):
    """What a scan takes beyond a small one stays within the estimate, up to 5 % and 4 MiB for pages, threads and what the
    allocator keeps, and is more than half of it: the estimate adds up some memory that is not there at the same time."""
    if program.DEVICE == "cuda" or program.is_sanitized():
        raise Skip("the estimate is of a device's memory, or a sanitizer has memory of its own")
    phantom("small.h5", "--matrix", "16,16,1")
    little = peak("small.h5")[1]
    phantom("radial.h5", "--matrix", 56, "--spokes", 600, "--coils", 4)
    phantom("grid.h5", "--matrix", 56, "--trajectory", "cartesian", "--coils", 4)
    phantom("field.h5", "--matrix", 56, "--spokes", 600, "--coils", 4, "--field-hz", 60)  # kernels of 10 time segments
    for scan, *options in (["grid.h5"], ["radial.h5", "--lambda", 0.1, "--iterations", 2, "--precision", "double"],
                           ["field.h5", "--lambda", 0.1, "--iterations", 2],
                           ["radial.h5", "--method", "adjoint"]):
        expected, found = peak(scan, *options)
        print(f"    {scan} {options}: {expected / 2 ** 20:.4g} MiB expected, {(found - little) / 2 ** 20:.4g} taken")
        assert found - little <= 1.05 * expected + 2 ** 22 and expected <= 2 * (found - little), (scan, options)


def test_iterations_are_counted(_):
    """Without a tolerance there are exactly as many as asked for, with every solver."""
    phantom("scan.h5", "--matrix", "24,24,1", "--snr", 20)
    for options in ((), ("--prior", "wavelet"), ("--prior", "wavelet", "--wavelet", "db2", "--shifts", 1, "--solver", "fista"),
                    ("--prior", "tv", "--solver", "primal-dual")):
        for asked in (1, 7):
            make("scan.h5", "-o", "i.h5", "--lambda", 0.1, "--tolerance", 0, "--iterations", asked, "--report", "r.json", *options)
            with open("r.json", encoding="utf-8") as file:
                assert json.load(file)["reconstruction"]["iterations"] == asked, (options, asked)


def test_small_disk(_):
    """An image that does not fit on the disk is an error before any work. The message has the bytes of the format,
    and advice that helps."""
    phantom("scan.mrd", "--matrix", "64,64,16", "--trajectory", "cartesian", "--coils", 2)
    os.mkdir("disk")
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=100k", "tmpfs", "disk"], capture_output=True, check=False)
    if done.returncode != 0:
        raise Skip(f"no small file system can be mounted: {done.stderr.decode().strip()}")
    copy = 512 + os.path.getsize("scan.mrd") / 1024
    try:
        for name, need, advice, *more in [
                ("i.h5", 512, "write .nii.gz"), ("i.mrd", 512, "write .nii.gz"), ("i.nii", 256, "write .nii.gz"),
                ("i.nii.gz", 256, "--matrix"), ("copy.mrd", copy, "leave out --append-to-copy", "--append-to-copy")]:
            done = refuse(4, [f"disk/{name}", advice], "scan.mrd", "-o", f"disk/{name}", *more)
            found = re.search(r"about (\S+) ([KM])iB needed, \S+ KiB free", done.err)
            assert found and "coils  " not in done.out, (done.err, done.out)
            assert abs(float(found[1]) * {"K": 1, "M": 1024}[found[2]] / need - 1) < 0.01, (name, done.err)
            assert name != "i.nii.gz" or "or write" not in done.err, done.err
        # Half of the bytes are enough for half of the formats.
        subprocess.run(["mount", "-o", "remount,size=300k", "disk"], check=True)
        refuse(4, "not enough disk space", "scan.mrd", "-o", "disk/i.h5")
        assert run("scan.mrd", "-o", "disk/i.nii").status == 0
    finally:
        subprocess.run(["umount", "disk"], check=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        probe = phantom(os.path.join(folder, "probe.h5"), "--matrix", "8,8,1")
        program.main(globals(), probe=(probe, "--dry-run"))
