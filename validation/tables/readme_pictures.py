#!/usr/bin/env python3
"""The pictures of README.md, as the programs draw them (--picture), at half the size: docs/map.png,
docs/solvent.png, docs/surface.png and docs/image.png.

usage: readme_pictures.py CIONIZE MRI_PHANTOM MRI_RECON [FOLDER [--check]]
    FOLDER: docs; existing pictures are replaced
    --check: change nothing; exit status 1 if FOLDER's pictures differ from those that the programs draw now

Needs numpy. The files are not compared byte by byte: the picture of the image contains the time and the version,
those of the maps the instruction set, and last bits differ between processors and libraries. --check compares the
sizes, and all pixels except those of this text.
"""
import os
import struct
import subprocess
import sys
import tempfile
import zlib

try:
    import numpy as np
except ImportError as missing:
    print(f"SKIP: {missing}")
    sys.exit(77)

SAMPLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "data", "1hpv.pqr")
HEAD = "--phantom head --matrix 192,192,1 --coils 8 --spokes 96 --oversample 2 --image-snr 25 --noise-scan".split()
SHADES = 52  # per channel: no step is visible, and the file is a third as long
WORDS = {"map.png": (slice(50, 75), slice(560, 900)), "solvent.png": (slice(70, 95), slice(20, 700)),
         "surface.png": (slice(70, 95), slice(20, 700)),
         "image.png": (slice(1075, 1120), slice(800, 1010))}  # rows and columns
# Values whose last bits differ may round to different shades. A relative difference e of the values moves a pixel to
# the next shade with a probability of at most e SHADES. e is 1e-6 for the map (docs/accuracy.md), and up to 1e-5 for
# the image, since the solver's iterations amplify rounding errors: 5 of 10,000 pixels, and twice that to be safe.
ONE_SHADE, MOST_PIXELS = 255 // (SHADES - 1), 1e-3


def run(*arguments):
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(arguments)}: {done.stderr}")


def unfilter(kind, row, above, step):
    """One row of a PNG file (ISO/IEC 15948, 9.2), `step` bytes per pixel."""
    if kind == 0:
        return row
    if kind == 2:
        return row + above
    if kind == 1:
        return np.cumsum(row.reshape(-1, step), axis=0, dtype=np.uint8).reshape(-1)
    out, up = [0] * step, [0] * step + above.tolist()
    for i, value in enumerate(row.tolist()):
        a, b, c = out[i], up[i + step], up[i]
        if kind == 3:
            guess = (a + b) // 2
        else:
            near = a + b - c
            guess = min((abs(near - a), 0, a), (abs(near - b), 1, b), (abs(near - c), 2, c))[2]
        out.append((value + guess) & 255)
    return np.array(out[step:], np.uint8)


def read_png(path):
    """[row][column][channel] of a file with 8 bits per channel that is not interlaced."""
    with open(path, "rb") as file:
        data = file.read()
    place, packed, header = 8, b"", None
    while place < len(data):
        size, kind = struct.unpack(">I4s", data[place:place + 8])
        content = data[place + 8:place + 8 + size]
        if kind == b"IHDR":
            header = struct.unpack(">IIBBBBB", content)
        elif kind == b"IDAT":
            packed += content
        place += 12 + size
    width, height, bits, color, _, _, interlaced = header
    if bits != 8 or interlaced or color not in (0, 2, 6):
        sys.exit(f"{path}: not a picture of mri_recon or cionize")
    step = {0: 1, 2: 3, 6: 4}[color]
    raw = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, 1 + width * step)
    rows, above = [], np.zeros(width * step, np.uint8)
    for row in raw:
        above = unfilter(row[0], row[1:], above, step)
        rows.append(above)
    return np.array(rows).reshape(height, width, step)


def halve(picture):
    height, width = (n // 2 for n in picture.shape[:2])
    return picture[:2 * height, :2 * width, :3].reshape(height, 2, width, 2, -1).mean((1, 3))


def write_png(path, picture):
    height, width, channels = picture.shape
    gray = channels == 1 or not np.ptp(picture, axis=2).max() > 0
    if gray:
        picture = picture[:, :, :1]
    pixels = (np.rint(picture * (SHADES - 1) / 255) * (255 / (SHADES - 1)) + 0.5).astype(np.uint8).astype(int)
    rows = pixels.reshape(height, -1)
    step = pixels.shape[2]
    # Each row is stored unchanged, or as differences from the row above or from the left: whichever is smallest.
    above = np.vstack([np.zeros_like(rows[:1]), rows[:-1]])
    left = np.hstack([np.zeros_like(rows[:, :step]), rows[:, :-step]])
    packed = b""
    for kinds in ((0, rows), (1, rows - left), (2, rows - above)):
        raw = b"".join(bytes([kinds[0]]) + row.tobytes() for row in (kinds[1] & 255).astype(np.uint8))
        tried = zlib.compress(raw, 9)
        packed = tried if not packed or len(tried) < len(packed) else packed

    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = struct.pack(">IIBBBBB", width, height, 8, 0 if gray else 2, 0, 0, 0)
    content = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", packed) + chunk(b"IEND", b"")
    with open(path, "wb") as file:
        file.write(content)
    print(f"{path}: {width} x {height}, {len(content)} bytes")


def differences(name, committed, drawn):
    """Describes what is wrong with a committed picture; "" if nothing is."""
    old, new = read_png(committed).astype(int), read_png(drawn).astype(int)
    if old.shape != new.shape:
        return f"{name}: {old.shape} rows, columns and channels, and the programs draw {new.shape}"
    apart = np.abs(old - new).max(axis=2)
    apart[WORDS[name]] = 0
    count = np.count_nonzero(apart)
    print(f"{name}: {count} of {apart.size} pixels differ, by {apart.max()} of 255 at most")
    if apart.max() > ONE_SHADE or count > MOST_PIXELS * apart.size:
        row, column = np.unravel_index(apart.argmax(), apart.shape)
        return f"{name}: row {row}, column {column} is {old[row, column]}, and the programs draw {new[row, column]}"
    return ""


def check(programs, folder):
    with tempfile.TemporaryDirectory() as now:
        main(*programs, now)
        wrong = [differences(name, os.path.join(folder, name), os.path.join(now, name)) for name in WORDS]
    if any(wrong):
        sys.exit("\n".join(filter(None, wrong)) + "\nMake the pictures again, as README.md explains.")


def main(cionize, phantom, recon, folder="docs"):
    cionize, phantom, recon = map(os.path.abspath, (cionize, phantom, recon))
    with tempfile.TemporaryDirectory() as work:
        paths = [os.path.join(work, name) for name in ("map.dx", "map.png", "head.h5", "head_image.h5", "image.png", "solvent.png", "surface.png")]
        volume, drawn, scan, image, montage, dissolved, surface = paths
        run(cionize, "-q", "-o", volume, "--picture", drawn, SAMPLE)
        run(cionize, "-q", "--solvent", "-o", volume, "--picture", dissolved, "--surface-picture", surface, SAMPLE)
        run(phantom, "-q", *HEAD, "-o", scan)
        run(recon, "-q", "-o", image, "--picture", montage, scan)
        write_png(os.path.join(folder, "map.png"), halve(read_png(drawn)))
        write_png(os.path.join(folder, "solvent.png"), halve(read_png(dissolved)))
        write_png(os.path.join(folder, "surface.png"), halve(read_png(surface)))
        write_png(os.path.join(folder, "image.png"), halve(read_png(montage)))


if __name__ == "__main__":
    if len(sys.argv) == 6 and sys.argv[5] == "--check":
        check(sys.argv[1:4], sys.argv[4])
    elif len(sys.argv) in (4, 5):
        main(*sys.argv[1:])
    else:
        sys.exit(__doc__)
