#!/usr/bin/env python3
"""mri_recon on files of fastMRI and CMRxRecon, against what their own programs compute; headers of ISMRMRD in all types;
and files that look like these and are not.

usage: test_mri_layouts.py PROGRAM [DEVICE] [test_name ...]     VOXFIELD_PHANTOM names mri_phantom
"""
import pathlib

from layout_files import (centre_crop, coils, fft2c, head, header, ifft2c, rss, write_fastmri, write_matlab)
from made_scan import h5py, image, numpy, phantom, relative, run_tests, skip_without_h5py
from plain_scan import cartesian, forward, maps_of, noise_like, radial, write_scan
from program import make, refuse
import seeds

skip_without_h5py()
EXACT = ("--lambda", "0", "--tolerance", "1e-7")  # a complete scan: the inverse transform
# Single precision in the data and the transforms of up to 96 points: some 1e-7 each, relative to the norm.
ROUNDING = 2e-6


def plain_twin(path, kspace, used, fov):
    """The same samples in the plain layout: kspace [frame][coil][y][x], used [y][x]."""
    y, x = numpy.nonzero(used)
    ny, nx = used.shape
    with h5py.File(path, "w") as file:
        scan = file.create_group("scan")
        scan.attrs["matrix"], scan.attrs["fov_mm"] = [nx, ny, 1], fov
        scan["trajectory"] = numpy.stack([x - nx // 2, y - ny // 2, 0 * x], axis=-1).astype("f4")
        scan["data"] = (kspace[..., y, x] * (nx * ny) ** 0.5).astype("c8")


# ---- fastMRI ----

SHAPE, CROP = (32, 22), (16, 18)


def single_coil(slices=3):
    k = fft2c(head(SHAPE, slices, CROP))
    k[..., :2] = k[..., -2:] = 0  # zero padding of k-space, as in fastMRI's files
    return k.astype("c8")


def test_fastmri_single_coil():
    k = single_coil()
    esc = abs(centre_crop(ifft2c(k), CROP)).astype("f4")
    write_fastmri("s.h5", k, CROP, reconstruction_esc=esc, reconstruction_rss=2 * esc)
    said = make("s.h5", "-o", "i.h5", "--compare", "truth", "--report", "r.json", *EXACT).out
    for words in ("s.h5: fastMRI, 1 coil, 1 volume of 3 slices", "54 of 66 lines have samples; 12 left out because they are 0 "
                  "in all coils", "cropped to 18 x 16 x 1", "readouts along y cropped from 32 to 16", "error "):
        assert words in said, (words, said)
    made = abs(image("i.h5")[0])
    assert relative(made, esc) < ROUNDING, relative(made, esc)
    for turned in (made[:, ::-1], made[:, :, ::-1], made[:, ::-1, ::-1], made[::-1]):  # the test would see them
        assert relative(turned, esc) > 0.05
    with h5py.File("i.h5") as file:
        assert numpy.allclose(file["image"].attrs["voxel_size"], [1.5, 2, 4])
        assert file["image"].attrs["slice_step"] == 4
    make("s.h5", "-o", "whole.h5", "--keep-oversampling", *EXACT)
    assert relative(abs(image("whole.h5")[0]), abs(ifft2c(k))) < ROUNDING


def test_fastmri_coils():
    """The root of the sum of squares, by maps that are estimated: their error is that of the method, some percent. A wrong
    orientation is off by a third and more."""
    shape, crop = (96, 60), (48, 48)
    k = fft2c(head(shape, 2, crop)[:, None] * coils(4, shape, crop))
    k[..., :2] = k[..., -2:] = 0
    truth = rss(centre_crop(ifft2c(k), crop), 1).astype("f4")
    write_fastmri("m.h5", k, crop, reconstruction_rss=truth)
    said = make("m.h5", "-o", "i.h5", "--compare", "truth").out
    assert "fastMRI, 4 coils, 1 volume of 2 slices" in said and "112 of 120 lines" in said, said
    made = abs(image("i.h5")[0])
    assert relative(made, truth) < 0.05, relative(made, truth)
    assert relative(made[:, ::-1], truth) > 0.3 and relative(made[:, :, ::-1], truth) > 0.3
    assert relative(made.swapaxes(1, 2), truth) > 0.3 and relative(made[::-1], truth) > 0.06


def test_fastmri_mask():
    """A mask of either type leaves out the same lines as zeros do; lines with data that it hides are counted and warned of."""
    k = single_coil(1)
    mask = numpy.arange(SHAPE[1]) % 2 == 0
    mask[8:14] = True
    used = (mask & (abs(k[0]).max(axis=0) > 0))[None, :] & numpy.ones(SHAPE, bool)
    plain_twin("twin.h5", k, used, [33, 64, 4])
    make("twin.h5", "-o", "twin_image.h5")
    expected = centre_crop(image("twin_image.h5"), CROP)
    for name, values, data in (("bool", mask, k * mask), ("float", mask.astype("f4"), k * mask), ("u1", mask.astype("u1"), k),
                               ("zeros", None, k * mask)):
        more = {} if values is None else {"mask": values}
        write_fastmri(f"{name}.h5", data, CROP, **more)
        done = make(f"{name}.h5", "-o", "i.h5", "--keep-oversampling")
        assert f"{used[0].sum()} of 22 lines have samples" in done.out, done.out
        assert ("'mask' leaves out 8" in done.out) == (values is not None), done.out
        assert ("leaves out samples of" in done.err) == (name == "u1"), done.err
        made = centre_crop(image("i.h5"), CROP)
        assert relative(made, expected) < 1e-3, (name, relative(made, expected))  # of an iterative solution
    write_fastmri("short.h5", k, CROP, mask=mask[:-1])
    refuse(3, ["short.h5: 'mask' has the shape [21]; expected", "[22]"], "short.h5", "-o", "x.h5")
    write_fastmri("nothing.h5", k, CROP, mask=0 * mask)
    refuse(3, ["'mask' is 0 everywhere"], "nothing.h5", "-o", "x.h5")
    write_fastmri("padding.h5", k, CROP, mask=abs(numpy.arange(22) - 10.5) > 9)
    refuse(3, ["'kspace' has no samples"], "padding.h5", "-o", "x.h5")


def test_fastmri_header():
    k = single_coil(1)
    fov = ((64, 33, 4), (32, 27, 4))
    truth = abs(centre_crop(ifft2c(k), CROP)).astype("f4")
    swapped = header((22, 32, 1), (33, 64, 4), (18, 16, 1), (27, 32, 4))  # a header with the readout along the width
    write_fastmri("swapped.h5", k, None, swapped, reconstruction_esc=truth)
    make("swapped.h5", "-o", "i.h5", "--compare", "truth", *EXACT)
    assert relative(abs(image("i.h5")[0]), truth) < ROUNDING
    for name, xml, words in (
            ("fov", header((32, 22, 1), (0, 0, 0), (16, 18, 1), (0, 0, 0)), "voxels of 1 mm assumed"),
            ("other", header((32, 24, 1), (64, 33, 4), (16, 18, 1), (32, 27, 4)), "encoded matrix has 24"),
            ("large", header((32, 22, 1), fov[0], (16, 40, 1), fov[1]), "nothing is interpolated"),
            ("3d", header((32, 22, 5), fov[0], (16, 18, 5), fov[1]), "counts slices"),
            ("voxels", header((32, 22, 1), fov[0], (16, 18, 1), (48, 27, 4)), "voxels of the header's image")):
        write_fastmri(f"{name}.h5", k, None, xml)
        assert words in make(f"{name}.h5", "-o", "i.h5").err, name
    write_fastmri("good.h5", k, None, header((32, 22, 1), fov[0], (16, 18, 1), fov[1]))
    assert make("good.h5", "-o", "i.h5").err == ""
    write_fastmri("xml.h5", k, None, "<a>")
    refuse(3, ["xml.h5", "xml: line 1"], "xml.h5", "-o", "x.h5")


def test_not_fastmri():
    k = single_coil()
    write_fastmri("bare.h5", k, CROP, None)
    refuse(3, ["bare.h5: not a supported scan", "without a description", "'ismrmrd_header'"], "bare.h5", "-o", "x.h5")
    write_fastmri("real.h5", numpy.zeros((1, 2, 2)), (2, 2))
    with h5py.File("real.h5", "a") as file:
        del file["kspace"]
        file["kspace"] = abs(k)
    refuse(3, ["real.h5: not a supported scan"], "real.h5", "-o", "x.h5")
    write_fastmri("prostate.h5", k[None, None], CROP)
    refuse(3, ["fastMRI prostate", "averages"], "prostate.h5", "-o", "x.h5")
    write_fastmri("image.h5", k, CROP, reconstruction_rss=abs(k))
    with h5py.File("image.h5", "a") as file:
        del file["kspace"]
    refuse(3, ["this seems to be an image"], "image.h5", "-o", "x.h5")
    wrong = k.copy()
    wrong[1, 5, 6] = numpy.nan
    write_fastmri("nan.h5", wrong, CROP)
    refuse(3, ["nan.h5: 'kspace': the value at [1, 5, 6] is nan"], "nan.h5", "-o", "x.h5")
    write_fastmri("zero.h5", 0 * k, CROP)
    refuse(3, ["'kspace' has no samples: all values are 0"], "zero.h5", "-o", "x.h5")
    write_fastmri("good.h5", k, CROP)
    refuse(2, ["--trajectory-units", "Cartesian"], "good.h5", "--trajectory-units", "fov", "-o", "x.h5")
    refuse(3, ["--spokes-per-frame", "fastMRI does not say in what order"], "good.h5", "--spokes-per-frame", "4", "-o", "x.h5")
    refuse(3, ["good.h5", "no group 'a'"], "good.h5", "--group", "a", "-o", "x.h5")


# ---- CMRxRecon ----


def cardiac(frames, slices, number):
    """k-space [frame][slice][coil][ky][kx] and the root of the sum of squares."""
    shape = (18, 30)
    scale = 1 + 0.5 * numpy.arange(frames)[:, None, None, None, None]
    k = fft2c(scale * head(shape, slices)[:, None] * coils(number, shape)).astype("c8")
    return k, rss(ifft2c(k), 2)


def test_cmrxrecon_full():
    """The names and shapes of all years. With one coil, images are exact."""
    k, expected = cardiac(2, 3, 1)
    for name, stored, frames, slices in (
            ("kspace_full", k, 2, 3), ("kspace", k.astype("c16"), 2, 3), ("kspace_sub04", k, 2, 3),
            ("kspace_single_full", k[:, :, 0], 2, 3), ("kspace_single_sub08", k[:, :, 0], 2, 3),
            ("kspace_full", k[0], 1, 3), ("kspace", k[0, 0], 1, 1), ("kspace_single_full", k[0, :, 0], 1, 3),
            ("kspace_single_full", k[0, 0, 0], 1, 1), ("kus", k[:, :1], 2, 1)):
        write_matlab("c.mat", **{name: stored})
        said = make("c.mat", "-o", "i.h5", *EXACT).out
        assert f"CMRxRecon, 1 coil, {frames} volume" in said and "voxels of 1 mm assumed" in said, said
        made = abs(image("i.h5"))
        assert made.shape == (frames, slices, 18, 30), made.shape
        assert relative(made, expected[:frames, :slices]) < ROUNDING, (name, relative(made, expected[:frames, :slices]))
    assert relative(made[..., ::-1], expected[:, :1]) > 0.05  # the test would see it


def test_cmrxrecon_coils():
    k, expected = cardiac(2, 1, 5)
    write_matlab("c.mat", kspace_full=k)
    assert "CMRxRecon, 5 coils, 2 volumes" in make("c.mat", "-o", "i.h5", "--coils", "walsh").out
    made = abs(image("i.h5"))
    assert relative(made, expected) < 0.1 < relative(made[..., ::-1], expected), relative(made, expected)


def test_cmrxrecon_undersampled():
    """Every frame has a mask of its own, as zeros or in the file; the samples are those of a plain scan."""
    k, _ = cardiac(2, 1, 3)
    masks = numpy.zeros((2, 18, 30), "f4")
    for frame in range(2):
        masks[frame, frame::2] = masks[frame, 6:12] = 1
    write_matlab("zeros.mat", kus=k * masks[:, None, None])
    write_matlab("mask.mat", kus=k * masks[:, None, None], mask=masks)
    write_matlab("hidden.mat", kspace_full=k, mask=masks)
    for name, words in (("zeros", "12 left out because they are 0 in all coils"), ("mask", "'mask' leaves out 12"),
                        ("hidden", "'mask' leaves out 12")):
        done = make(f"{name}.mat", "-o", f"{name}.h5")
        assert "24 of 36 lines have samples" in done.out and words in done.out, done.out
        assert ("samples of 12 lines that have data" in done.err) == (name == "hidden"), done.err
    assert numpy.array_equal(image("zeros.h5"), image("mask.h5")) and numpy.array_equal(image("mask.h5"), image("hidden.h5"))
    plain_twin("twin.h5", k[1], masks[1] > 0, [30, 18, 1])
    write_matlab("second.mat", kus=k[1:] * masks[1][None, None, None])
    make("twin.h5", "-o", "twin_image.h5")
    make("second.mat", "-o", "second.h5")
    assert relative(image("second.h5"), image("twin_image.h5")) < 1e-5
    scattered = numpy.ones((18, 30), "f4")
    scattered[2, 3:9] = 0  # positions, as of a pseudo-radial pattern
    write_matlab("points.mat", kus=k * scattered)
    assert "36 of 36 lines have samples; 12 positions of other lines left out" in make("points.mat", "-o", "i.h5").out


def test_not_cmrxrecon():
    k, _ = cardiac(1, 2, 2)
    write_matlab("good.mat", kspace=k)
    make("good.mat", "-o", "i.h5")
    pathlib.Path("i.h5").unlink()
    write_matlab("other.h5", b"some other program", kspace=k)
    refuse(3, ["other.h5: not a supported scan", "MATLAB's {real, imag}"], "other.h5", "-o", "x.h5")
    write_matlab("two.mat", kspace_full=k, kspace_sub04=k)
    refuse(3, ["2 datasets have k-space (kspace_full, kspace_sub04)"], "two.mat", "-o", "x.h5")
    write_matlab("masks.mat", kspace_full=k, mask04=numpy.ones((18, 30), "f4"), mask08=numpy.ones((18, 30), "f4"))
    refuse(3, ["2 datasets could be the mask"], "masks.mat", "-o", "x.h5")
    write_matlab("mask.mat", kspace_full=k, mask=numpy.ones((30, 18), "f4"))
    refuse(3, ["'mask' has the shape [30, 18]; expected"], "mask.mat", "-o", "x.h5")
    write_matlab("deep.mat", kspace_full=k[None])
    refuse(3, ["'kspace_full' has the shape", "[frame][slice][coil][ky][kx]"], "deep.mat", "-o", "x.h5")
    write_matlab("image.mat", img4ranking=abs(k[0]))
    refuse(3, ["this seems to be an image"], "image.mat", "-o", "x.h5")
    write_matlab("flow.mat", kdata_full=k[None])
    refuse(3, ["4D flow"], "flow.mat", "-o", "x.h5")


# ---- other layouts ----


def test_other_layouts():
    k, real = numpy.ones((4, 6, 5, 8), "c8"), numpy.ones((4, 6, 5, 8), "f4")
    for name, sets, words in (
            ("calgary", {"kspace": real}, ["Calgary-Campinas", "0::2"]),
            ("skm-tea", {"kspace": k[None], "maps": k[None], "target": k[None]}, ["SKM-TEA", "(x, ky, kz, echo, coil)"]),
            ("riesling", {"noncartesian": k, "trajectory": real, "info": real}, ["RIESLING", "/scan/trajectory"]),
            ("riesling-1", {"data": k, "trajectory": real, "info": real}, ["RIESLING"]),
            ("mrd", {"Mrd/header": real}, ["mrd_hdf5_to_stream"]),
            ("pyqmri", {"real_dat": real, "imag_dat": real}, ["PyQMRI"]),
            ("images", {"image": real}, ["an image"]),
            ("short", {"kspace": real[0]}, ["without a description"]),
            ("odd", {"kspace": real[..., :3]}, ["without a description"]),
            ("nothing", {"trajectory": real}, ["no scan in this file"])):
        with h5py.File(f"{name}.h5", "w") as file:
            for key, values in sets.items():
                file[key] = values
        refuse(3, [f"{name}.h5: ", *words], f"{name}.h5", "-o", "x.h5")
    for name, content, words in (("a.mrd", b"yardl\1\0\0\0{", "mrd_to_ismrmrd < scan.mrd | ismrmrd_stream_to_hdf5"),
                                 ("b.mrd", b'{"yardl":{"version":1}}', "as text"),
                                 ("c.bin", b"\3\0\x10\0\0\0<?xml version", "ismrmrd_stream_to_hdf5 -i")):
        pathlib.Path(name).write_bytes(content + b" " * 2000)
        refuse(3, [name, words], name, "-o", "x.h5")
    pathlib.Path("d.mrd").write_bytes(b"yard" + b" " * 2000)
    assert "MRD" not in refuse(3, ["d.mrd"], "d.mrd", "-o", "x.h5").err


# ---- headers of ISMRMRD ----


def with_xml(path, source, write):
    """A copy of an ISMRMRD file whose header is what `write` makes of its bytes."""
    with h5py.File(source) as old, h5py.File(path, "w") as new:
        group = new.create_group("dataset")
        for name in old["dataset"]:
            if name != "xml":
                old.copy(f"dataset/{name}", group)
        text = old["dataset/xml"][()]
        write(group, bytes(text[0] if isinstance(text, numpy.ndarray) else text))


def opaque(group, text):
    space = h5py.h5s.create(h5py.h5s.SCALAR)
    kind = h5py.h5t.create(h5py.h5t.OPAQUE, len(text))
    kind.set_tag(b"xml")
    made = h5py.h5d.create(group.id, b"xml", kind, space)
    made.write(h5py.h5s.ALL, h5py.h5s.ALL, numpy.frombuffer(text, f"V{len(text)}"), kind)


def padded(pad, more):
    def write(group, text):
        kind = h5py.h5t.C_S1.copy()
        kind.set_size(len(text) + more)
        kind.set_strpad(pad)
        made = h5py.h5d.create(group.id, b"xml", kind, h5py.h5s.create_simple((1,)))
        made.write(h5py.h5s.ALL, h5py.h5s.ALL, numpy.array([text], f"S{len(text) + more}"), kind)
    return write


def stored(convert):
    def write(group, text):
        group["xml"] = convert(text)
    return write


def declared(encoding):
    return stored(lambda text: b'<?xml version="1.0" encoding="%s"?>' % encoding + text[text.index(b"<ismrmrdHeader"):])


def prefixed(text):
    return text.replace(b"</", b"</m:").replace(b"<", b"<m:").replace(b"<m:/m:", b"</m:").replace(
        b"<m:?", b"<?").replace(b"xmlns=", b"xmlns:m=")


XML_TYPES = {
    "variable": stored(lambda text: text), "uint8": stored(lambda text: numpy.frombuffer(text, "u1")),
    "int8": stored(lambda text: numpy.frombuffer(text + b"\0\0", "i1")),
    "square": stored(lambda text: numpy.frombuffer(text.ljust(-(-len(text) // 8) * 8), "u1").reshape(-1, 8)),
    "uint16": stored(lambda text: numpy.frombuffer(text, "u1").astype("u2").reshape(1, -1)),  # MATLAB's characters
    "opaque": opaque, "null padded": padded(h5py.h5t.STR_NULLPAD, 9), "space padded": padded(h5py.h5t.STR_SPACEPAD, 9),
    "2D": stored(lambda text: numpy.array([[text, text]])), "characters": stored(lambda text: numpy.frombuffer(text, "S1")),
    "mark": stored(lambda text: b"\xef\xbb\xbf" + text), "white": stored(lambda text: b" \r\n\t" + text + b"\n \n"),
    "mark and white": stored(lambda text: b"\xef\xbb\xbf\n" + text), "prefixes": stored(prefixed),
    "utf-16 declared": declared(b"UTF-16"), "utf-8 declared": declared(b"utf-8"),
    "unknown declared": declared(b"x-unknown"),
    "utf-16": stored(lambda text: numpy.frombuffer(text.decode().encode("utf-16"), "u1")),
    "utf-16, big": stored(lambda text: numpy.frombuffer(text.decode().encode("utf-16-be"), "u1")),
}


def test_ismrmrd_xml():
    phantom("a.h5", "--layout", "ismrmrd", "--trajectory", "cartesian", "--matrix", "12,12,1", "--coils", "2")
    make("a.h5", "-o", "a_image.h5")
    for name, write in XML_TYPES.items():
        with_xml("b.h5", "a.h5", write)
        assert make("b.h5", "-o", "b_image.h5").err == "", name
        assert numpy.array_equal(image("a_image.h5"), image("b_image.h5")), name
    make("b.h5", "-o", "b.mrd")  # the header goes into images, too
    for name, write, words in (("numbers", stored(lambda text: numpy.frombuffer(text, "u1").astype("f4")), "cannot read 'xml'"),
                               ("empty", stored(lambda text: numpy.zeros(0, "u1")), "cannot read 'xml'"),
                               ("damaged", stored(lambda text: numpy.frombuffer(text[:-9], "u1")), "xml: line"),
                               ("latin-1", stored(lambda text: numpy.frombuffer(text + b"<!-- \xfc -->", "u1")), "Latin-1")):
        with_xml("c.h5", "a.h5", write)
        if words == "Latin-1":
            assert words in make("c.h5", "-o", "c_image.h5").err
            pathlib.Path("c_image.h5").unlink()
        else:
            refuse(3, ["c.h5", words], "c.h5", "-o", "x.h5")


def test_ismrmrd_before_version_1():
    """Before version 1.0, ISMRMRD's library wrote acquisitions with a second axis of length 1. Two columns are no list."""
    phantom("a.h5", "--layout", "ismrmrd", "--trajectory", "cartesian", "--matrix", "12,12,1", "--coils", "2")
    for columns in (1, 2):
        with h5py.File("a.h5") as old, h5py.File("b.h5", "w") as new:
            new["dataset/xml"] = old["dataset/xml"][...]
            rows = old["dataset/data"]
            stored = new.create_dataset("dataset/data", (len(rows) // columns, columns), rows.dtype, chunks=(1, 1),
                                        maxshape=(None, columns))
            for n in range(len(stored)):
                stored[n, 0] = rows[n]
        if columns == 1:
            make("b.h5", "-o", "b_image.h5", "--coils", "rss")
            make("a.h5", "-o", "a_image.h5", "--coils", "rss")
            assert numpy.array_equal(image("b_image.h5"), image("a_image.h5"))
        else:
            refuse(3, "'data' is not a list of acquisitions", "b.h5", "-o", "x.h5")


def test_ismrmrd_sizes():
    """Headers without sizes beside data get them by its length, if that is possible; empty acquisitions are left out as
    before."""
    phantom("a.h5", "--layout", "ismrmrd", "--trajectory", "cartesian", "--matrix", "12,12,1", "--coils", "2")
    make("a.h5", "-o", "a_image.h5")
    sizes = ("number_of_samples", "active_channels", "available_channels")
    for zeros, words in ((sizes[:1], "number_of_samples 0 and active_channels 2"),
                         (sizes[1:], "number_of_samples 12 and active_channels 0"),
                         (sizes[:2], "number_of_samples 0 and active_channels 0"), (sizes, None)):
        with h5py.File("a.h5") as old, h5py.File("b.h5", "w") as new:
            old.copy("dataset", new)
            rows = new["dataset/data"][...]
            for name in zeros:
                rows["head"][name] = 0
            new["dataset/data"][...] = rows
        if words is None:
            refuse(3, ["acquisition 0: the header says number_of_samples 0 and active_channels 0", "48 numbers"], "b.h5", "-o",
                   "x.h5")
            continue
        said = make("b.h5", "-o", "b_image.h5").err
        assert words + " beside data; 12 samples of 2 channels are taken" in said, said
        assert numpy.array_equal(image("b_image.h5"), image("a_image.h5"))
    with h5py.File("a.h5") as old, h5py.File("c.h5", "w") as new:
        old.copy("dataset", new)
        rows = new["dataset/data"][...]
        rows["head"]["number_of_samples"][:2] = 0
        for row in range(2):
            rows["data"][row] = numpy.zeros(0, "f4")
        new["dataset/data"][...] = rows
    assert "2 without samples" in make("c.h5", "-o", "i.h5").out + make("c.h5", "-o", "i.h5").err


# ---- zeros that were not measured ----

SOLVED = ("--coils", "file", "--lambda", 0.01, "--tolerance", 1e-9, "--iterations", 1000, "--precision", "double")


def says_so(done):
    return "in all channels" in done.out + done.err


def noisy_scan(k, frames=1):
    """Maps, and data [frame][coil][sample] of a square with the noise of 1 % of the strongest sample."""
    square, maps = numpy.zeros((24, 24)), maps_of(3)
    square[7:16, 5:18] = 1
    data = numpy.array([forward(k, square * maps)] * frames)
    return maps, data + noise_like(data, seeds.generator(3), 0.01 * abs(data).max())


def test_zeros_that_were_not_measured(_):
    """Samples of 0 in all channels: where a receiver was not ready, spokes that were left out, a side of k-space that is missing, the
    last also where the first coil has no signal at all.
    The image is that of the scan without them, whose samples are the same. Both are written in single precision, and the NUFFT in
    double precision is right to 1e-9, which the smallest eigenvalue, a hundredth of the diagonal, makes 1e-7 at most."""
    spokes, lines = radial(), cartesian()
    spoke = numpy.arange(len(spokes)) // 48
    side = lines[:, 1] < -4
    for k, zero, silent in ((spokes, numpy.hypot(spokes[:, 0], spokes[:, 1]) < 1, 0), (spokes, spoke % 2 == 1, 0), (lines, side, 0),
                            (lines, side, 1)):
        maps, data = noisy_scan(k)
        data[:, :silent] = 0
        write_scan("without.h5", k[~zero], data[0][:, ~zero], maps)
        data[..., zero] = 0
        write_scan("zeros.h5", k, data[0], maps)
        said = make("zeros.h5", "-o", "z.h5", *SOLVED)
        assert f"{zero.sum()} of {len(k)} samples are 0 in all channels" in said.out + said.err, said.out
        assert not says_so(make("without.h5", "-o", "w.h5", *SOLVED))
        error = relative(image("z.h5"), image("w.h5"))
        assert error < 2e-7, error
    # Frames that share a trajectory lack different spokes, and the last none. Lambda is relative to the samples of one of them, a third
    # more or less than of another, which changes the image a little: measured 5e-6.
    maps, data = noisy_scan(spokes, 3)
    zero = [spoke % 2 == 1, spoke % 3 == 1, spoke < 0]
    for frame in range(3):
        write_scan(f"{frame}.h5", spokes[~zero[frame]], data[frame][:, ~zero[frame]], maps)
        data[frame][:, zero[frame]] = 0
    write_scan("zeros.h5", spokes, data, maps)
    make("zeros.h5", "-o", "z.h5", *SOLVED)
    for frame in range(3):
        make(f"{frame}.h5", "-o", "w.h5", *SOLVED)
        error = relative(image("z.h5")[frame], image("w.h5")[0])
        assert error < 1e-4, (frame, error)


def test_zeros_that_are_signal(_):
    """Weak signal in integers is 0 by rounding, and an image that is even over the field of view is 0 everywhere but at k = 0."""
    maps, data = noisy_scan(cartesian())
    k = cartesian()
    far = abs(k).max(axis=1) > 3
    whole = data[0] / abs(data).max() * numpy.where(far, 3, 300)
    write_scan("s.h5", k, numpy.round(whole.real) + 1j * numpy.round(whole.imag), maps)
    with h5py.File("s.h5") as file:
        assert (file["scan/data"][...] == 0).all(axis=0).sum() > len(k) / 10
    assert not says_so(make("s.h5", "-o", "i.h5"))
    write_scan("s.h5", k, numpy.where((k == 0).all(axis=1), 576, 0)[None])
    assert not says_so(make("s.h5", "-o", "i.h5", *SOLVED[2:]))
    assert abs(image("i.h5") - 1 / 1.01).max() < 1e-6  # one coil; lambda takes a hundredth


if __name__ == "__main__":
    run_tests(globals())
