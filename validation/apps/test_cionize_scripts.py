#!/usr/bin/env python3
"""cionize's ions by scripts and on averages over trajectories, and its errors: what the program prints and writes.

usage: test_cionize_scripts.py PROGRAM [DEVICE] [test_name ...]
"""
import json
import os
import pathlib
import random
import re
import resource
import signal
import subprocess
import time

import program
from ion_truth import (check_file, CHARGES, generator, numpy, Placed, Potential, random_molecule, read_ions, replay, run_ions,
                       squares, write_dcd, write_molecule)
from program import command, is_sanitized, listing, make, read, refuse, run, sample, Skip

GRID = ["--border", "9", "--spacing", "1"]


def write(name, text):
    pathlib.Path(name).write_text(text, encoding="ascii")
    return name


# ---- scripts ----

SCRIPT = """# all that there is
r_ion_solute 5
R_ION_ION 8   # a comment
BORDERSIZE 9
GRIDSPACING 1
HELP
Begin
SAVEGRID before.dx
PLACEION SOD 3 1
SAVEION pdb one.pdb
SAVEGRID between.h5
PLACEION CLA 4 -1
SAVEION two.pqr
SHOWOPT
SAVEION xyz two.xyz
SAVEGRID after.mrc
EXIT
this is not read
"""


def test_script(_):
    """All commands, from a file and from standard input, with LF and CR LF, write the same files."""
    rng = generator()
    atoms = random_molecule(rng, 50)
    write_molecule("a.pqr", atoms)
    write("s.cfg", SCRIPT)
    files = ["before.dx", "between.h5", "after.mrc", "one.pdb", "two.pqr", "two.xyz"]
    placed = run_ions("a.pqr", "-i", "s.cfg")
    assert "EXIT" in placed.said.err and "a_ionized.pdb" not in os.listdir(".")
    names = ["SOD"] * 3 + ["CLA"] * 4
    potential, _ = replay(placed, atoms, names, ion_solute=5.0, ion_ion=8.0)
    check_file("one.pdb", names[:3], placed.places[:3])
    for name in ("two.pqr", "two.xyz"):
        check_file(name, names[3:], placed.places[3:])
    for name, count in (("before.dx", 0), ("between.h5", 3), ("after.mrc", 7)):
        expected = Potential(placed.axes(), program.unit_constant("kT/e")).add(atoms[:, :3], atoms[:, 3])
        expected.add(placed.places[:count], [CHARGES[n] for n in names[:count]])
        values = numpy.array(read(name).values).reshape(expected.values.shape)
        assert (numpy.abs(values - expected.values) <= expected.error()).all(), name
        content = pathlib.Path(name).read_bytes()
        assert (b"potential with " in content) == (count > 0) == (b"potential with %d ions" % count in content), name
    assert (potential.sizes == expected.sizes).all()
    texts = {name: pathlib.Path(name).read_bytes() for name in ("one.pdb", "two.pqr", "two.xyz")}
    maps = {name: read(name).values for name in files[:3]}
    for text in (SCRIPT, SCRIPT.replace("\n", "\r\n"), SCRIPT.lower().replace("sod", "SOD").replace("cla", "CLA")):
        for name in files:
            os.remove(name)
        done = subprocess.run(command("-q", "a.pqr", "-i", "-"), input=text.encode(), capture_output=True, check=False)
        assert done.returncode == 0 and b"standard input" in done.stderr, done.stderr
        assert {name: pathlib.Path(name).read_bytes() for name in texts} == texts
        assert {name: read(name).values for name in maps} == maps


def test_settings_of_scripts(_):
    """XYZDIM, DDD and GRIDFILE; options for settings that the script leaves out."""
    rng = generator()
    atoms = random_molecule(rng, 50)
    write_molecule("a.pqr", atoms)
    low = numpy.floor(atoms[:, :3].min(axis=0)) - 9
    box = " ".join(f"{v:g}" for v in (*low, *low + 30))
    write("s.cfg", f"XYZDIM {box}\nGRIDSPACING 1.5\nDDD 2\nBEGIN\nPLACEION SOD 3 1\nSAVEION i.pdb\nSAVEGRID m.dx\nEXIT\n")
    placed = run_ions("a.pqr", "-i", "s.cfg", "--units", "V", "--ion-ion", "7")
    assert placed.counts == [21] * 3 and (placed.origin == low).all()
    replay(placed, atoms, ["SOD"] * 3, unit="V", dielectric=2.0, power=2, ion_ion=7.0)
    # A map that the script starts with gives the same ions, and is not computed again.
    make("-q", "a.pqr", *GRID, "--precision", "double", "-o", "start.h5")
    expected = run_ions("a.pqr", *GRID, "--precision", "double", "--place", "CLA:4", "--ions", "expected.pqr")
    write("g.cfg", "GRIDFILE start.h5\nBORDERSIZE 9\nGRIDSPACING 1\nBEGIN\nPLACEION CLA 4 -1\nSAVEION i.pqr\nEXIT\n")
    placed = run_ions("a.pqr", "-i", "g.cfg")
    assert (placed.places == expected.places).all()
    assert open("i.pqr").read() == open("expected.pqr").read()
    write("g.cfg", "GRIDFILE start.h5\nBORDERSIZE 8\nGRIDSPACING 1\nBEGIN\nPLACEION CLA 4 -1\nSAVEION j.pqr\nEXIT\n")
    refuse(3, ["start.h5", "points"], "a.pqr", "-i", "g.cfg")


def test_options_with_a_script(_):
    """Files requested by options are written, too, with all ions."""
    rng = generator()
    atoms = random_molecule(rng, 30)
    write_molecule("a.pqr", atoms)
    write("s.cfg", "BORDERSIZE 9\nGRIDSPACING 1\nBEGIN\nPLACEION SOD 2 1\nSAVEION one.pdb\nPLACEION CLA 2 -1\nSAVEION two.pdb\n"
                   "EXIT\n")
    placed = run_ions("a.pqr", "-i", "s.cfg", "-o", "all.pqr", "--ions", "ions.xyz", "--mask", "m.mrc", "--map", "m.dx")
    names = ["SOD", "SOD", "CLA", "CLA"]
    replay(placed, atoms, names)
    check_file("all.pqr", names, placed.places, solute=atoms)
    check_file("ions.xyz", names, placed.places)
    assert set(read("m.mrc").values) == {0, 1, 2} and len(read("m.dx").values) == len(read("m.mrc").values)


def test_calls_of_vmd(_):
    """The options of VMD's cionize, in its order, and its names of the methods."""
    rng = generator()
    write_molecule("a.pqr", random_molecule(rng, 50))
    write("s.cfg", "BORDERSIZE 9\nGRIDSPACING 1\nBEGIN\nSAVEGRID m.mrc\nPLACEION SOD 2 1\nSAVEION i.pqr\nEXIT\n")
    maps = {}
    for theirs, ours in (("standard", "exact"), ("direct", "exact"), ("multilevel", "fast")):
        make("-i", "s.cfg", "-m", theirs, "-p", "2", "a.pqr", "--device", "cpu", "--report", "r.json")
        maps[theirs] = read("m.mrc").values
        report = json.loads(pathlib.Path("r.json").read_text())
        assert report["potential"]["method"] == ours, (theirs, report["potential"])
        make("-i", "s.cfg", "-m", ours, "-p", "2", "a.pqr", "--device", "cpu", "--report", "r.json")
        assert maps[theirs] == read("m.mrc").values, theirs
    assert maps["standard"] != maps["multilevel"] and maps["standard"] == maps["direct"]
    make("-i", "s.cfg", "-m", "standard:ref", "a.pqr", "--device", "cpu")
    refuse(2, ["ddd", "--distance-dielectric"], "-i", "s.cfg", "-m", "ddd", "-p", "2", "a.pqr")


def test_options_that_a_script_overrides(_):
    """The script has priority, and a warning lists the unused options. Options for other settings apply."""
    sample("dipole.pqr")
    make("-q", "dipole.pqr", *GRID, "-o", "m.h5")
    begin = "BEGIN\nPLACEION SOD 1 1\nSAVEION i.pdb\nEXIT\n"
    two = ["--size", "5", "--origin", "-2"]
    for settings, options, unused in (
            ("R_ION_SOLUTE 5\nR_ION_ION 7\n", ["--ion-solute", "4", "--ion-ion", "3"], ["--ion-solute", "--ion-ion"]),
            ("R_ION_SOLUTE 5\n", ["--ion-ion", "3", "--border", "9", "--spacing", "1"], []),
            ("BORDERSIZE 8\n", ["--border", "9"], ["--border"]), ("GRIDSPACING 2\n", ["--spacing", "1"], ["--spacing"]),
            ("BORDERSIZE 8\n", two, ["BORDERSIZE"]), ("BORDERSIZE 8\n", ["--counts", "30"], ["BORDERSIZE"]),
            ("XYZDIM -9 -9 -9 9 9 9\n", two, ["--origin", "--size"]), ("XYZDIM -9 -9 -9 9 9 9\n", ["--border", "2"], ["--border"]),
            ("XYZDIM -9 -9 -9 9 9 9\nBORDERSIZE 9\n", ["--counts", "2"], ["BORDERSIZE", "--counts"]),
            ("DDD 2\n", ["--dielectric", "3"], ["--dielectric"]),
            ("DDD 2\n", ["--distance-dielectric", "3"], ["--distance-dielectric"]),
            ("GRIDFILE m.h5\n", ["--read-map", "no.h5"], ["--read-map"])):
        write("s.cfg", settings + begin)
        said = make("-q", "dipole.pqr", "-i", "s.cfg", *options, "--dry-run").err
        assert [line.split()[-1] for line in said.splitlines() if " overrides " in line] == unused, (settings, options, said)


def test_errors_of_scripts(_):
    """Each error names its line and comes before any work; no file is written."""
    sample("dipole.pqr")
    save = "BEGIN\nPLACEION SOD 1 1\nSAVEION i.pdb\n"
    for text, words in (
            ("", "BEGIN"), ("R_ION_SOLUTE 5\n", "BEGIN"),
            ("\nBORDER 5\n" + save, [":2:", "BORDER", "BORDERSIZE"]),
            ("GRIDSPACING 0\n" + save, [":1:", "GRIDSPACING"]), ("GRIDSPACING 1 2\n" + save, [":1:", "'2'"]),
            ("R_ION_ION\n" + save, [":1:", "R_ION_ION DISTANCE"]), ("R_ION_ION -1\n" + save, [":1:", "range"]),
            ("R_ION_ION nan\n" + save, [":1:", "R_ION_ION"]), ("BORDERSIZE 1e999\n" + save, [":1:", "BORDERSIZE"]),
            ("BORDERSIZE 5\nBORDERSIZE 6\n" + save, [":2:", "line 1"]),
            ("XYZDIM 0 0 0 1 1\n" + save, [":1:", "XYZDIM"]), ("XYZDIM 0 0 5 1 1 1\n" + save, [":1:", "z"]),
            ("DDD 0\n" + save, [":1:", "DDD"]), ("DDD 1\nMULTIGRID\n" + save, [":2:", "MULTIGRID"]),
            ("DDD\n" + save, [":1:", "DDD"]),
            ("BEGIN\nSAVEION i.pdb\n", [":2:", "PLACEION"]), ("PLACEION SOD 1 1\n" + save, [":1:", "after BEGIN"]),
            (save + "BORDERSIZE 5\n", [":4:", "before BEGIN"]),
            ("BEGIN\nPLACEION SOD 1.5 1\n", [":2:", "1.5"]), ("BEGIN\nPLACEION SOD -1 1\n", [":2:", "-1"]),
            ("BEGIN\nPLACEION SOD 1 0\n", [":2:", "charge must not be 0"]), ("BEGIN\nPLACEION SODIUM 1 1\n", [":2:", "SODIUM"]),
            ("BEGIN\nPLACEION SOD 1\n", [":2:", "PLACEION NAME NUMBER CHARGE"]),
            ("BEGIN\nPLACEION SOD 1 1\nSAVEION pdb i.xyz\n", [":3:", "pdb"]),
            ("BEGIN\nPLACEION SOD 1 1\nSAVEION my ions.pdb\n", [":3:"]),
            ("GRIDFILE no.dx\n" + save, "no.dx")):
        for name, options in ((write("s.cfg", text), {}), ("-", {"stdin": open("s.cfg")})):
            status = 3
            said = refuse(status, words, "dipole.pqr", "-i", name, **options)
            assert name == "-" or "no.dx" in said.err or "s.cfg" in said.err, said.err
    begin = "BEGIN\nPLACEION SOD 1 1\n"
    for text, status, words in (
            (begin + "SAVEION i.dx\n", 2, ["i.dx", ".pdb"]), (begin + "SAVEION i\n", 2, [".pdb"]),
            (begin + "SAVEION i.pdb\nSAVEGRID m.grid\n", 2, ["m.grid", ".dx"]),
            # An input or an earlier saved file must not be overwritten.
            (begin + "SAVEION dipole.pqr\n", 2, ["dipole.pqr", "same file"]),
            (begin + "SAVEION i.pdb\nPLACEION CLA 1 -1\nSAVEION ./i.pdb\n", 2, ["i.pdb", "same file"]),
            (begin + "SAVEION no/i.pdb\n", 4, "no/i.pdb"),
            (begin + "SAVEION i.pdb\nSAVEGRID no/m.dx\n", 4, "no/m.dx")):
        write("s.cfg", text)
        refuse(status, words, "dipole.pqr", "-i", "s.cfg")
    refuse(3, ["no.cfg", "No such file"], "dipole.pqr", "-i", "no.cfg")
    write("s.cfg", save)
    for options in (["--place", "SOD:1"], ["--neutralize", "SOD"], ["--concentration", "0.1"]):
        refuse(2, f"{options[0]} cannot be combined with --script", "dipole.pqr", "-i", "s.cfg", *options)
    refuse(2, "--order", "dipole.pqr", "-i", "s.cfg", "--order", "alternate")
    refuse(2, ["s.cfg", "the script"], "dipole.pqr", "-i", "s.cfg", "--report", "s.cfg")


# ---- trajectories ----


def test_averages_over_frames(_):
    rng = generator()
    atoms = random_molecule(rng, 40)
    write_molecule("a.pqr", atoms)
    frames = numpy.array([atoms[:, :3] + rng.normal(0, 0.5, (len(atoms), 3)) + [drift, 0, 0] for drift in range(7)]).astype("f4").astype(float)
    write_dcd("t.dcd", frames)
    for selection, chosen in ((None, list(range(7))), ("2:7:2", [1, 3, 5]), ("-3:", [4, 5, 6]), ("4", [3])):
        selected = [] if selection is None else [f"--frames={selection}"]
        for precision in ("single", "double"):
            placed = run_ions("a.pqr", "--trajectory", "t.dcd", *selected, *GRID, "--precision", precision, "-o", "mean.h5",
                              "--deviation", "dev.h5", "--place", "SOD:3", "--ions", "i.pqr")
            each = [Potential(placed.axes(), program.unit_constant("kT/e")).add(frames[f], atoms[:, 3]) for f in chosen]
            values = numpy.array([one.values for one in each])
            mean, deviation = (numpy.array(read(name).values).reshape(values[0].shape) for name in ("mean.h5", "dev.h5"))
            # Deviations differ by at most the root mean square of the frames' errors.
            allowed = numpy.max([one.error(precision == "double") for one in each], axis=0)
            assert (numpy.abs(mean - values.mean(axis=0)) <= allowed).all(), (selection, precision)
            assert (numpy.abs(deviation - values.std(axis=0)) <= allowed).all(), (selection, precision)
            assert len(chosen) > 1 or (deviation == 0).all()
            # Ions are placed at minima of the mean, away from the atoms of all these frames.
            energies, free = mean.copy(), numpy.ones(mean.shape, dtype=bool)
            for position in frames[chosen].reshape(-1, 3):
                free &= squares(placed.axes(), position) >= 36 * (1 + 1e-11)
            best = numpy.unravel_index(numpy.where(free, energies, numpy.inf).argmin(), mean.shape)
            at = placed.origin + placed.spacing * numpy.array(best[::-1])
            assert (placed.places[0] == at).all(), (placed.places[0], at)
            assert abs(placed.energies[0] - energies[best]) <= 1e-12 * abs(energies[best])
    refuse(2, ["1:8", "has 7"], "a.pqr", "--trajectory", "t.dcd", "--frames", "1:8")
    refuse(2, "--trajectory", "a.pqr", "--frames", "1:2")
    refuse(2, "--trajectory", "a.pqr", "--deviation", "d.h5")
    refuse(2, "--refine", "a.pqr", "--trajectory", "t.dcd", "--place", "SOD:1", "--refine")
    write_dcd("other.dcd", frames[:, :-1])
    refuse(3, ["other.dcd", "39 atoms", "40"], "a.pqr", "--trajectory", "other.dcd")
    pathlib.Path("cut.dcd").write_bytes(pathlib.Path("t.dcd").read_bytes()[:-100])
    done = make("-q", "a.pqr", "--trajectory", "cut.dcd", *GRID, "-o", "cut.h5", "--report", "r.json")
    assert "warning" in done.err and '"count": 6' in pathlib.Path("r.json").read_text()


def test_one_of_each(_):
    """Singular forms, and nothing about what does not occur."""
    generator()
    write_molecule("a.pqr", numpy.array([[0, 0, 0, 1, 0]]))
    write_dcd("t.dcd", [numpy.zeros((1, 3))])
    place = ["--place", "SOD:0", "--place", "CLA:1"]
    outputs = []
    for options in (["--trajectory", "t.dcd", "--map", "m.dx", "--map-with-ions"], ["--concentration", "0.05"], ["--counts", "1"]):
        done = run("a.pqr", *place, *options, "--ions", "i.pdb")
        assert done.status == (9 if "--counts" in options else 0), done.err
        assert re.search(r"^ions +1 CLA \(-1\)$", done.out, re.M), done.out
        outputs += [done.out, done.err, open("i.pdb").read()]
    outputs.append(open("m.dx").read().split("object")[0])
    outputs.append(make("a.pqr", "--place", "SOD:0", "--ions", "i.pdb").out)
    assert re.search("^ions +none$", outputs[-1], re.M), outputs[-1]
    assert re.search("^frames +1 of the 1 of t.dcd, number 1$", outputs[0], re.M), outputs[0]
    for words in ("1 atom has a radius of 0; for the volume of solvent it counts", "1 of 1 ion did not fit", "only 0 of 1 ion placed",
                  "molecule: 1 atom,", ": 1 ion\n", ": 1 atom, ", "= 1 point,"):
        assert any(words in re.sub(r" +\n", "\n", text) for text in outputs), (words, outputs)
    for text in outputs:
        assert not re.search(r"(?<![\d.])1 (atom|ion|point|frame|slab|value|map)s\b", text), text


def test_solvent_over_frames(_):
    """A salt's volume is the mean over the frames, wherever the molecule's file has the atoms. Two spheres coincide
    for 20 frames, then are apart. Their volume by the grid's points: see test_volume_of_solvent_around_one_atom."""
    generator()
    radius, h = 3.0, 0.5
    write_molecule("a.pqr", numpy.array([[500.0, 0, 0, 1, radius], [500.0, 0, 0, -1, radius]]))
    apart = numpy.array([[-6.0, 0, 0], [6.0, 0, 0]])
    write_dcd("t.dcd", [0 * apart + [1, 0, 0]] * 20 + [apart] * 20)
    for selection, spheres in (("1:20", 1), ("21:", 2), (":", 1.5), ("20:21", 1.5), ("19:39:20", 1.5)):
        placed = run_ions("a.pqr", "--trajectory", "t.dcd", f"--frames={selection}", "--origin", "-12", "--counts", "49",
                          "--spacing", h, "--concentration", "0.3", "--ions", "i.pdb", "--ion-ion", "3")
        r = numpy.sqrt(squares(placed.axes(), (0, 0, 0)))
        most, least = ((r < radius + more).sum() * h ** 3 for more in (0.5 * h * h + 1e-9, -1e-9))
        volume = 24.0 ** 3 - placed.report["ions"]["solvent_volume"]
        assert spheres * least <= volume <= spheres * most, (selection, volume, least, most)


# ---- what VMD's program gets wrong ----


def test_bad_molecules(_):
    """Missing, empty or invalid files, bad numbers, unknown names: an error, and no ions."""
    good = "ATOM 1 N ALA 1 1.0 2.0 3.0 0.5 1.8\n"
    os.mkdir("folder")
    for name, text, words in (
            ("no.pqr", None, "No such file"), ("folder", None, "directory"), ("empty.pqr", "", "empty"),
            ("junk.pqr", "lorem ipsum\n" * 9, "junk.pqr"), ("bad.pqr", good + good.replace("2.0", "2.x"), [":2:", "2.x"]),
            ("nan.pqr", good.replace("3.0", "nan"), [":1:", "nan"]), ("short.pqr", good + "ATOM 2 N ALA 1 1.0\n", ":2:"),
            ("a.foo", "something else\n", "a.foo")):
        if text is not None:
            write(name, text)
        for options in (["--place", "SOD:1"], ["--neutralize", "SOD,CLA", "-o", "x.pdb"]):
            refuse(3, [name, *([words] if isinstance(words, str) else words)], name, *options)
        write("s.cfg", "BEGIN\nPLACEION SOD 1 1\nSAVEION i.pdb\nEXIT\n")
        refuse(3, name, name, "-i", "s.cfg")
        os.remove("s.cfg")
    write("a.foo", good)  # the contents show the file's format
    make("-q", "a.foo", *GRID, "--place", "CLA:1", "-o", "a.pdb")


def test_a_script_for_more_than_fits(_):
    """VMD places 374 of 400 on one point. cionize places those that fit, at their distances, with exit status 9, and
    runs the rest of the script."""
    rng = generator()
    atoms = random_molecule(rng, 30)
    write_molecule("a.pqr", atoms)
    write("s.cfg", "BORDERSIZE 9\nGRIDSPACING 1\nBEGIN\nPLACEION SOD 400 1\nSAVEION i.pqr\nSAVEGRID m.h5\nEXIT\n")
    done = run("-q", "a.pqr", "-i", "s.cfg", "--report", "r.json")
    assert done.status == 9 and "--ion-ion" in done.err and "400" in done.err, done.err
    placed = Placed()
    assert 0 < placed.placed < 400
    replay(placed, atoms, ["SOD"] * placed.placed)
    check_file("i.pqr", placed.names, placed.places)
    assert len({row[1:4] for row in read_ions("i.pqr")[0]}) == placed.placed
    values = numpy.array(read("m.h5").values)
    assert numpy.isfinite(values).all() and (values != 0).all(), "excluded points have a potential, too"


# ---- options ----


def test_bad_options(_):
    sample("dipole.pqr")
    place = ["--place", "SOD:1"]
    for option, texts in (
            ("--place", ["", "SOD", "SOD:", ":3", "SOD:x", "SOD:-1", "SOD:1.5", "SOD:1:", "SOD:1:x", "SOD:1:0", "SOD:1:nan",
                         "SOD:1:inf", "SODIUM:1", "SODIUM:1:1", "NOPE:1", "FE:1", "SOD:1:1:1", "S D:1:1", "SOD:99999999",
                         "SOD:99999999999999999999", "SOD: 1", "SOD:1,CLA:1"]),
            ("--neutralize", ["", "NOPE", "SOD,POT", "SOD,CLA,MG", "SOD,", ",", "CLA,IOD"]),
            ("--concentration", ["", "x", "-1", "nan", "inf", "21", "0.1M"]),
            ("--ion-solute", ["", "x", "-1", "nan", "inf", "1e5", "1,2,3"]),
            ("--ion-ion", ["", "x", "-1", "nan", "inf", "1e5"]), ("--order", ["", "random", "GIVEN"])):
        for text in texts:
            refuse(2, option, "dipole.pqr", *(place if option != "--place" else []), f"{option}={text}")
    for text in ("", "SOD", "SOD,POT", "NOPE,CLA", "SOD,CLA,MG"):
        refuse(2, "--salt", "dipole.pqr", "--concentration", "0.1", f"--salt={text}")
    for arguments, words in (
            (["--ions", "i.pdb"], ["--ions", "--place"]), (["--mask", "m.dx"], ["--mask", "--place"]),
            (["-o", "x.pdb"], ["-o", "--place"]), (["--map-with-ions"], ["--map-with-ions", "--place"]),
            (["--read-map", "m.dx"], ["--read-map", "--place"]), (["--refine"], ["--refine", "--place"]),
            (["--from-surface"], ["--from-surface", "--place"]), (["--salt", "SOD,CLA"], ["--salt", "--concentration"]),
            ([*place, "--map-with-ions"], ["--map-with-ions", "--map"]),
            ([*place, "--read-map", "m.dx", "--trajectory", "t.dcd"], ["--read-map", "--trajectory"]),
            (["--concentration", "0.1", "--neutralize", "SOD,CLA"], ["--concentration", "--neutralize"]),
            ([*place, "--ions", "i.dx"], ["i.dx", ".pdb"]), ([*place, "--ions", "i"], [".pdb"]),
            ([*place, "--map", "m.pdb"], ["m.pdb", ".dx"]), ([*place, "--mask", "m.pqr"], ["m.pqr", ".dx"]),
            ([*place, "-o", "a.dx", "--map", "b.dx"], ["-o", "--map", "a.dx", "b.dx"]),
            ([*place, "--map", "b.dx", "-o", "a.dx"], ["-o", "--map", "a.dx", "b.dx"]),
            ([*place, "--ions", "i.pdb", "-o", "./i.pdb"], "same file"),
            ([*place, "--ions", "dipole.pqr"], ["the input", "same file"]),
            ([*place, "--map", "m.dx", "--mask", "m.dx"], "same file"),
            (["--ions", "i.pdb", "--place", "SOD:1", "--read-map", "m.png"], ["m.png", ".dx"])):
        refuse(2, words, "dipole.pqr", *arguments)
    refuse(3, ["no.h5", "No such file"], "dipole.pqr", *place, "--read-map", "no.h5")
    write("map.cfg", "GRIDFILE no.h5\nBEGIN\nPLACEION SOD 1 1\nSAVEION i.pdb\nEXIT\n")
    refuse(2, ["--refine", "an existing map"], "dipole.pqr", "-i", "map.cfg", "--refine")
    for name in ("no/i.pdb", "no/i.xyz"):
        refuse(4, [name, "No such file"], "dipole.pqr", *place, "--ions", name)
    for kind in ("pdb", "pqr", "xyz"):
        os.symlink("/dev/full", f"full.{kind}")
        refuse(4, [f"full.{kind}", "No space left"], "dipole.pqr", *place, "--ions", f"full.{kind}")
    done = make("-q", "dipole.pqr", "--neutralize", "SOD", "-o", "none.pqr")
    assert "the rule asks for 0 ions" in done.err and len(read_ions("none.pqr")[0]) == 2, "a dipole needs no ions"
    assert make("-q", "dipole.pqr", "--place", "SOD:0", "-o", "none.pqr").err == "", "there is no rule"
    write("plus.pqr", "ATOM 1 X MOL 1 0.0 0.0 0.0 1.000 1.0\n")
    refuse(2, ["SOD", "CLA"], "plus.pqr", "--neutralize", "SOD")
    write("far.pqr", "ATOM 1 X MOL 1 0.0 -1000.0 0.0 1.000 1.0\n")
    for more in ([], ["--dry-run"]):  # before any work
        refuse(8, ["far.pdb", "-1000", "along y", ".pqr"], "far.pqr", "--place", "CLA:1", "-o", "far.pdb", *more)
    make("-q", "far.pqr", "--place", "CLA:1", "-o", "near.pqr")


def test_dry_run_places_nothing(_):
    sample("dipole.pqr")
    before = listing()
    done = make("dipole.pqr", "--place", "SOD:3", "--place", "MG:2", "--order", "largest", "--dry-run", "-o", "x.pdb")
    assert listing() == before and "3 SOD (+1), 2 MG (+2), largest charges first" in done.out, done.out
    assert "placed" not in done.out


def test_memory_for_ions(_):
    """The plan includes the memory for placement, and a dry run rejects too much of it like any run: 4 bytes a point
    for the map, 2.1 for mask and bounds."""
    sample("dipole.pqr")
    place = ["dipole.pqr", "--place", "SOD:1", "--ions", "i.pdb"]
    for more in ([], ["--dry-run"]):  # 1e13 points, in layers of 4 MB
        refuse(5, ["not enough memory to place ions", "need 55.5 TiB"], *place, "--counts", "1000,1000,10000000", "--spacing",
               "0.001", *more)
    if program.DEVICE == "cuda":
        return  # slabs may take more than the later stages, and the driver more address space than any limit here
    for options, said in (([], "23.3 MiB"), (["--precision", "double"], "38.5 MiB"),
                          (["--mask", "m.dx"], "38.5 MiB")):  # this needs 4 bytes a point more
        done = make(*place, "--counts", "200,200,100", "--dry-run", *options)
        assert f", {said} of memory in" in done.out, done.out
    if is_sanitized():
        return
    limit = 1 << 30
    for more in ([], ["--dry-run"]):  # 0.8 GiB of map, and 0.42
        refuse(5, ["cannot allocate 1.23 GiB", "ulimit -v"], *place, "--counts", "600", "--threads", "2", *more,
               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))


def test_radii_for_surfaces(_):
    """Without radii there are no surfaces to keep a distance from."""
    write("bare.pqr", "ATOM 1 X MOL 1 0.0 0.0 0.0 1.000 0.0\nATOM 2 X MOL 1 2.0 0.0 0.0 1.000 0.0\n")
    write("s.cfg", "BEGIN\nPLACEION CLA 1 -1\nSAVEION i.pdb\nEXIT\n")
    for ions in (["--place", "CLA:1"], ["-i", "s.cfg"]):
        refuse(2, ["--from-surface", "bare.pqr", "no radii"], "bare.pqr", *ions, "--from-surface")
        make("-q", "bare.pqr", *ions)
    write("one.pqr", "ATOM 1 X MOL 1 0.0 0.0 0.0 1.000 0.0\nATOM 2 X MOL 1 2.0 0.0 0.0 1.000 1.0\n")
    make("-q", "one.pqr", "--place", "CLA:1", "--from-surface")


# ---- interrupts ----


def test_interrupt_while_placing(_):
    """Exit status 130, the finished map, and no file of ions, not even a partial one."""
    rng = random.Random(426)
    atoms = [(rng.uniform(0, 20), rng.uniform(0, 20), rng.uniform(0, 20), rng.choice((-1, 1))) for _ in range(500)]
    program.write_atoms("a.pqr", atoms)
    arguments = ["-q", "a.pqr", "--border", "20", "--place", "SOD:50000", "--ion-ion", "0.4", "--map", "m.mrc", "-o", "all.pqr",
                 "--ions", "i.pdb", "--mask", "k.mrc", "--report", "r.json"]
    process = subprocess.Popen(command(*arguments), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    until = time.monotonic() + 60
    while not os.path.exists("m.mrc"):
        assert process.poll() is None and time.monotonic() < until, process.returncode
        time.sleep(0.01)
    time.sleep(0.5)
    if process.poll() is not None:
        raise Skip("a machine so fast that the ions are placed already")
    process.send_signal(signal.SIGINT)
    err = process.communicate(timeout=60)[1].decode()
    assert process.returncode == 130 and "interrupted" in err, (process.returncode, err)
    assert sorted(os.listdir(".")) == ["a.pqr", "m.mrc"], os.listdir(".")
    assert len(read("m.mrc").values) > 1000


program.main(globals())
