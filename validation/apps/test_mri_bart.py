#!/usr/bin/env python3
"""mri_recon on BART's files (.cfl, .hdr), coil maps from and to files, and its messages about files of other
programs.

usage: test_mri_bart.py PROGRAM [DEVICE] [test_name ...]     VOXFIELD_PHANTOM names mri_phantom
"""
import gzip
import os
import pathlib
import tempfile

import program
from made_scan import h5py, need_h5py, numpy, phantom, skip_without_h5py
from program import make, refuse

# ---- files ----


def write_cfl(name, array, shape=None):
    """Writes [x][y][z][coil]..., the first index fastest, with a header as BART defines it."""
    shape = list(shape or (*array.shape, *[1] * (16 - array.ndim)))
    pathlib.Path(name + ".hdr").write_text("# Dimensions\n" + " ".join(map(str, shape)) + "\n", encoding="ascii")
    numpy.asarray(array, numpy.complex64).ravel(order="F").tofile(name + ".cfl")


def read_cfl(name):
    lines = pathlib.Path(name + ".hdr").read_text(encoding="ascii").split("\n")
    return numpy.fromfile(name + ".cfl", numpy.complex64).reshape([int(n) for n in lines[1].split()], order="F")


def image(scan, *options):
    """Returns mri_recon's image of a scan as [frame][z][y][x], from HDF5."""
    make(scan, "-o", "i.h5", *options)
    with h5py.File("i.h5") as file:
        return file["image"][...]


def write_plain(name, matrix, k, data, maps=None):
    with h5py.File(name, "w") as file:
        scan = file.create_group("scan")
        scan.attrs["matrix"], scan.attrs["fov_mm"] = matrix, [float(n) for n in matrix]
        scan["trajectory"], scan["data"] = k.astype("f4"), data.astype("c8")
        if maps is not None:
            scan["sensitivity"] = maps.astype("c8")


def noise(seed, *shape):
    """Complex white noise in single precision, without zeros."""
    random = numpy.random.default_rng(seed)
    return (random.normal(size=shape) + 1j * random.normal(size=shape)).astype(numpy.complex64)


def smooth_maps(seed, coils, z, y, x):
    """Maps that vary by a quarter of their size over the image."""
    waves = numpy.meshgrid(*[numpy.linspace(-1, 1, n) if n > 1 else [0] for n in (z, y, x)], indexing="ij")
    a = noise(seed, coils, 4)
    return (a[:, 0, None, None, None] + 0.25 * sum(a[:, i + 1, None, None, None] * waves[i] for i in range(3))).astype("c8")


def scaled(data, voxels):
    """As in mri_recon: each part times sqrt(voxels) in double precision, rounded once."""
    return (data.real.astype("f8") * voxels ** 0.5).astype("f4") + 1j * (data.imag.astype("f8") * voxels ** 0.5).astype("f4")


def same(a, b, what):
    assert a.shape == b.shape and a.dtype == b.dtype, (what, a.shape, b.shape)
    assert numpy.isfinite(a).all() and abs(a).max() > 0, what
    assert a.tobytes() == b.tobytes(), f"{what}: {abs(a - b).max() / abs(b).max():.2e}"


# ---- scans ----


def radial(spokes, samples, frames=1):
    """k [frame][spoke][sample][3], golden angles, |k| < samples / 2."""
    angle = numpy.arange(frames * spokes).reshape(frames, spokes, 1) * 1.9416
    radius = numpy.arange(samples) - samples / 2 + 0.5
    return numpy.stack([radius * numpy.cos(angle), radius * numpy.sin(angle), 0 * radius * angle], axis=-1).astype("f4")


def test_same_as_plain(_):
    """The image of a scan has the same bits from both layouts: radial, with maps, with a trajectory for each frame
    or one for all."""
    need_h5py()
    matrix, spokes, samples, coils, frames = [16, 16, 1], 21, 16, 3, 2
    data, maps = noise(1, frames, coils, spokes, samples), smooth_maps(2, coils, 1, 16, 16)
    write_cfl("s", maps.transpose(3, 2, 1, 0))
    shape = [1, samples, spokes, coils, *[1] * 6, frames, *[1] * 5]
    write_cfl("d", data.transpose(3, 2, 1, 0), shape)
    for own in (False, True):
        k = radial(spokes, samples, frames if own else 1)
        write_cfl("t", k.transpose(3, 2, 1, 0), [3, samples, spokes, *[1] * 7, len(k), *[1] * 5])
        kk = k.reshape(len(k), -1, 3)
        for name, options in (("with the file's maps", ["--coils", "s.cfl"]), ("walsh", ["--coils", "walsh"]),
                              ("rss", ["--coils", "rss", "--method", "gridding"])):
            write_plain("p.h5", matrix, kk if own else kk[0], scaled(data, 256).reshape(frames, coils, -1), maps)
            ours = options if options[1] != "s.cfl" else ["--coils", "file"]
            out = make("d.hdr", "--trajectory", "t.cfl", *options).out
            assert ": BART, 3 coils, 2 volumes" in out and "16 x 16 x 1 over 16 x 16 x 1 mm" in out, out
            found = read_cfl("d_image")
            assert found.shape == (16, 16, 1, *[1] * 7, frames, *[1] * 5), found.shape
            same(found.reshape(16, 16, 1, frames, order="F").transpose(3, 2, 1, 0), image("p.h5", *ours), name)
    assert not [name for name in os.listdir() if name.endswith(".part")]


def test_forgotten_trajectory(_):
    """BART stores non-Cartesian scans as 1 x samples x spokes. Without the trajectory, a message says so."""
    need_h5py()
    write_cfl("k", noise(5, 2, 21, 16).transpose(2, 1, 0), [1, 16, 21, 2])
    err = make("k.cfl", "--coils", "rss", "--dry-run").err
    assert "the first dimension is 1" in err and "--trajectory" in err, err
    write_cfl("t", radial(21, 16).transpose(3, 2, 1, 0), [3, 16, 21])
    assert "dimension" not in make("k.cfl", "--trajectory", "t.cfl", "--coils", "rss", "--dry-run").err
    refuse(2, "--trajectory t: unknown file extension", "k.cfl", "--trajectory", "t")


def test_cartesian(_):
    """A complete scan is its unitary transform, centred at N/2 rounded down on axes of even and odd lengths. In an
    incomplete one only nonzero samples count, and each frame has its own pattern."""
    need_h5py()
    nx, ny, nz, coils = 12, 9, 5, 2
    rho, maps = noise(3, nz, ny, nx), smooth_maps(4, coils, nz, ny, nx)
    axes = (1, 2, 3)
    full = numpy.fft.fftshift(numpy.fft.fftn(numpy.fft.ifftshift(maps * rho, axes=axes), axes=axes, norm="ortho"), axes=axes)
    full = full.astype("c8")  # as it is in the file; NumPy 1 transforms in double precision
    write_cfl("k", full.transpose(3, 2, 1, 0))
    write_cfl("s", maps.transpose(3, 2, 1, 0))
    options = ["--lambda", 0, "--tolerance", 1e-6, "--precision", "double", "--iterations", 200]
    make("k.cfl", "--coils", "s.cfl", "-o", "i.cfl", *options)
    found = read_cfl("i")[..., 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0].T
    # The tolerance of 1e-6 times the condition of the maps' squares (below 100), and single precision of data and maps.
    assert numpy.linalg.norm(found - rho) <= 1e-4 * numpy.linalg.norm(rho), numpy.linalg.norm(found - rho)
    # Two patterns in three frames, one of which is empty. The file's positions are in the order of the plain scan.
    frames = numpy.stack([full] * 4)
    mask = numpy.random.default_rng(5).random((2, nz, ny, nx)) < 0.6
    for f, pattern in enumerate((0, 1, 0)):
        frames[f] *= mask[pattern]
    frames[3] = 0
    one = numpy.argwhere(mask[0])[0]
    frames[0][0][tuple(one)] = 0  # zero in one coil only: the sample is acquired
    write_cfl("f", frames.transpose(4, 3, 2, 1, 0), [nx, ny, nz, coils, 1, 4, *[1] * 10])
    done = make("f.cfl", "--coils", "s.cfl", "--lambda", 0)  # other errors are relative to the brightness of the first frame
    assert "1 of 4 frames are all 0" in done.err and "(1 missing)" in done.out, (done.err, done.out)
    found = read_cfl("f_image")
    assert found.shape[10] == 4 and not found[..., 3, :, :, :, :, :].any()
    for f, pattern in enumerate((0, 1, 0)):
        where = numpy.argwhere(mask[pattern])
        k = where[:, ::-1] - numpy.array([nx // 2, ny // 2, nz // 2])
        write_plain("p.h5", [nx, ny, nz], k, scaled(frames[f][:, mask[pattern]], nx * ny * nz), maps)
        same(found[:, :, :, 0, 0, 0, 0, 0, 0, 0, f, 0, 0, 0, 0, 0].T, image("p.h5", "--lambda", 0)[0], f"frame {f}")


def test_order_of_k_space(_):
    """k = 0 in the corner, as `bart fft` without -u and numpy.fft have it, and a trajectory that runs against its samples. A disc
    in 9 coils, of which one is dark."""
    n, coils = 32, 9
    y, x = numpy.mgrid[-16:16, -16:16]
    maps = smooth_maps(6, coils, 1, n, n)[:, 0] * (numpy.arange(coils) != 4)[:, None, None]
    disc = maps * (x ** 2 + 2 * y ** 2 < 100)
    words = "samples at the edge of k-space are stronger than those at its centre along"
    plain = numpy.fft.fft2(numpy.fft.ifftshift(disc, axes=(1, 2)))
    for axes, said in (((), " x y;"), ((1,), " x;"), ((2,), " y;"), ((1, 2), None)):
        write_cfl("k", numpy.fft.fftshift(plain, axes=axes).transpose(2, 1, 0)[:, :, None])
        err = make("k.cfl", "--coils", "rss", "--dry-run").err
        assert (words + said in err) if said else words not in err, (axes, err)
    k = radial(48, n)[0]
    out = abs(k).max(-1).argsort(axis=-1, kind="stable")  # from the centre outwards
    k = numpy.take_along_axis(k, out[..., None], axis=1)
    kk = k.reshape(-1, 3).astype("f8")
    wave = numpy.exp(-2j * numpy.pi / n * (kk[:, :1] * x.ravel() + kk[:, 1:2] * y.ravel()))
    data = (wave @ disc.reshape(coils, -1).T).T.reshape(coils, 48, n)
    write_cfl("d", data.transpose(2, 1, 0)[None])
    for order, warns in ((1, False), (-1, True)):
        write_cfl("t", k[:, ::order].transpose(2, 1, 0), [3, n, 48])
        assert (words in make("d.cfl", "--trajectory", "t.cfl", "--coils", "rss", "--dry-run").err) == warns, order


def test_dimensions(_):
    """Slices are stacked along z. Echoes, times and others count volumes, in the file's order."""
    nx, ny, slices, echoes, times = 8, 6, 3, 2, 2
    data = noise(6, times, slices, echoes, 1, ny, nx)
    write_cfl("k", data.transpose(5, 4, 3, 2, 1, 0).reshape(-1, order="F"),
              [nx, ny, 1, 1, 1, echoes, 1, 1, 1, 1, 1, 1, 1, slices, 1, times])
    out = make("k.cfl", "--lambda", 0, "--tolerance", 1e-6, "-o", "i.cfl").out
    assert "4 volumes of 3 slices" in out, out
    found = read_cfl("i").reshape(nx, ny, slices, echoes * times, order="F")
    for t in range(times):
        for s in range(slices):
            for e in range(echoes):
                k = numpy.fft.ifftshift(data[t, s, e, 0])
                truth = numpy.fft.fftshift(numpy.fft.ifftn(k, norm="ortho"))
                error = numpy.linalg.norm(found[:, :, s, e + echoes * t].T - truth) / numpy.linalg.norm(truth)
                assert error < 1e-4, (t, s, e, error)  # the NUFFT's 1e-6 and the solver's 1e-6, with a wide margin


def test_matrix_of_a_trajectory(_):
    """The matrix is the smallest even one that covers the trajectory; --matrix and the matrix of the maps have
    priority."""
    k = radial(9, 13)  # up to 6.0
    write_cfl("t", k[0].transpose(2, 1, 0))
    write_cfl("d", noise(7, 1, 13, 9))
    assert "12 x 12 x 1 over 12 x 12 x 1 mm" in make("d.cfl", "--trajectory", "t.cfl", "--dry-run").out
    assert "20 x 20 x 1 over 20 x 20 x 1 mm" in make("d.cfl", "--trajectory", "t.cfl", "--matrix", 20, "--dry-run").out
    write_cfl("s", smooth_maps(8, 1, 1, 14, 18).transpose(3, 2, 1, 0))
    assert "18 x 14 x 1 over 18 x 14 x 1 mm" in make("d.cfl", "--trajectory", "t.cfl", "--coils", "s.cfl", "--dry-run").out
    write_cfl("s", smooth_maps(8, 1, 1, 64, 64).transpose(3, 2, 1, 0))
    write_cfl("r", k[0].transpose(2, 1, 0) * numpy.pi / 6)  # radians, or a small part of k-space: a warning only
    for name, words in (("r", True), ("t", False)):
        err = make("d.cfl", "--trajectory", f"{name}.cfl", "--coils", "s.cfl", "--dry-run").err
        assert "heck the units" in err and ("--trajectory-units radians" in err) == words, err
    done = make("d.cfl", "--trajectory", "r.cfl", "--dry-run")  # nothing tells the matrix
    assert "8 x 8 x 1 over" in done.out and "give --trajectory-units radians and --matrix" in done.err, done.err
    write_cfl("n", k[0].transpose(2, 1, 0) / 24)
    refuse(3, ["n.cfl", "multiply", "--trajectory-units normalized"], "d.cfl", "--trajectory", "n.cfl")
    refuse(2, "--matrix", "d.cfl", "--trajectory", "n.cfl", "--trajectory-units", "normalized")
    make("d.cfl", "--trajectory", "n.cfl", "--trajectory-units", "normalized", "--matrix", 24, "--method", "adjoint",
         "-o", "a.cfl")
    make("d.cfl", "--trajectory", "t.cfl", "--matrix", 24, "--method", "adjoint", "-o", "b.cfl")
    a, b = read_cfl("a"), read_cfl("b")
    # k is rounded twice, by 2^-24 of 6 cycles, at most 1e-6 turns at the edge. Each NUFFT adds 1e-6.
    assert numpy.linalg.norm(a - b) < 2e-5 * numpy.linalg.norm(b), numpy.linalg.norm(a - b) / numpy.linalg.norm(b)


def test_refused_scans(_):
    k, data = radial(5, 8), noise(9, 1, 8, 5, 2)
    write_cfl("t", k[0].transpose(2, 1, 0))
    write_cfl("d", data)
    phantom("p.h5", "--matrix", 8)
    refuse(3, "the trajectory has 40 samples, but frame 0 of the scan has 808", "p.h5", "--trajectory", "t.cfl")
    refuse(2, "--trajectory p.h5: unknown file extension", "d.cfl", "--trajectory", "p.h5")
    refuse(2, "--group", "d.cfl", "--trajectory", "t.cfl", "--group", "x")
    refuse(2, "same file", "d.cfl", "--trajectory", "t.cfl", "-o", "d.hdr")
    refuse(2, "same file", "d.cfl", "--trajectory", "t.cfl", "--report", "d.hdr")
    refuse(2, "--append-to-copy", "d.cfl", "--trajectory", "t.cfl", "--append-to-copy", "-o", "x.mrd")
    refuse(2, "--trajectory-units needs --trajectory", "d.cfl", "--trajectory-units", "fov")
    refuse(3, ["d.cfl", "no such file", "give BART files with their extension"], "d")
    refuse(3, ["nothing.hdr", "cannot open"], "nothing.cfl")
    for shape, words in (((3, 8, 4), "must match"), ((3, 8, 5, 2), "without coils"), ((2, 8, 5), "expected [3]"),
                         ((3, 8, 5, 1, 1, 2), "must match or be 1")):
        write_cfl("u", numpy.ones(shape))
        refuse(3, ["u.cfl", words], "d.cfl", "--trajectory", "u.cfl")
    write_cfl("u", 1j * k[0].transpose(2, 1, 0))
    refuse(3, "imaginary part", "d.cfl", "--trajectory", "u.cfl")
    write_cfl("u", noise(9, 8, 5, 1, 2))
    refuse(3, "[1][samples][spokes][coils]", "u.cfl", "--trajectory", "t.cfl")
    write_cfl("u", numpy.zeros((8, 5, 1, 2)))
    refuse(3, "all samples are 0", "u.cfl")
    for dim, word in ((4, "MAPS"), (6, "COEFF"), (14, "AVG")):
        write_cfl("u", data, [1, 8, 5, *[2 if d == dim else 1 for d in range(3, 16)]])
        refuse(3, [f"dimension {dim} ({word})", "bart slice"], "u.cfl", "--trajectory", "t.cfl")
    bad = data.copy()
    bad[0, 3, 2, 1] = complex(0, float("nan"))
    write_cfl("u", bad)
    refuse(3, ["u.cfl", "[0, 3, 2, 1,", "nan"], "u.cfl", "--trajectory", "t.cfl")
    write_cfl("u", data * numpy.float32(3e37))  # times sqrt(64) they overflow
    assert numpy.isfinite(read_cfl("u")).all()
    refuse(3, ["u.cfl", "too large"], "u.cfl", "--trajectory", "t.cfl")
    os.truncate("d.cfl", 100)
    refuse(3, ["100 bytes", "d.hdr"], "d.cfl", "--trajectory", "t.cfl")


# ---- coil maps ----


def test_maps_saved_and_used(_):
    """Estimated maps give the same bits after saving and loading. They cover the encoded matrix."""
    need_h5py()
    phantom("p.h5", "--matrix", "24,20,1", "--coils", 4, "--without", "sensitivity")
    first = image("p.h5", "--save-coils", "m.h5")
    with h5py.File("m.h5") as file:
        maps = file["maps"]
        assert maps.shape == (4, 1, 20, 24) and maps.dtype == numpy.complex64
        assert list(maps.attrs["matrix"]) == [24, 20, 1] and list(maps.attrs["fov_mm"][:2]) == [240, 240]
        assert maps.attrs["program"].startswith("mri_recon") and not maps.attrs["whitened"] and not maps.attrs["compressed_from"]
        maps = maps[...]
    same(image("p.h5", "--coils", "m.h5", "--save-coils", "m.cfl"), first, "maps from .h5")
    same(read_cfl("m")[..., 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0].transpose(3, 2, 1, 0), maps, "the maps")
    same(image("p.h5", "--coils", "m.hdr"), first, "maps from .cfl")
    # The maps of another plain scan, and pairs of real numbers.
    with h5py.File("other.h5", "w") as file:
        file["scan/sensitivity"] = numpy.stack([maps[:, 0].real, maps[:, 0].imag], axis=-1)
        file["scan/sensitivity"].attrs["weighted"] = 1  # these maps fade, but the image must not
    same(image("p.h5", "--coils", "other.h5"), first, "maps from a scan")
    phantom("with.h5", "--matrix", "24,20,1", "--coils", 4)
    truth = image("with.h5", "--save-coils", "t.h5")
    with h5py.File("t.h5") as a, h5py.File("with.h5") as b:
        same(a["maps"][...], b["scan/sensitivity"][...], "the scan's own")
    assert abs(truth - first).max() > 0.01 * abs(first).max()
    same(image("with.h5", "--coils", "m.h5"), first, "a file in place of the scan's own")


def test_maps_of_virtual_coils(_):
    """Saved maps of decorrelated and combined coils belong to those coils and are not processed again."""
    need_h5py()
    scan = ["--matrix", "24,24,1", "--coils", 6, "--noise", 0.02, "--noise-correlation", 0.5, "--noise-scan"]
    phantom("p.mrd", *scan, "--without", "sensitivity")
    for name, options, coils, word in (("white", [], 6, "decorrelation"), ("both", ["--compress", 3], 3, "compression")):
        out = make("p.mrd", "-o", "i.h5", "--save-coils", f"{name}.h5", *options).out
        assert f"note: {name}.h5: " in out and word in out, out
        with h5py.File("i.h5") as file:
            first = file["image"][...]
        with h5py.File(f"{name}.h5") as file:
            assert file["maps"].shape[0] == coils and file["maps"].attrs["whitened"] == 1
            assert file["maps"].attrs["compressed_from"] == (6 if options else 0)
        same(image("p.mrd", "--coils", f"{name}.h5", "--save-coils", f"{name}.cfl", *options), first, f"{name}.h5")
        same(image("p.mrd", "--coils", f"{name}.cfl", *options), first, f"{name}.cfl")
    assert "whitened 1 compressed_from 6" in pathlib.Path("both.hdr").read_text(encoding="ascii")
    refuse(3, ["both.h5", "--compress 3", "6"], "p.mrd", "-o", "x.h5", "--coils", "both.h5")
    refuse(3, "--compress 3", "p.mrd", "-o", "x.h5", "--coils", "both.cfl", "--compress", 4)
    phantom("q.mrd", "--matrix", "24,24,1", "--coils", 6)
    refuse(3, ["white.h5", "decorrelated"], "q.mrd", "-o", "x.h5", "--coils", "white.h5")
    # Maps of the original coils pass through both stages: the same image as with maps in the file.
    phantom("r.mrd", *scan)
    phantom("clean.h5", "--matrix", "24,24,1", "--coils", 6)
    for options in ([], ["--compress", 3]):
        same(image("r.mrd", "--coils", "clean.h5", *options), image("r.mrd", *options), f"maps of another file {options}")


def test_maps_of_the_kept_part(_):
    """Maps of the cropped size, without readout oversampling, are put into the middle of the matrix."""
    need_h5py()
    phantom("p.mrd", "--matrix", "16,16,1", "--trajectory", "cartesian", "--oversample", 2, "--coils", 3)
    maps = smooth_maps(10, 3, 1, 16, 16)
    with h5py.File("small.h5", "w") as file:
        file["maps"] = maps
    large = numpy.zeros((3, 1, 16, 32), "c8")
    large[..., 8:24] = maps
    write_cfl("large", large.transpose(3, 2, 1, 0))
    out = make("p.mrd", "-o", "a.h5", "--coils", "small.h5").out
    assert "note: small.h5: maps of 16 x 16 x 1" in out and "taken as 0" in out, out
    with h5py.File("a.h5") as file:
        same(file["image"][...], image("p.mrd", "--coils", "large.cfl"), "cropped maps")
    with h5py.File("odd.h5", "w") as file:
        file["maps"] = maps[..., :15]
    refuse(3, ["odd.h5", "15 x 16 x 1", "32 x 16 x 1", "cropped to 16 x 16 x 1"], "p.mrd", "-o", "x.h5", "--coils", "odd.h5")


def test_maps_of_slices(_):
    """Each slice has its own maps."""
    need_h5py()
    n, slices, coils = 16, 3, 4
    rho, maps = noise(11, slices, 1, n, n), numpy.stack([smooth_maps(12 + s, coils, 1, n, n) for s in range(slices)])
    seen = maps[:, :, 0] * rho
    k = numpy.fft.fftshift(numpy.fft.fftn(numpy.fft.ifftshift(seen, axes=(2, 3)), axes=(2, 3), norm="ortho"), axes=(2, 3))
    tail = [coils, *[1] * 9, slices, 1, 1]
    write_cfl("k", k.transpose(3, 2, 1, 0), [n, n, 1, *tail])
    write_cfl("s", maps[:, :, 0].transpose(3, 2, 1, 0), [n, n, 1, *tail])
    options = ["--lambda", 0, "--tolerance", 1e-6, "--iterations", 200]
    first = image("k.cfl", "--coils", "s.cfl", "--save-coils", "m.h5", *options)
    assert numpy.linalg.norm(first[0] - rho[:, 0]) < 1e-3 * numpy.linalg.norm(rho)  # as in test_cartesian, in single precision
    with h5py.File("m.h5") as file:
        same(file["maps"][...], maps, "maps of slices")
    same(image("k.cfl", "--coils", "m.h5", "--save-coils", "m.cfl", *options), first, "from .h5")
    same(image("k.cfl", "--coils", "m.cfl", *options), first, "from .cfl")
    write_cfl("one", maps[0].transpose(3, 2, 1, 0))
    refuse(3, ["one.cfl", "1 slice,", "3"], "k.cfl", "--coils", "one.cfl")
    # One coil is the sum of two others. Combining to one coil fewer loses nothing but rounding (as above).
    more = [numpy.concatenate([array, array[:, :1] + array[:, 1:2]], axis=1) for array in (k, maps[:, :, 0])]
    for name, array in zip("bv", more):
        write_cfl(name, array.transpose(3, 2, 1, 0), [n, n, 1, coils + 1, *tail[1:]])
    fewer = image("b.cfl", "--compress", coils, "--coils", "v.cfl", "--save-coils", "c.cfl", *options)
    assert numpy.linalg.norm(fewer[0] - rho[:, 0]) < 1e-3 * numpy.linalg.norm(rho)
    same(image("b.cfl", "--compress", coils, "--coils", "c.cfl", *options), fewer, "combined")
    estimated = image("k.cfl", "--save-coils", "w.h5")
    same(image("k.cfl", "--coils", "w.h5"), estimated, "estimated")


def test_noise_of_slices(_):
    """The noise map of a slice does not depend on its position in the stack, but its replicas do. With 64 replicas
    each, a voxel's deviation has an error of 1/sqrt(2 64), so the ratio of two varies by 0.125. The mean over
    voxels, at least 64 of them independent, varies by 0.016. Six times that is allowed. With the other slice's
    envelope the ratio is off by 0.5."""
    need_h5py()
    n = 32
    y, x = numpy.mgrid[:n, :n] - n // 2
    slices = [(x ** 2 + y ** 2 < 11 ** 2) * 1.0, ((x - 8) ** 2 + (y + 6) ** 2 < 4 ** 2) * 6.0]
    k = numpy.fft.fftshift(numpy.fft.fft2(numpy.fft.ifftshift(slices, axes=(1, 2)), norm="ortho"), axes=(1, 2))
    k = k + 0.2 * noise(5, *k.shape)
    found = {}
    for order in ((0, 1), (1, 0)):
        write_cfl("k", k[list(order)].transpose(2, 1, 0)[:, :, None], [n, n, 1, 1, *[1] * 9, 2, 1, 1])
        make("k.cfl", "-o", "i.h5", "--noise-map", "n.h5", "--replicas", 64)
        with h5py.File("n.h5") as file:
            for place, which in enumerate(order):
                found[order, which] = file["g_factor"][0, place]
    for which in range(2):
        ratio = found[(0, 1), which] / found[(1, 0), which]
        assert abs(ratio.mean() - 1) < 0.1, (which, ratio.mean())


def test_refused_maps(_):
    need_h5py()
    phantom("p.h5", "--matrix", "16,16,1", "--coils", 3)
    phantom("one.h5", "--matrix", "16,16,1", "--without", "sensitivity")
    maps = smooth_maps(13, 3, 1, 16, 16)
    for words in ("maps", "maps.txt", "h5", ".cfl"):
        refuse(2, ["auto, file, espirit, walsh, nlinv or rss", ".cfl"], "p.h5", "--coils", words)
    refuse(2, "--save-coils m.nii: unknown file extension", "p.h5", "--save-coils", "m.nii")
    refuse(2, "--save-coils cannot be combined with --coils rss", "p.h5", "--save-coils", "m.h5", "--coils", "rss")
    refuse(2, "one coil", "one.h5", "--save-coils", "m.h5")
    refuse(2, "same file", "p.h5", "--coils", "m.h5", "--save-coils", "p.h5")
    refuse(4, "nowhere", "p.h5", "--save-coils", "nowhere/m.h5")
    refuse(3, "m.h5", "p.h5", "--coils", "m.h5")
    with h5py.File("m.h5", "w") as file:
        file["other"] = maps
    refuse(3, ["/maps", "/scan/sensitivity"], "p.h5", "--coils", "m.h5")

    def refused(array, words):
        with h5py.File("m.h5", "w") as file:
            file["maps"] = array
        refuse(3, ["m.h5", words], "p.h5", "--coils", "m.h5")

    refused(maps[:2], "maps of 2 coils, but the scan has 3")
    refused(maps[..., :8, :], "16 x 8 x 1")
    refused(maps.real, "not an array of coil maps")
    refused(maps[0, 0], "not an array of coil maps")
    refused(0 * maps, "0 everywhere")
    refused(numpy.stack([maps, maps]), "2 slices")
    bad = maps.copy()
    bad[2, 0, 5, 7] = complex(float("inf"), 0)
    refused(bad, "coil 2 is infinite at voxel (7, 5, 0)")
    write_cfl("m", bad.transpose(3, 2, 1, 0))
    refuse(3, ["m.cfl", "[7, 5, 0, 2,"], "p.h5", "--coils", "m.cfl")
    write_cfl("m", maps.transpose(3, 2, 1, 0), [16, 16, 1, 1, 1, 3, *[1] * 10])
    refuse(3, "[x][y][z][coil]", "p.h5", "--coils", "m.cfl")
    # Several sets of maps (test_mri_map_sets.py): one set if the second is 0, two sets at most, and not more than the
    # file has.
    write_cfl("one", maps.transpose(3, 2, 1, 0))
    one = image("p.h5", "--coils", "one.cfl")
    refuse(3, ["one.cfl: --map-sets 2 needs two sets"], "p.h5", "--coils", "one.cfl", "--map-sets", 2)
    write_cfl("m", numpy.stack([maps, 0 * maps], axis=-1).transpose(3, 2, 1, 0, 4))
    same(image("p.h5", "--coils", "m.cfl"), one, "the first set")
    write_cfl("m", numpy.stack([maps, maps[::-1], maps], axis=-1).transpose(3, 2, 1, 0, 4))
    same(image("p.h5", "--coils", "m.cfl", "--map-sets", 1), one, "the first set")
    assert "the first 2 are used" in make("p.h5", "--coils", "m.cfl", "-o", "a.h5").out


# ---- files of other kinds ----


def test_files_of_other_programs(_):
    """One message says what the file seems to be, judging by its first bytes or its name, and what to do."""
    need_h5py()
    junk = bytes(range(256)) * 8
    numpy.save("a.npy", numpy.ones(4))
    numpy.savez("a.npz", numpy.ones(4))
    pathlib.Path("seq.seq").write_text("# Pulseq sequence file\n# Created\n\n[VERSION]\nmajor 1\n", encoding="ascii")
    nifti = bytearray(352)
    nifti[0:4], nifti[344:348] = (348).to_bytes(4, "little"), b"n+1\0"
    twix = (0).to_bytes(4, "little") + (1).to_bytes(4, "little") + (77).to_bytes(4, "little") + bytes(2000)
    os.mkdir("bruker")
    files = {"meas.dat": (junk, "siemens_to_ismrmrd"), "renamed.h5": (twix, "siemens_to_ismrmrd"),
             "x.raw": (junk, "philips_to_ismrmrd"), "x.LAB": (junk, "philips_to_ismrmrd"), "P12345.7": (junk, "ge_to_ismrmrd"),
             "bruker/fid": (junk, "bruker_to_ismrmrd"), "i.nii": (bytes(nifti), "NIfTI"), "image": (bytes(nifti), "NIfTI"),
             "i.nii.gz": (gzip.compress(bytes(nifti)), "NIfTI"), "IM0001": (bytes(128) + b"DICM" + junk, "DICOM"),
             "a.mat": (b"MATLAB 5.0 MAT-file, Platform" + bytes(200), "MATLAB"), "a.npy": (None, "h5py"),
             "a.npz": (None, "h5py"), "a.ra": (b"rawarray" + bytes(64), "RawArray"), "seq.seq": (None, "pypulseq")}
    for name, (content, words) in files.items():
        if content:
            pathlib.Path(name).write_bytes(content)
        done = refuse(3, [name, "this seems to be", words], name, "-o", "x.h5")
        assert "HDF5 file" not in done.err, done.err
    refuse(3, ["bruker", "Bruker"], "bruker", "-o", "x.h5")
    # MATLAB 7.3 files are HDF5 behind 512 bytes.
    with h5py.File("v73.mat", "w", userblock_size=512) as file:
        file["kspace"] = numpy.ones(3)
    content = bytearray(pathlib.Path("v73.mat").read_bytes())
    content[:19] = b"MATLAB 7.3 MAT-file"
    pathlib.Path("v73.mat").write_bytes(content)
    refuse(3, ["no scan in this file", "MATLAB", "h5py"], "v73.mat", "-o", "x.h5")
    # HDF5 is read under any name. Text is not mistaken for a Siemens file.
    phantom("p.h5", "--matrix", 8)
    os.rename("p.h5", "p.dat")
    make("p.dat", "-o", "x.h5")
    pathlib.Path("text.h5").write_text("a text\n" * 300, encoding="ascii")
    refuse(3, "not an HDF5 file", "text.h5", "-o", "y.h5")


if __name__ == "__main__":
    skip_without_h5py()
    with tempfile.TemporaryDirectory() as probe_folder:
        probe = phantom(os.path.join(probe_folder, "probe.h5"), "--matrix", "8,8,1")
        program.main(globals(), probe=(probe, "--dry-run"))
