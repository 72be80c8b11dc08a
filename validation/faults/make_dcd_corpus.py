#!/usr/bin/env python3
"""Writes the initial trajectories for fuzz_dcd (corpus/dcd): small ones of every kind, and damaged ones.

    make_dcd_corpus.py FOLDER
"""
import pathlib
import struct
import sys

ATOMS = 3


class Writer:
    def __init__(self, order="<", marker="i"):
        self.order, self.marker, self.bytes = order, marker, b""

    def record(self, layout, *values):
        body = struct.pack(self.order + layout, *values)
        length = struct.pack(self.order + self.marker, len(body))
        self.bytes += length + body + length


def dcd(order="<", marker="i", version=24, cell=False, fourth=False, moving=(), frames=3, name=b"CORD", atoms=ATOMS,
        cell_values=(10, 90, 11, 90, 90, 12), value=0.5, titles=1):
    w = Writer(order, marker)
    control = [0] * 20
    control[0], control[8], control[10], control[11], control[19] = frames, ATOMS - len(moving) if moving else 0, cell, fourth, version
    w.record("4s20i", name, *control)
    w.record(f"i{80 * titles}s", titles, b"REMARK made for the fuzzer".ljust(80 * titles))
    w.record("i", atoms)
    if moving:
        w.record(f"{len(moving)}i", *moving)
    for frame in range(frames):
        n = len(moving) if moving and frame else ATOMS
        if cell:
            w.record("6d", *cell_values)
        for axis in range(4 if fourth else 3):
            w.record(f"{n}f", *(value + frame + axis + i for i in range(n)))
    return w.bytes


FILES = {
    "ok-plain": dcd(version=0),
    "ok-charmm": dcd(cell=True),
    "ok-big-endian": dcd(">", cell=True),
    "ok-wide-markers": dcd(marker="q"),
    "ok-wide-big-endian": dcd(">", "q", cell=True, fourth=True),
    "ok-fourth": dcd(fourth=True),
    "ok-fixed": dcd(moving=(1, 3)),
    "ok-fixed-cell-fourth": dcd(cell=True, fourth=True, moving=(2,)),
    "ok-cosines": dcd(cell=True, cell_values=(10, 0.5, 11, 0, -0.5, 12)),
    "ok-shape": dcd(version=38, cell=True, cell_values=(10, 1, 11, 2, 3, 12)),
    "ok-cell-nan": dcd(cell=True, cell_values=(float("nan"),) * 6),
    "ok-cut": dcd()[:-5],
    "ok-titles": dcd(titles=3).replace(struct.pack("<i", 244), struct.pack("<i", 164)),
    "bad-empty": b"",
    "bad-header-only": dcd(frames=0),
    "bad-velocities": dcd(name=b"VELD"),
    "bad-atoms": dcd(atoms=0),
    "bad-many-atoms": dcd(atoms=2**29),
    "bad-nan": dcd(value=float("nan")),
    "bad-twice": dcd(moving=(2, 2)),
    "bad-beyond": dcd(moving=(2, 4)),
    "bad-xtc": struct.pack(">3i", 1995, 3, 1) + bytes(40),
    "bad-netcdf": b"CDF\x02" + bytes(40),
}

if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for file, content in FILES.items():
        (folder / file).write_bytes(content)
