#!/usr/bin/env python3
"""The panel of the published MRI study (Kirk and Hwu, figure 8.19) as a picture, docs/panel.png: the middle slice of the truth, of
bilinear gridding, gridding, and the iterative image, each with its PSNR.

usage: panel_picture.py MRI_PHANTOM MRI_RECON [FOLDER [MATRIX]]     FOLDER: docs; an existing picture is replaced
    MATRIX: voxels an axis (128, the published case, with 284,592 samples); others have as many samples for their voxels

The object is mri_phantom's. The iterative image has 60 iterations with the anatomical reference as prior, as mri_study.py has.
Needs numpy and h5py. Exit status 1 if a PSNR is not that of the image, or if the iterative image is not 10 dB better than
bilinear gridding and better than gridding.
"""
import json
import os
import struct
import subprocess
import sys
import tempfile
import zlib

try:
    import h5py
    import numpy as np
except ImportError as missing:
    print(f"SKIP: {missing}")
    sys.exit(77)

CASE = 128, 2156, 132  # voxels an axis, readouts, samples a readout
IMAGES = {
    "bilinear gridding": ["--method", "bilinear"],
    "gridding": ["--method", "gridding"],
    "iterative": ["--iterations", "60", "--tolerance", "0", "--prior", "reference", "--lambda", "50"],
}
ABOVE_BILINEAR = 10  # dB, as in the publication (27.6 and 16.8)
SHADES, MARGIN, PIXELS = 37, 4, 256  # of a slice: at least so many pixels
# Letters of 5 x 7 points, a number of 5 bits for each row.
FONT = {
    "a": "0E010F110F", "b": "10101E1111111E", "d": "01010F1111110F", "e": "0E111F100E", "g": "0F11110F010E", "h": "10101E11111111",
    "i": "04000C0404040E", "l": "0C04040404040E", "n": "1E11111111", "r": "1619101010", "t": "08081E08080906", "u": "111111130D",
    "v": "1111110A04", "B": "1E11111E11111E", "N": "11191915131311", "P": "1E11111E101010", "R": "1E11111E141211", "S": "0F10100E01011E",
    "0": "0E11131519110E", "1": "040C040404040E", "2": "0E11010204081F", "3": "0E11010601110E", "4": "02060A121F0202",
    "5": "1F101E0101110E", "6": "06081E1111110E", "7": "1F010204080808", "8": "0E11110E11110E", "9": "0E11110F01020C", ".": "0C0C", " ": "",
}


def run(*arguments):
    done = subprocess.run(list(map(str, arguments)), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, arguments))}: {done.stderr}")


def write_text(picture, text, row, column, scale):
    """Writes white text; `row`: the upper edge of capital letters."""
    for letter in text:
        rows = bytes.fromhex(FONT[letter])
        points = np.array([[value >> (4 - x) & 1 for x in range(5)] for value in rows], bool).reshape(-1, 5)
        points = points.repeat(scale, 0).repeat(scale, 1)
        top = row + 7 * scale - len(points) + (2 * scale if letter == "g" else 0)  # g reaches below the line
        part = picture[top:top + points.shape[0], column:column + points.shape[1]]
        part[points] = 1
        column += 6 * scale


def write_png(path, picture):
    """A grey picture, black at 0."""
    rows = 7 * ((SHADES - 1) * np.clip(picture, 0, 1) + 0.5).astype("u1")

    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    packed = zlib.compress(b"".join(b"\0" + row.tobytes() for row in rows), 9)
    header = struct.pack(">IIBBBBB", rows.shape[1], rows.shape[0], 8, 0, 0, 0, 0)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", packed) + chunk(b"IEND", b""))
    print(f"{path}: {rows.shape[1]} x {rows.shape[0]}, {os.path.getsize(path)} bytes")


def make_scan(phantom, matrix):
    """The path of the scan, and the truth [z][y][x]."""
    readouts, samples = round(CASE[1] * (matrix / CASE[0]) ** 2), round(CASE[2] * matrix / CASE[0])
    run(phantom, "-q", "--trajectory", "koosh-ball", "--reference", "--matrix", matrix, "--spokes", readouts, "--samples", samples,
        "-o", "scan.h5")
    with h5py.File("scan.h5") as file:
        return "scan.h5", np.abs(file["scan/truth"][...]).astype(float).reshape((matrix,) * 3)


def psnr(image, truth):
    """dB, as docs/conventions.md defines it."""
    return 20 * np.log10(truth.max() / np.sqrt(np.mean((image - truth) ** 2)))


def reconstruct(recon, scan, truth, arguments):
    """The magnitude and the PSNR that mri_recon reports, which is checked."""
    run(recon, "-q", "--device", "cpu", *arguments, "--compare", "truth", "-o", "image.h5", "--report", "report.json", scan)
    with h5py.File("image.h5") as file:
        image = np.abs(file["image"][...].astype(complex)).reshape(truth.shape)
    with open("report.json", encoding="utf-8") as file:
        said = json.load(file)["error"]["psnr_db"]
    if not abs(said - psnr(image, truth)) < 0.01:
        sys.exit(f"{' '.join(arguments)}: the report says {said} dB, and the image has {psnr(image, truth)} dB")
    return image, said


def draw(panels, matrix):
    scale = -(-PIXELS // matrix)
    size, band = scale * matrix, 48
    picture = np.zeros((size + band, len(panels) * (size + MARGIN) - MARGIN))
    for number, (lines, image) in enumerate(panels):
        left = number * (size + MARGIN)
        picture[:size, left:left + size] = image.repeat(scale, 0).repeat(scale, 1)
        for row, line in enumerate(lines):
            write_text(picture, line, size + 5 + 22 * row, left + 4, 2)
    return picture


def main(phantom, recon, folder="docs", matrix=CASE[0]):
    phantom, recon, folder = map(os.path.abspath, (phantom, recon, folder))
    matrix = int(matrix)
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        scan, truth = make_scan(phantom, matrix)
        panels, quality = [(["truth"], truth[matrix // 2] / truth.max())], {}
        for name, arguments in IMAGES.items():
            image, quality[name] = reconstruct(recon, scan, truth, arguments)
            panels.append(([name, f"PSNR {quality[name]:.1f} dB"], image[matrix // 2] / truth.max()))
        os.chdir("/")
    write_png(os.path.join(folder, "panel.png"), draw(panels, matrix))
    print(", ".join(f"{name}: {value:.2f} dB" for name, value in quality.items()))
    good = quality["iterative"] >= quality["bilinear gridding"] + ABOVE_BILINEAR and quality["iterative"] > quality["gridding"]
    sys.exit(0 if good else "the iterative image is not as much better as it was")


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4, 5):
        sys.exit(__doc__)
    main(*sys.argv[1:])
