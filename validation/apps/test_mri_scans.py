#!/usr/bin/env python3
"""Realistic scans of mri_phantom, and their images by mri_recon: the head, noise for a given image SNR,
undersampling, the truth in ISMRMRD files, noise samples in plain files.

    test_mri_scans.py MRI_PHANTOM MRI_RECON [test_name ...]

Needs numpy and h5py. Exit status 0, 1 if a test failed, 77 if none could run.
"""
import json
import os
import subprocess
import sys

import program

if len(sys.argv) < 3:
    sys.exit(__doc__)
try:
    import h5py
    import numpy as np
except ImportError as missing:
    print(f"SKIP: {missing}")
    sys.exit(77)
PHANTOM, RECON = map(os.path.abspath, sys.argv[1:3])
CALIBRATION, BOTH, NOISE = 1 << 19, 1 << 20, 1 << 18  # flags 20, 21, 19 of ISMRMRD


def run(program, *arguments):
    return subprocess.run([program, *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600)


def make(*arguments):
    done = run(PHANTOM, "-q", *arguments)
    assert done.returncode == 0 and not done.stderr, f"{arguments}: exit {done.returncode}: {done.stderr}"


def refuse(program, status, words, *arguments):
    done = run(program, *arguments)
    assert done.returncode == status and words in done.stderr and done.stderr.count("error:") == 1, \
        f"{arguments}: exit {done.returncode}: {done.stderr!r}, expected '{words}'"


def reconstruct(path, *options):
    """Returns the report of a reconstruction, and its image."""
    done = run(RECON, path, "-o", "image.h5", "--report", "report.json", "--device", "cpu", "-q", *options)
    assert done.returncode == 0, f"{path}: exit {done.returncode}: {done.stderr}"
    with open("report.json", encoding="utf-8") as file, h5py.File("image.h5") as image:
        return json.load(file), image["image"][...]


def plain(path, name):
    with h5py.File(path) as file:
        return file["scan"][name][...]


def heads(path):
    """Line, partition, flags, samples and center_sample of each acquisition."""
    with h5py.File(path) as file:
        return [(int(r["idx"]["kspace_encode_step_1"]), int(r["idx"]["kspace_encode_step_2"]), int(r["flags"]),
                 int(r["number_of_samples"]), int(r["center_sample"])) for r in file["dataset/data"]["head"]]


def header(path):
    with h5py.File(path) as file:
        return file["dataset/xml"][0].decode()


def combine(images, maps, inverse):
    """Coil images, combined for the least noise."""
    weights = np.einsum("cyx,cd->dyx", maps.conj(), inverse)
    return np.einsum("dyx,dyx->yx", weights, images) / np.einsum("dyx,dyx->yx", weights, maps).real


# ---- noise ----

def test_image_snr():
    """The definition of image SNR: in a fully sampled scan with optimal combination, the signal over the standard
    deviation of the noise in the real part. About n = 1000 voxels in the object give a standard deviation to 1 /
    sqrt(2 n), 2.2 %; 5 % are allowed."""
    n = 48
    options = ("--matrix", f"{n},{n},1", "--trajectory", "cartesian", "--coils", 4, "--phantom", "head")
    for correlation in (0, 0.6):
        noise = ("--image-snr", 20, "--noise-correlation", correlation)
        make(*options, "-o", "clean.h5")
        make(*options, *noise, "-o", "noisy.h5")
        difference = (plain("noisy.h5", "data") - plain("clean.h5", "data")).reshape(4, n, n)
        images = np.fft.fftshift(np.fft.ifft2(np.fft.ifftshift(difference, axes=(1, 2))), axes=(1, 2))
        maps, truth = plain("clean.h5", "sensitivity")[:, 0], plain("clean.h5", "truth")[0]
        inverse = np.linalg.inv((1 - correlation) * np.eye(4) + correlation)
        noise_image = combine(images, maps, inverse)
        inside = truth > 0.1 * truth.max()
        # One standard deviation for each voxel: known from the maps, times one number that the noise gives.
        shape = 1 / np.sqrt(np.einsum("cyx,cd,dyx->yx", maps.conj(), inverse, maps).real)
        size = np.sqrt(np.mean((noise_image.real / shape)[inside] ** 2))
        snr = np.mean(truth[inside] / (size * shape[inside]))
        assert abs(snr / 20 - 1) < 0.05, (correlation, snr)
    # The SNR depends on the object, not on the sampling.
    make(*options, "--image-snr", 20, "--accelerate", 3, "--calibration-lines", 8, "-o", "less.h5")
    make(*options, "--image-snr", 20, "-o", "all.h5")
    sigma = [h5py.File(f"{name}.h5")["scan"].attrs["noise_sigma"] for name in ("less", "all")]
    assert sigma[0] == sigma[1], sigma
    refuse(PHANTOM, 2, "--image-snr cannot be combined with --noise", "-o", "x.h5", "--noise", 1, "--image-snr", 20)
    refuse(PHANTOM, 2, "--image-snr cannot be combined with --snr", "-o", "x.h5", "--snr", 1, "--image-snr", 20)
    refuse(PHANTOM, 2, "--image-snr '0'", "-o", "x.h5", "--image-snr", 0)


def test_plain_noise():
    """Noise samples of a plain scan act like those of an ISMRMRD scan: the same image, up to rounding of float data."""
    options = ("--matrix", "32,32,1", "--trajectory", "cartesian", "--coils", 3, "--image-snr", 10, "--noise-correlation", 0.7,
               "--noise-scan")
    make(*options, "-o", "a.h5")
    make(*options, "-o", "a.mrd")
    noise = plain("a.h5", "noise")
    covariance = noise @ noise.conj().T / noise.shape[1]
    expected = h5py.File("a.h5")["scan"].attrs["noise_sigma"] ** 2 * (0.7 + 0.3 * np.eye(3))
    # The standard error of a covariance is its variance over sqrt(samples); five times that is allowed.
    assert np.all(abs(covariance - expected) < 5 / np.sqrt(noise.shape[1]) * expected[0, 0]), covariance
    for coils in ("file", "rss"):
        image = [reconstruct(f"a.{kind}", "--coils", coils)[1] for kind in ("h5", "mrd")]
        assert np.abs(image[0] - image[1]).max() < 1e-4 * np.abs(image[1]).max(), coils
    with h5py.File("a.h5", "r+") as file:
        del file["scan/noise"]
    without = reconstruct("a.h5", "--coils", "rss")[1]
    assert np.abs(without - image[1]).max() > 0.1 * np.abs(image[1]).max()  # whitening makes a difference
    # Mixing the coils by any matrix, data and noise alike, gives the same image, because after whitening only a
    # rotation remains. But whitening shrinks the part of the covariance that may be chance, and that part changes with
    # the mixing, up to its standard error.
    rng = np.random.default_rng(1)
    mix = rng.normal(size=(3, 3)) + 1j * rng.normal(size=(3, 3))
    images = []
    for matrix in (np.eye(3), mix):
        with h5py.File("a.h5", "r+") as file:
            data = file["scan/data"][...]
            file["scan/data"][...] = matrix @ data
            file["scan"].pop("noise", None)
            file["scan"]["noise"] = (matrix @ noise).astype("complex64")
        images.append(np.abs(reconstruct("a.h5", "--coils", "rss", "--tolerance", 1e-6)[1]))
    assert np.abs(images[0] - images[1]).max() < images[0].max() / np.sqrt(noise.shape[1])
    for shape, words in (((2, 100), "as many coils as data"), ((3, 5), "two noise samples per coil"),
                         ((300,), "[coil][sample]"), ((3, 0), "at least one element")):
        with h5py.File("a.h5", "r+") as file:
            file["scan"].pop("noise", None)
            file["scan"]["noise"] = np.ones(shape, "complex64")
        refuse(RECON, 3, words, "a.h5", "-o", "image.h5", "--device", "cpu")
    with h5py.File("a.h5", "r+") as file:
        del file["scan/noise"]
        file["scan"]["noise"] = np.full((3, 100), np.nan, "complex64")
    refuse(RECON, 3, "/scan/noise[0, 0] is nan", "a.h5", "-o", "image.h5", "--device", "cpu")


# ---- undersampling ----

def test_regular():
    make("--matrix", "64,96,1", "--trajectory", "cartesian", "--accelerate", 4, "--coils", 2, "-o", "a.mrd")
    seen = heads("a.mrd")
    lines = {line: flags & (CALIBRATION | BOTH) for line, _, flags, _, _ in seen}
    assert sorted(lines) == [y for y in range(96) if y % 4 == 0 or 36 <= y < 60], sorted(lines)
    for line, flags in lines.items():
        expected = 0 if not 36 <= line < 60 else BOTH if line % 4 == 0 else CALIBRATION
        assert flags == expected, (line, flags)
    assert "<kspace_encoding_step_1>4</kspace_encoding_step_1><kspace_encoding_step_2>1<" in header("a.mrd")
    assert "<calibrationMode>embedded<" in header("a.mrd")
    make("--matrix", "16,32,32", "--trajectory", "cartesian", "--accelerate", "2,3", "--calibration-lines", 6, "-o", "b.mrd")
    places = {(line, partition) for line, partition, _, _, _ in heads("b.mrd")}
    assert places == {(y, z) for y in range(32) for z in range(32)
                      if (y % 2 == 0 and (z - 16) % 3 == 0) or (13 <= y < 19 and 13 <= z < 19)}
    make("--matrix", "64,64,1", "--trajectory", "cartesian", "-o", "c.mrd")
    assert "parallelImaging" not in header("c.mrd")
    assert not any(flags & (CALIBRATION | BOTH) for _, _, flags, _, _ in heads("c.mrd"))


def test_poisson():
    common = ("--trajectory", "cartesian", "--poisson", 6, "--calibration-lines", 8)
    make("--matrix", "8,64,64", *common, "-o", "a.mrd")
    make("--matrix", "8,64,64", *common, "-o", "b.mrd")
    make("--matrix", "8,64,64", *common, "--seed", 2, "-o", "c.mrd")
    seen = heads("a.mrd")
    assert seen == heads("b.mrd") != heads("c.mrd")
    places = np.array([(y, z) for y, z, _, _, _ in seen])
    middle = np.all((places >= 28) & (places < 36), axis=1)
    assert middle.sum() == 64 and all(bool(flags & BOTH) == inside for (_, _, flags, _, _), inside in zip(seen, middle))
    assert not any(flags & CALIBRATION for _, _, flags, _, _ in seen)
    assert abs(len(places) / (64 * 64 / 6) - 1) < 0.02, len(places)
    # No two lines are neighbours except in the middle, where lines are denser: at three times the distance, a ninth of
    # the density.
    outside = places[~middle]
    distance = np.linalg.norm(outside[:, None] - outside[None], axis=2) + 1e9 * np.eye(len(outside))
    assert distance.min() > 1.4, distance.min()
    radius = np.linalg.norm(outside - 32, axis=1)
    inner, outer = ((radius > a) & (radius < b) for a, b in ((6, 16), (24, 32)))
    density = [np.sum(ring) / (b * b - a * a) for ring, a, b in ((inner, 6, 16), (outer, 24, 32))]
    assert 1.5 * density[1] < density[0] < 9 * density[1], density
    make("--matrix", "64,64,1", *common, "-o", "d.h5")  # in 2D: single samples
    k = plain("d.h5", "trajectory")
    assert abs(len(k) / (64 * 64 / 6) - 1) < 0.02 and len({tuple(row) for row in k}) == len(k) and np.all(k == np.round(k))
    assert {(x, y) for x in range(-4, 4) for y in range(-4, 4)} <= {(int(x), int(y)) for x, y, _ in k}
    refuse(PHANTOM, 2, "single samples", "-o", "e.mrd", "--matrix", "64,64,1", *common)
    refuse(PHANTOM, 2, "the middle alone has 576", "-o", "e.h5", "--matrix", "8,64,64",
           "--trajectory", "cartesian", "--poisson", 9)


def test_partial():
    options = ("--matrix", "32,64,1", "--trajectory", "cartesian", "--oversample", 2, "--partial-fourier", 0.75,
               "--partial-echo", 0.75)
    make(*options, "-o", "a.h5")
    make(*options, "-o", "a.mrd")
    k = plain("a.h5", "trajectory").reshape(-1, 48, 3)
    assert sorted(k[:, 0, 1]) == list(range(-16, 32)) and np.array_equal(k[0, :, 0], np.arange(-8, 16, 0.5))
    assert {(samples, centre) for _, _, _, samples, centre in heads("a.mrd")} == {(48, 16)}
    assert "<kspace_encoding_step_1><minimum>16</minimum><maximum>63</maximum><center>32<" in header("a.mrd")
    with h5py.File("a.mrd") as file:
        stored = np.concatenate([r.view("complex64") for r in file["dataset/data"]["data"]])
    assert np.array_equal(stored, plain("a.h5", "data").ravel())
    make(*options[:4], "--oversample", 2, "-o", "all.h5")  # the same samples of a full scan
    full = plain("all.h5", "data").reshape(64, 64)
    assert np.array_equal(full[16:, 16:], plain("a.h5", "data").reshape(48, 48))
    assert np.array_equal(plain("a.h5", "time")[:48], plain("all.h5", "time")[:48])
    for words, bad in (("--partial-fourier '0.5'", ("--trajectory", "cartesian", "--partial-fourier", 0.5)),
                       ("--partial-echo", ("--partial-echo", 0.7)), ("--partial-fourier", ("--partial-fourier", 0.7)),
                       ("--poisson", ("--poisson", 4)), ("--calibration-lines needs", ("--trajectory", "cartesian",
                                                                                      "--calibration-lines", 8)),
                       ("--poisson cannot be combined with --accelerate", ("--trajectory", "cartesian", "--accelerate", 2, "--poisson", 4)),
                       ("along z", ("--trajectory", "cartesian", "--accelerate", "2,2")),
                       ("--accelerate '2,0'", ("--trajectory", "cartesian", "--accelerate", "2,0")),
                       ("--fat-hz needs", ("--fat-hz", -440))):
        refuse(PHANTOM, 2, words, "-o", "x.h5", "--matrix", "32,32,1", *bad)


# ---- the truth ----

def test_truth_in_ismrmrd():
    """The same comparison as in the plain layout. With oversampling it is of the cropped image. For every frame."""
    for options in (("--matrix", "48,40,1", "--oversample", 2), ("--matrix", "16,16,8", "--frames", 2)):
        options = (*options, "--trajectory", "cartesian", "--coils", 3, "--phantom", "head")
        for name in ("a.h5", "a.mrd"):
            make(*options, "-o", name)
        truth = plain("a.h5", "truth")
        with h5py.File("a.mrd") as file:
            stored = file["dataset/phantom"][...]
        assert np.array_equal((stored["real"] + 1j * stored["imag"]).reshape(truth.shape), truth)
        errors = [reconstruct(name, "--compare", "truth")[0] for name in ("a.h5", "a.mrd")]
        assert ("error_of_volumes" in errors[1]) == ("--frames" in options)
        # Truncated Fourier series ring by some per cent, and both files hold the same k-space. An offset of one voxel
        # gives 30 % and more.
        percent = [e["error"]["percent"] for e in errors]
        assert 0 < percent[1] < 20 and abs(percent[0] - percent[1]) < 1, percent
        if "--frames" not in options:  # the same without axes before [y][x]
            with h5py.File("a.mrd", "r+") as file:
                del file["dataset/phantom"]
                file["dataset/phantom"] = stored.reshape(40, 48)
            assert reconstruct("a.mrd", "--compare", "truth")[0]["error"]["percent"] == percent[1]
    make("--matrix", "48,40,1", "--oversample", 2, "--trajectory", "cartesian", "-o", "b.mrd")
    refuse(RECON, 3, "no truth", "b.mrd", "--compare", "truth", "--keep-oversampling", "-o", "i.h5", "--device", "cpu")
    make("--matrix", "48,40,1", "--trajectory", "cartesian", "--without", "truth,sensitivity", "-o", "c.mrd")
    with h5py.File("c.mrd", "r+") as file:
        assert set(file["dataset"]) == {"xml", "data"}
        file["dataset/phantom"] = np.ones((3, 3), "complex64")
    done = run(RECON, "c.mrd", "-o", "i.h5", "--device", "cpu")
    assert done.returncode == 0 and "ignoring 'phantom'" in done.stdout + done.stderr, done


# ---- the head ----

def test_the_head_is_reconstructed():
    """Undersampled and noisy. A complete scan with this noise is off by 1 / 20 of the mean signal and by ringing at
    edges; a third of the spokes, by about twice that."""
    make("--phantom", "head", "--matrix", "96,96,1", "--coils", 8, "--spokes", 50, "--oversample", 2, "--image-snr", 20,
         "--noise-scan", "-o", "a.h5")
    data, maps = plain("a.h5", "data"), plain("a.h5", "sensitivity")[:, 0]
    assert np.isfinite(data).all() and data.shape[0] == 8
    report, image = reconstruct("a.h5", "--compare", "truth")
    assert 2 < report["error"]["percent"] < 25, report["error"]
    phase = np.angle(image[0, 0])[plain("a.h5", "truth")[0] > 0.5]
    assert 0.7 < phase.max() - phase.min(), (phase.min(), phase.max())
    # Coils can separate voxels a third of the field of view apart: g-factor (Pruessmann et al., 1999).
    inside, worst = plain("a.h5", "truth")[0] > 0.1, []
    for x in range(96):
        for y in range(32):
            rows = [row for row in (y, y + 32, y + 64) if inside[row, x]]
            gram = maps[:, rows, x].conj().T @ maps[:, rows, x]
            if rows:
                worst += list(np.sqrt(np.diag(np.linalg.inv(gram)).real * np.diag(gram).real))
    assert 1 <= np.mean(worst) < 2, np.mean(worst)


def test_fat():
    """Only fat turns, by exp(-i 2 pi f t), so the step from f to 2 f is the step from 0 to f, turned. Float data
    have a rounding of 6e-8 of the largest sample, a hundredth of the norm of the difference."""
    data = []
    for hertz in (0, -440, -880):
        make("--phantom", "head", "--matrix", "48,48,1", "--coils", 2, "--fat-hz", hertz, "-o", "a.h5")
        data.append(plain("a.h5", "data").astype(complex))
    first, second = data[1] - data[0], data[2] - data[1]
    expected = first * np.exp(2j * np.pi * 440 * plain("a.h5", "time").astype(float))
    assert np.linalg.norm(first) > 0.02 * np.linalg.norm(data[0])
    assert np.linalg.norm(second - expected) < 1e-4 * np.linalg.norm(expected)


program.main(globals())
