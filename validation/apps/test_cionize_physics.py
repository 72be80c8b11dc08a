#!/usr/bin/env python3
"""The maps of cionize against electrostatics: units, known sums, symmetries, and the options that change the
formula.

usage: test_cionize_physics.py PROGRAM [DEVICE] [test_name ...]
"""
import math
import struct

import program
from program import Sum, compare, make, position, read, read_atoms, refuse, sample, unit_constant, value, write_atoms

POINT = ["--origin", "0", "--counts", "1"]  # a map of one point, at the origin
SMALL = ["--spacing", "1.5,1.25,1", "--border", "4"]


def single(number):
    return struct.unpack("<f", struct.pack("<f", number))[0]


def test_unit_constants(_):
    """The documented constants, from first principles: 1 e/A = 14.39964 V = 332.0637 kcal/mol/e = 560.4593 kT/e at 298.15 K."""
    for unit, known in (("V", 14.39964), ("kcal/mol/e", 332.0637), ("kT/e", 560.4593), ("e/A", 1)):
        assert abs(unit_constant(unit) - known) < 1e-6 * known, unit
    atoms = [(0.0, 0.0, 0.0, 1.0)]
    write_atoms("one.pqr", atoms)
    for unit in ("V", "kcal/mol/e", "kT/e", "e/A"):
        for r in (1.0, 3.0, 0.5):
            make("-q", "one.pqr", "--units", unit, "--precision", "double", "--origin", f"{r},0,0", "--counts", "1",
                 "-o", "a.dx")
            expected = unit_constant(unit) / r
            found = value(read("a.dx"), 0, 0, 0)
            assert abs(found - expected) <= 1e-9 * expected, (unit, r, found, expected)
        compare("a.dx", atoms, unit_constant(unit), double=True, text=1e-11)
        make("-q", "one.pqr", *SMALL, "--units", unit, "-o", "a.mrc")
        compare("a.mrc", atoms, unit_constant(unit))


def test_default_unit(_):
    sample("point_charge.pqr")
    make("-q", "point_charge.pqr", *SMALL, "-o", "a.mrc")
    make("-q", "point_charge.pqr", *SMALL, "--units", "kT/e", "--temperature", "298.15", "-o", "b.mrc")
    assert program.bits("a.mrc") == program.bits("b.mrc")


def test_temperature(_):
    atoms = read_atoms(sample("dipole.pqr"))
    for temperature in (1, 310.15, 1000):
        make("-q", "dipole.pqr", *SMALL, "--temperature", temperature, "-o", "a.mrc")
        compare("a.mrc", atoms, unit_constant("kT/e", temperature))
    make("-q", "dipole.pqr", *SMALL, "--units", "V", "--temperature", 310, "-o", "a.mrc")  # no effect on volts
    make("-q", "dipole.pqr", *SMALL, "--units", "V", "-o", "b.mrc")
    assert program.bits("a.mrc") == program.bits("b.mrc")


def test_dipole(_):
    """On the axis at distance z: 1/(z - 1/2) - 1/(z + 1/2); zero in the mid-plane, and odd in z."""
    sample("dipole.pqr")
    make("-q", "dipole.pqr", "--units", "e/A", "--precision", "double", "--spacing", "1", "--origin", "-4", "--counts", "9",
         "-o", "a.dx")
    grid = read("a.dx")
    for k in range(9):
        z = k - 4
        on_axis = 1 / abs(z - 0.5) - 1 / abs(z + 0.5)
        assert abs(value(grid, 4, 4, k) - on_axis) <= 1e-11, (z, value(grid, 4, 4, k), on_axis)
        for i in range(9):
            for j in range(9):
                assert abs(value(grid, i, j, k) + value(grid, i, j, 8 - k)) <= 1e-12
                if z == 0:
                    assert abs(value(grid, i, j, k)) <= 1e-15
    far = 1000.0
    make("-q", "dipole.pqr", "--units", "V", "--precision", "double", "--origin", f"0,0,{far}", "--counts", "1", "-o", "a.dx")
    # The moment is 1 e A; the next term of the multipole series is (d / 2 far)^2 = 2.5e-7 of it.
    expected = unit_constant("V") / far ** 2 * (1 + 0.25 / far ** 2)
    assert abs(value(read("a.dx"), 0, 0, 0) - expected) <= 1e-9 * expected


# The sums of data/README.md, which are in double precision, with 15 digits.
MADELUNG = {(0.0, 0.0, 0.0): -0.619703632263189, (1.41, 1.41, 1.41): -0.409468151427127}


def test_madelung(_):
    atoms = read_atoms(sample("nacl.pqr"))
    sums = {point: Sum(atoms, point) for point in MADELUNG}
    for point, known in MADELUNG.items():
        assert abs(sums[point].value - known) <= 2e-15, point
    for arguments in (["--origin", "0", "--spacing", "1.41", "--counts", "2"],
                      ["--origin", "-14.1", "--spacing", "1.41", "--counts", "21"],
                      ["--spacing", "1.41", "--border", "2.82"]):
        for kind, double in (("dx", True), ("mrc", False)):
            make("-q", "nacl.pqr", *arguments, "--units", "e/A", "--precision", "double" if double else "single",
                 "--method", "exact", "-o", f"a.{kind}")
            grid = read(f"a.{kind}")
            seen = 0
            for n, found in enumerate(grid.values):
                point = tuple(abs(round(v, 4)) for v in position(grid, n))
                if point not in MADELUNG:
                    continue
                seen += 1
                s = sums[point]
                error = abs(found - MADELUNG[point])
                assert error <= s.bound(grid.spacing, double) + (0.5e-11 if double else 0), (arguments, point, found)
                # In single precision, 2,000 terms of either sign have random errors: each term at most 13.2 u of itself
                # (see Sum.bound), each partial sum u. A partial sum is below the largest term times sqrt(n). Six
                # standard deviations are allowed.
                if not double:
                    terms = math.sqrt(math.fsum((q / math.dist((x, y, z), point)) ** 2 for x, y, z, q in atoms))
                    likely = 6 * 2 ** -24 * (13.2 + math.sqrt(512)) * terms
                    assert error <= likely < 1e-4, (arguments, point, error, likely)
            assert seen in (2, 9), (arguments, seen)


def rock_salt(edge):
    """The eight ions of a cubic cell of NaCl."""
    return [(0.5 * edge * i, 0.5 * edge * j, 0.5 * edge * k, 1.0 if (i + j + k) % 2 == 0 else -1.0)
            for i in (0, 1) for j in (0, 1) for k in (0, 1)]


def test_periodic_madelung(_):
    """The crystal of NaCl: at an ion of charge q, the potential is q / r_min - q M / d, M = 1.747564594633."""
    if program.DEVICE != "cpu":
        return
    edge = 6.0
    write_atoms("cell.pqr", rock_salt(edge))
    # The same crystal in its primitive cell, with angles of 60 degrees: the anion is in its middle.
    side = edge / 2 ** 0.5
    anion = (side, side / 3 ** 0.5, side / 6 ** 0.5, -1.0)
    write_atoms("two.pqr", [(0.0, 0.0, 0.0, 1.0), anion])
    for atoms, cell in (("cell.pqr", "6,6,6"), ("two.pqr", ",".join([repr(side)] * 3 + ["60"] * 3))):
        for kind, double in (("dx", True), ("cube", False)):
            done = make(atoms, "--cell", cell, "--origin", "0", "--spacing", "0.4", "--units", "e/A", "-o", f"a.{kind}",
                        *(["--precision", "double", "--accuracy", "1e-10"] if double else []))
            assert "periodic" in done.out and "fast" in done.out, done.out
            grid = read(f"a.{kind}")
            expected = 10 - 1.747564594633182 / (edge / 2)
            assert abs(grid.values[0] - expected) <= (2e-8 if double else 2e-5), (atoms, double, grid.values[0], expected)


def test_cell_is_checked(_):
    sample("dipole.pqr")
    for text in ("1,2", "1,2,3,4", "1,2,x", "0,1,1", "1,1,1,90,90,180", "1,1,1,10,10,90", "nan,1,1", "1,1,1,90,90,90,90", ""):
        refuse(2, ["--cell", "lengths"], "dipole.pqr", f"--cell={text}")
    refuse(2, ["--cell", "--border"], "dipole.pqr", "--cell=9,9,9", "--border=2")


def test_superposition(_):
    """A map of A and B together is the map of A plus the map of B."""
    atoms = read_atoms(sample("water_box.pqr"))[:900]
    parts = [atoms[0::3], atoms[1::3] + atoms[2::3]]
    grid = ["--origin", "-3,-2,-1", "--spacing", "2.5,3,3.5", "--counts", "15,12,10", "--units", "V"]
    for kind, precision in (("mrc", "single"), ("dx", "double")):
        maps = []
        for name, some in (("a", parts[0]), ("b", parts[1]), ("all", atoms)):
            write_atoms(f"{name}.pqr", some)
            make("-q", f"{name}.pqr", *grid, "--precision", precision, "-o", f"{name}.{kind}")
            maps.append(read(f"{name}.{kind}"))
        a, b, whole = maps
        scale = unit_constant("V")
        for n in range(0, len(whole.values), 7):
            allowed = sum(scale * Sum(some, position(whole, n)).bound(whole.spacing, precision == "double")
                          for some in parts + [atoms])
            if kind == "dx":
                allowed += 0.5e-11 * (abs(a.values[n]) + abs(b.values[n]) + abs(whole.values[n]))
            assert abs(a.values[n] + b.values[n] - whole.values[n]) <= allowed, (kind, n)


def test_translation(_):
    """Molecule and grid moved by whole grid steps give the same map at another origin."""
    atoms = read_atoms(sample("dipole.pqr")) + [(1.25, -2.5, 0.75, -0.5), (-3.0, 1.125, 2.0, 0.25)]
    steps = (16, -40, 5)
    spacing = (0.5, 0.75, 1.25)
    shift = [steps[a] * spacing[a] for a in range(3)]
    write_atoms("here.pqr", atoms)
    write_atoms("there.pqr", [(x + shift[0], y + shift[1], z + shift[2], q) for x, y, z, q in atoms])
    for kind, precision in (("mrc", "single"), ("dx", "double")):
        for name in ("here", "there"):
            make("-q", f"{name}.pqr", "--spacing", "0.5,0.75,1.25", "--border", "4", "--precision", precision,
                 "-o", f"{name}.{kind}")
        here, there = read(f"here.{kind}"), read(f"there.{kind}")
        assert here.counts == there.counts
        for a in range(3):
            assert abs(there.origin[a] - here.origin[a] - shift[a]) <= 1e-5
        # All positions here are exact in binary. Relative to a block's centre they differ only by where the blocks
        # begin.
        for n in range(len(here.values)):
            s = Sum(atoms, position(here, n))
            allowed = 2 * unit_constant("kT/e") * s.bound(here.spacing, precision == "double") + (
                1e-11 * abs(here.values[n]) if kind == "dx" else 0)
            assert abs(here.values[n] - there.values[n]) <= allowed, (kind, n)


def test_charge_reversal(_):
    """Rounding to nearest is symmetric: the same bits, negated."""
    atoms = read_atoms(sample("1hpv.pqr"))
    write_atoms("plus.pqr", atoms)
    write_atoms("minus.pqr", [(x, y, z, -q) for x, y, z, q in atoms])
    grid = ["--spacing", "3,2,4", "--border", "4"]
    for precision in ("single", "double"):
        for kind in ("mrc", "dx"):
            maps = []
            for name in ("plus", "minus"):
                make("-q", f"{name}.pqr", *grid, "--precision", precision, "-o", f"a.{kind}")
                maps.append(read(f"a.{kind}").values)
            assert maps[0] == [-v for v in maps[1]], (precision, kind)
            assert any(v > 0 for v in maps[0]) and any(v < 0 for v in maps[0])


def test_dielectric(_):
    atoms = read_atoms(sample("1hpv.pqr"))
    grid = ["--spacing", "4,5,6", "--border", "4"]
    make("-q", "1hpv.pqr", *grid, "--dielectric", "80", "--units", "kcal/mol/e", "-o", "a.mrc")
    compare("a.mrc", atoms, unit_constant("kcal/mol/e") / 80, 60)
    make("-q", "1hpv.pqr", *grid, "--units", "V", "--precision", "double", "-o", "one.dx")
    make("-q", "1hpv.pqr", *grid, "--units", "V", "--precision", "double", "--dielectric", "80", "-o", "eighty.dx")
    for a, b in zip(read("one.dx").values, read("eighty.dx").values):
        assert abs(a / 80 - b) <= 2e-11 * abs(b), (a, b)


def test_distance_dielectric(_):
    """eps(r) = c r: V = C sum q / (c r^2)."""
    atoms = read_atoms(sample("1hpv.pqr"))[:500]
    write_atoms("some.pqr", atoms)
    for c in (1, 4):
        make("-q", "some.pqr", *SMALL, "--distance-dielectric", c, "-o", "a.mrc")
        compare("a.mrc", atoms, unit_constant("kT/e") / c, 60, power=2)
    make("-q", "some.pqr", *SMALL, "--distance-dielectric", 2, "--units", "V", "--precision", "double", "-o", "a.dx")
    compare("a.dx", atoms, unit_constant("V") / 2, 60, power=2, double=True, text=0.5e-11)


def test_r_min(_):
    """At an atom's own centre the potential is C q / r_min, the cap. Beyond r_min nothing changes."""
    write_atoms("one.pqr", [(0.0, 0.0, 0.0, -0.75)])
    for r_min in (0.1, 0.25, 2, 1e-6):
        for unit in ("V", "e/A"):
            expected = -0.75 * unit_constant(unit) / r_min
            make("-q", "one.pqr", *POINT, "--r-min", r_min, "--units", unit, "--precision", "double", "-o", "a.dx")
            found = value(read("a.dx"), 0, 0, 0)
            assert abs(found - expected) <= 1e-9 * abs(expected), (r_min, unit, found, expected)
            make("-q", "one.pqr", *POINT, "--r-min", r_min, "--units", unit, "-o", "a.mrc")
            found = value(read("a.mrc"), 0, 0, 0)
            # Charge, constant and r_min are rounded; then an inverse root (5.2 u) and two products: at most 13.2 u, as
            # in Sum.bound.
            assert abs(found - expected) <= 14.2 * 2 ** -24 * abs(expected), (r_min, unit, found, expected)
    make("-q", "one.pqr", *POINT, "--units", "e/A", "-o", "a.mrc")
    make("-q", "one.pqr", *POINT, "--units", "e/A", "--r-min", "0.1", "-o", "b.mrc")
    assert program.bits("a.mrc") == program.bits("b.mrc"), "0.1 is the default"
    atoms = read_atoms(sample("water_box.pqr"))[:300]
    write_atoms("some.pqr", atoms)
    make("-q", "some.pqr", "--spacing", "2,3,2", "--border", "1", "--r-min", "1.5", "-o", "a.mrc")
    compare("a.mrc", atoms, unit_constant("kT/e"), 200, r_min=1.5)
    make("-q", "one.pqr", *POINT, "--r-min", "2", "--distance-dielectric", "4", "--units", "e/A", "--precision", "double",
         "-o", "a.dx")
    assert abs(value(read("a.dx"), 0, 0, 0) - -0.75 / 16) <= 1e-12


def test_methods_agree(_):
    """Every variant of the device keeps the bound; "ref" is the double sum, rounded once."""
    atoms = read_atoms(sample("1hpv.pqr"))[:700]
    write_atoms("some.pqr", atoms)
    scale = unit_constant("kT/e")
    names = ["simd", "baseline", "avx2", "avx512", "ref"] if program.DEVICE == "cpu" else ["tuned"]
    for name in names:
        done = program.run("-q", "some.pqr", *SMALL, "--method", f"exact:{name}", "-o", "a.mrc")
        if done.status == 8 and name.startswith("avx"):
            program.skip_part(done.err.strip())
            continue
        assert done.status == 0, done.err
        compare("a.mrc", atoms, scale, 60)
    if program.DEVICE == "cpu":
        grid = read("a.mrc")
        for n in range(0, len(grid.values), 101):
            s = Sum(atoms, position(grid, n))
            allowed = 1.01 * (2 ** -24 + 1e-9) * abs(scale * s.value) + 1e-13 * scale * s.s1
            assert abs(grid.values[n] - scale * s.value) <= allowed, n
        refuse(2, "nonsense", "some.pqr", "--method", "exact:nonsense")


def test_far_from_the_origin(_):
    """Positions are relative to a nearby centre, so single precision keeps its digits 50,000 A away."""
    atoms = [(x + 50000, y - 40000, z + 30000, q) for x, y, z, q in read_atoms(sample("1hpv.pqr"))[:400]]
    write_atoms("far.pqr", atoms)
    make("-q", "far.pqr", *SMALL, "-o", "a.dx")
    rms = compare("a.dx", atoms, unit_constant("kT/e"), 100, text=0.5e-8)
    assert rms < 1e-6, rms


program.main(globals())
