#!/usr/bin/env python3
"""Maps that --read-map takes: MRC and cube files in every form that other programs write, against the values and the grid that were
put into them; forms that are refused, and what the message says.

usage: test_cionize_map_inputs.py PROGRAM [DEVICE] [test_name ...]
"""
import gzip
import itertools
import math
import pathlib
import struct

import program
from program import make, read, refuse
from seeds import generator

BOHR = 0.529177210544
COUNTS, ORIGIN, SPACING = (3, 4, 5), (-6.0, 9.0, 30.0), (0.5, 0.75, 1.5)
PLACE = ["--place", "SOD:1", "--dielectric", "2", "--ions", "i.pdb", "--ion-solute", "0"]


def prepare():
    pathlib.Path("m.pqr").write_text("ATOM 1 C RES 1 0 0 0 0.5 1\n")
    rng = generator()
    return {(i, j, k): rng.uniform(-3, 3) for i, j, k in itertools.product(*map(range, COUNTS))}


def mrc(values, axes=(1, 2, 3), order="<", mode=2, start=None, origin=None, angles=(90, 90, 90), extra=b"", stamp=True, **words):
    """A file whose columns, rows and sections are the given axes. start: N*START by x, y, z."""
    header = [0] * 256
    count = [COUNTS[a - 1] for a in axes]
    start = start or (0, 0, 0)
    header[0:3], header[3] = count, mode
    header[4:7] = [start[a - 1] for a in axes]
    header[7:10] = COUNTS
    header[16:19], header[22], header[23], header[27] = axes, 1, len(extra), 20141
    for word, value in words.items():
        header[int(word[1:]) - 1] = value
    packed = bytearray(struct.pack(order + "256i", *header))
    struct.pack_into(order + "6f", packed, 40, *(n * h for n, h in zip(COUNTS, SPACING)), *angles)
    struct.pack_into(order + "3f", packed, 196, *(origin or (0, 0, 0)))
    packed[208:212] = b"MAP "
    packed[212:216] = (b"\x44\x44\0\0" if order == "<" else b"\x11\x11\0\0") if stamp else b"\0\0\0\0"
    letter = {0: "b", 1: "h", 2: "f", 6: "H"}.get(mode, "f")
    rows = bytearray()
    for s, t, c in itertools.product(*(range(n) for n in reversed(count))):
        at = dict(zip(axes, (c, t, s)))
        value = values[at[1], at[2], at[3]]
        rows += struct.pack(order + letter, value if letter == "f" else round(value))
    return bytes(packed) + extra + bytes(rows)


def cube(values, angstrom=False, atoms=1, sets="", more=""):
    unit = 1 if angstrom else BOHR
    lines = ["electron soup", "by hand", f"{atoms:5d} " + " ".join(f"{v / unit:.9f}" for v in ORIGIN) + more]
    for a in range(3):
        lines.append(f"{-COUNTS[a] if angstrom else COUNTS[a]:5d} " +
                     " ".join(f"{SPACING[a] / unit if a == b else 0:.9f}" for b in range(3)))
    lines += [f"    6 0.5 {i}.0 2.0 3.0" for i in range(abs(atoms))]
    if sets:
        lines.append(sets)
    for i, j in itertools.product(range(COUNTS[0]), range(COUNTS[1])):
        lines.append(" ".join(f"{values[i, j, k]:.6E}" for k in range(COUNTS[2])))
    return "\n".join(lines) + "\n"


def check(name, values, closeness, origin=ORIGIN):
    """The map as cionize understood it, written as HDF5: values in place, grid to single precision."""
    make("-q", "m.pqr", *PLACE, "--read-map", name, "--map", "copy.h5")
    copy = read("copy.h5")
    assert tuple(copy.counts) == COUNTS, (name, copy.counts)
    for a in range(3):
        # A float's rounding, 6e-8, of lengths up to 40
        assert math.isclose(copy.origin[a], origin[a], abs_tol=5e-6), (name, copy.origin)
        assert math.isclose(copy.spacing[a], SPACING[a], abs_tol=5e-7), (name, copy.spacing)
    flat = [values[i, j, k] for k, j, i in itertools.product(*map(range, reversed(COUNTS)))]  # x fastest
    got = list(copy.values)
    assert len(got) == len(flat) and all(math.isfinite(v) for v in got)
    assert max(abs(v - w) for v, w in zip(got, flat)) <= closeness, name


def test_mrc_axes_and_orders(_):
    values = prepare()
    steps = [round(o / h) for o, h in zip(ORIGIN, SPACING)]
    for axes in itertools.permutations((1, 2, 3)):
        for order in "<>":
            pathlib.Path("a.mrc").write_bytes(mrc(values, axes, order, start=steps))
            check("a.mrc", values, 3 * 2**-23)
    pathlib.Path("b.ccp4").write_bytes(mrc(values, (3, 1, 2), ">", start=steps, stamp=False))  # stamps are often missing
    check("b.ccp4", values, 3 * 2**-23)
    pathlib.Path("c.map.gz").write_bytes(gzip.compress(mrc(values, start=steps, extra=b"x" * 80)))
    check("c.map.gz", values, 3 * 2**-23)


def test_mrc_modes(_):
    values = prepare()
    for mode in (0, 1, 6):
        some = {at: abs(round(v * 40)) for at, v in values.items()} if mode == 6 else {at: round(v * 40) for at, v in values.items()}
        for order in "<>":
            pathlib.Path("a.mrc").write_bytes(mrc(some, mode=mode, order=order, origin=ORIGIN))
            check("a.mrc", some, 0)


def test_mrc_positions(_):
    """One field, or both: ORIGIN counts in MRC files, N*START in CCP4 files, and the message says both."""
    values = prepare()
    other = (1, 2, 3)
    pathlib.Path("a.mrc").write_bytes(mrc(values, origin=ORIGIN))
    check("a.mrc", values, 1e-6)
    for kind, origin in (("mrc", ORIGIN), ("map", tuple(n * h for n, h in zip(other, SPACING)))):
        pathlib.Path(f"b.{kind}").write_bytes(mrc(values, origin=ORIGIN, start=other))
        check(f"b.{kind}", values, 1e-6, origin)
        done = make("-q", "m.pqr", *PLACE, "--read-map", f"b.{kind}")
        assert "two positions" in done.err and "ORIGIN (-6, 9, 30)" in done.err and "N*START (0.5, 1.5, 4.5)" in done.err, done.err
    same = tuple(round(o / h) for o, h in zip(ORIGIN, SPACING))
    pathlib.Path("c.mrc").write_bytes(mrc(values, origin=ORIGIN, start=same))
    done = make("-q", "m.pqr", *PLACE, "--read-map", "c.mrc")
    assert "two positions" not in done.err, done.err


def test_mrc_refusals(_):
    values = prepare()
    good = mrc(values)
    bad = values.copy()
    bad[1, 2, 3] = math.nan
    for data, words in ((good[:1000], "ends in its header"), (good[:-1], "too small"), (b"", "ends in its header"),
                        (gzip.compress(good[:-1]), "ends in its values"),
                        (good[:208] + b"XXX " + good[212:], "'MAP '"), (mrc(values, w4=4), "mode 4"), (mrc(values, w23=401), "stack"),
                        (mrc(values, angles=(90, 90, 120)), "angles"), (mrc(values, w8=0), "step along x"),
                        (mrc(values, w1=-3), "points"), (mrc(values, w17=2), "MAPC"), (mrc(values, w24=-1), "NSYMBT"),
                        (mrc(values, w24=80), "too small"), (mrc(values, w1=2**30, w2=2**30), "too small"),
                        (mrc(bad), "column 2, row 3, section 4")):
        pathlib.Path("a.mrc").write_bytes(data)
        refuse(3, ["a.mrc", words], "m.pqr", *PLACE, "--read-map", "a.mrc")
    pathlib.Path("a.mrc").write_bytes(good + b"more")
    assert "goes on behind" in make("-q", "m.pqr", *PLACE, "--read-map", "a.mrc").err


def test_cube(_):
    values = prepare()
    close = 3e-6  # seven digits
    for angstrom in (False, True):
        for atoms, sets in ((1, ""), (0, ""), (3, ""), (-2, "  1   7")):
            pathlib.Path("a.cube").write_text(cube(values, angstrom, atoms, sets))
            check("a.cube", values, close)
    pathlib.Path("b.cub.gz").write_bytes(gzip.compress(cube(values, more="  1").replace("\n", "\r\n").encode()))
    check("b.cub.gz", values, close)
    for data, words in ((cube(values, more="  2"), "several values"), (cube(values, atoms=-1, sets=" 2 7 8"), "2 data sets"),
                        (cube(values)[:-20], "data end"), (cube(values) + "1.0\n", "unexpected '1.0'"),
                        (cube(values).replace("E+00", "E+00x", 1), "grid point"), ("a\nb\n", "ends before"),
                        (cube(values).replace("    3 ", "99999999 ", 1), "too small"),
                        (cube(values, True).replace("   -4", "    4", 1), "different signs")):
        pathlib.Path("a.cube").write_text(data)
        refuse(3, ["a.cube", words], "m.pqr", *PLACE, "--read-map", "a.cube")
    skewed = cube(values).split("\n")
    skewed[4] = skewed[4].replace(" 0.000000000", " 0.100000000", 1)
    pathlib.Path("a.cube").write_text("\n".join(skewed))
    refuse(3, ["a.cube:5", "component along x"], "m.pqr", *PLACE, "--read-map", "a.cube")


def test_own_maps(_):
    """What cionize writes it reads: the same places for ions, and the constants of the head."""
    prepare()
    world = ["--dielectric", "78.5", "--temperature", "310", "--r-min", "0.2", "--spacing", "1", "--border", "9"]
    place = ["--place", "SOD:3"]
    make("-q", "m.pqr", *world, *place, "--ions", "truth.pdb", "--map", "a.mrc")
    for kind in ("dx", "mrc", "ccp4", "map", "cube", "h5"):
        make("-q", "m.pqr", *world, "-o", f"m.{kind}")
        make("-q", "m.pqr", *place, "--read-map", f"m.{kind}", "--ions", "i.pdb")
        assert open("i.pdb").read() == open("truth.pdb").read(), kind
        refuse(2, ["dielectric of 78.5"], "m.pqr", *place, "--read-map", f"m.{kind}", "--dielectric", "1", "--ions", "i.pdb")
        make("-q", "m.pqr", *world, *place, "--mask", f"mask.{kind}", "--ions", "i.pdb")
        refuse(3, [f"mask.{kind}", "mask"], "m.pqr", *place, "--read-map", f"mask.{kind}", "--ions", "i.pdb")


def test_titles_of_other_programs(_):
    """APBS writes what a map is in its third line, Gaussian and PySCF in the first two of a cube."""
    values = prepare()
    make("-q", "m.pqr", "--border", "9", "--spacing", "1", "-o", "m.dx")
    body = "".join(line for line in open("m.dx") if not line.startswith("#"))
    place = [*PLACE, "--read-map"]
    pathlib.Path("a.dx").write_text("# Data from APBS 3.4.1\n# \n# POTENTIAL (kT/e)\n# \n" + body)
    assert "unit of the map" not in make("m.pqr", *place, "a.dx").err
    refuse(3, ["a.dx", "in kT/e, not in V"], "m.pqr", *place, "a.dx", "--units", "V")
    pathlib.Path("a.dx").write_text("\ufeff# POTENTIAL (kT/e)\n" + body, encoding="utf-8")  # as editors of Windows save it
    assert "unit of the map" not in make("m.pqr", *place, "a.dx").err
    pathlib.Path("a.dx").write_text("# by hand\n" + body)
    assert "assuming kT/e" in make("m.pqr", *place, "a.dx").err
    for title, words in (("CHARGE DISTRIBUTION (e)", "a charge distribution"), ("KAPPA MAP", "a kappa map"),
                         ("SOLVENT ACCESSIBILITY -- VAN DER WAALS", "accessibility of the solvent"),
                         ("ION ACCESSIBILITY -- SPLINE (2.000 RADIUS)", "accessibility of ions"),
                         ("X-SHIFTED DIELECTRIC MAP", "a dielectric map"), ("Z-SHIFTED DIELECTRIC MAP", "a dielectric map"),
                         ("POTENTIAL LAPLACIAN (kT/e/A^2)", "the Laplacian"), ("ENERGY DENSITY (kT/e/A)^2", "energy density"),
                         ("ION NUMBER DENSITY (M)", "ion number density"), ("ION CHARGE DENSITY (e_c * M)", "ion charge density")):
        pathlib.Path("a.dx").write_text(f"# Data from APBS 3.4.1\n# \n# {title}\n# \n" + body)
        refuse(3, ["a.dx:3", words, "use a map of the potential"], "m.pqr", *place, "a.dx")
    for title, words in (("Electron density from Total SCF Density", "an electron density"), ("MO coefficients", "an orbital"),
                         ("Orbital value in real space (1/Bohr^3)", "an orbital"), ("Spin density", "a spin density")):
        for line in ("electron soup", "by hand"):
            pathlib.Path("a.cube").write_text(cube(values).replace(line, title, 1))
            refuse(3, ["a.cube", f"this is {words}"], "m.pqr", *place, "a.cube")
    pathlib.Path("a.cube").write_text(cube(values).replace("by hand", "Electrostatic potential from Total SCF Density", 1))
    assert "assuming kT/e" in make("m.pqr", *place, "a.cube").err


def test_maps_of_pmepot(_):
    """VMD's PMEPot: kT/e at 300 K in vacuum, and the grid covers the cell once."""
    prepare()
    make("-q", "m.pqr", "--cell", "19,19,19", "--counts", "19,19,19", "--temperature", "300", "-o", "m.dx")
    body = "".join(line for line in open("m.dx") if not line.startswith("#"))
    pathlib.Path("a.dx").write_text("# PME potential (kT/e, T=300K)\n" + body)
    place = ["m.pqr", "--place", "SOD:2", "--ion-ion", "8", "--ions", "i.pdb", "--read-map"]
    make("-q", *place, "m.dx")
    truth = open("i.pdb").read()
    done = make(*place, "a.dx")
    assert open("i.pdb").read() == truth and "19 x 19 x 19 A" in done.out and "300 K" in done.out, done.out
    assert "unit of the map" not in done.err and "spread as Gaussians" in done.err, done.err
    make(*place, "a.dx", "--cell", "19,19,19")
    refuse(3, ["another periodic cell"], *place, "a.dx", "--cell", "19,19,20")
    refuse(2, ["300 K"], *place, "a.dx", "--temperature", "310")
    refuse(2, ["dielectric of 1"], *place, "a.dx", "--dielectric", "78.5")


def test_map_that_lies_elsewhere(_):
    prepare()
    make("-q", "m.pqr", "--border", "9", "--spacing", "1", "-o", "m.dx")
    text = pathlib.Path("m.dx").read_text()
    for x, warns in (("-9", False), ("0", False), ("0.5", True), ("300", True)):  # the atom is at 0
        pathlib.Path("moved.dx").write_text(text.replace("origin -9 ", f"origin {x} "))
        said = make("m.pqr", "--place", "SOD:1", "--read-map", "moved.dx", "--ions", "i.pdb").err
        assert ("1 of the 1 atoms of m.pqr lie outside of the map" in said) == warns, (x, said)


program.main(globals())
