#!/usr/bin/env python3
"""The noise map of mri_recon: against images of data with fresh noise, against formulas, and its files.

usage: test_mri_noise_map.py PROGRAM [DEVICE] [test_name ...]     VOXFIELD_PHANTOM names mri_phantom

The map's variance of a voxel is the mean of REPLICAS exponential numbers. The variance measured here is that of
RUNS images. Their ratio has the mean 1 and about the variance 1 / REPLICAS + 1 / (RUNS - 1). The noise of
neighbouring voxels is correlated where the point spread is wider than a voxel, in two dimensions over 8 voxels.
So a mean over V voxels counts as at least V / 8 independent voxels.
"""
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile

import program
from plain_scan import cartesian, disc, forward, maps_of, noise_like, radial, write_scan
from program import Skip, make, refuse

PHANTOM = os.environ.get("VOXFIELD_PHANTOM") or sys.exit("VOXFIELD_PHANTOM is not set")
try:
    import h5py
    import numpy
except ImportError:
    h5py = numpy = None
REPLICAS, RUNS, SIGMA, N = 256, 24, 0.5, 24
STRONG = 5  # more than the signal at the edge of the phantom's k-space


def need_h5py():
    if h5py is None:
        raise Skip("no h5py")


def dataset(path, name):
    with h5py.File(path) as file:
        return file[name][...]


def sigma_of(path):
    with open(path, encoding="ascii") as file:
        return json.load(file)["reconstruction"]["noise_sigma"]


def noise_map(path, *options, sigma=SIGMA):
    """Returns (deviation for noise of `sigma`, g), each [z][y][x]. The report has the sigma that the map is for."""
    make(path, *options, "--noise-map", "map.h5", "--replicas", REPLICAS, "--report", "map.json", "-o", "with_map.h5")
    deviation, g = dataset("map.h5", "noise")[0], dataset("map.h5", "g_factor")[0]
    assert numpy.all(numpy.isfinite(deviation)) and numpy.all(numpy.isfinite(g))
    return deviation * sigma / sigma_of("map.json"), g


def agree(deviation, images, voxels, components=1.0):
    """Compares variances over images with those of the map. `components`: the share of the complex noise that the
    images show."""
    found = numpy.var(numpy.array(images), axis=0, ddof=1)[voxels] / components
    ratio = found / deviation[voxels] ** 2
    degrees = (len(images) - 1) * (1 if components == 1 else 0.5)  # the square of a real number varies twice as much
    spread = 1 / REPLICAS + 1 / degrees
    allowed = 5 * numpy.sqrt(spread / (ratio.size / 8))
    assert abs(ratio.mean() - 1) <= allowed, f"mean variance {ratio.mean():.3f} of the map's, allowed {allowed:.3f}"
    # The ratio's spread over voxels is that of chance. The spread itself is uncertain: by sqrt(2 / count) for squares
    # of nearly normal numbers, and by half as much again for the fourth moments of few degrees of freedom.
    seen, slack = numpy.mean((ratio - 1) ** 2) / spread, 5 * 1.5 * numpy.sqrt(2 / (ratio.size / 8))
    assert 1 / (1 + slack) <= seen <= 1 + slack, f"spread {seen:.3f} of chance's, allowed 1 +- {slack:.3f}"


def replicas(k, data, maps, options, seed, inside):
    """Compares the map of one scan with the images of RUNS scans, which are the frames of one file."""
    rng = numpy.random.default_rng(seed)
    scans = numpy.stack([data + noise_like(data, rng, SIGMA) for _ in range(RUNS)])
    write_scan("s.h5", k, scans[0], maps)
    deviation, _ = noise_map("s.h5", *options)
    write_scan("all.h5", k, scans, maps)
    make("all.h5", *options, "-o", "i.h5")
    images = dataset("i.h5", "image")
    assert len(images) == RUNS and numpy.array_equal(images[0], dataset("with_map.h5", "image")[0])  # the map changes no image
    rss = "rss" in options
    agree(deviation, numpy.abs(images) if rss else images, inside, 0.5 if rss else 1.0)


def test_replicas_of_methods(_):
    """Coils with given maps; radial and Cartesian; with and without a solver. The disc is far brighter than the
    noise, so the magnitude of rss shows one component of the noise, half of it."""
    need_h5py()
    inside = (disc() > 0)[None]
    maps, one = maps_of(4), numpy.ones((1, N, N))
    fixed = ("--lambda", 0.01, "--tolerance", 1e-6)  # with a looser tolerance, the rest varies with the data
    cases = [(radial(), maps, ("--method", "cg", *fixed)), (radial(), maps, ("--method", "gridding",)),
             (radial(), maps, ("--method", "adjoint",)), (cartesian(2), maps, ("--method", "cg", *fixed)),
             (cartesian(), maps, ("--coils", "rss", *fixed)),
             (radial(), one, ("--prior", "differences", "--lambda", 0.05, "--tolerance", 1e-6))]
    for seed, (k, coils, options) in enumerate(cases):
        try:
            replicas(k, forward(k, 5 * coils * disc()), coils if "rss" not in options else None, options, seed, inside)
        except AssertionError as error:
            raise AssertionError(f"{len(k)} samples, {options}: {error}") from None


def noisy_copy(source, target, rng):
    """An ISMRMRD file with noise added to every sample."""
    shutil.copy(source, target)
    with h5py.File(target, "r+") as file:
        rows = file["dataset/data"][...]
        for row in rows:
            samples = row["data"].view("c8") if row["data"].dtype == "f4" else row["data"]
            row["data"] = (samples + noise_like(samples, rng, STRONG)).astype("c8").view("f4")
        file["dataset/data"][...] = rows


def test_cropped_readouts(_):
    """Readout oversampling is cropped first. That leaves fewer samples, of weight 2. Sigma must still be that of an
    acquired sample, and the map must be right in the image's unit. The variance is the median of 15 % of the
    samples of three coils, divided by ln 2. Its relative standard deviation is 1 / (ln 2 sqrt(n)), with n = 0.15
    x 24^2 x 3 after the crop; that of sigma is half of it, 0.045."""
    need_h5py()
    subprocess.run([PHANTOM, "-q", "-o", "clean.mrd", "--matrix", f"{N},{N},1", "--trajectory", "cartesian", "--oversample", "2",
                    "--coils", "3"], check=True, stdin=subprocess.DEVNULL)
    for options in (("--lambda", 0.001, "--tolerance", 1e-6), ("--method", "adjoint")):
        for keep in ((), ("--keep-oversampling",)):
            rng = numpy.random.default_rng(5)
            images = []
            for run in range(RUNS):
                noisy_copy("clean.mrd", "s.mrd", rng)
                if run == 0:
                    make("s.mrd", "--save-coils", "maps.h5", "-o", "i.h5")
                    with_maps = (*options, *keep, "--coils", "maps.h5" if not keep else "file")
                    deviation, _ = noise_map("s.mrd", *with_maps, sigma=STRONG)
                    sigma = sigma_of("map.json")
                make("s.mrd", *with_maps, "-o", "i.h5")
                images.append(dataset("i.h5", "image")[0])
            magnitude = numpy.mean(numpy.abs(images), axis=0)
            agree(deviation, images, magnitude > 0.2 * magnitude.max())
            if options[0] == "--lambda":
                assert abs(sigma / STRONG - 1) < 5 * 0.045, (options, keep, sigma)


def test_full_cartesian(_):
    """One coil, complete k-space, no prior: the image is an inverse transform. Its noise is sigma / sqrt(N)
    everywhere, and g = 1. The variance of a voxel is a mean of REPLICAS exponential numbers; the mean over voxels
    is one of N times as many."""
    need_h5py()
    data = forward(cartesian(), 5 * disc()[None])
    write_scan("s.h5", cartesian(), data + noise_like(data, numpy.random.default_rng(1), SIGMA), numpy.ones((1, N, N)))
    deviation, g = noise_map("s.h5", "--lambda", 0, "--tolerance", 1e-6)
    for found in ((deviation / (SIGMA / N)) ** 2, g ** 2):
        assert abs(found.mean() - 1) <= 5 / numpy.sqrt(REPLICAS * N * N), found.mean()
        assert numpy.all(numpy.abs(found - 1) <= 6 / numpy.sqrt(REPLICAS)), (found.min(), found.max())  # heavier tail than normal


def test_g_of_two_coils(_):
    """Every other line and two coils: voxel r folds with r + N/2, and g = sqrt([(S^H S)^-1]_rr [S^H S]_rr), where S
    are the maps at both (Pruessmann et al., Magn. Reson. Med. 42 (1999) 952)."""
    need_h5py()
    maps, half = maps_of(2), N // 2
    # Coils at the left and right cannot separate two voxels above one another, so the coils are above and below.
    maps = numpy.transpose(maps, (0, 2, 1))
    pairs = numpy.stack([maps, numpy.roll(maps, half, axis=1)])  # [two voxels][coil][y][x]
    gram = numpy.einsum("icyx,jcyx->yxij", pairs.conj(), pairs)
    expected = numpy.sqrt((numpy.linalg.inv(gram)[..., 0, 0] * gram[..., 0, 0]).real)
    assert expected.max() > 1.5 > 1.2 > expected.min()  # g varies
    k = cartesian(2)
    data = forward(k, 5 * maps * disc())
    write_scan("s.h5", k, data + noise_like(data, numpy.random.default_rng(2), SIGMA), maps)
    deviation, g = noise_map("s.h5", "--lambda", 0, "--tolerance", 1e-6, "--iterations", 500)
    best = SIGMA / numpy.sqrt(len(k) * numpy.sum(numpy.abs(maps) ** 2, axis=0))
    for ratio in ((g[0] / expected) ** 2, (deviation[0] / (expected * best)) ** 2):
        assert abs(ratio.mean() - 1) <= 5 / numpy.sqrt(REPLICAS * ratio.size / 2), ratio.mean()  # pairs are correlated
        assert numpy.all(numpy.abs(ratio - 1) <= 6.5 / numpy.sqrt(REPLICAS)), (ratio.min(), ratio.max())
    seen = numpy.corrcoef(g[0].ravel(), expected.ravel())[0, 1]
    signal, chance = numpy.var(expected), numpy.mean(expected ** 2) / (4 * REPLICAS)
    assert seen >= numpy.sqrt(signal / (signal + 2 * chance)), (seen, signal, chance)


def small_scan(path="s.h5"):
    data = forward(radial(), 5 * maps_of(2) * disc())
    write_scan(path, radial(), data + noise_like(data, numpy.random.default_rng(3), SIGMA), maps_of(2))


def test_forms(_):
    """The same numbers in every format, and the same bits in a second run. Half of the file is deviations, half g."""
    need_h5py()
    small_scan()
    fixed = ("s.h5", "--lambda", 0.01, "--replicas", 8)
    for name in ("a.h5", "b.h5", "c.nii", "d.nii.gz", "e.cfl"):
        done = make(*fixed, "--noise-map", name, "-o", "image.h5")
        assert name in done.out and "8 replicas" in done.out, done.out
    both = [dataset("a.h5", name)[0, 0] for name in ("noise", "g_factor")]
    for name, first in zip(("noise", "g_factor"), both):
        assert numpy.array_equal(dataset("b.h5", name)[0, 0], first) and numpy.all(first > 0)
    raw = numpy.fromfile("e.cfl", "<c8").reshape(2, N, N)
    with open("e.hdr", encoding="ascii") as file:
        sizes = [int(word) for word in file.read().splitlines()[1].split()]
    assert sizes[:2] == [N, N] and numpy.prod(sizes) == 2 * N * N, sizes
    nifti = []
    for name in ("c.nii", "d.nii.gz"):
        with (gzip.open(name) if name.endswith("gz") else open(name, "rb")) as file:
            content = file.read()
        shape, offset = numpy.frombuffer(content, "<i2", 8, 40), int(numpy.frombuffer(content, "<f4", 1, 108)[0])
        assert list(shape[1:5]) == [N, N, 1, 2], shape
        nifti.append(numpy.frombuffer(content, "<f4", 2 * N * N, offset).reshape(2, N, N))
    assert numpy.array_equal(nifti[0], nifti[1])
    for values in (raw.real, nifti[0]):  # axes may be turned, but the same way in both volumes
        for volume, expected in zip(values, both):
            turned = [f(t) for t in (volume, volume.T) for f in (lambda v: v, lambda v: v[::-1], lambda v: v[:, ::-1],
                                                                 lambda v: v[::-1, ::-1])]
            assert any(numpy.allclose(one, expected, rtol=1e-6) for one in turned)


def test_refused(_):
    """Rejected before any work: no file appears."""
    need_h5py()
    small_scan()
    refuse(2, ["--replicas", "--noise-map"], "s.h5", "--replicas", 8)
    refuse(2, ["--replicas", "2"], "s.h5", "--noise-map", "n.h5", "--replicas", 1)
    for bad in ("x", "nan", "-3", "2.5", ""):
        refuse(2, "--replicas", "s.h5", "--noise-map", "n.h5", "--replicas", bad)
    for name in ("n.png", "n", "n.txt"):
        done = refuse(2, f"{name}: unknown file extension", "s.h5", "--noise-map", name, "-o", "image.h5")
        assert done.out == "", (name, done.out)
    refuse(2, "same", "s.h5", "--noise-map", "image.h5", "-o", "image.h5")
    refuse(4, "nowhere", "s.h5", "--noise-map", "nowhere/n.h5", "-o", "image.h5")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        probe = os.path.join(folder, "probe.h5")
        subprocess.run([PHANTOM, "-q", "-o", probe, "--matrix", "8,8,1"], check=True, stdin=subprocess.DEVNULL)
        program.main(globals(), probe=(probe, "--dry-run"))
