#!/usr/bin/env python3
"""cionize --solvent in triclinic cells: energies and maps of the same crystal in a cell with right angles, numbers of points that fit the cells of
simulations, points, maps of the solvent and frames. validation/unit/kernels/solvent/test_solvent_triclinic.c has the bounds of the method.

usage: test_cionize_solvent_triclinic.py PROGRAM [DEVICE] [test_name ...]
"""
import math

import program
from ion_truth import generator, numpy
from program import make, read, unit_constant
from solvent_molecules import RADIUS, WATER, energy, four, ion, write
from test_cionize_periodic import write_dcd

KJ = unit_constant("kcal/mol/e") * 4.184  # e^2/A in kJ/mol
FOUR = [(1.2, 0.3, -0.5, 0.7, 1.9), (-0.9, 0.8, 0.4, -0.4, 1.6), (0.1, -1.4, 0.9, 0.5, 1.7), (0.2, 0.4, 1.3, -0.3, 1.5)]


def cell_of(vectors):
    """Lengths and angles, for --cell."""
    lengths = [math.hypot(*v) for v in vectors]
    angles = [math.degrees(math.acos(sum(p * q for p, q in zip(vectors[i], vectors[j])) / lengths[i] / lengths[j])) for i, j in ((1, 2), (2, 0), (0, 1))]
    return ",".join(f"{v:.12g}" for v in lengths + angles)


SHEARED = ((16, 0, 0), (8, 14, 0), (0, 0, 18))
COUNTS = ["--counts", "32,28,36", "--origin", "-8,-7,-9"]


def test_same_crystal(_):
    """A cell whose second vector ends half an edge along x, and one with right angles that holds two of it: on the same points, energies and
    potentials agree to the solver's tolerance."""
    four()
    write("two.pqr", FOUR + [(x + 8, y + 14, z, q, r) for x, y, z, q, r in FOUR])
    for options in (["--ionic-strength", "0"], [], ["--surface", "smooth"], ["--non-linear"]):
        solve = ["-q", "--solvent", "--precision", "double", "--accuracy", "1e-8", *options]
        make(*solve, "four.pqr", "--cell", cell_of(SHEARED), *COUNTS, "--energies", "a.json", "-o", "a.dx")
        make(*solve, "two.pqr", "--cell", "16,28,18", "--counts", "32,56,36", "--origin", "-8,-7,-9", "--energies", "b.json", "-o", "b.dx")
        a, b = energy("a.json"), energy("b.json")
        for key in ("reaction_kJ/mol", "coulomb_kJ/mol"):
            assert math.isclose(2 * a[key], b[key], rel_tol=1e-5), (options, key, a[key], b[key])
        one, two = read("a.dx"), read("b.dx")
        assert one.counts == [32, 28, 36] and two.counts == [32, 56, 36]
        scale = math.sqrt(math.fsum(v * v for v in one.values) / len(one.values))
        for row in range(28 * 36):
            j, k = row % 28, row // 28
            for add, shift in ((0, 0), (28, 16)):  # points of the second molecule's half are 16 steps along x
                first, second = one.values[32 * row:32 * row + 32], two.values[32 * (56 * k + j + add):][:32]
                off = max(abs(u - second[(i + shift) % 32]) for i, u in enumerate(first))
                assert off <= 1e-4 * scale, (options, j, k, add, off, scale)


def test_counts(_):
    """Cells of simulations end at grid points; others are rounded by less than a spacing, which is told. The ion is a lattice's."""
    ion()
    for cell, most in (("30,30,30,70.528779,109.471221,70.528779", 1e-5), ("30,30,30,60,60,90", 1e-5), ("30,30,22.6,90,90,120", 1e-5),
                       ("30,33,31,83,97,104", 0.25)):
        done = make("ion.pqr", "--solvent", "--cell", cell, "--energies", "e.json", "--report", "r.json", "--ionic-strength", "0")
        report = energy("r.json")
        assert report["solvent"].get("cell_rounding", 0) <= most and ("rounded by" in done.out) == (most > 1e-3), (cell, report["solvent"])
        assert all(0.44 <= h <= 0.53 for h in report["grid"]["spacing"]), report["grid"]["spacing"]
        for step, count, vector in zip(report["grid"]["spacing"], report["grid"]["counts"], range(3)):
            assert math.isclose(step * count, report["grid"]["cell"][4 * vector], rel_tol=1e-9)
        # Born's energy with Hummer's corrections (test_cionize_solvent_cell.py), of which the Coulomb energy has the images' potential.
        found, volume = energy("e.json"), math.prod(report["grid"]["cell"][4 * a] for a in range(3))
        born = KJ / 2 * (1 / WATER - 1 / 2) / RADIUS
        known = born * (1 + RADIUS * (found["coulomb_kJ/mol"] * 4 / KJ + 4 * math.pi * RADIUS ** 2 / (3 * volume)
                                      - 16 * math.pi ** 2 * RADIUS ** 5 / (45 * volume ** 2)))
        assert abs(found["reaction_kJ/mol"] - known) <= 3e-3 * abs(born), (cell, found["reaction_kJ/mol"], known)


def test_points_and_maps(_):
    """At atoms, half of the sum of charge times potential is the energy; images of a point along the cell's vectors have its values. The charges'
    map and the distance from the surface go on beyond the cell."""
    four()
    options = ["-q", "four.pqr", "--solvent", "--cell", cell_of(((16, 0, 0), (5, 14, 0), (-3, 4.5, 18))), "--counts", "32,28,36", "--origin", "0"]
    vectors = ((16, 0, 0), (5, 14, 0), (-3, 4.5, 18))
    with open("points.txt", "w", encoding="ascii") as stream:
        for place in ((3.3, -2.1, 4.4), (0.3, 0.2, -0.4)):
            for whole in ((0, 0, 0), (1, -2, 1), (-3, 1, 2)):
                stream.write(" ".join(f"{p + sum(n * v[a] for n, v in zip(whole, vectors)):.9f}" for a, p in enumerate(place)) + "\n")
    make(*options, "--units", "e/A", "--accuracy", "1e-9", "--points", "points.txt", "--field", "--points-out", "p.csv", "--energies", "e.json")
    rows = [[float(word) for word in line.split(",")] for line in open("p.csv", encoding="ascii") if line[0].isdigit()]
    assert len(rows) == 6
    for n, row in enumerate(rows):
        for value, same in zip(row[4:], rows[n // 3 * 3][4:]):
            assert abs(value - same) <= 1e-6 * max(abs(v) for v in row[4:]), (n, row)
    make(*options, "--units", "e/A", "--accuracy", "1e-9", "--points", "atoms", "--points-out", "a.csv")
    rows = [line.rstrip("\n").split(",") for line in open("a.csv", encoding="ascii") if not line.startswith("#")]
    total = KJ / 2 * math.fsum(atom[3] * float(row[rows[0].index("potential")]) for atom, row in zip(FOUR, rows[1:]))
    known = energy("e.json")
    assert math.isclose(total, known["reaction_kJ/mol"] + known["coulomb_kJ/mol"], rel_tol=1e-5), (total, known)
    make(*options, *(word for name in ("dielectric", "distance", "charge") for word in ("--solvent-map", f"{name}:{name}.dx")))
    maps = {name: read(f"{name}.dx") for name in ("dielectric", "distance", "charge")}
    charge = [math.fsum(v for v in maps["charge"].values if (v > 0) == up) / 8 for up in (False, True)]
    assert math.isclose(sum(charge), 0.5, rel_tol=1e-5) and charge[1] <= 1.2 + 1e-6, charge
    images = [tuple(p + sum(n * v[a] for n, v in zip(whole, vectors)) for a, p in enumerate(atom[:3])) + atom[4:]
              for atom in FOUR for whole in ((i, j, k) for i in range(-2, 4) for j in range(-2, 4) for k in range(-1, 3))]
    checked = 0
    for n in range(0, len(maps["distance"].values), 7):
        at = program.position(maps["distance"], n)
        outside = min(math.dist(at, image[:3]) - image[3] for image in images)
        if outside > 2.9:  # farther than any probe between atoms; nearer, the surface is not that of the spheres
            checked += 1
            assert abs(maps["distance"].values[n] - outside) <= 1e-4, (at, outside)
        if abs(outside) > 2.9 or outside < -0.6:
            assert math.isclose(maps["dielectric"].values[n], WATER if outside > 0 else 2, rel_tol=1e-6), (at, outside)
    assert checked > 1000


def test_frames(_):
    """Frames in a cell, or in triclinic cells of their own, have the energies of runs of their own."""
    generator()  # skips without numpy
    atoms = numpy.array([atom[:3] for atom in FOUR])
    torn = atoms + 3.5
    torn[0, 2] -= 18
    shapes = [(16, 16, 18, 90, 90, 60), (16.5, 16.5, 18.5, 90, 90, 60)]
    write_dcd("t.dcd", [atoms, torn], shapes)
    four()
    for cells, options in ((shapes[:1] * 2, ["--cell", "16,16,18,90,90,60"]), (shapes, ["--cell", "input"])):
        make("-q", "four.pqr", "--solvent", "--trajectory", "t.dcd", *options, "--counts", "32,28,36", "--energies", "t.json")
        found = energy("t.json")["frames"]
        for n, (frame, cell) in enumerate(zip((atoms, torn), cells)):
            write("own.pqr", [(*place, *atom[3:]) for place, atom in zip(frame.tolist(), FOUR)])
            make("-q", "own.pqr", "--solvent", "--cell", ",".join(map(str, cell)), "--counts", "32,28,36", "--energies", "own.json")
            own = energy("own.json")
            # Grids begin elsewhere: the surface falls otherwise on them.
            assert math.isclose(found["reaction_kJ/mol"][n], own["reaction_kJ/mol"], rel_tol=5e-3), (n, cells)
            assert math.isclose(found["coulomb_kJ/mol"][n], own["coulomb_kJ/mol"], rel_tol=1e-6), (n, cells)


program.main(globals())
