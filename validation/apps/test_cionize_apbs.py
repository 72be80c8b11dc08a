#!/usr/bin/env python3
"""cionize --apbs: energies of input files of APBS against what is known of spheres and against APBS, where it places grids, files that
are refused. The reader's own tests are validation/unit/apps/cionize/test_apbs_input.c.

Finite differences of spacing h are second order: energies of Born's ion of 3 A are within 0.2 % at 0.375 A (test_cionize_solvent.py).

usage: test_cionize_apbs.py PROGRAM [DEVICE] [test_name ...]
"""
import glob
import json
import math
import re
import shutil
import subprocess

import program
from program import make, position, read, refuse, Skip, unit_constant

KJ = unit_constant("kcal/mol/e") * 4.184  # e^2/A in kJ/mol
RADIUS, WATER = 3.0, 78.54
BORN = KJ / 2 / RADIUS * (1 / WATER - 1)  # -228.61 kJ/mol


def write(path, atoms):
    """(x, y, z, charge, radius)"""
    with open(path, "w", encoding="ascii") as stream:
        for n, (x, y, z, q, r) in enumerate(atoms, 1):
            stream.write(f"ATOM {n} X UNK {n} {x:.6f} {y:.6f} {z:.6f} {q:.6f} {r:.4f}\n")
    return path


def ion(path="ion.pqr", charge=1.0, at=(0.02, -0.05, 0.1)):
    return write(path, [(*at, charge, RADIUS)])


MANUAL = dict(kind="mg-manual", dime="49 49 49", grid="0.375 0.375 0.375", gcent="mol 1", mol="1", bcfl="mdh", pdie="1", sdie=WATER,
              srfm="mol", chgm="spl2", srad="1.4", swin="0.3", sdens="10", temp="298.15", calcenergy="total", calcforce="no")
AUTO = {**{k: v for k, v in MANUAL.items() if k not in ("grid", "gcent")}, "kind": "mg-auto", "dime": "33 33 33",
        "fglen": "12 12 12", "cglen": "50 50 50", "fgcent": "mol 1", "cgcent": "mol 1"}


def section(name, words, equation="lpbe", more="", **changes):
    words = {**words, **changes}
    return (f"elec name {name}\n    {words['kind']}\n    {equation}\n"
            + "".join(f"    {word} {value}\n" for word, value in words.items() if word != "kind" and value is not None)
            + more + "end\n")


def write_input(path, molecules, *sections):
    with open(path, "w", encoding="ascii") as stream:
        stream.write("read\n" + "".join(f"    mol pqr {name}\n" for name in molecules) + "end\n" + "".join(sections) + "quit\n")
    return path


def sums(done):
    """The energies of PRINT, as scripts for APBS find them."""
    found = [float(text) for text in re.findall(r"^  Global net ELEC energy = (-?\d\.\d{12}E[+-]\d\d) kJ/mol$", done.out, re.MULTILINE)]
    assert all(map(math.isfinite, found)), found
    return found


def near(found, known, part):
    assert abs(found - known) <= part * abs(known), f"{found} instead of {known}, more than {part} of it away"


def test_born(_):
    """Two sections, of which the second is the medium of the molecule; the map lies where APBS has it."""
    ion()
    write_input("born.in", ["ion.pqr"], section("solvated", AUTO, temp="310", more="    write pot dx map\n    write pot gz same\n"),
                section("reference", AUTO, sdie="1"), "print elecEnergy solvated - reference end\n")
    done = make("--apbs", "born.in", "--report", "r.json")
    near(sums(done)[0], BORN, 2e-3)
    assert done.out.count("note: chgm is ignored, because") == 1, done.out
    with open("r.json", encoding="utf-8") as stream:
        report = json.load(stream)["apbs"]
    assert abs(report["print_1"]["kJ/mol"] - sums(done)[0]) <= 1e-9 and report["print_1"]["self_energies"] == 0, report
    assert report["elec_2"]["reaction_kJ/mol"] == 0 and report["elec_1"]["maps"] == ["map.dx", "same.dx.gz"], report
    grid, seen, c = read("map.dx"), [0, 0], unit_constant("kT/e", 310)
    assert list(grid.counts) == [33, 33, 33] and list(grid.spacing) == [0.375] * 3, grid.spacing
    assert all(abs(grid.origin[a] - ((0.02, -0.05, 0.1)[a] - 6)) <= 1e-9 for a in range(3)), grid.origin
    assert grid.values == read("same.dx.gz").values
    for n, value in enumerate(grid.values):
        r = math.dist(position(grid, n), (0.02, -0.05, 0.1))
        if abs(r - RADIUS) < 0.375 or r < 0.5:
            continue
        truth = c / (WATER * r) if r > RADIUS else c / r + c * (1 / WATER - 1) / RADIUS
        seen[r > RADIUS] += 1
        assert abs(value - truth) <= 1e-2 * (truth if r > RADIUS else c / RADIUS), (r, value, truth)
    assert min(seen) > 1000, seen


def test_reference_of_another_dielectric(_):
    """pdie 2, from vacuum to water: both are solved, and the difference is Born's, whatever pdie is."""
    ion(charge=-2.0)
    write_input("a.in", ["ion.pqr"], section("a", MANUAL, pdie="2"), section("b", MANUAL, pdie="2", sdie="1"), "print elecEnergy a - b end\n")
    done = make("--apbs", "a.in")
    near(sums(done)[0], 4 * BORN, 4e-3)  # of two energies, each of which is within 0.2 %, and together as large as their difference


def test_salt(_):
    """Debye and Hueckel: from no salt to 0.5 mol/L of 1:1 and of 2:1, -q^2 k / (2 eps (1 + k a)), a the closest that ions come."""
    ion()
    ions = {"one": "    ion charge 1 conc 0.5 radius 2\n    ion charge -1 conc 0.5 radius 1.5\n",
            "two": "    ion 2 0.1 2.0\n    ion -1 0.2 2.0\n"}
    write_input("a.in", ["ion.pqr"], section("none", MANUAL), section("one", MANUAL, more=ions["one"], temp="600"),
                section("two", MANUAL, more=ions["two"]), "print elecEnergy one - none end\nprint elecEnergy two - none end\n")
    found = sums(make("-q", "--apbs", "a.in", "--report", "r.json")) or report_sums()
    for value, strength, temperature in zip(found, (0.5, 0.3), (600, 298.15)):
        bjerrum = unit_constant("kT/e", temperature) / WATER
        k = math.sqrt(8 * math.pi * bjerrum * strength * program.AVOGADRO * 1e3 * 1e-30)
        known = -KJ / 2 * k / (WATER * (1 + k * (RADIUS + 2)))
        # the surface of the ions is a staircase of 0.375 A: 2 % of the distance of 5 A, and less of the energy; BORN's error cancels
        near(value, known, 2e-2)


def report_sums():
    with open("r.json", encoding="utf-8") as stream:
        report = json.load(stream)["apbs"]
    return [report[key]["kJ/mol"] for key in sorted(report) if key.startswith("print_")]


def test_binding(_):
    """Two ions at 12.5 A: the sum has their Coulomb energy. In a medium without a surface it is exact, in water that of charges in water,
    less what each cavity does to the other's field: of order (a / R)^3 a / R, 1 %, and the grid's 0.1 % of the energies that cancel."""
    places = [(-6.25, 0.1, -0.2), (6.25, 0.1, -0.2)]
    ion("a.pqr", 1, places[0])
    ion("b.pqr", -1, places[1])
    write("c.pqr", [(*places[0], 1, RADIUS), (*places[1], -1, RADIUS)])
    names = ["a.pqr", "b.pqr", "c.pqr"]
    same = {"dime": "65 49 49", "gcent": "mol 3", "calcenergy": "comps"}
    total = "print elecEnergy c - a - b end\n"
    for sdie, pdie, bound in ((80, 80, 1e-9), (WATER, 1, 0.05)):
        write_input("bind.in", names, *(section(n, MANUAL, mol=m, sdie=sdie, pdie=pdie, **same) for m, n in enumerate("abc", 1)), total)
        done = make("--apbs", "bind.in")
        near(sums(done)[0], -KJ / (sdie * 12.5), bound)
        assert len(re.findall(r"^ +Atom [01]:  -?\d\.\d+E[+-]\d\d kJ/mol$", done.out, re.MULTILINE)) == 4, done.out
        assert "cancel" not in done.out, done.out


def test_sum_without_its_reference(_):
    """Energies of charges with themselves, which APBS's grid has and ours does not: said if they do not cancel."""
    ion()
    write_input("a.in", ["ion.pqr"], section("a", MANUAL), "print elecEnergy a end\n")
    done = make("--apbs", "a.in")
    near(sums(done)[0], BORN, 2e-3)
    assert "do not cancel" in done.out, done.out


def test_non_linear_and_smooth(_):
    """The non-linear equation lowers the energy of a highly charged ion further than the linear one, and without salt it is the same. A
    smoothed surface changes Born's energy by no more than the spacing does: 3 %, and something."""
    ion(charge=4.0)
    ions = "    ion charge 1 conc 0.1 radius 2\n    ion charge -1 conc 0.1 radius 2\n"
    large = {"dime": "97 97 97"}
    write_input("a.in", ["ion.pqr"], section("none", MANUAL, **large), section("none-npbe", MANUAL, "npbe", **large),
                section("lpbe", MANUAL, more=ions, **large), section("npbe", MANUAL, "npbe", more=ions, **large),
                section("smooth", MANUAL, srfm="smol", **large), "print elecEnergy none end\nprint elecEnergy none-npbe end\n"
                "print elecEnergy lpbe - none end\nprint elecEnergy npbe - none end\nprint elecEnergy smooth - none end\n")
    none, same, linear, non_linear, smooth = sums(make("--apbs", "a.in"))
    near(none, 16 * BORN, 2e-3)
    assert same == none, (same, none)
    assert non_linear < 1.02 * linear < 0, (non_linear, linear)
    assert 1e-3 * abs(none) < abs(smooth) < 3e-2 * abs(none), (smooth, none)


def test_grid_smaller_than_the_molecule(_):
    """A grid around one atom of a large molecule, as for focusing: solved on one that holds it all, of the same points."""
    write("m.pqr", [(0, 0, 0, 1, 2), (3, 0.5, 0, -0.6, 1.7), (9, 0, 1, 0.4, 1.8), (6, 0.3, 0.6, -0.2, 1.9)])
    common = {"grid": "0.5 0.5 0.5", "bcfl": "focus"}
    write_input("a.in", ["m.pqr"], section("small", MANUAL, dime="17 17 17", gcent="0 0 0", more="    write pot dx small\n", **common),
                section("large", MANUAL, dime="97 97 97", gcent="0 0 0", more="    write pot dx large\n", **common),
                "print elecEnergy small - large end\nprint elecEnergy large end\n")
    done = make("--apbs", "a.in")
    difference, energy = sums(done)
    # the rims are at 5 and at 13 A of the atoms, which is 0.05 % of the reaction energy
    assert abs(difference) <= 1e-3 * abs(energy), (difference, energy)
    assert "because the molecule comes near to the rim" in done.out, done.out
    small, large = read("small.dx"), read("large.dx")
    assert list(small.counts) == [17] * 3 and list(small.origin) == [-4] * 3, small.origin
    for n, value in enumerate(small.values):
        index = [round((position(small, n)[a] - large.origin[a]) / 0.5) for a in range(3)]
        other = program.value(large, *index)
        # at the solved rim, 3 A beyond the small grid, the potential is that without the molecule's cavity
        assert abs(value - other) <= 3e-2 * max(abs(other), 1), (position(small, n), value, other)


def test_focusing(_):
    """A coarse section that only gives the fine one its boundary in APBS is not solved: here its spacing is larger than the ion. It is, if
    a sum asks for it."""
    ion()
    coarse = section("coarse", MANUAL, dime="9 9 9", grid="7 7 7")
    fine = section("fine", MANUAL, bcfl="focus")
    write_input("a.in", ["ion.pqr"], coarse, fine, "print elecEnergy fine end\n")
    done = make("--apbs", "a.in")
    near(sums(done)[0], BORN, 2e-3)
    assert "coarse: molecule 1; not solved" in done.out and "energy     coarse" not in done.out, done.out
    write_input("a.in", ["ion.pqr"], coarse, fine, "print elecEnergy fine - coarse end\n")
    assert "not solved" not in program.run("--apbs", "a.in").out
    write_input("a.in", ["ion.pqr"], coarse, section("fine", MANUAL), "print elecEnergy fine end\n")
    assert "not solved" not in program.run("--apbs", "a.in").out


def test_dry_run_and_batch(_):
    ion()
    write_input("a.in", ["ion.pqr"], section("a", MANUAL, more="    write pot dx map\n"))
    write_input("b.in", ["ion.pqr"], section("b", MANUAL))
    before = program.listing()
    done = make("--apbs", "a.in", "--dry-run")
    assert "49 x 49 x 49 points, 0.375 A" in done.out and "energy" not in done.out and program.listing() == before, done.out
    make("--apbs", "a.in", "b.in", "--report", ".json")
    reports = sorted(glob.glob("*.json"))
    assert len(reports) == 2, reports
    for name, section_name in zip(reports, "ab"):
        with open(name, encoding="utf-8") as stream:
            elec = json.load(stream)["apbs"]["elec_1"]
        near(elec["reaction_kJ/mol"], BORN, 2e-3)
        assert elec["name"] == section_name, elec


def test_refused(_):
    ion()
    one = section("a", MANUAL)
    for words, status, *sections in (
            (["a.in:7:", "unknown word 'sdei'"], 3, section("a", {"kind": "mg-manual", "sdei": "80"})),
            (["a.in:7:", "srfm spl2", "use srfm mol"], 8, section("a", {"kind": "mg-manual", "srfm": "spl2"})),
            (["a.in:", "mg-para"], 8, section("a", MANUAL, kind="mg-para")),
            (["GiB", "use a grid of about"], 5, section("a", MANUAL, dime="100001 100001 100001")),
            (["a.dx", "a map (write pot)"], 2, section("a", MANUAL, more="    write pot dx a\n    write pot dx a\n")),
            (["no-folder/a.dx"], 4, section("a", MANUAL, more="    write pot dx no-folder/a\n"))):
        write_input("a.in", ["ion.pqr"], *sections)
        refuse(status, words, "--apbs", "a.in")
    write_input("a.in", ["missing.pqr"], one)
    refuse(3, "missing.pqr", "--apbs", "a.in")
    write_input("a.in", ["ion.pqr"], one)
    refuse(2, ["--apbs", "--spacing", "the input file of APBS says what to do"], "--apbs", "a.in", "--spacing", "1")
    refuse(2, ["--apbs", "--solvent"], "--apbs", "a.in", "--solvent")
    refuse(2, ["--apbs", "--radii"], "--apbs", "a.in", "--radii", "bondi")
    refuse(2, ["--method cutoff"], "--apbs", "a.in", "--method", "cutoff:8")
    refuse(3, "no.in", "--apbs", "no.in")
    refuse(3, "unknown word", "--apbs", "ion.pqr")


def test_against_apbs(_):
    """APBS on the same molecule, within 1 %, at half the spacing: its energy is 161.6, 160.2 and 159.0 kJ/mol at 0.31, 0.21 and
    0.16 A, of first order; ours is 157.9, 157.6 and 157.5. Also the potential in the solvent, off the surface."""
    if not shutil.which("apbs"):
        raise Skip("no apbs")
    atoms = [(0, 0, 0, 1, 2.5), (2.4, 0.5, 0, -0.6, 1.9), (-1.2, 1.9, 0.8, 0.3, 1.8), (0.2, -1.6, 1.9, -0.7, 2.0)]
    write("m.pqr", atoms)
    ions = "    ion charge 1 conc 0.15 radius 2.0\n    ion charge -1 conc 0.15 radius 2.0\n"
    for name, dime, spacing in (("m.in", 65, 0.3125), ("theirs.in", 129, 0.15625)):
        same = {"dime": f"{dime} {dime} {dime}", "grid": f"{spacing} {spacing} {spacing}"}
        write_input(name, ["m.pqr"], section("water", MANUAL, more=ions + "    write pot dx map\n", **same),
                    section("vacuum", MANUAL, sdie="1", **same), "print elecEnergy water - vacuum end\n")
    theirs = subprocess.run(["apbs", "theirs.in"], check=True, capture_output=True, text=True).stdout
    (name,) = glob.glob("map*.dx")  # with MPI, APBS adds the rank
    with open(name, encoding="ascii") as stream:
        text = re.sub(" *\n", "\n", re.sub(" +", " ", stream.read()))  # blanks in excess
    with open("theirs.dx", "w", encoding="ascii") as stream:
        stream.write(text)
    ours, other = sums(make("--apbs", "m.in"))[0], float(re.search(r"Global net ELEC energy = (\S+) kJ/mol", theirs).group(1))
    near(ours, other, 1e-2)
    ours, other, pairs = read("map.dx"), read("theirs.dx"), []
    assert all(abs(a - b) < 1e-5 for a, b in zip(ours.origin, other.origin)), (ours.origin, other.origin)
    for n, value in enumerate(ours.values):
        if min(math.dist(position(ours, n), atom[:3]) - atom[4] for atom in atoms) > 0.7:
            index = (n % 65, n // 65 % 65, n // 65 // 65)
            pairs.append((value, program.value(other, *(2 * i for i in index))))
    largest = max(abs(b) for _, b in pairs)
    worst = max(abs(a - b) for a, b in pairs)
    assert len(pairs) > 200000 and worst <= 3e-2 * largest, (len(pairs), worst, largest)


program.main(globals())
