#!/usr/bin/env python3
"""The pictures of docs/reconstruction.md: the effect of lambda, and of maps on an accelerated scan; with their
errors.

usage: image_pictures.py MRI_PHANTOM MRI_RECON [FOLDER]     FOLDER: docs; existing files are replaced

The object is mri_phantom's head. Needs numpy and h5py; exit status 1 if a picture does not show what its caption
says.
"""
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
if len(sys.argv) not in (3, 4):
    sys.exit(__doc__)
PHANTOM, RECON = map(os.path.abspath, sys.argv[1:3])
FOLDER = os.path.abspath(sys.argv[3] if len(sys.argv) > 3 else "docs")
N = 192
HEAD = ("--phantom", "head", "--matrix", f"{N},{N},1", "--coils", 8, "--oversample", 2, "--without", "sensitivity")
SHOWN = (slice(6, 186), slice(22, 172))  # rows and columns of the head
MOST_BYTES = 60000


def run(*arguments):
    done = subprocess.run(list(map(str, arguments)), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, arguments))}: {done.stderr}")


def scan(*options):
    run(PHANTOM, "-q", *HEAD, *options, "-o", "scan.h5")
    with h5py.File("scan.h5") as file:
        return file["scan/truth"][...].reshape(N, N).astype(float)


def reconstruct(truth, *options):
    """The magnitude with the scale that fits the truth best, and its error."""
    run(RECON, "-q", "scan.h5", "-o", "image.h5", "--device", "cpu", *options)
    with h5py.File("image.h5") as file:
        image = abs(file["image"][...].reshape(N, N).astype(complex))
    image *= (image * truth).sum() / (image * image).sum()
    return image, np.linalg.norm(image - truth) / np.linalg.norm(truth)


def write_png(name, panels, white):
    """Grey images side by side, black at 0. 37 shades are fine enough for the noise, and make the file smaller."""
    grey = np.hstack([np.clip(p[SHOWN] / white, 0, 1) for p in panels])
    rows = 7 * (36 * grey + 0.5).astype("u1")

    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    packed = zlib.compress(b"".join(b"\0" + row.tobytes() for row in rows), 9)
    content = (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", rows.shape[1], rows.shape[0], 8, 0, 0, 0, 0))
               + chunk(b"IDAT", packed) + chunk(b"IEND", b""))
    assert len(content) < MOST_BYTES, f"{name}: {len(content)} bytes"
    with open(os.path.join(FOLDER, name), "wb") as file:
        file.write(content)


def lambda_picture():
    truth = scan("--spokes", 64, "--image-snr", 20)
    white = np.percentile(truth[truth > 0.1 * truth.max()], 97)
    made = {value: reconstruct(truth, "--lambda", value) for value in ("0.0001", "auto", "10")}
    write_png("lambda.png", [image for image, _ in made.values()], white)
    errors = [error for _, error in made.values()]
    print("lambda.png:", ", ".join(f"{value} {100 * error:.1f} %" for value, (_, error) in made.items()))
    return errors[1] < 0.8 * errors[0] and errors[1] < 0.8 * errors[2]


def maps_picture():
    truth = scan("--trajectory", "cartesian", "--accelerate", 3, "--calibration-lines", 12, "--image-snr", 30)
    white = np.percentile(truth[truth > 0.1 * truth.max()], 97)
    made = {how: reconstruct(truth, "--coils", how) for how in ("walsh", "espirit")}
    write_png("coil-maps.png", [panel for image, _ in made.values() for panel in (image, 5 * abs(image - truth))], white)
    print("coil-maps.png:", ", ".join(f"{how} {100 * error:.1f} %" for how, (_, error) in made.items()))
    return made["espirit"][1] < 0.95 * made["walsh"][1]


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        shown = [lambda_picture(), maps_picture()]
        os.chdir("/")
    sys.exit(0 if all(shown) else "a picture does not show what its caption says")


main()
