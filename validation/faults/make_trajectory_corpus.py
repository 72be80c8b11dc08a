#!/usr/bin/env python3
"""Writes the initial files for fuzz_xtc (XTC, TRR) and fuzz_netcdf: small ones of every kind, and damaged ones; and those of other
coordinates for fuzz_molecule and fuzz_gro.

    make_trajectory_corpus.py FOLDER    (FOLDER: corpus)
"""
import pathlib
import struct
import sys

BOX = (3, 0, 0, 0.5, 4, 0, -0.25, 1, 5)
EDGES = {9: 8, 10: 10, 11: 12, 12: 16}  # of XTC's cubes of differences


class Bits:
    """Numbers of any width, the highest bit first."""

    def __init__(self):
        self.text = ""

    def put(self, value, count):
        self.text += f"{value:0{count}b}"[-count:] if count else ""

    def three(self, count, sizes, part):
        value = (part[0] * sizes[1] + part[1]) * sizes[2] + part[2]
        while count > 8:
            self.put(value & 255, 8)
            value, count = value >> 8, count - 8
        self.put(value, count)

    def bytes(self):
        text = self.text + "0" * (-len(self.text) % 8)
        return bytes(int(text[i:i + 8], 2) for i in range(0, len(text), 8))


def stream(atoms, size, small, runs):
    """Full atoms, each followed by a run of differences; runs: (atoms, change) again and again."""
    bits, run, done, turn = Bits(), 0, 0, 0
    while done < atoms:
        part = [(7 * done + 3 * a) % size for a in range(3)]
        if size <= 0xffffff:
            bits.three((size**3).bit_length(), [size] * 3, part)
        else:
            for a in range(3):
                bits.put(part[a], size.bit_length())
        wanted, change = runs[turn % len(runs)]
        wanted = min(wanted, atoms - done - 1)
        turn += 1
        if wanted != run or change:
            bits.put(1, 1)
            bits.put(3 * wanted + change + 1, 5)
        else:
            bits.put(0, 1)
        run = wanted
        for n in range(run):
            bits.three(small, [EDGES[small]] * 3, [(n + done + a) % EDGES[small] for a in range(3)])
        small += change
        done += 1 + run
    return bits.bytes()


def xtc(atoms=12, size=50, small=10, runs=((0, 0), (2, 1), (2, 0), (3, -1)), frames=2, large=False, box=BOX, precision=1000.0,
        stated=None, again=None, value=0.5):
    out = b""
    for _ in range(frames):
        out += struct.pack(">3if9fi", 2023 if large else 1995, atoms if stated is None else stated, 1, 0.5, *box,
                           atoms if again is None else again)
        if atoms <= 9:
            out += struct.pack(f">{3 * atoms}f", *(value + i for i in range(3 * atoms)))
            continue
        bits = stream(atoms, size, small, runs)
        out += struct.pack(">f7i", precision, 0, -5, -7, size - 1, size - 6, size - 8, small)
        out += struct.pack(">q" if large else ">i", len(bits)) + bits + bytes(-len(bits) % 4)
    return out


def trr(atoms=3, real="f", parts=("box", "x"), frames=2, stated=None, value=0.5):
    width, out = struct.calcsize(real), b""
    for _ in range(frames):
        nine = {name: 9 * width * (name in parts) for name in ("box", "vir", "pres")}
        each = {name: 3 * width * atoms * (name in parts) for name in "xvf"}
        out += struct.pack(">3i12s", 1993, 13, 12, b"GMX_trn_file")
        out += struct.pack(">13i", 0, 0, nine["box"], nine["vir"], nine["pres"], 0, 0, each["x"], each["v"], each["f"],
                           atoms if stated is None else stated, 1, 0)
        out += struct.pack(f">2{real}", 0.5, 0)
        if nine["box"]:
            out += struct.pack(f">9{real}", *BOX)
        rest = nine["vir"] + nine["pres"]
        out += struct.pack(f">{rest // width}{real}", *[1.0] * (rest // width))
        count = (each["x"] + each["v"] + each["f"]) // width
        out += struct.pack(f">{count}{real}", *(value + i for i in range(count)))
    return out


NAN = float("nan")
XTC = {
    "ok-runs": xtc(), "ok-few": xtc(3), "ok-nine": xtc(9), "ok-large-form": xtc(large=True), "ok-wide": xtc(size=0x1000001),
    "ok-one-place": xtc(size=1), "ok-cut": xtc()[:-5], "ok-no-box": xtc(box=(0,) * 9), "ok-turned": xtc(box=(3, 1) + BOX[2:]),
    "ok-nan-box": xtc(box=(NAN,) * 9), "ok-gas": xtc(runs=((0, 0),)),
    "bad-magic": xtc(frames=1) + b"\0\0\7\xcc" + bytes(60), "bad-atoms": xtc(stated=0), "bad-negative": xtc(stated=-4),
    "bad-two-numbers": xtc(again=13), "bad-precision": xtc(precision=0.0), "bad-nan-precision": xtc(precision=NAN),
    "bad-short": xtc(frames=1)[:-5], "bad-nan": xtc(3, value=NAN), "bad-other-atoms": xtc() + xtc(13),
    "bad-many": xtc(frames=1, stated=2**31 - 1, again=2**31 - 1),
    "ok-trr": trr(), "ok-trr-double": trr(real="d"), "ok-trr-all": trr(parts=("box", "vir", "pres", "x", "v", "f")),
    "ok-trr-no-box": trr(parts=("x",)), "ok-trr-some": trr(parts=("v",)) + trr(), "ok-trr-cut": trr()[:-1],
    "bad-trr-velocities": trr(parts=("v",)), "bad-trr-atoms": trr(stated=4), "bad-trr-negative": trr(stated=-1),
    "bad-trr-nan": trr(value=NAN), "bad-trr-name": trr().replace(b"GMX", b"XMG"), "bad-trr-short": trr(frames=1)[:-1],
}


def netcdf(version=2, real="f", cell="d", atoms=3, frames=2, records=None, restart=False, conventions=b"AMBER", value=0.5,
           units=b"angstrom", dims=None):
    count, offset = ("q" if version == 5 else "i"), ("i" if version == 1 else "q")
    types = {"f": 5, "d": 6}

    def padded(text):
        return text + bytes(-len(text) % 4)

    def name(text):
        return struct.pack(">" + count, len(text)) + padded(text)

    def some(tag, items):
        return struct.pack(">i" + count, tag if items else 0, len(items)) + b"".join(items)

    def attribute(key, text):
        return name(key) + struct.pack(">i" + count, 2, len(text)) + padded(text)

    frame = [] if restart else [0]
    variables = [(b"coordinates", frame + [2, 1], real, 3 * atoms), (b"cell_lengths", frame + [1], cell, 3),
                 (b"cell_angles", frame + [1], cell, 3)][:3 if cell else 1]

    def header(offsets):
        out = b"CDF" + bytes([version]) + struct.pack(">" + count, (0 if restart else frames) if records is None else records)
        lengths = dims or (0, 3, atoms)
        out += some(10, [name(text) + struct.pack(">" + count, n) for text, n in zip((b"frame", b"spatial", b"atom"), lengths)])
        out += some(12, [attribute(b"Conventions", conventions)])
        return out + some(11, [
            name(key) + struct.pack(f">{count}{len(ids)}{count}", len(ids), *ids)
            + some(12, [attribute(b"units", b"degree" if key == b"cell_angles" else units)])
            + struct.pack(">i" + count + offset, types[kind], n * struct.calcsize(kind), at)
            for (key, ids, kind, n), at in zip(variables, offsets)])

    offsets, at = [], len(header([0] * len(variables)))
    for _, _, kind, n in variables:
        offsets.append(at)
        at += n * struct.calcsize(kind)
    out = header(offsets)
    for f in range(1 if restart else frames):
        for key, _, kind, n in variables:
            out += struct.pack(f">{n}{kind}", *((value if key == b"coordinates" else 80) + f + i for i in range(n)))
    return out


NETCDF = {
    "ok-classic": netcdf(1), "ok-offsets": netcdf(2), "ok-wide": netcdf(5), "ok-doubles": netcdf(real="d", cell="f"),
    "ok-no-cell": netcdf(cell=""), "ok-restart": netcdf(restart=True, conventions=b"AMBERRESTART", real="d"),
    "ok-unknown-number": netcdf(records=-1), "ok-cut": netcdf(frames=3)[:-1],
    "bad-conventions": netcdf(conventions=b"CF-1.6"), "bad-units": netcdf(units=b"nm"), "bad-records": netcdf(records=-2),
    "bad-none": netcdf(frames=0), "bad-short": netcdf(frames=1)[:-1], "bad-header": netcdf()[:60], "bad-nan": netcdf(value=NAN),
    "bad-fill": netcdf(value=9.97e36), "bad-dimension": netcdf(dims=(0, 3, 2**31 - 1)), "bad-spatial": netcdf(dims=(0, 4, 3)),
    "bad-two-records": netcdf(dims=(0, 3, 0)), "bad-no-atoms": netcdf(dims=(0, 0, 3)),
}

CRD = (b"* TITLE\n*\n    1\n"
       b"    1    1 ALA  N    -13.87325   2.50000  -0.00001 PROT 1      0.00000\n")
WIDE = b"* TITLE\n         1  EXT\n" + (f"{1:10d}{1:10d}  ALA       N       {-13.87325:20.10f}{2.5:20.10f}{0:20.10f}  PROT      1       "
                                        f"{0:20.10f}\n").encode()
XSC = (b"# NAMD\n#$LABELS step a_x a_y a_z b_x b_y b_z c_x c_y c_z o_x o_y o_z\n"
       b"0 60 0 0 0 50 0 0 0 40 0 0 0\n10 60 0 0 1 50 0 2 3 40 0 0 0\n")
MOLECULE = {
    "ok-crd": CRD, "ok-crd-ext": WIDE, "ok-crd-no-title": CRD.split(b"*\n")[1], "ok-coor": struct.pack("<i3d", 1, 0.1, -2, 3e4),
    "ok-coor-big-endian": struct.pack(">i3d", 1, 0.1, -2, 3e4), "ok-ncrst": netcdf(atoms=1, restart=True, real="d"),
    "ok-nc": netcdf(atoms=1), "bad-crd-short": CRD.replace(b"    1\n", b"    2\n", 1), "bad-crd-stars": CRD.replace(b"   2.50000", b"*" * 10),
    "bad-crd-more": CRD + b"    2\n", "bad-coor-nan": struct.pack("<i3d", 1, NAN, 0, 0), "bad-coor-beyond": struct.pack("<i3d", 1, 1e10, 0, 0),
    "bad-coor-short": struct.pack("<i2d", 1, 0, 0), "bad-ncrst-nan": netcdf(atoms=1, restart=True, real="d", value=NAN),
}
GRO = {  # read for their cell alone
    "bad-xsc": XSC, "bad-xsc-short": XSC[:-12], "bad-xsc-labels": XSC.replace(b" c_x", b""), "bad-xsc-nan": XSC.replace(b"40", b"nan"),
    "bad-xsc-none": XSC.split(b"0 60")[0],
}

if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for kind, files in (("xtc", XTC), ("netcdf", NETCDF), ("molecule", MOLECULE), ("gro", GRO)):
        folder = pathlib.Path(sys.argv[1]) / kind
        folder.mkdir(parents=True, exist_ok=True)
        for file, content in files.items():
            (folder / file).write_bytes(content)
