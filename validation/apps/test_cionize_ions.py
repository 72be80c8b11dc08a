#!/usr/bin/env python3
"""Where cionize places ions, compared with brute force, with physics, and with itself by other means.

usage: test_cionize_ions.py PROGRAM [DEVICE] [test_name ...]
"""
import collections
import json
import math
import os
import pathlib

import program
from ion_truth import check_file, generator, numpy, Placed, random_molecule, read_ions, replay, run_ions, squares, whole, write_molecule
from program import make, read, run, sample

SMALL = ["--border", "9", "--spacing", "1"]


def spread(kinds, order):
    """The names in order of placement. kinds: [(name, count, charge)]."""
    if order == "given":
        return [name for name, count, _ in kinds for _ in range(count)]
    if order == "largest":
        return spread(sorted(kinds, key=lambda kind: -abs(kind[2])), "given")
    return [name for turn in range(max(count for _, count, _ in kinds)) for name, count, _ in kinds if turn < count]


# ---- brute force ----


def test_every_ion_is_where_its_energy_is_least(_):
    rng = generator()
    kinds = [("SOD", 3, 1), ("CLA", 4, -1), ("MG", 2, 2), ("XYZ", 2, -2.5)]
    place = [f"--place={name}:{count}" + (f":{charge}" if name == "XYZ" else "") for name, count, charge in kinds]
    for number, (order, options, truth) in enumerate((
            ("given", [], {}),
            ("alternate", ["--units", "V", "--dielectric", "80"], {"unit": "V", "dielectric": 80.0}),
            ("largest", ["--units", "kcal/mol/e", "--from-surface", "--ion-solute", "3.5"],
             {"unit": "kcal/mol/e", "from_surface": True, "ion_solute": 3.5}),
            ("alternate", ["--distance-dielectric", "4", "--units", "e/A", "--ion-ion", "4.2"],
             {"unit": "e/A", "dielectric": 4.0, "power": 2, "ion_ion": 4.2}),
            # Ions among the atoms, where r_min matters, with exclusion distances of 0.
            ("given", ["--ion-solute", "0", "--ion-ion", "0", "--r-min", "1.5", "--spacing", "0.75,1.25,1"],
             {"ion_solute": 0.0, "ion_ion": 0.0, "r_min": 1.5}))):
        atoms = random_molecule(rng, 40 + 17 * number)
        write_molecule("a.pqr", atoms)
        placed = run_ions("a.pqr", *SMALL, *place, "--order", order, *options, "-o", "a.pdb", "--ions", "i.pqr")
        charges = {"XYZ": -2.5}
        replay(placed, atoms, spread(kinds, order), charges=charges, **truth)
        check_file("i.pqr", placed.names, placed.places, charges)
        assert placed.asked == placed.placed == 11


def test_refined_ions(_):
    rng = generator()
    atoms = random_molecule(rng, 60)
    write_molecule("a.pqr", atoms)
    for options, truth in (([], {}), (["--distance-dielectric", "2", "--from-surface"],
                                      {"power": 2, "dielectric": 2.0, "from_surface": True})):
        placed = run_ions("a.pqr", *SMALL, "--place", "SOD:4", "--place", "CLA:4", "--refine", *options, "--ions", "i.xyz")
        replay(placed, atoms, ["SOD"] * 4 + ["CLA"] * 4, refined=True, **truth)
        said = placed.report["ions"]
        assert said["refined"] is True and said["from_surface"] is truth.get("from_surface", False), said
        check_file("i.xyz", placed.names, placed.places)
        off = numpy.abs((placed.places - placed.origin) / placed.spacing % 1 - 0.5) < 0.49
        assert off.any(), "no ion has left the grid"


def test_files_agree(_):
    rng = generator()
    atoms = random_molecule(rng, 50)
    write_molecule("a.pqr", atoms)
    arguments = ["a.pqr", *SMALL, "--place", "SOD:3", "--place", "MG:2", "--place", "CLA:3"]
    names = ["SOD"] * 3 + ["MG"] * 2 + ["CLA"] * 3
    for kind in ("pdb", "pqr", "xyz"):
        placed = run_ions(*arguments, "-o", f"all.{kind}", "--ions", f"ions.{kind}", "--refine")
        assert placed.names == names
        check_file(f"all.{kind}", names, placed.places, solute=atoms)
        check_file(f"ions.{kind}", names, placed.places)
    before = set(os.listdir("."))
    done = make(*arguments)
    assert set(os.listdir(".")) - before == {"a_ionized.pdb"} and "a_ionized.pdb" in done.out
    check_file("a_ionized.pdb", names, run_ions(*arguments).places, solute=atoms)
    # The written file is a valid molecule.
    assert "58 atoms" in make("all.pqr", "--dry-run").out


def test_xyz_and_pdb_hold_elements(_):
    """The first letters of a protein's atom names, without digits. CA, CD, HG and NE are not metals or noble gases
    here."""
    sample("1hpv.pqr")
    for kind in ("xyz", "pdb"):
        make("1hpv.pqr", "--place", "CAL:2", "--spacing", "4", "-o", f"a.{kind}")
    lines = pathlib.Path("1hpv.pqr").read_text(encoding="ascii").splitlines()
    expected = [line.split()[2].lstrip("0123456789")[0] for line in lines if line.startswith(("ATOM", "HETATM"))]
    found = [row[0] for row in read_ions("a.xyz")[0]]
    assert set(expected) == set("CHNOS"), set(expected)
    assert found == expected + ["Ca"] * 2, collections.Counter(found)
    records = [line for line in open("a.pdb", encoding="ascii") if line.startswith(("ATOM", "HETATM"))]
    assert [line[76:78].strip() for line in records] == expected + ["CA"] * 2


# ---- physics ----


def test_a_charge_and_its_counter_ion(_):
    """The nearest free point; off the grid, the exclusion distance."""
    rng = generator()
    centre = numpy.array([*rng.uniform(-0.25, 0.25, 3).round(3)])
    write_molecule("a.pqr", numpy.array([[*centre, 1.0, 1.0]]))
    arguments = ["a.pqr", "--place", "CLA:1", "--ion-solute", "4.3", "--border", "6"]
    placed = run_ions(*arguments, "--ions", "i.pdb")
    d2 = squares(placed.axes(), centre)
    r = numpy.linalg.norm(placed.places[0] - centre)
    assert abs(r - math.sqrt(d2[d2 >= 4.3 ** 2].min())) < 1e-9, r
    placed = run_ions(*arguments, "--ions", "i.pdb", "--refine")
    r = numpy.linalg.norm(placed.places[0] - centre)
    # The last steps are 1/64 of the spacing. To stay outside, the search may stop one step short along a diagonal.
    assert 4.3 * (1 - 1e-12) <= r <= 4.3 + math.sqrt(3) * 0.5 / 64 + 1e-9, r
    assert abs(placed.energies[0] + program.unit_constant("kT/e") / r) < 1e-6
    # A like charge goes as far away as the grid allows.
    placed = run_ions("a.pqr", "--place", "SOD:1", "--border", "6", "--ions", "i.pdb")
    assert abs(numpy.linalg.norm(placed.places[0] - centre) - math.sqrt(squares(placed.axes(), centre).max())) < 1e-9


def test_a_dipole(_):
    """The cation is on the axis behind the negative end, the anion behind the positive one."""
    generator()
    write_molecule("a.pqr", numpy.array([[0, 0, 1, 1, 1], [0, 0, -1, -1, 1.0]]))
    placed = run_ions("a.pqr", "--place", "SOD:1", "--ions", "i.pdb", "--border", "8")
    assert placed.places[0].tolist() == [0, 0, -7]
    placed = run_ions("a.pqr", "--place", "CLA:1", "--ions", "i.pdb", "--border", "8")
    assert placed.places[0].tolist() == [0, 0, 7]
    # V = C (1/8 - 1/6) where the cation was.
    assert abs(placed.energies[0] - program.unit_constant("kT/e") * (1 / 8 - 1 / 6)) < 1e-6


def test_equal_points(_):
    """Charges at the corners of a cube: among points whose energies differ only by rounding, the first one in the
    order of the map."""
    rng = generator()
    for edge in rng.uniform(0.5, 2, 3).round(3):
        atoms = numpy.array([[x, y, z, 0.7, 1] for x in (-edge, edge) for y in (-edge, edge) for z in (-edge, edge)])
        write_molecule("a.pqr", atoms)
        placed = run_ions("a.pqr", *SMALL, "--place", "CLA:6", "--place", "SOD:3", "--ions", "i.pdb")
        replay(placed, atoms, ["CLA"] * 6 + ["SOD"] * 3)


def test_ions_that_may_touch_do_not_share_a_point(_):
    """With an exclusion distance of 0, the anion of a pair is a step away from the cation, not on it."""
    generator()
    write_molecule("a.pqr", numpy.array([[0, 0, 0, 0.001, 1]]))
    placed = run_ions("a.pqr", "--place", "SOD:1", "--place", "CLA:1", "--ion-ion", "0", "--ions", "i.pdb", "--border", "6")
    assert abs(numpy.linalg.norm(placed.places[0] - placed.places[1]) - 0.5) < 1e-12, placed.places


def test_a_charged_sphere(_):
    """Outside a sphere, many equal charges on it act like one charge at its centre. With 2000 charges on a spiral,
    the potential at twice the radius differs by at most 1e-3 (the largest gap between neighbours is 4 percent of
    the radius, and its field decays within a few gaps)."""
    count, radius = 2000, 4.0
    generator()
    n = numpy.arange(count) + 0.5
    height, turn = 1 - 2 * n / count, math.pi * (1 + math.sqrt(5)) * n
    ring = numpy.sqrt(1 - height ** 2)
    atoms = numpy.stack([radius * ring * numpy.cos(turn), radius * ring * numpy.sin(turn), radius * height,
                         numpy.full(count, 0.005), numpy.ones(count)], axis=1).round(3)
    write_molecule("sphere.pqr", atoms)
    write_molecule("point.pqr", numpy.array([[0, 0, 0, 10.0, 1]]))
    grid = ["--origin", "-11,-11,-11", "--counts", "23", "--spacing", "1", "--place", "CLA:6"]
    one = run_ions("sphere.pqr", *grid, "--ions", "i.pdb", "--ion-solute", "4", "--ion-ion", "9")
    two = run_ions("point.pqr", *grid, "--ions", "i.pdb", "--ion-solute", "8", "--ion-ion", "9")
    # The graininess of the sphere shifts points that would be equal, so the test compares energies.
    assert one.placed == two.placed == 6
    assert abs(one.energies[0] / two.energies[0] - 1) < 2e-2, (one.energies[0], two.energies[0])
    for place, energy in zip(one.places[:1], one.energies[:1]):
        expected = -10 * program.unit_constant("kT/e") / numpy.linalg.norm(place)
        assert abs(energy / expected - 1) < 1e-3, (energy, expected)


# ---- the same by other ways ----


def test_the_same_ions_in_every_way(_):
    rng = generator()
    atoms = random_molecule(rng, 300)
    write_molecule("a.pqr", atoms)
    arguments = ["a.pqr", "--border", "8", "--spacing", "0.75", "--place", "SOD:6", "--place", "CLA:6", "--order", "alternate"]
    expected = run_ions(*arguments, "--ions", "one.pqr")
    replay(expected, atoms, ["SOD", "CLA"] * 6)
    for ways in (["--device", "cpu"], ["--device", "cpu:0,1"], ["--threads", "1"], ["--threads", "2"],
                 ["--precision", "single"], ["--precision", "double"], ["--method", "exact:ref", "--device", "cpu"],
                 ["--device", "cpu:0,1", "--precision", "double", "--threads", "1"]):
        other = run_ions(*arguments, *ways, "--ions", "two.pqr")
        assert (other.places == expected.places).all(), ways
        assert other.names == expected.names
        assert (numpy.abs(other.energies - expected.energies) <= 1e-12 * numpy.abs(expected.energies).max()).all(), ways
        assert open("one.pqr").read() == open("two.pqr").read(), ways


def test_another_device_takes_over(_):
    write_molecule("a.pqr", random_molecule(generator(), 80))
    # The map has fewer slabs than that, so only the search for ions can fail there.
    arguments = ["a.pqr", *SMALL, "--place", "SOD:10", "--place", "CLA:10"]
    expected = run_ions(*arguments, "--ions", "one.pqr")
    gpu = program.DEVICE.startswith("cuda")
    for devices, simulated in ([("cuda:0", "cuda:0@12")] if gpu else [("cpu:0,1", "cpu:0@12"), ("cpu:0,1", "cpu:0@12,cpu:1@5")]):
        environment = {**os.environ, "VOXFIELD_SIMULATE_FAILURE": simulated}
        other = run_ions(*arguments, "--device", devices, "--ions", "two.pqr", env=environment)
        assert other.said.err.count("is dropped") == simulated.count("@"), other.said.err
        assert (other.places == expected.places).all() and open("one.pqr").read() == open("two.pqr").read()


# ---- how many ----


def total(path):
    return math.fsum(float(line.split()[-2]) for line in open(path) if line.startswith(("ATOM", "HETATM")))


def test_neutralize(_):
    rng = generator()
    for charge, option, names in ((5, "CLA", ["CLA"] * 5), (-3, "SOD", ["SOD"] * 3), (-4, "MG", ["MG"] * 2),
                                  (3, "SOD,CLA", ["CLA"] * 3), (-2, "CLA,SOD", ["SOD"] * 2)):
        atoms = whole(random_molecule(rng, 30), charge)
        write_molecule("a.pqr", atoms)
        placed = run_ions("a.pqr", *SMALL, "--neutralize", option, "-o", "a.ionized.pqr")
        replay(placed, atoms, names)
        assert abs(total("a.ionized.pqr")) < 1e-6
    # An odd charge and an ion of charge two: the smaller number, and a message about the rest.
    write_molecule("a.pqr", whole(random_molecule(rng, 30), -5))
    placed = run_ions("a.pqr", *SMALL, "--neutralize", "MG", "-o", "b.pqr")
    assert placed.names == ["MG"] * 2 and "warning" in placed.said.err and "-1 e" in placed.said.err
    # Ions that the user asks for by number count.
    placed = run_ions("a.pqr", *SMALL, "--place", "ZN:1", "--neutralize", "SOD", "-o", "b.pqr")
    assert placed.names == ["ZN"] + ["SOD"] * 3 and abs(total("b.pqr")) < 1e-6


def salt_numbers(charge, volume, concentration, z, nu):
    """The rule of docs/conventions.md: the mean numbers by bisection, then the nearest neutral pair of all."""
    n0 = concentration * 6.02214076e-4 * volume
    lo, hi = -50.0, 50.0
    for _ in range(300):
        phi = (lo + hi) / 2
        rest = sum(zi * ni * n0 * math.exp(-zi * phi) for zi, ni in zip(z, nu)) + charge
        lo, hi = (phi, hi) if rest > 0 else (lo, phi)
    mean = [ni * n0 * math.exp(-zi * lo) for zi, ni in zip(z, nu)]
    # (remaining charge, distance, pair); the first decides
    best = min((abs(a * z[0] + b * z[1] + charge), math.hypot(a - mean[0], b - mean[1]), (a, b))
               for a in range(int(mean[0]) + 8) for b in range(int(mean[1]) + 8))
    return best[2], mean


def test_concentration(_):
    rng = generator()
    for charge, concentration, salt in ((4, 0.3, "SOD,CLA"), (-6, 0.15, "CLA,POT"), (0, 0.5, "SOD,CLA"), (-3, 0.4, "MG,CLA"),
                                        (2, 0, "SOD,CLA")):
        atoms = whole(random_molecule(rng, 80), charge)
        write_molecule("a.pqr", atoms)
        placed = run_ions("a.pqr", *SMALL, "--concentration", concentration, "--salt", salt, "-o", "b.pqr", "--ion-ion", "4",
                          "--ion-solute", "4")
        names = sorted(salt.split(","), key=lambda name: name == "CLA")
        z = [2 if names[0] == "MG" else 1, -1]
        volume = placed.report["ions"]["solvent_volume"]
        numbers, mean = salt_numbers(charge, volume, concentration, z, [1, 2] if z[0] == 2 else [1, 1])
        replay(placed, atoms, [names[0]] * numbers[0] + [names[1]] * numbers[1], ion_ion=4.0, ion_solute=4.0)
        assert abs(total("b.pqr")) < 1e-6 and placed.asked == sum(numbers), (numbers, mean)


def test_volume_of_solvent_around_one_atom(_):
    """The volume of a sphere. The probe does not reach all points between grid lines: 0.5 h^2/A of the radius
    (docs/conventions.md)."""
    generator()
    radius, h = 3.0, 0.25
    write_molecule("a.pqr", numpy.array([[0, 0, 0, 1, radius]]))
    placed = run_ions("a.pqr", "--spacing", h, "--border", "7", "--concentration", "0.5", "--ions", "i.pdb", "--ion-ion", "3")
    r = numpy.sqrt(squares(placed.axes(), (0, 0, 0)))
    box = numpy.prod(numpy.array(placed.counts) - 1.0)  # points at the ends of an axis are half a cell
    most = (box - (r < radius - 1e-9).sum()) * h ** 3
    least = (box - (r < radius + 0.5 * h * h + 1e-9).sum()) * h ** 3
    assert least <= placed.report["ions"]["solvent_volume"] <= most


# ---- maps ----


def test_mask(_):
    rng = generator()
    atoms = random_molecule(rng, 60)
    write_molecule("a.pqr", atoms)
    for kind in ("dx", "mrc"):
        placed = run_ions("a.pqr", *SMALL, "--place", "SOD:3", "--place", "CLA:2", "--mask", f"m.{kind}", "--from-surface",
                          "--ion-solute", "2")
        grid = read(f"m.{kind}")
        assert list(map(int, grid.counts)) == placed.counts
        mask = numpy.array(grid.values).reshape(placed.counts[::-1])
        axes = placed.axes()
        # Margins of the distances; near 0 either result is right.
        solute = numpy.min([squares(axes, a[:3]) / (2 + a[4]) ** 2 for a in atoms], axis=0) - 1
        ions = numpy.min([squares(axes, place) / 100 for place in placed.places], axis=0) - 1
        expected = numpy.where(solute < 0, 1, numpy.where(ions < 0, 2, 0))
        sure = (numpy.abs(solute) > 1e-9) & (numpy.abs(ions) > 1e-9)
        assert (mask[sure] == expected[sure]).all() and sure.mean() > 0.99
        assert set(mask.ravel().tolist()) == {0, 1, 2}
        assert placed.report["ions"]["points_free_solute_ions"] == [(mask == what).sum() for what in (0, 1, 2)]


def test_a_mask_is_no_potential(_):
    """A mask has neither unit nor constants, and places no ions."""
    program.sample("dipole.pqr")
    place = ["dipole.pqr", *SMALL, "--place", "CLA:1", "--ions", "i.pdb"]
    for kind in ("dx", "dx.gz", "h5", "mrc", "cube"):
        make("-q", *place, "--mask", f"m.{kind}", "--map", f"v.{kind}")
        if kind not in ("mrc", "cube"):
            program.refuse(3, [f"m.{kind}", "this is a mask (what excludes ions)"], *place, "--read-map", f"m.{kind}")
        if kind not in ("dx.gz", "h5"):
            mask, potential = (open(f"{name}.{kind}", "rb").read() for name in "mv")
            assert b"2 an ion in" not in mask and b"potential in kT/e" in potential, kind
            for word in (b"kT/e", b"V = C", b"eps"):
                assert word in potential and word not in mask, (kind, word)


def test_maps_before_and_with_ions(_):
    """The map holds the potential everywhere, also at excluded points. With ions it is the map of the ionised
    molecule."""
    rng = generator()
    atoms = random_molecule(rng, 60)
    write_molecule("a.pqr", atoms)
    ions = ["--place", "SOD:4", "--place", "MG:2"]
    for kind in ("h5", "dx", "mrc"):
        make("-q", "a.pqr", *SMALL, "-o", f"plain.{kind}")
        run_ions("a.pqr", *SMALL, *ions, "--map", f"before.{kind}", "-o", "all.pqr")
        assert read(f"plain.{kind}").values == read(f"before.{kind}").values
        assert 0 not in read(f"before.{kind}").values
        placed = run_ions("a.pqr", *SMALL, *ions, "--map", f"with.{kind}", "--map-with-ions", "-o", "all.pqr")
        potential, _ = replay(placed, atoms, ["SOD"] * 4 + ["MG"] * 2)
        contents = [open(f"{name}.{kind}", "rb").read() for name in ("with", "before")]
        assert [b"electrostatic potential with 6 ions" in content for content in contents] == [True, False]
        grid = read(f"with.{kind}")
        origin, size = (",".join(map(str, v)) for v in (grid.origin, map(int, grid.counts)))
        make("-q", "all.pqr", f"--origin={origin}", "--counts", size, "--spacing", "1", "-o", f"again.{kind}")
        values, again = (numpy.array(read(f"{name}.{kind}").values).reshape(potential.values.shape)
                         for name in ("with", "again"))
        allowed = potential.error()
        assert (numpy.abs(values - potential.values) <= allowed).all()
        assert (numpy.abs(again - values) <= 2 * allowed).all()


def test_maps_read_back(_):
    rng = generator()
    atoms = random_molecule(rng, 60)
    write_molecule("a.pqr", atoms)
    place = ["--place", "SOD:4", "--place", "CLA:4"]
    expected = run_ions("a.pqr", *SMALL, *place, "--precision", "double", "--map", "m.h5", "--ions", "one.pqr")
    make("-q", "a.pqr", *SMALL, "--precision", "double", "-o", "m.dx.gz")
    make("-q", "a.pqr", *SMALL, "-o", "single.h5")
    for name in ("m.h5", "m.dx.gz", "single.h5"):
        for grid in ([], SMALL):
            placed = run_ions("a.pqr", *grid, *place, "--read-map", name, "--ions", "two.pqr", "--map", "copy.h5",
                              "--map-with-ions")
            assert (placed.places == expected.places).all(), name
            size = numpy.abs(expected.energies).max()
            close = 1e-12 if name == "m.h5" else 1e-4
            assert (numpy.abs(placed.energies - expected.energies) <= close * size).all(), name
        assert open("one.pqr").read() == open("two.pqr").read()
    # Ions of an existing map are counted, whether the map is copied or extended.
    for kind in ("h5", "dx"):
        make("-q", "a.pqr", *place, "--read-map", "m.h5", "-o", f"with.{kind}", "--map-with-ions")
        for more, ions in (([], 8), (["--map-with-ions"], 9)):
            done = make("-q", "a.pqr", "--place", "SOD:1", "--read-map", f"with.{kind}", "-o", "more.dx", "--ions",
                        "two.pqr", *more)
            assert f"with.{kind}: the map includes the potential of 8 ions" in done.err, done.err
            assert open("more.dx").readline() == f"# electrostatic potential with {ions} ions in kT/e\n"
    # Maps record their input file and settings.
    write_molecule("b.pqr", random_molecule(rng, 60))
    for name in ("m.h5", "m.dx.gz"):
        for molecule, other in (("a.pqr", False), ("b.pqr", True)):
            done = make("-q", molecule, *place, "--read-map", name, "--ions", "two.pqr")
            assert (f"{name}: the map was made from another file than" in done.err) == other, done.err
        for options, words in ((["--dielectric", "80"], "dielectric"), (["--distance-dielectric", "1"], "dielectric"),
                               (["--temperature", "310"], "temperature"), (["--r-min", "0.5"], "--r-min 0.1"),
                               (["--refine"], "--refine"), (["--precision", "single"], [name, "double precision"]),
                               (["--method", "exact:ref"], ["--method", name])):
            program.refuse(2, words, "a.pqr", *place, "--read-map", name, *options)
        program.refuse(3, "kT/e", "a.pqr", *place, "--read-map", name, "--units", "V")
    world = ["--dielectric", "78.5432198", "--temperature", "310.15", "--r-min", "0.3"]  # DX stores six digits of these
    make("-q", "a.pqr", *SMALL, *world, "-o", "world.dx")
    make("-q", "a.pqr", *place, *world, "--read-map", "world.dx", "--ions", "two.pqr")
    # Constants that no option gives are the map's, so the ions are the same; a contradiction is refused.
    make("-q", "a.pqr", *place, "--read-map", "world.dx", "--ions", "same.pqr")
    assert open("same.pqr").read() == open("two.pqr").read()
    for option in (["--dielectric", "1"], ["--temperature", "298.15"], ["--r-min", "0.1"]):
        program.refuse(2, f"use {option[0]}", "a.pqr", *place, *option, "--read-map", "world.dx")
    program.refuse(3, ["m.h5", "points"], "a.pqr", "--border", "8", "--spacing", "1", *place, "--read-map", "m.h5")
    origin = ",".join(str(v + 0.25) for v in expected.origin)
    counts = ",".join(map(str, expected.counts))
    program.refuse(3, ["m.h5", "origin"], "a.pqr", f"--origin={origin}", "--counts", counts, "--spacing", "1", *place,
                   "--read-map", "m.h5")


def test_map_of_another_program(_):
    """A map that does not say for which dielectric it was made is refused: the ions' repulsion would be a guess. With --dielectric,
    ions act on each other through it: on a map of zeros, the second like ion has the energy C z^2 / (eps r)."""
    pathlib.Path("empty.pqr").write_text( "ATOM 1 C RES 1 0 0 0 0 1\n")
    numbers = "0 " * 11
    pathlib.Path("foreign.dx").write_text( "# Data from APBS 3.4.1\n# POTENTIAL (kT/e)\nobject 1 class gridpositions counts 11 1 1\norigin 10 0 0\ndelta 1 0 0\n"
          "delta 0 1 0\ndelta 0 0 1\nobject 2 class gridconnections counts 11 1 1\nobject 3 class array type double rank 0 items 11 data "
          f"follows\n{numbers}\n")
    place = ["--place", "SOD:2", "--read-map", "foreign.dx", "--ions", "i.pqr"]
    program.refuse(3, ["foreign.dx", "--dielectric", "78.5"], "empty.pqr", *place)
    for eps in (1, 78.5):
        make("-q", "empty.pqr", *place, "--dielectric", eps, "--report", "r.json")
        ions = json.load(open("r.json"))["ions"]
        assert abs(ions["x"][1] - ions["x"][0]) == 10, ions  # as far apart as the grid allows
        # C = 560.459 kT/e angstrom/e to six digits, so 1e-5 covers it
        assert abs(ions["energy"][1] * eps / (560.459322 / 10) - 1) <= 1e-5, ions
    # A study of the map needs no dielectric, and none is reported; only the check of a periodic profile would need it.
    study = ["empty.pqr", "--read-map", "foreign.dx", "--dielectric", "2", "--profile", "x:p.csv", "--report", "r.json"]
    for cell in [], ["--cell", "11,1,1"]:
        for given in (True, False):
            said = make(*(study if given else study[:3] + study[5:]), *cell).out
            potential = json.load(open("r.json"))["potential"]
            assert potential.get("dielectric") == (2 if given else None), potential
            assert ("does not state its dielectric; add --dielectric" in said) == bool(cell and not given), said
            assert "eps" not in said and pathlib.Path("p.csv").read_text().splitlines()[-11:][0].startswith("10,0"), said


def test_names_of_force_fields(_):
    """--ion-names: residue and atom of each force field; unknown ions keep their names, and CHARMM's gaps are said."""
    pathlib.Path("empty.pqr").write_text( "ATOM 1 C RES 1 0 0 0 0 1\n")
    for names, expected in (("given", "Na+ Na+ ZN2 ZN MN MN XX XX"), ("charmm", "SOD SOD ZN2 ZN MN MN XX XX"),
                            ("amber", "Na+ Na+ ZN ZN MN MN XX XX"), ("gromacs", "NA NA ZN ZN MN MN XX XX"),
                            ("pdb", "NA NA ZN ZN MN MN XX XX")):
        done = make("empty.pqr", "--spacing", "2", "--border", "20", "--place", "Na+:1", "--place", "ZN2:1", "--place", "MN:1",
                    "--place", "XX:1:-5", "--ion-names", names, "--ions", "i.pdb")
        lines = [line for line in open("i.pdb") if line.startswith("HETATM")]
        assert " ".join(f"{line[17:21].strip()} {line[12:16].strip()}" for line in lines) == expected, lines
        assert ("have no MN" in done.err) == (names == "charmm"), done.err
        assert ("XX is in no table" in done.out + done.err) == (names != "given"), done


def test_more_ions_than_fit(_):
    """Exit status 9. The ions that fit are written, at their distances, and a message says what prevents the others."""
    rng = generator()
    atoms = random_molecule(rng, 40)
    write_molecule("a.pqr", atoms)
    for words, asked, options, kept in (
            ("ions exclude most of them", 400, [], {}),
            ("the solute excludes most of them", 3000, ["--border", "3", "--ion-ion", "1"], {"ion_ion": 1.0})):
        done = run("-q", "a.pqr", *SMALL, "--place", f"SOD:{asked}", *options, "-o", "all.pqr", "--report", "r.json")
        assert done.status == 9 and words in done.err, (done.status, done.err)
        placed = Placed()
        assert placed.placed < asked == placed.asked and (placed.placed > 0 or kept)
        assert f"{asked - placed.placed} of {asked} ions did not fit" in done.err, done.err
        assert f"only {placed.placed} of {asked}" in done.err, done.err
        _, room = replay(placed, atoms, ["SOD"] * placed.placed, **kept)
        assert not room.sure.any(), "there is room left"
        check_file("all.pqr", placed.names, placed.places, solute=atoms)


program.main(globals())
