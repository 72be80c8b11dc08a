#!/usr/bin/env python3
"""cionize --solvent --points: potentials and fields in a solvent against those of an ion in salt, energies and maps.

Bounds. Potentials are off as maps are (test_cionize_solvent.py), by 1 % from a spacing off the surface on, and the values between grid
points by less (validation/unit/kernels/solvent/test_solvent_points.c). Fields are differences of potentials over a spacing, so what the
grid does to the solution near the surface counts more: measured are 11 % of the field within three spacings of it, and beyond 1 %.
CSV has 12 digits.

usage: test_cionize_solvent_points.py PROGRAM [DEVICE] [test_name ...]
"""
import csv
import math
import pathlib

import program
import seeds
from program import Skip, make, position, read, refuse, unit_constant
from solvent_molecules import GRID, ION_AT, RADIUS, STERN, WATER, energy, four, ion, kappa, write

KJ = unit_constant("kcal/mol/e") * 4.184  # e^2/A in kJ/mol
SPACING = 0.375


def values(path):
    with open(path, encoding="utf-8") as stream:
        rows = list(csv.DictReader(line for line in stream if not line.startswith("#")))
    return [[float(row[name]) for name in ("potential", "Ex", "Ey", "Ez") if name in row] for row in rows]


def ion_in_salt(charge, k, r):
    """Potential, and field along r, of an ion in a dielectric of 1, in e/A: the solution of Debye and Hueckel."""
    contact = RADIUS + STERN
    ending = -k / (1 + k * contact)
    if r < RADIUS:
        return charge * (1 / r + (1 / WATER - 1) / RADIUS + ending / WATER), charge / r ** 2
    if r < contact:
        return charge / WATER * (1 / r + ending), charge / WATER / r ** 2
    tail = charge * math.exp(-k * (r - contact)) / (WATER * (1 + k * contact) * r)
    return tail, tail * (1 / r + k)


def on_sphere(draw, r):
    while True:
        way = [draw.uniform(-1, 1) for _ in range(3)]
        size = math.hypot(*way)
        if 0.1 < size < 1:
            return [a + w * r / size for a, w in zip(ION_AT, way)]


def test_ion(_):
    """Inside, in the layer without salt, and in the salt, at any place between grid points."""
    ion(charge=-2.0)
    draw = seeds.draw()
    radii = [draw.uniform(low, high) for low, high in ((0.6, RADIUS - SPACING), (RADIUS + SPACING, 4.6), (5.4, 9)) for _ in range(300)]
    points = [on_sphere(draw, r) for r in radii]
    with open("p.txt", "w", encoding="ascii") as stream:
        stream.writelines(f"{x:.9f} {y:.9f} {z:.9f}\n" for x, y, z in points)
    for strength in (0, 0.15):
        make("-q", "ion.pqr", "--solvent", "--solute-dielectric", "1", "--spacing", SPACING, "--border", "11", "--ionic-strength", strength,
             "--temperature", "310", "--units", "e/A", "--points", "p.txt", "--field", "--points-out", "v.csv")
        k, found = kappa(strength, 310), values("v.csv")
        assert len(found) == len(points)
        for r, at, (potential, *field) in zip(radii, points, found):
            truth, along = ion_in_salt(-2, k, r)
            # As in maps: 1 % of what the solvent adds, and of the value at contact, from which the error is carried.
            most = 1e-2 * (2 / RADIUS if r < RADIUS else abs(truth) + 2e-2 / WATER)
            assert abs(potential - truth) <= most, (strength, r, potential, truth)
            off = math.dist(field, [along * (p - c) / r for p, c in zip(at, ION_AT)])
            near = r - RADIUS < 4 * SPACING
            assert off <= (1e-2 * 2 / RADIUS ** 2 if r < RADIUS else (0.15 if near else 0.03) * abs(along)), (strength, r, field, along)


def test_energies(_):
    """Half of the sum of charge times potential at the atoms is the energy, also of selected atoms; exclusions are as without solvent."""
    atoms = [(1.2, 0.3, -0.5, 0.7, 1.9), (-0.9, 0.8, 0.4, -0.4, 1.6), (0.1, -1.4, 0.9, 0.5, 1.7), (0.2, 0.4, 1.3, -0.3, 1.5)]
    charges = [atom[3] for atom in atoms]
    four()
    for select, acting in ((["--select", "all"], charges), (["--select", "index 0 2"], [0.7, 0, 0.5, 0]), (["--surface", "smooth"], charges)):
        make("-q", "four.pqr", *GRID, "--solvent", *select, "--units", "e/A", "--points", "atoms", "--points-out", "v.csv", "--energies", "e.json",
             "--method", "exact")
        found, known = values("v.csv"), energy("e.json")
        total = KJ / 2 * math.fsum(q * value for q, (value,) in zip(acting, found))
        wanted = known["reaction_kJ/mol"] + known["coulomb_kJ/mol"]
        assert math.isclose(total, wanted, rel_tol=1e-9), (select, total, wanted)
        for q, (value,), reaction, coulomb in zip(acting, found, known["atoms"]["reaction_kJ/mol"], known["atoms"]["coulomb_kJ/mol"]):
            assert math.isclose(KJ / 2 * q * value, reaction + coulomb, rel_tol=1e-8, abs_tol=1e-9)
    make("-q", "four.pqr", *GRID, "--solvent", "--units", "e/A", "--points", "atoms", "--exclude", "nothing", "--points-out", "n.csv")
    make("-q", "four.pqr", *GRID, "--solvent", "--units", "e/A", "--points", "atoms", "--points-out", "v.csv")
    for (all_of_them,), (others,), q in zip(values("n.csv"), values("v.csv"), charges):
        assert math.isclose(all_of_them - others, q / 2 / 0.1, rel_tol=1e-5)  # the sum is to 1e-6 of the rms


def test_maps(_):
    """At grid points, values are those of the map, which the same run may make; a map in single precision is off by 1e-7."""
    four()
    make("-q", "four.pqr", *GRID, "--solvent", "--method", "exact", "-o", "m.mrc")
    grid = read("m.mrc")
    chosen = range(3, len(grid.values), 97)
    with open("p.txt", "w", encoding="ascii") as stream:
        stream.writelines("{} {} {}\n".format(*position(grid, n)) for n in chosen)
    make("-q", "four.pqr", *GRID, "--solvent", "--method", "exact", "-o", "again.mrc", "--points", "p.txt", "--points-out", "v.csv")
    assert list(read("again.mrc").values) == list(grid.values)
    largest = max(abs(v) for v in grid.values)
    for n, (value,) in zip(chosen, values("v.csv"), strict=True):
        assert abs(value - grid.values[n]) <= 1e-6 * largest, (n, value, grid.values[n])
    try:
        import h5py
    except ImportError:
        program.skip_part("no h5py")
        return
    make("-q", "four.pqr", *GRID, "--solvent", "--points", "p.txt", "--points-out", "v.h5")
    with h5py.File("v.h5") as file:
        assert "solvent" in file.attrs["quantity"] and "78.54" in file.attrs["method"], dict(file.attrs)
        assert len(file["potential"]) == len(chosen)


def test_field_maps(_):
    """At grid points, the field of Debye and Hueckel's ion, in HDF5 and MRC, and with a cell; bounds as test_ion's, of points from a spacing
    off the surface on. Next to the surface, the first layer in the solvent is off by a quarter."""
    try:
        import h5py
        import numpy
    except ImportError:
        raise Skip("no h5py or no numpy") from None
    ion(charge=-2.0)
    for options in (["--border", "11"], ["--cell", "48,48,48", "--origin", "-24"]):
        solve = ["-q", "ion.pqr", "--solvent", "--solute-dielectric", "1", "--spacing", SPACING, "--units", "e/A", *options]
        make(*solve, "--field-map", "f.h5", "--precision", "double")
        make(*solve, "--field-map", "f.mrc", "-o", "m.mrc")
        with h5py.File("f.h5") as file:
            field, origin, spacing = file["field"][:], file["field"].attrs["origin"], file["field"].attrs["spacing"]
            assert "solvent" in file["field"].attrs["quantity"] and "78.54" in file.attrs["method"], dict(file.attrs)
        places = [origin[a] + spacing[a] * numpy.arange(field.shape[3 - a]) - ION_AT[a] for a in range(3)]
        d = numpy.stack(numpy.meshgrid(*places, indexing="ij")).transpose(0, 3, 2, 1)
        r = numpy.sqrt((d ** 2).sum(0))
        along = numpy.vectorize(lambda at: ion_in_salt(-2, kappa(0.15), at)[1])(r)
        off, size = numpy.sqrt(((field - along * d / r) ** 2).sum(0)), numpy.abs(along)
        inside, near, far = r < RADIUS - SPACING, abs(r - RADIUS - 2.5 * SPACING) < 1.5 * SPACING, (r > RADIUS + 4 * SPACING) & (r < 9)
        first = (r > RADIUS + 1e-3) & (r < RADIUS + SPACING)
        for where, most in ((inside & (r > 0.2), 1e-2 * 2 / RADIUS ** 2), (near, 0.15 * size), (far, 0.03 * size), (first, 0.5 * size)):
            assert where.sum() > 100 and (off <= most)[where].all(), (options, (off / most)[where].max())
        for a, name in enumerate("xyz"):
            grid = read(f"f_{name}.mrc")
            values = numpy.array(grid.values).reshape(field.shape[1:])
            assert numpy.abs(values - field[a]).max() <= 2e-7 * numpy.abs(field).max(), name  # rounding
        # Minus the differences of the map, where r_min and the poles do not matter.
        values = numpy.array(read("m.mrc").values).reshape(field.shape[1:])
        slopes = (values[1:-1, 1:-1, :-2] - values[1:-1, 1:-1, 2:]) / (2 * spacing[0])
        there = (r > 7)[1:-1, 1:-1, 1:-1] & (r < 9)[1:-1, 1:-1, 1:-1]
        assert numpy.abs(slopes - field[0][1:-1, 1:-1, 1:-1])[there].max() <= 1e-5 * size[r > 7].max()


def test_field_maps_say_so(_):
    """A selection's field, with the surface of all atoms; the report has the error of the sum."""
    try:
        import h5py
        import numpy
    except ImportError:
        raise Skip("no h5py or no numpy") from None
    four()
    fields = {}
    for select in ("all", "index 0 2", "index 1 3"):
        done = make("four.pqr", *GRID, "--solvent", "--select", select, "--field-map", "f.h5", "--precision", "double", "--report", "r.json",
                    "--method", "exact")
        assert "points in solvent" in done.out and not pathlib.Path("four.mrc").exists(), done.out
        assert energy("r.json")["solvent"]["iterations"] >= 1
        with h5py.File("f.h5") as file:
            fields[select] = file["field"][:]
    parts = fields["index 0 2"] + fields["index 1 3"]  # the equation is linear; solutions are to 1e-6 of their right sides
    assert numpy.abs(parts - fields["all"]).max() <= 1e-4 * numpy.sqrt((fields["all"] ** 2).mean())
    refuse(2, "--trajectory", "four.pqr", "--solvent", "--trajectory", "t.dcd", "--energies", "e.csv", "--field-map", "f.h5")


def test_what_is_said(_):
    """No map is made; the plan, the report and the file say that it is in a solvent."""
    four()
    done = make("four.pqr", *GRID, "--solvent", "--points", "atoms", "--field", "--report", "r.json")
    assert "4 atoms, each without itself; potential and field in solvent" in done.out, done.out
    report = energy("r.json")
    assert report["solvent"]["iterations"] >= 1 and report["points"]["count"] == 4
    with open("four_points.csv", encoding="utf-8") as stream:
        assert any("in solvent of eps 78.54" in line for line in stream)


def test_water_is_left_out(_):
    """Atoms are those that are in the solvent: of the solute."""
    write("wet.pqr", [(1.2, 0.3, -0.5, 0.7, 1.9, "LIG", "A"), (-0.9, 0.8, 0.4, -0.4, 1.6, "LIG", "B"), (4.0, 4.0, 0.0, 0.0, 1.7, "HOH", "O")])
    make("-q", "wet.pqr", *GRID, "--solvent", "--points", "atoms", "--points-out", "v.csv")
    assert len(values("v.csv")) == 2


def test_refused(_):
    four()
    with open("p.txt", "w", encoding="ascii") as stream:
        stream.write("0 0 0\n1 2 3\n0 0 8.01\n")
    refuse(3, ["p.txt", "point 3 at (0, 0, 8.01)", "outside the grid", "--border"], "four.pqr", *GRID, "--solvent", "--points", "p.txt")
    refuse(3, ["p.txt", "point 3"], "four.pqr", *GRID, "--solvent", "--points", "p.txt", "--dry-run")
    refuse(2, ["--energies", "points"], "four.pqr", "--solvent", "--trajectory", "t.dcd", "--energies", "e.csv", "--points", "atoms")


program.main(globals())
