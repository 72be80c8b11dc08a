#!/usr/bin/env python3
"""cionize --solvent: maps and energies against what is known of spheres, what maps and files say, and input that is refused.

Finite differences of spacing h are second order. Bounds, from Born's ion of 3 A at 0.75 A (0.57 %, validation/unit/kernels/
test_solvent.c): energies within 0.2 % at 0.375 A. The potential outside is off by the same part, and by what the grid does to the
solution near the surface: 1 % from a spacing off the surface on.

usage: test_cionize_solvent.py PROGRAM [DEVICE] [test_name ...]
"""
import csv
import math
import os
import struct

import program
from ion_truth import write_dcd
from program import bits, make, position, read, refuse, sample, unit_constant
from solvent_molecules import GRID, RADIUS, STERN, WATER, energy, four, ion, kappa, write

KJ = unit_constant("kcal/mol/e") * 4.184  # e^2/A in kJ/mol
BORN = ["--solvent", "--solute-dielectric", "1", "--spacing", "0.375", "--border", "9"]


def test_born(_):
    """An ion: outside q / (eps r); inside q / r and a constant; the energy is Born's."""
    ion()
    make("-q", "ion.pqr", *BORN, "--ionic-strength", "0", "--units", "e/A", "-o", "map.mrc", "--energies", "e.json")
    known = KJ / 2 / RADIUS * (1 / WATER - 1)
    found = energy("e.json")["reaction_kJ/mol"]
    assert abs(found - known) <= 2e-3 * abs(known), (found, known)
    grid, seen = read("map.mrc"), [0, 0]
    for n, value in enumerate(grid.values):
        r = math.dist(position(grid, n), (0.02, -0.05, 0.1))
        if abs(r - RADIUS) < 0.375 or r < 0.5:
            continue
        truth = 1 / (WATER * r) if r > RADIUS else 1 / r + (1 / WATER - 1) / RADIUS
        scale = truth if r > RADIUS else 1 / RADIUS
        seen[r > RADIUS] += 1
        assert abs(value - truth) <= 1e-2 * scale, (r, value, truth)
    assert min(seen) > 1000, seen


def test_salt(_):
    """Debye and Hueckel: outside q exp(-k (r - a)) / (eps (1 + k a) r), a the closest that ions come."""
    ion(charge=-2.0)
    for strength in (0.15, 1):
        make("-q", "ion.pqr", *BORN, "--ionic-strength", strength, "--temperature", "310", "--units", "e/A", "-o", "map.dx",
             "--energies", "e.json")
        k, a = kappa(strength, 310), RADIUS + STERN
        known = KJ * 4 / 2 * ((1 / WATER - 1) / RADIUS - k / (WATER * (1 + k * a)))
        found = energy("e.json")["reaction_kJ/mol"]
        assert abs(found - known) <= 2e-3 * abs(known), (strength, found, known)
        grid, seen = read("map.dx"), 0
        for n, value in enumerate(grid.values):
            r = math.dist(position(grid, n), (0.02, -0.05, 0.1))
            if r < a + 0.4:
                continue
            truth = -2 * math.exp(-k * (r - a)) / (WATER * (1 + k * a) * r)
            seen += 1
            # 1 % here, and 1 % of the value at the ions' closest approach, from which the error is carried.
            assert abs(value - truth) <= 1e-2 * abs(truth) + 2e-4 / WATER, (strength, r, value, truth)
        assert seen > 1000


def test_no_solvent_but_the_molecule(_):
    """One dielectric everywhere and no salt: the map approaches that of --dielectric, to second order, and the solvent does nothing."""
    four()
    off, total = [], []
    for h, n in ((0.5, 33), (0.25, 65)):
        options = ["four.pqr", "--origin", "-8", "--counts", n, "--spacing", h]
        make("-q", *options, "--solvent", "--solute-dielectric", "3", "--solvent-dielectric", "3", "--ionic-strength", "0",
             "-o", "a.mrc", "--energies", "e.json")
        make("-q", *options, "--dielectric", "3", "-o", "b.mrc")
        a, b = read("a.mrc").values, read("b.mrc").values
        off.append(math.sqrt(math.fsum((x - y) ** 2 for x, y in zip(a, b)) / len(b)))
        total.append(energy("e.json"))
    # A factor of 4 but for the surface, which falls differently on the two grids.
    assert off[1] <= off[0] / 2.5 and off[0] <= 0.01 * math.sqrt(math.fsum(v * v for v in b) / len(b)), off
    for found in total:
        assert abs(found["reaction_kJ/mol"]) <= 1e-2 * abs(found["coulomb_kJ/mol"]), found


def test_orders_and_threads(_):
    """The same values whatever the file's order, the number of threads, and whether layers are kept."""
    four()
    options = ["four.pqr", *GRID, "--solvent"]
    make("-q", *options, "-o", "a.mrc", "--threads", "1")
    make("-q", *options, "-o", "a.dx", "--threads", "2")
    assert bits("a.mrc") == bits("a.dx")
    for part in (2, 1):
        make("-q", *options, "-o", "b.mrc", "--part", f"{part}/2")
    make("-q", *options, "-o", "b.mrc", "--join")
    assert bits("a.mrc") == bits("b.mrc")


def test_superposition(_):
    """The equation is linear in the charges, on the surface of all atoms: maps of parts add up to the whole's. Bound: the solver
    leaves 1e-6 of the largest residual; single precision 1e-6 of values up to 100 times the rms."""
    four()
    options = ["four.pqr", *GRID, "--solvent", "--precision", "double"]
    make("-q", *options, "-o", "all.h5", "--energies", "all.json")
    make("-q", *options, "--select", "index 0 1", "--select", "index 2 3", "-o", "part.h5")
    whole, one, two = (read(f"{name}.h5").values for name in ("all", "part_1", "part_2"))
    scale = math.sqrt(math.fsum(v * v for v in whole) / len(whole))
    assert max(abs(a - b - c) for a, b, c in zip(whole, one, two)) <= 1e-4 * scale


def test_energies(_):
    """Tables: atoms and residues add up to the molecule; both formats have the same numbers; Coulomb energies are exact."""
    atoms = program.read_atoms(four())
    for name in ("e.json", "e.csv"):
        make("-q", "four.pqr", *GRID, "--solvent", "--energies", name)
    found = energy("e.json")
    coulomb = KJ / 2 * math.fsum(a[3] * b[3] / math.dist(a[:3], b[:3]) for a in atoms for b in atoms if a is not b) / 2
    assert abs(found["coulomb_kJ/mol"] - coulomb) <= 1e-9 * abs(coulomb)
    for key in ("reaction_kJ/mol", "coulomb_kJ/mol", "charge"):
        for of in ("atoms", "residues"):
            assert abs(math.fsum(found[of][key]) - found[key]) <= 1e-9 * abs(found["coulomb_kJ/mol"]), (of, key)
    assert found["residues"]["residue_number"] == ["1", "2", "3"] and len(found["atoms"]["name"]) == 4
    with open("e.csv", encoding="utf-8") as stream:
        rows = list(csv.DictReader(line for line in stream if not line.startswith("#")))
    assert [row["of"] for row in rows] == ["molecule"] + 3 * ["residue"] + 4 * ["atom"]
    for row, value in zip(rows[4:], found["atoms"]["reaction_kJ/mol"]):
        assert math.isclose(float(row["reaction_kJ/mol"]), value, rel_tol=1e-8)
        assert math.isclose(float(row["reaction_kcal/mol"]) * 4.184, value, rel_tol=1e-8)


def test_binding(_):
    """Two ions at a distance d attract by q q' exp(-k (d - 2 a)) / (eps (1 + k a)^2 d) (Verwey and Overbeek 1948), but for what one's
    cavity does to the other's field, a part of order (R / d)^3. The ways to name the partners agree."""
    d, k, a = 14.0, kappa(0.15), RADIUS + STERN
    write("a.pqr", [(-7, 0, 0, 1, RADIUS)])
    write("b.pqr", [(7, 0, 0, -1, RADIUS)])
    write("ab.pqr", [(-7, 0, 0, 1, RADIUS), (7, 0, 0, -1, RADIUS)])
    grid = ["--origin", "-17,-11,-11", "--counts", "69,45,45", "--spacing", "0.5", "--solvent"]
    make("-q", "ab.pqr", *grid, "--energies", "one.json", "--ligand", "index 1")
    make("-q", "ab.pqr", *grid, "--energies", "two.json", "--complex", "a.pqr,b.pqr")
    binding = energy("one.json")["binding"]
    assert energy("two.json")["binding"] == binding
    known = -KJ * math.exp(-k * (d - 2 * a)) / (WATER * (1 + k * a) ** 2 * d)
    # Reaction energies of 200 kJ/mol cancel to 1e-6 of the residual each; the surfaces fall alike on the grid.
    assert abs(binding["total_kJ/mol"] - known) <= 0.05 * abs(known), (binding["total_kJ/mol"], known)
    for name in "ab":
        make("-q", f"{name}.pqr", *grid, "--energies", f"{name}.json")
    parts = [energy(f"{name}.json")["reaction_kJ/mol"] for name in "ab"]
    assert [binding["first_partner"]["reaction_kJ/mol"], binding["second_partner"]["reaction_kJ/mol"]] == parts
    refuse(2, ["--ligand", "all atoms"], "ab.pqr", *grid, "--energies", "e.json", "--ligand", "all")
    refuse(2, ["--complex", "comma"], "ab.pqr", *grid, "--energies", "e.json", "--complex", "a.pqr")
    refuse(3, ["c.pqr"], "ab.pqr", *grid, "--energies", "e.json", "--complex", "a.pqr,c.pqr")
    write("bare.pqr", [(7, 0, 0, -1, 0)])
    refuse(3, ["bare.pqr", "radius"], "ab.pqr", *grid, "--energies", "e.json", "--complex", "a.pqr,bare.pqr")
    refuse(2, ["a partner of --complex", "b.pqr"], "ab.pqr", *grid, "--energies", "e.json", "--complex", "a.pqr,b.pqr",
           "--place", "SOD:1", "-o", "b.pqr")
    assert "partners have 1 and 2 atoms" in make("-q", "ab.pqr", *grid, "--energies", "e.json", "--complex", "a.pqr,ab.pqr").err


def test_frames(_):
    """Each frame has the energy of a run of its own; a frame that a periodic cell has cut is refused."""
    atoms = [(1.2, 0.3, -0.5), (-0.9, 0.8, 0.4), (0.1, -1.4, 0.9), (0.2, 0.4, 1.3)]
    moves = [(0, 0, 0), (40.25, -3.5, 7.75), (0.1, 0.2, 0.3)]
    frames = [[tuple(p + m for p, m in zip(atom, move)) for atom in atoms] for move in moves]
    four()
    write_dcd("t.dcd", frames)
    make("-q", "four.pqr", "--spacing", "0.5", "--solvent", "--trajectory", "t.dcd", "--energies", "t.json", "--ligand", "index 0")
    found = energy("t.json")["frames"]
    assert found["number"] == [1, 2, 3]
    for frame, reaction, bound in zip(frames, found["reaction_kJ/mol"], found["binding_kJ/mol"]):
        write("one.pqr", [(*(struct.unpack("f", struct.pack("f", v))[0] for v in place), q, r)
                          for place, q, r in zip(frame, (0.7, -0.4, 0.5, -0.3), (1.9, 1.6, 1.7, 1.5))])
        make("-q", "one.pqr", "--spacing", "0.5", "--solvent", "--energies", "one.json", "--ligand", "index 0")
        one = energy("one.json")
        # The PQR file has six decimals: the surface moves by 1e-6 A of 2.
        assert math.isclose(reaction, one["reaction_kJ/mol"], rel_tol=1e-4), (reaction, one["reaction_kJ/mol"])
        assert math.isclose(bound, one["binding"]["total_kJ/mol"], rel_tol=1e-3)
    make("-q", "four.pqr", "--spacing", "0.5", "--solvent", "--trajectory", "t.dcd", "--frames", "2::", "--energies", "t.csv")
    with open("t.csv", encoding="utf-8") as stream:
        rows = list(csv.DictReader(line for line in stream if not line.startswith("#")))
    assert [row["frame"] for row in rows] == ["2", "3"]
    assert math.isclose(float(rows[0]["reaction_kJ/mol"]), found["reaction_kJ/mol"][1], rel_tol=1e-8)
    frames[1][2] = (frames[1][2][0] - 30, *frames[1][2][1:])
    write_dcd("torn.dcd", frames)
    refuse(3, ["torn.dcd, frame 2", "periodic cell has cut"], "four.pqr", "--solvent", "--trajectory", "torn.dcd", "--energies", "t.csv")
    refuse(2, ["no map"], "four.pqr", "--solvent", "--trajectory", "t.dcd")


def test_salts(_):
    """Salts of one ionic strength are one to the linear equation. The full equation agrees with it for weak charges, to the cube of
    the potential, and its parts add up."""
    ion(charge=0.1)
    options = ["ion.pqr", "--spacing", "0.5", "--border", "9", "--solvent"]
    cases = {"plain": ["--ionic-strength", "0.3"], "double": ["--solvent-salt", "2:0.1,-1:0.2"],
             "full": ["--non-linear", "--ionic-strength", "0.3"], "none": ["--non-linear", "--ionic-strength", "0"]}
    for name, salt in cases.items():
        make("-q", *options, *salt, "--energies", f"{name}.json")
    found = {name: energy(f"{name}.json")["reaction_kJ/mol"] for name in cases}
    assert math.isclose(found["plain"], found["double"], rel_tol=1e-9)
    # 0.1 e at 5 A: 0.06 kT/e, whose square times 1/12 is 3e-4 of the salt's part, itself 2 % of the whole.
    assert math.isclose(found["plain"], found["full"], rel_tol=1e-5) and found["plain"] != found["full"]
    assert found["none"] > found["plain"], "salt lowers the energy"
    ion("strong.pqr", charge=8.0)
    make("-q", "strong.pqr", *options[1:], "--non-linear", "--solvent-salt", "2:0.1,-1:0.2", "--energies", "strong.csv", "-o", "s.mrc")
    make("-q", "strong.pqr", *options[1:], "--non-linear", "--solvent-salt", "2:0.1,-1:0.2", "--energies", "strong.json")
    parts = energy("strong.json")["reaction_parts_kJ/mol"]
    assert math.isclose(math.fsum(parts.values()), energy("strong.json")["reaction_kJ/mol"], rel_tol=1e-12), parts
    assert max(read("s.mrc").values) < math.inf and parts["osmotic"] < 0
    refuse(2, ["--solvent-salt", "neutral"], *options, "--solvent-salt", "2:0.1,-1:0.1")
    for text in ("2", "2:", "0:1,-1:1", "1:0.1;-1:0.1", "1:x,-1:1", ",".join(11 * ["1:0"])):
        refuse(2, ["--solvent-salt", "2:0.1,-1:0.2"], *options, "--solvent-salt", text)


def test_accuracy(_):
    """The spacing that is chosen gives Born's energy to what was asked, and the estimate of the error is near it: within a factor of
    two, because the surface scatters."""
    ion()
    known = KJ / 2 / RADIUS * (1 / WATER - 1)
    spacings = []
    for asked in (0.01, 0.002):
        done = make("ion.pqr", "--solvent", "--solute-dielectric", "1", "--ionic-strength", "0", "--accuracy-energy", asked,
                    "--energies", "e.json", "--energy-error", "--report", "r.json")
        report = energy("r.json")
        found, error = report["energies"]["reaction_kJ/mol"], report["energies"]["reaction_error_kJ/mol"]
        spacings.append(report["grid"]["spacing"][0])
        assert abs(found - known) <= asked * abs(known), (asked, found, known)
        assert 0.5 * abs(found - known) <= error <= 2 * abs(found - known) + 1e-4 * abs(known), (asked, error, found - known)
        assert abs(report["energies"]["reaction_extrapolated_kJ/mol"] - known) <= 0.5 * abs(found - known) + 1e-4 * abs(known)
        assert f"for an energy to {asked:g}" in done.out and "error about" in done.out, done.out
    assert spacings[1] < spacings[0] <= 1, spacings
    refuse(2, ["--accuracy-energy", "--spacing"], "ion.pqr", "--solvent", "--accuracy-energy", "0.1", "--spacing", "1")


def test_maps_of_the_solvent(_):
    """A sphere: permittivity, ions, distance and charge are what they are by its radius."""
    ion()
    make("-q", "ion.pqr", "--solvent", "--spacing", "0.5", "--border", "9",
         *(word for name in ("dielectric", "ions", "distance", "charge") for word in ("--solvent-map", f"{name}:{name}.mrc")))
    assert sorted(os.listdir(".")) == ["charge.mrc", "dielectric.mrc", "distance.mrc", "ion.pqr", "ions.mrc"], "no map is asked for"
    maps = {name: read(f"{name}.mrc") for name in ("dielectric", "ions", "distance", "charge")}
    for n, distance in enumerate(maps["distance"].values):
        r = math.dist(position(maps["distance"], n), (0.02, -0.05, 0.1))
        expected = max(r - RADIUS, -0.9 * 1.4)
        # Within 4.4 A from seeds 0.2 A apart on that sphere: too low by s^2 / (2 d) at most, d the distance from it, at least 0.14.
        assert abs(distance - expected) <= (0.15 if r < RADIUS + 1.4 else 1e-4), (r, distance)
        if abs(r - RADIUS) > 0.5:
            assert math.isclose(maps["dielectric"].values[n], WATER if r > RADIUS else 2, rel_tol=1e-6), r
        if abs(r - RADIUS - STERN) > 0.5:
            assert maps["ions"].values[n] == (r > RADIUS + STERN), r
    assert math.isclose(math.fsum(maps["charge"].values) * 0.5 ** 3, 1, rel_tol=1e-6)
    refuse(3, ["relative permittivity"], "ion.pqr", "--read-map", "dielectric.mrc", "--place", "SOD:1")
    for text in ("ions", "salt:a.dx", "ions:a.txt"):
        refuse(2, "", "ion.pqr", "--solvent", "--solvent-map", text)
    refuse(2, "a map of --solvent-map", "ion.pqr", "--solvent", "--solvent-map", "ions:a.dx", "--solvent-map", "charge:a.dx")


def test_what_is_said(_):
    """The plan, the result and the report."""
    four()
    done = make("four.pqr", *GRID, "--solvent", "--report", "r.json", "--energies", "e.json", "--picture", "p.png", "-o", "a.dx")
    for words in ("solvent    dielectric 78.54, 2 in the molecule; salt of 0.15 mol/L (Debye length 7.86 A)", "surface ses, probe 1.4 A",
                  "energy     ", "energies   e.json"):
        assert words in done.out, (words, done.out)
    report = energy("r.json")["solvent"]
    assert report["solvent_dielectric"] == 78.54 and report["surface"] == "ses" and 1 <= report["iterations"] <= 20, report
    assert energy("r.json")["energies"]["reaction_kJ/mol"] == energy("e.json")["reaction_kJ/mol"]
    made = sorted(os.listdir("."))
    make("-q", "four.pqr", *GRID, "--solvent", "--energies", "alone.csv")
    assert sorted([*made, "alone.csv"]) == sorted(os.listdir(".")), "energies alone need no map"
    make("-q", "four.pqr", *GRID, "--solvent", "--picture", "a.png", "--units", "V", "-o", "a.mrc")
    make("-q", "four.pqr", *GRID, "-o", "b.mrc", "--read-map", "a.mrc", "--units", "V", "--compare", "a.mrc", "--temperature", "298.15")


def test_water_is_left_out(_):
    """The solvent stands for the file's water. --solute says otherwise."""
    solute = [(1.2, 0.3, -0.5, 0.7, 1.9, "LIG", "A"), (-0.9, 0.8, 0.4, -0.4, 1.6, "LIG", "B")]
    water = [(4.0, 4.0, 0.0, -0.834, 1.7, "HOH", "O"), (4.7, 4.5, 0.2, 0.417, 0.5, "HOH", "H1"), (3.3, 4.5, 0.2, 0.417, 0.5, "HOH", "H2")]
    write("dry.pqr", solute)
    with open("wet.pqr", "w", encoding="ascii") as stream:
        stream.write(open("dry.pqr", encoding="ascii").read())
        for n, (x, y, z, q, r, name, atom) in enumerate(water, 3):
            stream.write(f"ATOM {n} {atom} {name} 9 {x:.6f} {y:.6f} {z:.6f} {q:.6f} {r:.4f}\n")
    for name in ("dry", "wet"):
        make("-q", f"{name}.pqr", *GRID, "--solvent", "-o", f"{name}.mrc")
    assert bits("dry.mrc") == bits("wet.mrc")
    assert "1 water molecule of the file left out" in make("wet.pqr", *GRID, "--solvent", "--dry-run").out
    make("-q", "wet.pqr", *GRID, "--solvent", "--solute", "all", "-o", "kept.mrc")
    assert bits("kept.mrc") != bits("dry.mrc")


def test_sites_without_mass(_):
    """--radii bondi: Drude particles, lone pairs and the fourth site of water are no atoms, so they have no sphere."""
    atoms = [("O", "LIG", 1, 0.0, 1.2, 1.52), ("DO", "LIG", 1, 0.05, -1.5, 0), ("LPA", "LIG", 1, -0.3, -0.2, 0), ("C", "LIG", 1, 1.4, 0.5, 1.7),
             ("O", "HOH", 2, 5.0, 0, 1.52), ("H1", "HOH", 2, 5.9, 0.5, 1.2), ("M", "HOH", 2, 5.1, -1.0, 0), ("H2", "HOH", 2, 4.3, 0.5, 1.2)]
    for name, given in (("named", False), ("radii", True)):
        with open(f"{name}.pqr", "w", encoding="ascii") as stream:
            for n, (atom, residue, number, x, q, radius) in enumerate(atoms):
                stream.write(f"ATOM {n + 1} {atom} {residue} {number} {x} {0.1 * n} 0.0 {q} {radius if given else 0.0}\n")
        make("-q", f"{name}.pqr", *GRID, "--solvent", "--solute", "all", "--radii", "file" if given else "bondi", "-o", f"{name}.mrc")
    assert bits("named.mrc") == bits("radii.mrc")
    assert "5 atoms without a radius" in make("named.pqr", "--radii", "bondi", "--dry-run").out


def test_refused(_):
    four()
    for option in (["--probe", "1.2"], ["--surface", "sas"], ["--energies", "e.json"], ["--ionic-strength", "0.1"]):
        refuse(2, ["needs", "--solvent"], "four.pqr", *option)
    for option in (["--dielectric", "2"], ["--smooth", "1"]):
        refuse(2, "--solvent", "four.pqr", "--solvent", *option)
    refuse(2, "cutoff", "four.pqr", "--solvent", "--method", "cutoff:9")
    refuse(2, "edge of the grid", "four.pqr", "--solvent", "--border", "0")
    refuse(2, [".json or .csv"], "four.pqr", "--solvent", "--energies", "e.txt")
    refuse(2, "energies", "four.pqr", "--solvent", "--energies", "four.pqr")
    write("bare.pqr", [(0, 0, 0, 1, 0), (1, 0, 0, -1, 0)])
    refuse(3, ["bare.pqr", "radius"], "bare.pqr", "--solvent")
    with open("named.pqr", "w", encoding="ascii") as stream:
        stream.write("ATOM 1 CA ALA 1 0.0 0.0 0.0 1.0 0.0\nATOM 2 O ALA 1 1.2 0.0 0.0 -1.0 0.0\n")
    write("elements.pqr", [(0, 0, 0, 1, 1.7), (1.2, 0, 0, -1, 1.52)])
    for name, radii in (("named", "bondi"), ("elements", "file")):
        make("-q", f"{name}.pqr", *GRID, "--solvent", "--radii", radii, "-o", f"{name}.mrc")
    assert bits("named.mrc") == bits("elements.mrc")
    assert "2 atoms without a radius" in make("named.pqr", "--radii", "bondi", "--dry-run").out
    refuse(3, ["bare.pqr", "UNK X 1, atom 1", "PQR"], "bare.pqr", "--solvent", "--radii", "bondi")
    for name in ("named", "elements"):
        os.remove(f"{name}.mrc")
    write("half.pqr", [(0, 0, 0, 1, 2), (5, 0, 0, -1, 0)])
    refuse(2, ["atom 2", "radius"], "half.pqr", "--solvent")
    write("water.pqr", [(0, 0, 0, -0.8, 1.7, "HOH", "O"), (0.7, 0.5, 0.2, 0.8, 0.5, "HOH", "H1")])
    refuse(5, ["of memory", "--spacing of"], "four.pqr", "--solvent", "--spacing", "0.005", "-o", "big.mrc")
    assert "too coarse" in make("-q", "four.pqr", "--solvent", "--spacing", "1.5", "-o", "a.mrc").err
    make("-q", "four.pqr", *GRID, "--solvent", "-o", "a.mrc")
    refuse(3, ["a.mrc", "solvent"], "four.pqr", "--read-map", "a.mrc", "--place", "SOD:1")


program.main(globals())
