#!/usr/bin/env python3
"""cionize --solvent in periodic cells: energies against a lattice of ions in closed form, molecules that a cell's faces cut, frames with
cells of their own, points, maps of the solvent, and what is refused. validation/unit/kernels/solvent/test_solvent_cell.c has the bounds of
the method: 0.15 % of Born's energy at an eighth of the radius.

usage: test_cionize_solvent_cell.py PROGRAM [DEVICE] [test_name ...]
"""
import math

import program
from ion_truth import generator, numpy
from program import make, read, refuse, unit_constant
from solvent_molecules import RADIUS, WATER, energy, four, ion, write
from test_cionize_periodic import cryst1, write_dcd

KJ = unit_constant("kcal/mol/e") * 4.184  # e^2/A in kJ/mol
WIGNER = -2.837297479480620
CELL, EDGES = ["--cell", "16,14,18", "--spacing", "0.5"], (16, 14, 18)


def test_lattice_of_ions(_):
    """Without salt: Born's energy with Hummer's corrections. The Coulomb energy is that of the ions' images and a background."""
    ion()
    length = 18.0
    for origin in ([], ["--origin", "0"]):
        make("-q", "ion.pqr", "--solvent", "--cell", "18,18,18", "--spacing", "0.375", "--ionic-strength", "0", *origin, "--energies", "e.json")
        found, volume = energy("e.json"), length ** 3
        born = KJ / 2 * (1 / WATER - 1 / 2) / RADIUS
        known = KJ / 2 * (1 / WATER - 1 / 2) * (1 / RADIUS + WIGNER / length + 4 * math.pi * RADIUS ** 2 / (3 * volume)
                                                - 16 * math.pi ** 2 * RADIUS ** 5 / (45 * volume ** 2))
        assert abs(found["reaction_kJ/mol"] - known) <= 2e-3 * abs(born), (found["reaction_kJ/mol"], known)
        assert math.isclose(found["coulomb_kJ/mol"], KJ / 4 * WIGNER / length, rel_tol=1e-9)


def wrapped():
    """The same molecule, atoms 1 and 3 in other cells."""
    return write("wrapped.pqr", [(1.2 + 16, 0.3 - 28, -0.5, 0.7, 1.9), (-0.9, 0.8, 0.4, -0.4, 1.6), (0.1, -1.4 + 14, 0.9 - 18, 0.5, 1.7),
                                 (0.2, 0.4, 1.3, -0.3, 1.5)])


def test_wrapped(_):
    """Which image of an atom a file has does not matter: on one grid, maps and energies agree to the solver's tolerance."""
    four(), wrapped()
    for salt in ("0", "0.15"):
        for name in ("four", "wrapped"):
            make("-q", f"{name}.pqr", "--solvent", *CELL, "--origin", "-8,-7,-9", "--ionic-strength", salt, "--precision", "double",
                 "--accuracy", "1e-8", "--energies", f"{name}.json", "-o", f"{name}.mrc")
        a, b = energy("four.json"), energy("wrapped.json")
        for key in ("reaction_kJ/mol", "coulomb_kJ/mol"):
            assert math.isclose(a[key], b[key], rel_tol=1e-5), (key, a[key], b[key])
        one, two = read("four.mrc"), read("wrapped.mrc")
        assert one.counts == [32, 28, 36], one.counts
        scale = math.sqrt(math.fsum(v * v for v in one.values) / len(one.values))
        assert max(abs(x - y) for x, y in zip(one.values, two.values)) <= 1e-4 * scale


def test_mean_and_background(_):
    """Without salt the mean is 0 but for the poles, which r_min cuts off, and a background is told; with salt its ions do that."""
    ion()
    for salt, said in (("0", True), ("0.15", False)):
        done = make("ion.pqr", "--solvent", "--cell", "20,20,20", "--spacing", "0.5", "--ionic-strength", salt, "--units", "e/A",
                    "-o", "map.dx", "--report", "r.json")
        assert ("background" in done.out) == said and ("background_charge" in energy("r.json")["potential"]) == said
        assert ("background" in open("map.dx", encoding="ascii").read()) == said
        grid = read("map.dx")
        mean = math.fsum(grid.values) / len(grid.values)
        # One point at 0.1 A of the ion has up to 5 e/A more than the mean of its voxel, of 64,000.
        assert (abs(mean) <= 1e-4) == said, (salt, mean)


def test_frames(_):
    """Frames in a cell, or in cells of their own, have the energies of runs of their own."""
    generator()  # skips without numpy
    atoms = numpy.array([(1.25, 0.375, -0.5), (-0.875, 0.75, 0.375), (0.125, -1.375, 0.875), (0.25, 0.375, 1.25)])
    charges, radii = (0.7, -0.4, 0.5, -0.3), (1.9, 1.6, 1.7, 1.5)
    torn = atoms + 3.5
    torn[0, 0] -= 16
    frames, shapes = [atoms, torn], [(16, 14, 18, 90, 90, 90), (17, 14.5, 18.5, 90, 90, 90)]
    write_dcd("t.dcd", frames, shapes)
    write("one.pqr", [(*place, q, r) for place, q, r in zip(atoms, charges, radii)])
    for cells, options in ((shapes[:1] * 2, ["--cell", "16,14,18"]), (shapes, ["--cell", "input"])):
        make("-q", "one.pqr", "--solvent", "--trajectory", "t.dcd", *options, "--counts", "32,28,36", "--energies", "t.json",
             "--ligand", "index 0")
        found = energy("t.json")["frames"]
        for n, (frame, cell) in enumerate(zip(frames, cells)):
            write("own.pqr", [(*place, q, r) for place, q, r in zip(frame, charges, radii)])
            make("-q", "own.pqr", "--solvent", "--cell", ",".join(map(str, cell)), "--counts", "32,28,36", "--energies", "own.json",
                 "--ligand", "index 0")
            own = energy("own.json")
            # Grids begin elsewhere: the surface falls otherwise on them.
            assert math.isclose(found["reaction_kJ/mol"][n], own["reaction_kJ/mol"], rel_tol=5e-3), (n, cells)
            assert math.isclose(found["coulomb_kJ/mol"][n], own["coulomb_kJ/mol"], rel_tol=1e-6), (n, cells)
            assert abs(found["binding_kJ/mol"][n] - own["binding"]["total_kJ/mol"]) <= 0.5, (n, cells)


def test_points(_):
    """At atoms, half of the sum of charge times potential is reaction and Coulomb energy; images of a point have its potential."""
    four()
    with open("points.txt", "w", encoding="ascii") as stream:
        for place in ((3.3, -2.1, 4.4), (0.3, 0.2, -0.4)):
            for shift in ((0, 0, 0), (16, -28, 18), (-16, 0, 36)):
                stream.write(" ".join(str(p + s) for p, s in zip(place, shift)) + "\n")
    options = ["-q", "four.pqr", "--solvent", *CELL, "--units", "e/A", "--accuracy", "1e-9"]
    make(*options, "--points", "points.txt", "--points-out", "p.csv", "--energies", "e.json")
    rows = [line.split(",") for line in open("p.csv", encoding="ascii") if line[0].isdigit() or line[0] == "-"]
    values = [float(row[-1]) for row in rows]
    assert len(values) == 6 and all(math.isclose(v, values[n // 3 * 3], rel_tol=1e-6) for n, v in enumerate(values)), rows
    make(*options, "--points", "atoms", "--points-out", "a.csv", "--exclude", "atom")
    rows = [line.rstrip("\n").split(",") for line in open("a.csv", encoding="ascii") if not line.startswith("#")]
    potential = [float(row[rows[0].index(next(name for name in rows[0] if name.startswith("potential")))]) for row in rows[1:]]
    total = KJ / 2 * math.fsum(q * v for q, v in zip((0.7, -0.4, 0.5, -0.3), potential))
    known = energy("e.json")
    assert math.isclose(total, known["reaction_kJ/mol"] + known["coulomb_kJ/mol"], rel_tol=1e-5), (total, known)


def test_maps_of_the_solvent(_):
    """Dielectric, ions, distance and charge around an ion at the corner of its cell."""
    ion()
    make("-q", "ion.pqr", "--solvent", "--cell", "20,20,20", "--spacing", "0.5", "--origin", "0", "--picture", "p.png",
         *(word for name in ("dielectric", "ions", "distance", "charge") for word in ("--solvent-map", f"{name}:{name}.mrc")))
    maps = {name: read(f"{name}.mrc") for name in ("dielectric", "ions", "distance", "charge")}
    assert maps["ions"].counts == [40, 40, 40]
    near = 0
    for n, distance in enumerate(maps["distance"].values):
        r = math.dist([(p - q + 10) % 20 for p, q in zip(program.position(maps["distance"], n), (0.02, -0.05, 0.1))], (10, 10, 10))
        near += r < RADIUS
        assert abs(distance - max(r - RADIUS, -0.9 * 1.4)) <= (0.15 if r < RADIUS + 1.4 else 1e-4), (r, distance)
        if abs(r - RADIUS) > 0.5:
            assert math.isclose(maps["dielectric"].values[n], WATER if r > RADIUS else 2, rel_tol=1e-6), r
        if abs(r - RADIUS - 2) > 0.5:
            assert maps["ions"].values[n] == (r > RADIUS + 2), r
    assert near > 800 and math.isclose(math.fsum(maps["charge"].values) * 0.5 ** 3, 1, rel_tol=1e-6)


def test_accuracy(_):
    """The spacing that is chosen, and the estimated error, though a cell's edges are divided by whole numbers."""
    ion()
    length, volume = 18.0, 18.0 ** 3
    known = KJ / 2 * (1 / WATER - 1 / 2) * (1 / RADIUS + WIGNER / length + 4 * math.pi * RADIUS ** 2 / (3 * volume)
                                            - 16 * math.pi ** 2 * RADIUS ** 5 / (45 * volume ** 2))
    make("-q", "ion.pqr", "--solvent", "--cell", "18,18,18", "--ionic-strength", "0", "--accuracy-energy", "0.01", "--energies", "e.json",
         "--energy-error", "--report", "r.json")
    report = energy("r.json")["energies"]
    found, error = report["reaction_kJ/mol"], report["reaction_error_kJ/mol"]
    assert abs(found - known) <= 0.01 * abs(known), (found, known)
    assert 0.5 * abs(found - known) <= error <= 2 * abs(found - known) + 1e-4 * abs(known), (error, found - known)


def test_crystal(_):
    """The cell of the input, whose molecule fills it: no solvent, so no reaction."""
    atoms = [(1, 1, 1, 0.5, 6), (3, 3, 3, -0.5, 6)]
    write("a.pqr", atoms)
    with open("full.pqr", "w", encoding="ascii") as stream:
        stream.write(cryst1((6, 6, 6, 90, 90, 90)) + open("a.pqr", encoding="ascii").read())
    make("-q", "full.pqr", "--solvent", "--cell", "input", "--energies", "e.json")
    assert abs(energy("e.json")["reaction_kJ/mol"]) <= 1e-6 * abs(energy("e.json")["coulomb_kJ/mol"])


def test_refused(_):
    four()
    refuse(2, ["--boundary vacuum", "--solvent"], "four.pqr", "--solvent", *CELL, "--boundary", "vacuum", "-o", "a.dx")
    refuse(2, ["--counts: 101 points along x", "use 104"], "four.pqr", "--solvent", "--cell", "20,20,20", "--counts", "101,96,96")
    refuse(2, ["--cell", "--border"], "four.pqr", "--solvent", "--cell", "20,20,20", "--border", "5")


program.main(globals())
