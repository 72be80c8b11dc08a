#!/usr/bin/env python3
"""Coil maps by vf_espirit against BART's ecalib, both from the same 24 x 24 samples of BART's phantom with noise.

    test_ecalib.py ESTIMATE_MAPS

One SENSE solver here makes the images from both, each at its best lambda of a sweep, so only the maps differ.
"""
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # its threads spin, and the vectors are short
import pathlib
import shutil
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("SKIP: no Python here has numpy")
    sys.exit(77)

SIZE, COILS, LINES = 96, 8, 24
AXES = (-2, -1)


def backward(k):
    return np.fft.fftshift(np.fft.ifft2(np.fft.ifftshift(k, axes=AXES), norm="ortho"), axes=AXES)


def bart(*words):
    subprocess.run(["bart", *map(str, words)], check=True, stdout=subprocess.DEVNULL)


def read_cfl(name):
    return np.fromfile(f"{name}.cfl", np.complex64).reshape(-1, SIZE, SIZE)


def write_cfl(name, array):
    pathlib.Path(f"{name}.hdr").write_text(f"# Dimensions\n{SIZE} {SIZE} 1 {len(array)}\n", encoding="ascii")
    array.astype(np.complex64).tofile(f"{name}.cfl")


def along_y(transform, x):
    return transform(x, axis=-2, norm="ortho")


def sense(data, mask, maps, penalty):
    """The mask depends on y alone. So the transforms along x cancel, and all arrays are shifted once: [coil][y][x], data after
    its inverse transform along x."""
    data, mask, maps = (np.fft.ifftshift(a, axes=AXES) for a in (data, mask, maps))
    data = np.fft.ifft(data, axis=-1, norm="ortho")

    def normal(x):
        return (maps.conj() * along_y(np.fft.ifft, mask * along_y(np.fft.fft, maps * x))).sum(0) + penalty * x
    right = (maps.conj() * along_y(np.fft.ifft, mask * data)).sum(0)
    x, r = np.zeros_like(right), right.copy()
    p, square = r.copy(), np.vdot(r, r).real
    for _ in range(50):
        q = normal(p)
        step = square / np.vdot(p, q).real
        x, r = x + step * p, r - step * q
        new = np.vdot(r, r).real
        p, square = r + new / square * p, new
    return np.fft.fftshift(x, axes=AXES)


def best(data, mask, maps, truth):
    even = np.sqrt((abs(maps) ** 2).sum(0))  # makes the image's intensity even where maps fade
    return min(np.linalg.norm(even * abs(sense(data, mask, maps, penalty)) - truth) / np.linalg.norm(truth)
               for penalty in (1e-3, 3e-3, 1e-2, 3e-2))


def distance(maps, truth, weight):
    """After the best phase of each voxel."""
    dot = abs((maps.conj() * truth).sum(0)) / np.maximum(np.sqrt((abs(maps) ** 2).sum(0)), 1e-9)
    return np.sqrt((weight * (2 - 2 * np.minimum(dot, 1))).sum() / weight.sum())


def ours(program, data):
    middle = slice(SIZE // 2 - LINES // 2, SIZE // 2 + LINES // 2)
    data[:, middle, middle].astype(np.complex64).tofile("block.raw")
    words = [SIZE, SIZE, 1, LINES, LINES, 1, COILS, "block.raw", "maps.raw"]
    done = subprocess.run([program, *map(str, words)], check=True, stdout=subprocess.PIPE, text=True)
    print("    " + done.stdout.strip())
    return np.fromfile("maps.raw", np.complex64).reshape(COILS, SIZE, SIZE)


def theirs(data):
    write_cfl("data", data)
    bart("ecalib", "-m", 1, "-r", LINES, "data", "maps")
    return read_cfl("maps")


def compare(program, noise):
    random = np.random.default_rng(1)
    bart("phantom", "-s", COILS, "-k", "-x", SIZE, "k")
    bart("phantom", "-S", COILS, "-x", SIZE, "s")
    data, truth = read_cfl("k"), read_cfl("s")
    truth = truth / np.sqrt((abs(truth) ** 2).sum(0))
    image = np.sqrt((abs(backward(data)) ** 2).sum(0))
    sigma = noise * image.max()
    data = data + sigma / np.sqrt(2) * (random.standard_normal(data.shape) + 1j * random.standard_normal(data.shape))
    maps = {"ours": ours(program, data), "ecalib": theirs(data)}
    far = {name: distance(one, truth, image ** 2) for name, one in maps.items()}
    print(f"noise {noise}: maps off by {far['ours']:.4f} (ecalib {far['ecalib']:.4f})")
    assert far["ours"] <= far["ecalib"], far
    for factor in (2, 3, 4):
        mask = np.zeros((SIZE, 1))
        mask[::factor] = 1
        mask[SIZE // 2 - LINES // 2:SIZE // 2 + LINES // 2] = 1
        error = {name: best(data, mask, one, image) for name, one in maps.items()}
        print(f"    every line of {factor}: image off by {error['ours']:.4f} (ecalib {error['ecalib']:.4f})")
        assert error["ours"] <= error["ecalib"], (factor, error)


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    if not shutil.which("bart"):
        print("SKIP: no bart here")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for noise in (0.002, 0.01):
            compare(program, noise)
        os.chdir("/")


if __name__ == "__main__":
    main()
