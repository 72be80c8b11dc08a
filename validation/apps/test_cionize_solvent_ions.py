#!/usr/bin/env python3
"""cionize --solvent --place: ions in a solvent against a search by brute force, in Python, on the map that the program writes.

The search takes values of the map, in single precision as in the file, and adds ions' potentials in double precision, so energies
agree to rounding: 1e-9.

usage: test_cionize_solvent_ions.py PROGRAM [DEVICE] [test_name ...]
"""
import json
import math
import pathlib

import program
from ion_truth import write_dcd
from program import bits, make, position, read, refuse, unit_constant
from solvent_molecules import WATER, four, kappa, write

ATOMS = [(1.2, 0.3, -0.5, 0.7, 1.9), (-0.9, 0.8, 0.4, -0.4, 1.6), (0.1, -1.4, 0.9, 0.5, 1.7), (0.2, 0.4, 1.3, -0.3, 1.5)]
GRID = ["--origin", "-9.1,-8.8,-9.3", "--counts", "25", "--spacing", "0.75"]


def report(path):
    with open(path, encoding="utf-8") as stream:
        return json.load(stream)["ions"]


def screened(strength, stern, r, unit="kT/e"):
    k = kappa(strength)
    return unit_constant(unit) * math.exp(-k * (r - stern)) / (WATER * (1 + k * stern) * r)


def gap(surface, stern, probe):
    return {"ses": max(stern, probe), "vdw": stern, "sas": stern + probe}[surface]


def place(grid, charges, keep, ion_ion, strength, stern):
    """The ions' indices and energies. keep: [atoms] distances."""
    points = [position(grid, n) for n in range(len(grid.values))]
    values = [float(v) for v in grid.values]
    free = [all(math.dist(p, atom[:3]) >= d for atom, d in zip(ATOMS, keep)) for p in points]
    found = []
    for charge in charges:
        energy, at = min((charge * values[n], n) for n in range(len(points)) if free[n])
        found.append((at, energy))
        for n, p in enumerate(points):
            r = math.dist(p, points[at])
            free[n] = free[n] and n != at and r >= ion_ion
            values[n] += charge * screened(strength, stern, max(r, 0.1))
    return found, values


def test_places(_):
    """Places and energies, by each ion's own screened potential; and the map that includes them."""
    four()
    for strength, stern in ((0.15, 2), (0, 2), (0.4, 3.1)):
        options = ["four.pqr", *GRID, "--solvent", "--ionic-strength", strength, "--stern", stern]
        make("-q", *options, "-o", "map.mrc")
        make("-q", *options, "--place", "CLA:2", "--place", "CAL:2", "--place", "SOD:2", "--ion-ion", "4", "--ion-solute", "4", "--ions", "i.xyz",
             "--map", "with.mrc", "--map-with-ions", "--report", "r.json")
        grid, seen = read("map.mrc"), report("r.json")
        keep = [max(4, atom[4] + gap("ses", stern, 1.4)) for atom in ATOMS]
        wanted, values = place(grid, [-1, -1, 2, 2, 1, 1], keep, 4, strength, stern)
        for (at, energy), x, y, z, got in zip(wanted, seen["x"], seen["y"], seen["z"], seen["energy"], strict=True):
            # origin and spacing are as in the file, in single precision
            assert math.dist(position(grid, at), (x, y, z)) <= 1e-5, (strength, at, (x, y, z))
            assert math.isclose(got, energy, rel_tol=1e-6), (strength, got, energy)
        largest = max(abs(v) for v in values)
        # a part of the distance is lost to the file's positions
        assert all(abs(a - b) <= 1e-6 * largest for a, b in zip(read("with.mrc").values, values, strict=True))


# ---- in cells ----

CELLS = (("18,16.5,18", ((18, 0, 0), (0, 16.5, 0), (0, 0, 18))), ("18,18,16.5,90,90,120", ((18, 0, 0), (-9, 18 * math.sqrt(0.75), 0), (0, 0, 16.5))))


def images(d, vectors, far, most):
    """Of a displacement: the lengths of it and its images, up to `far`; by `most` vectors."""
    for i in range(-most, most + 1):
        for j in range(-most, most + 1):
            for k in range(-most, most + 1):
                r = math.hypot(*(p + i * a + j * b + k * c for p, a, b, c in zip(d, *vectors)))
                if r < far:
                    yield r


def test_cells(_):
    """Ions in cells: the first where the map of the cell is least; it adds its own potential and that of its images, by the plain sum. With strong
    salt, that ends after 40 A (1e-9 at kappa = 0.5 / A)."""
    four()
    strength, stern = 2.5, 1
    for cell, vectors in CELLS:
        for salt in (strength, 0):
            options = ["four.pqr", "--cell", cell, "--spacing", "0.75", "--solvent", "--ionic-strength", salt, "--stern", stern, "--solute-dielectric", "4"]
            make("-q", *options, "-o", "map.dx", "--precision", "double")
            done = make(*options, "--place", "CLA:1", "--ion-ion", "4", "--ion-solute", "4", "--ions", "i.xyz", "--precision", "double",
                        "--map", "with.dx", "--map-with-ions", "--report", "r.json")
            assert "so do its images" in done.out, done.out
            grid, with_ion, seen = read("map.dx"), read("with.dx"), report("r.json")
            keep = [max(4, atom[4] + gap("ses", stern, 1.4)) for atom in ATOMS]
            points = [position(grid, n) for n in range(len(grid.values))]
            allowed = [all(next(images([a - b for a, b in zip(p, atom)], vectors, d - 1e-6, 1), None) is None for atom, d in zip(ATOMS, keep)) for p in points]
            energy, at = min((-v, n) for n, v in enumerate(grid.values) if allowed[n])
            place = (seen["x"][0], seen["y"][0], seen["z"][0])
            largest = max(abs(v) for v in grid.values)
            assert math.dist(points[at], place) <= 1e-6 or abs(seen["energy"][0] - energy) <= 1e-6 * largest, (cell, salt, place, points[at])
            assert math.isclose(seen["energy"][0], energy, rel_tol=1e-6), (cell, salt)
            added = [after - before for after, before in zip(with_ion.values, grid.values, strict=True)]
            if salt == 0:  # a background: the mean is that of the map, but for the pole's own voxel, of 0.42 A^3, within which 1 / r is cut off
                mean = math.fsum(added) / len(added)
                most = unit_constant("kT/e") / WATER / 0.1 / len(added)
                assert abs(mean) <= most and abs(max(added) - min(added)) > 20 * most, (cell, mean, most)
                continue
            for n in range(0, len(points), 97):
                own = math.fsum(screened(salt, stern, max(r, 0.1)) for r in images([a - b for a, b in zip(points[n], place)], vectors, 40, 5))
                # Both maps have 12 digits.
                assert abs(added[n] + own) <= 1e-6 * own + 1e-9 * largest, (cell, n, added[n], own)


def test_distances(_):
    """Ions keep the radius of the salt's ions from the surface, whatever --ion-solute says."""
    four()
    for surface, stern, probe in (("ses", 1, 1.4), ("ses", 2.2, 1.4), ("vdw", 2, 1.4), ("sas", 1.5, 0.9)):
        make("-q", "four.pqr", *GRID, "--solvent", "--surface", surface, "--stern", stern, "--probe", probe, "--place", "SOD:1", "--ion-ion", "0",
             "--ion-solute", "0", "--mask", "mask.dx")
        mask, seen = read("mask.dx"), 0
        for n, value in enumerate(mask.values):
            near = any(math.dist(position(mask, n), atom[:3]) < atom[4] + gap(surface, stern, probe) - 1e-6 for atom in ATOMS)
            seen += near
            assert not near or value == 1, (surface, position(mask, n), value)
            far = all(math.dist(position(mask, n), atom[:3]) > atom[4] + gap(surface, stern, probe) + 1e-6 for atom in ATOMS)
            assert not far or value != 1, (surface, position(mask, n), value)
        assert seen > 50
    make("-q", "four.pqr", *GRID, "--solvent", "--place", "SOD:1", "--ion-solute", "1", "--from-surface", "--mask", "a.mrc", "--stern", "2.5")
    make("-q", "four.pqr", *GRID, "--solvent", "--place", "SOD:1", "--ion-solute", "0", "--mask", "b.mrc", "--stern", "2.5")
    assert bits("a.mrc") == bits("b.mrc")


def test_runs(_):
    """The same ions with any number of threads, from kept layers, and whatever file the map goes to; by rules, too."""
    four()
    options = ["four.pqr", *GRID, "--solvent", "--concentration", "0.4", "--order", "alternate", "--ion-ion", "5"]
    for name, more in (("a", ["--threads", "1"]), ("b", ["--threads", "2", "--map", "m.dx"])):
        done = make(*options, "-o", f"{name}.pqr", "--ions", f"{name}.xyz", *more)
    text = pathlib.Path("a.xyz").read_text(encoding="ascii")
    assert text == pathlib.Path("b.xyz").read_text(encoding="ascii") and int(text.split()[0]) >= 2
    assert "each by the potential in solvent" in done.out and "a = 2 A" in done.out, done.out
    assert len(program.read_atoms("a.pqr")) == 4 + int(text.split()[0])
    for part in (1, 2):
        make("-q", *options, "-o", "m.dx", "--ions", "c.xyz", "--part", f"{part}/2")
    make("-q", *options, "-o", "m.dx", "--ions", "c.xyz", "--join")
    assert pathlib.Path("c.xyz").read_text(encoding="ascii") == text


def test_water(_):
    """Water of the file is left out: ions are on the grid, and the file of molecule and ions has none."""
    write("wet.pqr", [(1.2, 0.3, -0.5, 0.7, 1.9, "LIG", "A"), (-0.9, 0.8, 0.4, 0.3, 1.6, "LIG", "B"), (4.0, 4.0, 0.0, 0.0, 1.7, "HOH", "O")])
    done = make("wet.pqr", *GRID, "--solvent", "--neutralize", "CLA", "-o", "out.pqr")
    assert "1 water molecule of the file left out" in done.out and "in the place of" not in done.out, done.out
    assert len(program.read_atoms("out.pqr")) == 3


def test_refused(_):
    four()
    for option, words in ((["--refine"], "between grid points"), (["--water", "solute"], "left out"), (["--water", "solvent"], "left out"),
                          (["--keep-water", "within:4"], "left out"), (["--concentration", "0.1", "--concentration-by", "water"], "left out")):
        refuse(2, [option[-2] if len(option) > 2 else option[0], "--solvent", words], "four.pqr", *GRID, "--solvent", "--place", "SOD:1", *option)
    pathlib.Path("s.cfg").write_text("PLACEION SOD 1\n", encoding="ascii")
    refuse(2, ["--script", "--solvent", "Coulomb's law"], "four.pqr", "--solvent", "-i", "s.cfg")
    write_dcd("t.dcd", [[atom[:3] for atom in ATOMS]])
    refuse(2, ["--energies"], "four.pqr", "--solvent", "--trajectory", "t.dcd", "--energies", "e.csv", "--place", "SOD:1")
    make("-q", "four.pqr", *GRID, "--solvent", "--place", "SOD:1", "--map", "a.mrc", "--map-with-ions")
    refuse(3, ["a.mrc", "in a solvent", "--solvent"], "four.pqr", "--read-map", "a.mrc", "--place", "SOD:1")
    done = program.run("four.pqr", *GRID, "--solvent", "--place", "SOD:3", "--ion-ion", "30", "--ions", "i.xyz")
    assert done.status == 9 and "1 of 3 ions placed" in done.err, done


program.main(globals())
