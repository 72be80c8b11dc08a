#!/usr/bin/env python3
"""mri_recon against ismrmrd-tools: files of ismrmrd_generate_cartesian_shepp_logan, reconstructed by
ismrmrd_recon_cartesian_2d and compared with the phantom and the coil maps in the file.

    test_ismrmrd_tools.py MRI_RECON [cpu|cuda] [test_name ...]

The phantom has values up to 1. The generator's data are the orthonormal transform of maps times phantom, with
noise of standard deviation -n in real and imaginary part, on a readout oversampled twice.
"""
import shutil

import mri_peers
from mri_peers import bounded, call, h5py, image, np, nrmse, recon, write_scan

GENERATOR, PEER = "ismrmrd_generate_cartesian_shepp_logan", "ismrmrd_recon_cartesian_2d"


def complex_of(dataset):
    array = dataset[...]
    return array["real"] + 1j * array["imag"]


class Sample:
    """A file of the generator: its phantom [y][x] and maps [coil][y][x], and the peer's image of a copy."""

    def __init__(self, *options, name="scan.h5", size=64, coils=4):
        self.file = name
        call(GENERATOR, "-m", size, "-c", coils, *options, "-o", name)
        with h5py.File(name, "r") as file:
            self.phantom = complex_of(file["dataset/phantom"])[0]
            self.maps = complex_of(file["dataset/csm"])[0]
        self.rss = np.sqrt((abs(self.maps) ** 2).sum(axis=0))

    def peer(self):
        copy = "peer-" + self.file
        shutil.copy(self.file, copy)
        call(PEER, copy)
        with h5py.File(copy, "r") as file:
            return file["dataset/cpp/data"][...][0, 0, 0]


def one_slice(array, size=64):
    assert array.shape[1:] == (1, size, size), array.shape
    return array[:, 0]


# Fully sampled: both programs compute the same Fourier transform; mri_recon to its tolerance of about 1e-6.
SAME = 1e-5


def test_root_of_squares(_):
    """The peer's image, pixel by pixel: order and direction of the axes, the centre, the crop of the oversampling."""
    for size, coils in ((64, 4), (48, 1), (128, 8)):
        sample = Sample(name=f"scan-{size}.h5", size=size, coils=coils)
        ours = one_slice(image(sample.file, "--method", "adjoint", "--coils", "rss"), size)[0]
        peer = sample.peer()
        bounded(f"{size}^2, {coils} coils: root of squares against the peer", nrmse(abs(ours), peer), SAME)
        for name, other in (("swapped", peer.T), ("flipped along x", peer[:, ::-1]), ("flipped along y", peer[::-1])):
            assert nrmse(abs(ours), other) > 0.02, name


def test_stored_trajectory(_):
    """-k stores k/N in [-1/2, 1/2). The units are recognised, and the image equals that of the Cartesian file."""
    sample = Sample("-k", "-n", 0.02)
    text = recon(sample.file, "--dry-run")
    assert "cycles per voxel" in text, text
    ours = one_slice(image(sample.file, "--method", "adjoint", "--coils", "rss"))[0]
    bounded("with -k: root of squares against the peer", nrmse(abs(ours), sample.peer()), SAME)


def test_noise_calibration(_):
    """-C puts a noise measurement first. The peer omits it from the image, and does not whiten with it. The
    generator's noise is white, so whitening changes the image only by the error of a covariance from 128 samples:
    measured 0.025."""
    sample = Sample("-C", "-n", 0.05)
    ours = one_slice(image(sample.file, "--method", "adjoint", "--coils", "rss"))[0]
    bounded("with -C: root of squares against the peer", nrmse(abs(ours), sample.peer()), 0.05)


def test_repetitions(_):
    """One frame each. In a fully sampled file each frame is the phantom with its own noise."""
    sample = Sample("-r", 3, "-n", 0.01)
    ours = one_slice(image(sample.file, "--method", "adjoint", "--coils", "rss"))
    assert len(ours) == 3
    for frame in ours:
        bounded("repetition against the phantom", nrmse(abs(frame), abs(sample.phantom) * sample.rss), 0.08)
    assert nrmse(ours[0], ours[1]) > 0.01  # other noise


def test_estimated_maps(_):
    """Maps from the centre of k-space: their squares add up to 1, so the image is the phantom times the root of the
    true maps' squares. Fully sampled, noise of 0.005 leaves 0.010 to 0.012 (measured; the root of squares, which
    adds up the noise of empty pixels, 0.029)."""
    for size in (64, 128):
        sample = Sample("-n", 0.005, size=size, coils=8, name=f"scan-{size}.h5")
        ours = one_slice(image(sample.file, "--coils", "walsh"), size)[0]
        bounded(f"{size}^2, maps estimated: against the phantom", nrmse(abs(ours), abs(sample.phantom) * sample.rss), 0.015)


def test_calibration_lines(_):
    """Every second line and 24 in the middle, maps from these. Without the maps the folded image would be off by
    more than 0.2."""
    sample = Sample("-a", 2, "-w", 24, "-n", 0.005, coils=8)
    truth = abs(sample.phantom) * sample.rss
    ours = one_slice(image(sample.file, "--coils", "walsh"))
    assert len(ours) == 2  # the generator adds the other lines as a second repetition
    for frame in ours:
        bounded("twofold acceleration, maps estimated: against the phantom", nrmse(abs(frame), truth), 0.1)
    for frame in one_slice(image(sample.file, "--method", "adjoint", "--coils", "rss")):
        assert nrmse(abs(frame), truth) > 0.2


def test_maps_of_the_file(_):
    """Every second line, and the maps in the file: the phantom itself. The penalty is relative to the largest squares
    of the maps, which are next to the coils, so 1e-6 is used. The unfolding amplifies the noise of 0.005 (measured
    0.027)."""
    sample = Sample("-a", 2, "-n", 0.005, coils=8)
    for frame in one_slice(image(sample.file, "--lambda", 1e-6)):
        bounded("twofold acceleration, maps of the file: against the phantom", nrmse(frame, sample.phantom), 0.035)


def test_true_maps(_):
    """Every second line, no noise, and the exact maps of the data, in the plain layout: the phantom itself. With
    lambda 1e-6 the penalty changes the image by 1e-6 times the condition number of the unfolding, some tens. The
    iterations stop at 1e-6."""
    sample = Sample("-a", 2, "-n", 0, coils=8)
    with h5py.File(sample.file, "r") as file:
        lines = [line for line in file["dataset/data"][...] if line["head"]["idx"]["repetition"] == 0]
    x, y = 128, 64
    data = np.stack([line["data"].view(np.complex64).reshape(8, x) for line in lines], axis=1)
    ky = np.array([int(line["head"]["idx"]["kspace_encode_step_1"]) for line in lines]) - y // 2
    assert len(ky) == 32
    k = np.stack(np.broadcast_arrays(np.arange(x)[None, :] - x // 2, ky[:, None], 0), axis=-1).reshape(-1, 3)
    wide = np.zeros((8, 1, y, x), np.complex64)
    wide[:, 0, :, x // 4:3 * x // 4] = sample.maps
    write_scan("plain.h5", (x, y, 1), k, data.reshape(8, -1), wide, fov=(600, 300, 6))
    ours = image("plain.h5", "--lambda", 1e-6, "--iterations", 200, "--tolerance", 1e-6)[0, 0, :, x // 4:3 * x // 4]
    bounded("true maps: against the phantom", nrmse(ours, sample.phantom), 1e-3)


if __name__ == "__main__":
    mri_peers.main(globals(), [GENERATOR, PEER])
