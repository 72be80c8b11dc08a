#!/usr/bin/env python3
"""Bad options and bad input of cionize: each has its exit status and one line that says what is wrong, and no file
is written.

usage: test_cionize_errors.py PROGRAM [DEVICE] [test_name ...]
"""
import hashlib
import json
import math
import os
import pathlib
import shutil

import program
from ion_truth import write_dcd
from program import as_nobody, make, read, refuse, run, sample, Skip, write_atoms

JUNK = ["nan", "inf", "-inf", "infinity", "", " ", "abc", "0x10", "1e999", "1.5.2", " 1", "1 ", "1;2", "1..2", "--", ",", "1e",
        "+-1"]
NO_TRIPLE = ["1,2", "1,2,3,4", "1,,3", ",1,2", "1,2,", "1,nan,2", "1, 2,3"]
SCALARS = {"--border": ["-1", "1e6"], "--temperature": ["-300", "0", "1e9"], "--dielectric": ["-80", "0", "1e9"],
           "--distance-dielectric": ["-4", "0"], "--r-min": ["-0.1", "0", "1e9"]}
TRIPLES = {"--spacing": ["-1", "0", "1e9", "1,0,1", "1,1,-1"], "--origin": ["1e9", "0,0,-1e9"],
           "--size": ["-1", "5,5,-5", "1e9"]}
WHOLE = {"--counts": ["0", "-5", "1.5", "1e3", "2,2,0", "99999999999999999999"],
         "--threads": ["0", "-1", "1.5", "1e1", "4097", "99999999999999999999", "1,2"]}


def test_numbers(_):
    sample("dipole.pqr")
    for option, more in {**SCALARS, **TRIPLES, **WHOLE}.items():
        several = NO_TRIPLE if option in TRIPLES or option == "--counts" else ["1,2", "1,2,3"]
        for text in JUNK + more + several:
            # Attached to the option, so that "--border -1" is not taken for an option.
            refuse(2, [option, f"'{text}'", "expected"], "dipole.pqr", f"{option}={text}")


def test_words(_):
    sample("dipole.pqr")
    for option, texts, words in (
            ("--units", ["kT", "", "volt", "KT/E "], ["kT/e", "kcal/mol/e", "e/A"]),
            ("--precision", ["", "half", "SINGLE", "float"], ["single", "double"]),
            ("--device", ["", "gpu", "CPU", "cuda:", "cuda:x", "cuda:-1", "cuda:0,0", "cuda:0,", "cuda0", "cuda:1 ", "cpu:",
                          "cpu:0,0", "cpu,cpu", "opencl:", "opencl:0,0"],
             ["cpu", "cuda"]),
            ("--method", ["", "multigrid", "exactly", "auto:avx2", "auto:", "Auto"], ["exact"]),
            ("--method", ["exact:", "exact:nonsense", "direct:nonsense"], ["no variant", "the variants are"])):
        for text in texts:
            refuse(2, words, "dipole.pqr", f"{option}={text}")
    refuse(2, ["direct", "nonsense", "avx2", "ref"], "dipole.pqr", "--device=cpu", "--method=exact:nonsense")
    refuse(2, ["direct", "tuned", "avx2", "ref"], "dipole.pqr", "--device=cpu", "--method=exact:tuned")


def test_contradictions(_):
    sample("dipole.pqr")
    refuse(2, ["--dielectric", "--distance-dielectric"], "dipole.pqr", "--dielectric", "2", "--distance-dielectric", "2")
    refuse(2, ["--dielectric", "--distance-dielectric"], "dipole.pqr", "--distance-dielectric", "2", "--dielectric", "2")
    refuse(2, ["--size", "--counts"], "dipole.pqr", "--size", "2", "--counts", "2")
    for method in ("exact", "direct", "standard", "exact:ref"):
        for more in ([], ["--precision", "double"], ["--points", "atoms", "--points-out", "p.csv"]):
            refuse(2, ["--accuracy", "--method exact", "fast"], "dipole.pqr", "--method", method, "--accuracy", "1e-5", *more)
    refuse(2, ["--accuracy", "--distance-dielectric"], "dipole.pqr", "--distance-dielectric", "4", "--accuracy", "1e-5")
    for angles in ("1.57,1.57,1.57", "1.5708,1.5708,2.0944"):  # radians
        refuse(2, ["--cell", "angles must be in degrees"], "dipole.pqr", "--cell", f"60,60,60,{angles}")
    for angles in ("150,150,150", "40,50,100", "0,90,90", "90,90,180"):
        refuse(2, ["--cell", "no cell has", "sum of the other two"], "dipole.pqr", "--cell", f"60,60,60,{angles}")
    for cell in ("60,60", "60,60,0", "60,60,60,90", "60,60,x"):
        refuse(2, ["--cell", "three lengths"], "dipole.pqr", "--cell", cell)
    # Of the methods, the reason of the one that has cells.
    refuse(8, ["fast sum", "1e-06 at best in single precision", "use double precision"], "dipole.pqr", "--cell", "40,40,40",
           "--accuracy", "1e-8")
    refuse(8, ["direct sum", "periodic cells", "use the method fast"], "dipole.pqr", "--cell", "40,40,40", "--method", "exact")
    for option in ("--size", "--counts"):  # these fix the grid's end, whatever the border
        refuse(2, ["--border", option], "dipole.pqr", option, "2", "--border", "3")
        refuse(2, ["--border", option], "dipole.pqr", "--border", "10", option, "2", "--origin", "0")
    refuse(2, ["--quiet", "--progress"], "dipole.pqr", "-q", "--progress")
    refuse(2, "--neutralize needs a value, but --place follows", "dipole.pqr", "--neutralize", "--place", "SOD:1")
    refuse(2, "-o needs a value, but --quiet follows", "dipole.pqr", "-o", "--quiet")
    for unit, warned in (("V", True), ("kT/e", False)):
        said = make("dipole.pqr", "--counts", "3", "--units", unit, "--temperature", "310", "--dry-run").err
        assert ("--temperature" in said) == warned, said
    for kelvin, options, words in (("37", [], "use --temperature 310.15"), ("310", [], None), ("37", ["--units", "V"], "no effect"),
                                   ("310", ["--units", "V", "--solvent", "--radii", "bondi"], None)):  # the salt's
        said = make("dipole.pqr", "--counts", "9", "--temperature", kelvin, *options, "--dry-run").err
        assert words in said if words else "--temperature" not in said, said


def test_no_gpu(_):
    """If a requested GPU is missing, that is an error. The program must not use the CPU silently."""
    sample("dipole.pqr")
    refuse(run("dipole.pqr", "--device", "cuda:1000", "-o", "x.mrc").status, "cuda:1000", "dipole.pqr", "--device", "cuda:1000")
    assert run("dipole.pqr", "--device", "cuda:1000").status in (6, 8)
    if run("dipole.pqr", "--device", "cuda", "-o", "probe.dx").status == 0:
        os.remove("probe.dx")
        raise Skip("there is a GPU: what is said without one is not tested")
    status = run("dipole.pqr", "--device", "cuda").status
    assert status in (6, 8), status
    refuse(status, "cuda", "dipole.pqr", "--device", "cuda")


def write(name, text):
    pathlib.Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return name


ATOM = "ATOM      1  N   ALA     1       1.000   2.000   3.000  0.5000 1.8000\n"


def test_molecules(_):
    os.mkdir("folder")
    refuse(3, ["no.pqr", "No such file"], "no.pqr")
    refuse(3, ["no/dir.pqr", "No such file"], "no/dir.pqr")
    refuse(3, ["folder", "directory"], "folder")
    refuse(2, "no input", "")
    for name, text, words in (
            ("empty.pqr", "", "empty"),
            ("blank.pqr", "\n\n", "no atoms"),
            ("remarks.pqr", "REMARK nothing\nEND\n", "no atoms"),
            ("charge.pqr", ATOM + ATOM.replace("0.5000", "0.5x00"), [":2:", "0.5x00"]),
            ("short.pqr", ATOM + "ATOM 2 N ALA 1 1.0 2.0\n", ":2:"),
            ("nan.pqr", ATOM.replace("0.5000", "   nan"), [":1:", "nan"]),
            ("infinite.pqr", ATOM.replace("  1.000", "    inf"), [":1:", "inf"]),
            ("binary.pqr", b"\x7fELF\x00\x01\x02" * 50, "binary"),
            ("broken.pqr.gz", b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03junk", "gzip"),
            ("real.pdb", "HEADER    TEST\n" + "".join(
                f"ATOM  {n:5}  N   ALA A{n:4}    {n:8.3f}{2 * n:8.3f}{3 * n:8.3f}  1.00 20.0{n}           N\n" for n in range(1, 5)),
             ["PDB", "pdb2pqr"])):
        refuse(3, [name] + ([words] if isinstance(words, str) else words), write(name, text))
        refuse(3, name, name, "--dry-run")


PDB = "ATOM      1  N   ALA A   1       1.000   2.000   3.000  1.00 20.00           N\n"
PSF = "PSF\n\n       1 !NATOM\n       1 PROT 1    ALA  N    NH3    0.500000       14.0070           0\n"


def test_charges(_):
    """Coordinates and charges in two files give the same map as one file."""
    for name, text in (("one.pqr", ATOM), ("two.pdb", PDB), ("two.psf", PSF), ("other.psf", PSF.replace(" N ", " C "))):
        write(name, text)
    make("-q", "one.pqr", "--spacing", "2")
    make("-q", "two.pdb", "--charges", "two.psf", "--spacing", "2", "--report", "two.json")
    one, two = ([line for line in open(name) if not line.startswith("#")] for name in ("one.dx", "two.dx"))
    assert len(one) > 100 and one == two
    said = json.load(open("two.json"))["input"]
    digest = hashlib.sha256((PDB + PSF).encode()).hexdigest()
    assert (said["charges"], said["sha256"]) == ("two.psf", digest), said
    refuse(3, ["two.pdb", "--charges", ".psf"], "two.pdb")
    refuse(3, ["no.psf", "No such file"], "two.pdb", "--charges", "no.psf")
    refuse(3, ["atom 1", "'N'", "'C'"], "two.pdb", "--charges", "other.psf")
    refuse(2, ["two.psf", "the charges"], "two.pdb", "--charges", "two.psf", "--report", "two.psf")
    # Without a segment only columns tell. Where the line is shifted, they cut the charge.
    blank = PSF.replace("PROT", "    ")
    assert "total charge +0.500000 e" in make("two.pdb", "--charges", write("blank.psf", blank), "--dry-run").out
    for shift in range(1, 15):
        shifted = write("shifted.psf", blank.replace(" 0.500000", " " * shift + " 0.500000"))
        done = run("two.pdb", "--charges", shifted, "--dry-run")
        assert done.status == 3 and "shifted.psf:4:" in done.err or "total charge +0.500000 e" in done.out, (shift, done.err)


def helix(atoms=40):
    """A chain of atoms 1.44 A apart: (x, y, z, charge)."""
    return [(0.8 * math.cos(1.7 * n), 0.8 * math.sin(1.7 * n), 0.8 * n, (-1) ** n * 0.5) for n in range(atoms)]


def test_residues_in_another_order(_):
    """Beads have one name, so the residues tell. Names of one amino acid are many."""
    def files(places, charges):
        with open("m.pdb", "w", encoding="ascii") as file:
            for n, name in enumerate(places):
                file.write(f"ATOM  {n + 1:5d}  BB {name:>4s} A{n + 1:4d}    {4.0 * n:8.3f}{0:8.3f}{0:8.3f}  1.00  0.00\n")
        with open("m.psf", "w", encoding="ascii") as file:
            file.write(f"PSF\n\n       1 !NTITLE\n x\n\n{len(charges):8d} !NATOM\n")
            for n, name in enumerate(charges):
                file.write(f"{n + 1:8d} A    {n + 1:<4d} {name:<4s} BB   C    {n % 2 - 0.5:14.6f}{72:14.4f}{0:8d}\n")
        return make("--charges", "m.psf", "m.pdb", "-o", "m.dx").err
    words = "of another amino acid than in m.psf: atom 2 is of"
    assert words not in files(["ALA", "HIS", "CYS", "GLU", "LYS", "HOH"], ["NALA", "HSD", "CYX", "GLUP", "CLYN", "TIP3"])
    assert words not in files(["ALA", "LIG", "MSE"], ["ALA", "GLU", "MET"])  # others are renamed at will
    said = files(["ALA", "LYS", "GLU", "GLU"], ["ALA", "GLU", "LYSH", "GLU"])
    assert f"2 atoms are {words} LYS 2 here, and of GLU 2 there" in said, said
    assert f"1 atom is {words} ASP 2" in files(["ALA", "ASP"], ["ALA", "CASN"])


def test_other_units():
    """Lengths in nm, where angstrom are expected, give a map without any other sign of it."""
    write_atoms("a.pqr", helix())
    write_atoms("nm.pqr", [(x / 10, y / 10, z / 10, q) for x, y, z, q in helix()])
    words = "are the coordinates in nm?"
    assert words in make("nm.pqr", "--dry-run").err and words not in make("a.pqr", "--dry-run").err
    words = "most hydrogen atoms have no other atom within 1.7 A"
    water = [(0, 0, 0), (0.757, 0.586, 0), (-0.757, 0.586, 0)]
    for scale, count, warns in ((1, 9, False), (1 / 0.529177, 9, True), (10, 9, True), (10, 3, False)):  # bohr; A in place of nm
        with open("w.pqr", "w", encoding="ascii") as file:
            for n in range(count):
                for atom, (name, place) in enumerate(zip(("OW", "HW1", "HW2"), water)):
                    x, y, z = (scale * (c + 3.1 * n * (a == 0)) for a, c in enumerate(place))
                    file.write(f"ATOM {3 * n + atom + 1} {name} SOL {n + 1} {x:.4f} {y:.4f} {z:.4f} {0.4 - 1.2 * (atom == 0):.3f} 1.0\n")
        assert (words in make("w.pqr", "--dry-run").err) == warns, (scale, count)
    assert words not in make("a.pqr", "--dry-run").err
    words = "are its lengths in nm?"
    for cell, warns in (("5,5,5", False), ("3,3,3", True)):
        assert (words in make("a.pqr", "--cell", cell, "--dry-run").err) == warns, cell
    words = "are the radii in nm?"
    for largest, warns in ((0.17, True), (1.0, False), (0, False)):
        with open("r.pqr", "w", encoding="ascii") as file:
            file.write(f"ATOM 1 C UNK 1 1.0 1.0 1.0 0.5 {largest}\nATOM 2 H UNK 1 2.0 1.0 1.0 -0.5 {largest / 2}\n")
        for wanted in ("--solvent",), ("--surface-mesh", "a.ply"), ("--radial", "a.csv"), ("--place", "CLA:1", "--from-surface"):
            assert (words in program.run("r.pqr", *wanted, "--dry-run").err) == warns, (largest, wanted)
        assert words not in make("r.pqr", "--dry-run").err
    words = "another order of atoms, or another unit"
    places = [atom[:3] for atom in helix()]
    mixed = places[::3] + places[1::3] + places[2::3]
    for frame, warns in ((places, False), ([[c / 10 for c in place] for place in places], True), (mixed, True)):
        write_dcd("t.dcd", [frame])
        assert (words in make("a.pqr", "--trajectory", "t.dcd", "--dry-run").err) == warns


def test_frames_that_were_not_written():
    write_atoms("a.pqr", helix())
    places = [list(atom[:3]) for atom in helix()]
    for missing in (2, len(places)):
        write_dcd("t.dcd", [places, [[0, 0, 0]] * missing + places[missing:], places])
        refuse(3, ["t.dcd: frame 2:", f"{missing} of {len(places)} atoms have no position"], "a.pqr", "--trajectory", "t.dcd")
        make("a.pqr", "--trajectory", "t.dcd", "--frames", "1:3:2", "--dry-run")


def test_unreadable_molecule(_):
    sample("dipole.pqr")
    os.chmod("dipole.pqr", 0)
    prefix = as_nobody()
    refuse(3, ["dipole.pqr", "Permission denied"], "dipole.pqr", prefix=prefix)


def test_unwritable_folder(_):
    sample("dipole.pqr")
    os.mkdir("locked", 0o555)
    prefix = as_nobody()
    os.chmod("locked", 0o555)
    refuse(4, ["locked/a.dx", "Permission denied"], "dipole.pqr", "-o", "locked/a.dx", prefix=prefix)
    refuse(4, ["locked/a.png", "Permission denied"], "dipole.pqr", "-o", "a.dx", "--picture", "locked/a.png", prefix=prefix)
    refuse(4, ["locked/a.json", "Permission denied"], "dipole.pqr", "-o", "a.dx", "--report", "locked/a.json", prefix=prefix)


def test_outputs(_):
    sample("dipole.pqr")
    os.mkdir("folder.dx")
    for name in ("a.zip", "a", "dx", "a.dx.bz2", "a.gz", "a.", "", "a.dx/", "folder.dx/.mrc"):
        refuse(2, [name, ".dx", ".mrc", ".cube", ".h5"], "dipole.pqr", "-o", name)
        refuse(2, name, "dipole.pqr", "-o", name, "--dry-run")
    for kind in ("dx", "dx.gz", "mrc", "ccp4", "cube", "h5"):
        refuse(4, [f"no/a.{kind}", "No such file"], "dipole.pqr", "-o", f"no/a.{kind}")
        os.makedirs(f"sub.{kind}", exist_ok=True)
        refuse(4, [f"sub.{kind}", "directory"], "dipole.pqr", "-o", f"sub.{kind}")
        os.symlink("/dev/full", f"full.{kind}")
        refuse(4, [f"full.{kind}", "No space left"], "dipole.pqr", "-o", f"full.{kind}")
        os.symlink("/dev/null", f"null.{kind}")
        make("-q", "dipole.pqr", "-o", f"null.{kind}", "--spacing", "1")
        assert os.readlink(f"null.{kind}") == "/dev/null"
    for option, name in (("--picture", "full.png"), ("--report", "full.json")):
        os.symlink("/dev/full", name)
        refuse(4, [name, "No space left"], "dipole.pqr", "-o", "null.dx", option, name)
    refuse(4, ["no/a.png", "No such file"], "dipole.pqr", "--picture", "no/a.png")
    refuse(4, ["no/a.json", "No such file"], "dipole.pqr", "--report", "no/a.json")
    refuse(4, ["folder.dx", "directory"], "dipole.pqr", "--report", "folder.dx")
    assert not os.path.exists("dipole.dx")
    # Whole grid steps only; the error comes before the work.
    refuse(8, ["a.ccp4", "whole number of grid steps"], "dipole.pqr", "--origin", "-1.13", "-o", "a.ccp4")


def test_outputs_do_not_replace_the_molecule_or_each_other(_):
    sample("dipole.pqr")
    os.symlink("dipole.pqr", "link.dx")
    os.link("dipole.pqr", "hard.dx")
    shutil.copy("dipole.pqr", "text.dx")
    os.mkdir("sub")
    os.symlink("..", "sub/up")
    for arguments in (["-o", "link.dx"], ["-o", "hard.dx"], ["--report", "dipole.pqr"], ["--picture", "dipole.pqr"],
                      ["--report", "./dipole.pqr"], ["--picture", "sub/../dipole.pqr"], ["--report", "sub/up/dipole.pqr"]):
        refuse(2, ["the input", "same file"], "dipole.pqr", *arguments)
    refuse(2, ["the input", "same file"], "text.dx", "-o", "text.dx")
    refuse(2, ["the input", "same file"], "link.dx", "-o", "hard.dx")
    for a, b in (("--picture", "--report"), ("-o", "--report"), ("-o", "--picture")):
        for one, two in (("new.dx", "new.dx"), ("new.dx", "./new.dx"), ("new.dx", "sub/up/new.dx"),
                         ("text.dx", "sub/../text.dx")):
            refuse(2, "same file", "dipole.pqr", "-o", "other.dx", a, one, b, two)
    refuse(2, ["the map", "the report", "same file"], "dipole.pqr", "--report", "dipole.dx")  # the map's default name
    make("-q", "dipole.pqr", "-o", "a.dx", "--report", "/dev/null", "--picture", "/dev/null")
    make("-q", "dipole.pqr", "-o", "a.dx", "--report", "sub/a.dx")
    assert len(read("a.dx").values) == 41 * 41 * 43


def test_files_that_stood_there_stay(_):
    """A failed run keeps existing files."""
    sample("dipole.pqr")
    for name in ("a.dx", "a.png", "a.json"):
        write(name, "precious")
    refuse(3, "no.pqr", "no.pqr", "-o", "a.dx", "--picture", "a.png", "--report", "a.json")
    refuse(2, "--counts", "dipole.pqr", "--counts", "0", "-o", "a.dx", "--picture", "a.png", "--report", "a.json")
    refuse(8, "32 bits", "dipole.pqr", "--counts", "2048,1024,1024", "-o", "a.dx", "--picture", "a.png", "--report", "a.json")


program.main(globals())
