"""Coil maps without calibration by mri_recon (--coils nlinv) against BART's nlinv, both from the same lines of
BART's phantom with noise. mri_recon makes the image from both maps, so only these differ.

usage: test_bart_nlinv.py PROGRAM [DEVICE] [test_name ...]
"""
import subprocess

import mri_peers
import numpy as np
from mri_peers import recon

SIZE, COILS = 64, 8


def bart(*words):
    subprocess.run(["bart", *map(str, words)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def read_cfl(name):
    """Reads [coil][y][x]; an image has one coil."""
    return np.fromfile(f"{name}.cfl", np.complex64).reshape(-1, SIZE, SIZE)


def write_cfl(name, array):
    with open(f"{name}.hdr", "w", encoding="ascii") as file:
        file.write(f"# Dimensions\n{SIZE} {SIZE} 1 {len(array)}\n")
    array.astype(np.complex64).tofile(f"{name}.cfl")


def normalised(maps):
    return maps / np.maximum(np.sqrt((abs(maps) ** 2).sum(0)), 1e-9)


def error_with(maps, truth):
    """The image's relative error, after the best factor."""
    recon("k.cfl", "--coils", maps, "-o", "i.cfl", "-q")
    image = abs(read_cfl("i")[0])
    assert np.all(np.isfinite(image))
    factor = (image * truth).sum() / (image ** 2).sum()
    return np.linalg.norm(factor * image - truth) / np.linalg.norm(truth)


def compare(every, lines):
    """Errors with true maps, with BART's and with ours."""
    random = np.random.default_rng(1)
    bart("phantom", "-s", COILS, "-k", "-x", SIZE, "full")
    bart("phantom", "-S", COILS, "-x", SIZE, "s")
    data, maps = read_cfl("full"), read_cfl("s")
    image = np.sqrt((abs(np.fft.fftshift(np.fft.ifft2(np.fft.ifftshift(data, axes=(1, 2)), norm="ortho"), axes=(1, 2))) ** 2).sum(0))
    sigma = 0.01 * image.max()
    data = data + sigma / 2 ** 0.5 * (random.standard_normal(data.shape) + 1j * random.standard_normal(data.shape))
    mask = np.zeros((SIZE, 1))
    mask[SIZE // 2 % every::every] = 1
    mask[SIZE // 2 - lines // 2:SIZE // 2 + lines // 2] = 1
    write_cfl("k", data * mask)
    write_cfl("true", normalised(maps))
    bart("nlinv", "-i", 10, "k", "image", "theirs")
    write_cfl("bart", normalised(read_cfl("theirs")))
    errors = {name: error_with(how, image) for name, how in (("true", "true.cfl"), ("bart", "bart.cfl"), ("ours", "nlinv"))}
    print(f"    every line of {every}, {lines} in the middle: image off by", {name: f"{e:.4f}" for name, e in errors.items()})
    return errors


def test_few_lines(_):
    """Too few lines in the middle for ESPIRiT."""
    for every in 2, 3:
        errors = compare(every, 6)
        assert errors["ours"] <= errors["bart"], errors


def test_no_lines(_):
    """No calibration lines: BART starts with rho = 1 and ends with a folded image."""
    for every in 2, 3:
        errors = compare(every, 0)
        assert errors["ours"] <= errors["bart"], errors


mri_peers.main(globals(), ["bart"])
