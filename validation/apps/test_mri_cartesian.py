#!/usr/bin/env python3
"""mri_recon on Cartesian scans from end to end: by FFT, with readout oversampling cropped, and the cases where
neither applies.

usage: test_mri_cartesian.py PROGRAM [DEVICE] [test_name ...]     VOXFIELD_PHANTOM names mri_phantom
"""
import json
import os
import tempfile

import program
from made_scan import h5py, image, need_h5py, numpy, phantom, relative
from program import Skip, make, refuse

# Each solution has a residual of 1e-6 at lambda 0.05, so it is within 10 / 0.05 times that
# (validation/physics/test_recon_algebra.c).
EXACT = ("--lambda", 0.05, "--tolerance", 1e-6, "--iterations", 500)
NEAR = 2 * 10 / 0.05 * 1e-6


def encoding(path):
    with open(path) as file:
        return json.load(file)["reconstruction"]["encoding"]


def test_same_image_as_the_nufft(_):
    """Oversampled readouts, two thirds of the lines, correlated noise: the FFT of half the matrix makes the same
    image as the NUFFT of the whole."""
    need_h5py()
    for matrix in ("64,48,1", "44,34,1", "24,20,12"):
        phantom("s.mrd", "--matrix", matrix, "--trajectory", "cartesian", "--oversample", 2, "--coils", 3, "--accelerate", 2,
                "--snr", 30, "--noise-scan")
        by = {}
        for operator in ("auto", "cartesian", "nufft", "direct"):
            out = make("s.mrd", "--coils", "rss", "--operator", operator, *EXACT, "-o", f"{operator}.h5", "--report",
                       "r.json").out
            by[operator] = image(f"{operator}.h5")
            on_grid = operator in ("auto", "cartesian")
            assert ("readouts along x cropped" in out) == on_grid, out
            assert (encoding("r.json") == "FFT of the grid") == on_grid, encoding("r.json")
        assert (by["auto"] == by["cartesian"]).all()
        for other in ("nufft", "direct"):
            assert relative(by["auto"], by[other]) <= NEAR, (matrix, other, relative(by["auto"], by[other]))


def test_keeps_oversampling(_):
    """Without cropping, the same voxels in the middle."""
    need_h5py()
    phantom("k.mrd", "--matrix", "48,40,1", "--trajectory", "cartesian", "--oversample", 2, "--coils", 2)
    make("k.mrd", "--coils", "rss", *EXACT, "-o", "cropped.h5")
    out = make("k.mrd", "--coils", "rss", *EXACT, "-o", "whole.h5", "--keep-oversampling").out
    assert "cropped from" not in out and "96 x 40 x 1" in out, out
    whole, cropped = image("whole.h5"), image("cropped.h5")
    assert whole.shape[-1] == 96 and cropped.shape[-1] == 48, (whole.shape, cropped.shape)
    assert relative(cropped, whole[..., 24:72]) <= NEAR


def test_odd_crops(_):
    """45 of 96 and 33 of 40 voxels: voxel N/2 is the centre of both the odd and the even number. Readouts are cropped before
    the reconstruction or, for a NUFFT, its image after it, with the same bits."""
    need_h5py()
    phantom("k.mrd", "--matrix", "48,40,1", "--trajectory", "cartesian", "--oversample", 2, "--coils", 2)
    with h5py.File("k.mrd", "a") as file:
        before, after = file["dataset/xml"][0].decode().split("<reconSpace>")
        for old, new in (("<x>48<", "<x>45<"), ("<y>40<", "<y>33<"), ("<x>240<", "<x>225<"), ("<y>240<", "<y>198<")):
            assert old in after, after
            after = after.replace(old, new, 1)
        file["dataset/xml"][0] = before + "<reconSpace>" + after
    same = ("--coils", "rss", *EXACT, "--operator")
    make("k.mrd", *same, "nufft", "--keep-oversampling", "-o", "whole.h5")
    make("k.mrd", *same, "nufft", "-o", "after.h5")
    make("k.mrd", *same, "cartesian", "-o", "before.h5")
    middle = image("whole.h5")
    assert middle.shape == (1, 1, 40, 96), middle.shape
    middle = middle[..., 20 - 16:20 + 17, 48 - 22:48 + 23]
    assert (image("after.h5") == middle).all()
    assert relative(image("before.h5"), middle) <= NEAR


def test_devices_share_coils(_):
    """The coils of one image on two devices: the same up to rounding."""
    need_h5py()
    if program.DEVICE != "cpu":
        raise Skip("devices of the CPU")
    phantom("d.h5", "--matrix", "48,40,1", "--trajectory", "cartesian", "--coils", 4)
    for device in ("cpu:0", "cpu:0,1"):
        make("d.h5", "--coils", "file", *EXACT, "--device", device, "-o", f"{device}.h5")
    assert relative(image("cpu:0,1.h5"), image("cpu:0.h5")) <= NEAR


def test_refused(_):
    """--operator cartesian on scans that are not Cartesian, or with options that need another operator."""
    phantom("radial.h5", "--matrix", "32,32,1", "--trajectory", "radial", "--spokes", 20)
    phantom("grid.h5", "--matrix", "32,32,1", "--trajectory", "cartesian")
    refuse(3, ["radial.h5", "--operator cartesian", "sample 32 of trajectory 0", "off the grid"], "radial.h5", "--operator",
           "cartesian")
    refuse(2, ["--accuracy cannot be combined", "it applies only to the NUFFT"], "grid.h5", "--operator", "cartesian", "--accuracy", 1e-3)
    refuse(2, ["--save-q cannot be combined with --operator cartesian"], "grid.h5", "--operator", "cartesian", "--save-q", "q.h5")
    done = make("grid.h5", "--save-q", "q.h5", "-o", "q_image.h5")
    assert "needs no Q" in done.out, done.out


def ellipse(n):
    """An object of n x n voxels with a smooth phase, and the maps of eight coils."""
    y, x = numpy.mgrid[-(n // 2):n - n // 2, -(n // 2):n - n // 2] / n
    shape = ((x / 0.4) ** 2 + (y / 0.43) ** 2 < 1) + 0.7 * (((x - 0.1) / 0.1) ** 2 + ((y + 0.1) / 0.15) ** 2 < 1)
    angles = 2 * numpy.pi * numpy.arange(8) / 8
    maps = numpy.array([numpy.exp(-((x - 0.5 * numpy.cos(a)) ** 2 + (y - 0.5 * numpy.sin(a)) ** 2) / 0.3 + 1j * a)
                        for a in angles])
    return shape * numpy.exp(1j * (1.2 * x + 5 * y ** 2)), maps


def write_scan(path, data, lines, maps):
    """Writes k-space [coil][y][x], with only the given lines, as a plain scan."""
    coils, n, _ = data.shape
    ky, kx = numpy.meshgrid(lines, numpy.arange(n) - n // 2, indexing="ij")
    with h5py.File(path, "w") as file:
        scan = file.create_group("scan")
        scan.attrs["matrix"], scan.attrs["fov_mm"] = [n, n, 1], [240.0, 240.0, 5.0]
        scan["trajectory"] = numpy.stack([kx, ky, 0 * kx], -1).reshape(-1, 3).astype("f4")
        scan["data"] = data[:, numpy.asarray(lines) + n // 2].reshape(coils, -1).astype("c8")
        scan["sensitivity"] = maps[:, None].astype("c8")


def test_partial_fourier(_):
    """Five eighths of the lines, one side missing, eight coils with given maps. Smooth maps reach a few lines into
    the missing side. The image is nearer to the truth than zero filling, and at no voxel farther from it than the
    worst voxel of zero filling."""
    need_h5py()
    n = 96
    truth, maps = ellipse(n)
    k_space = numpy.fft.fftshift(numpy.fft.fft2(numpy.fft.ifftshift(maps * truth, axes=(1, 2))), axes=(1, 2))
    write_scan("p.h5", k_space, range(-n // 8, n // 2), maps)
    make("p.h5", "--coils", "file", "--lambda", 1e-4, "--tolerance", 1e-5, "--iterations", 300, "-o", "sense.h5")
    filled = k_space.copy()
    filled[:, :n // 2 - n // 8] = 0
    coils = numpy.fft.fftshift(numpy.fft.ifft2(numpy.fft.ifftshift(filled, axes=(1, 2))), axes=(1, 2))
    zero_filled = (maps.conj() * coils).sum(0) / (abs(maps) ** 2).sum(0)
    sense = relative(image("sense.h5")[0, 0], truth)
    print(f"    error: {100 * sense:.2f} %, zero filling {100 * relative(zero_filled, truth):.2f} %")
    assert sense < relative(zero_filled, truth)
    assert abs(image("sense.h5")[0, 0] - truth).max() < 1.1 * abs(zero_filled - truth).max()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        scan = phantom(os.path.join(folder, "probe.h5"), "--matrix", "8,8,1")
        program.main(globals(), probe=(scan, "--dry-run"))
