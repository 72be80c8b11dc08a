#!/usr/bin/env python3
"""What surrounds the atoms goes through a run: cells, chains, bonds, conformers, labels; and the next program reads the output.

usage: test_cionize_surroundings.py PROGRAM [DEVICE] [test_name ...]
"""
import pathlib
import shutil
import subprocess

import program
from program import make, refuse, skip_part

WATER = (("OH2", -0.834, (0, 0, 0)), ("H1", 0.417, (0.957, 0, 0)), ("H2", 0.417, (-0.24, 0.927, 0)))


def pdb_line(serial, name, residue, chain, number, place, segment="", occupancy=1.0, letter=" "):
    """number: columns 23-27"""
    padded = name if len(name) == 4 else " " + name.ljust(3)
    return "ATOM  %5d %4s%1s%-4s%1s%-5s   %8.3f%8.3f%8.3f%6.2f%6.2f      %-4s\n" % (
        serial, padded, letter, residue, chain, number, *place, occupancy, 0, segment)


def write_psf(atoms):
    """atoms: segment, number, residue, name, charge"""
    lines = [f"{i + 1} {s} {n} {r} {name} X {q} 12.0 0\n" for i, (s, n, r, name, q) in enumerate(atoms)]
    pathlib.Path("m.psf").write_text(f"PSF NAMD\n\n{len(atoms)} !NATOM\n" + "".join(lines))


def two_chains(letter):
    """Two peptides of three glycines whose chain is in the segment, or also in one letter for both."""
    atoms, text, places = [], "", {"N": (0, 0, 0), "CA": (1.45, 0, 0), "C": (2.0, 1.4, 0), "O": (1.2, 2.3, 0)}
    for segment, shift in (("PROA", 0), ("PROB", 9)):
        for residue in (1, 2, 3):
            for name, (x, y, z) in places.items():
                atoms.append((segment, residue, "GLY", name, -0.25 if name == "O" else 0.0))
                text += pdb_line(len(atoms), name, "GLY", letter, "%4d " % residue,
                                 (x + 3.6 * residue, y + shift, z + 1), segment)
    write_psf(atoms)
    pathlib.Path("m.pdb").write_text(
        "CRYST1   40.000   40.000   40.000  90.00  90.00  90.00 P 1           1\n"
        "SSBOND   1 CYS P    3    CYS P    3\n" + text + "CONECT    1    2\nEND\n")
    return ["--charges", "m.psf", "m.pdb", "--cell", "input", "--spacing", "2"]


def test_output_is_the_next_input():
    """The cell of the output serves the next run; segments end with a TER, which the input lacks."""
    inputs = two_chains(" ")
    for ending in ("pdb", "pqr"):
        make("-q", *inputs, "--place", "SOD:2", "-o", f"one.{ending}")
        text = pathlib.Path(f"one.{ending}").read_text()
        assert text.count("\nTER") == (2 if ending == "pdb" else 1), text
        assert "SSBOND   1 CYS P    3" in text and "CRYST1   40.000" in text and "\nCONECT    1    2" in text, text
        assert "PROA" in text and "PROB" in text
    make("-q", "one.pqr", "--cell", "input", "--spacing", "2", "--place", "CLA:1", "-o", "two.pqr")
    again = pathlib.Path("two.pqr").read_text()
    kept = iter(again.split("\n"))  # in the same order, with the new ion between them
    for line in text.split("\n"):
        assert line.startswith("REMARK") or line in kept, (line, again)
    assert again.count("cionize (Voxfield)") == 1, "the remark of an earlier run is replaced"
    make("-q", *inputs[:3], "--cell", "41,42,43", "--spacing", "2", "--place", "SOD:1", "-o", "three.pdb")
    assert "CRYST1   41.000   42.000   43.000  90.00  90.00  90.00 P 1           1" in pathlib.Path("three.pdb").read_text()
    done = make(*inputs, "--place", "SOD:1", "-o", "four.xyz")
    assert done.out.count("the format has no place for") == 1 and "bonds" in done.out, done.out


def test_gromacs_reads_the_output():
    gmx = shutil.which("gmx")
    inputs = two_chains(" ")
    make("-q", *inputs, "--place", "SOD:2", "-o", "one.pdb")
    make("-q", *inputs, "--place", "SOD:2", "-o", "one.gro")
    lines = pathlib.Path("one.gro").read_text().split("\n")
    assert lines[1].strip() == "26" and lines[-2] == "   4.00000   4.00000   4.00000", lines
    if not gmx:
        skip_part("gmx (Debian: gromacs) is not installed")
        return
    for name in ("one.pdb", "one.gro"):
        subprocess.run([gmx, "-quiet", "editconf", "-f", name, "-o", "back.gro"], check=True, capture_output=True)
        back = pathlib.Path("back.gro").read_text().split("\n")
        assert len(back) == len(lines) and back[-2].split() == lines[-2].split(), back[-2]
        pathlib.Path("back.gro").unlink()


def write_prmtop(residues, bonds):
    """residues: (name, atoms); bonds between atoms, from 0."""
    atoms = sum(count for _, count in residues)
    firsts = [1 + sum(count for _, count in residues[:n]) for n in range(len(residues))]
    pointers = [atoms] + [0] * 10 + [len(residues), len(bonds)] + [0] * 18
    sections = (("POINTERS", "10I8", 10, ["%8d" % n for n in pointers]), ("ATOM_NAME", "20a4", 20, ["C%-3d" % n for n in range(atoms)]),
                ("CHARGE", "5E16.8", 5, ["%16.8E" % (18.2223 * (n % 2)) for n in range(atoms)]),
                ("RESIDUE_LABEL", "20a4", 20, ["%-4s" % name for name, _ in residues]),
                ("RESIDUE_POINTER", "10I8", 10, ["%8d" % n for n in firsts]),
                ("BONDS_WITHOUT_HYDROGEN", "10I8", 10, ["%8d" % n for a, b in bonds for n in (3 * a, 3 * b, 1)]))
    text = "%VERSION  VERSION_STAMP = V0001.000\n"
    for name, form, line, values in sections:
        rows = ["".join(values[n:n + line]) for n in range(0, len(values), line)] or [""]
        text += f"%FLAG {name}\n%FORMAT({form})\n" + "\n".join(rows) + "\n"
    pathlib.Path("m.prmtop").write_text(text, encoding="ascii")
    return atoms


def test_chains_of_amber_files():
    """A prmtop file has no chains, but bonds: a TER ends each chain of bonded residues, and comes before one. tleap would bind the
    residues otherwise. A disulfide bond between two chains does not join them; a lone residue has no TER of its own."""
    residues = [("LIG", 2), ("ALA", 2), ("CYX", 2), ("CYX", 2), ("ALA", 2), ("GLY", 2), ("ZN", 1), ("ZN", 1)]
    bonds = [(0, 1), (2, 3), (3, 4), (4, 5), (6, 7), (7, 8), (9, 10), (10, 11), (5, 9)]
    atoms = write_prmtop(residues, bonds)
    places = "".join("%12.7f" * 3 % (3 * n, n % 2, 1) + ("\n" if n % 2 else "") for n in range(atoms))
    pathlib.Path("m.inpcrd").write_text(f"a title\n{atoms:6d}\n{places}\n", encoding="ascii")
    make("-q", "--charges", "m.prmtop", "m.inpcrd", "--place", "CLA:1", "--spacing", "2", "-o", "o.pdb")
    lines = [line for line in pathlib.Path("o.pdb").read_text().split("\n") if line.startswith(("ATOM", "HETATM", "TER"))]
    assert [lines[n - 1][17:26].split() for n, line in enumerate(lines) if line.startswith("TER")] == [
        ["LIG", "1"], ["CYX", "3"], ["GLY", "6"], ["ZN", "8"]], lines
    for bond, words in (((0, atoms), "bond 1 is of an atom"), ((-1, 2), "bond 1 is of an atom")):
        write_prmtop(residues, [bond])
        refuse(3, ["m.prmtop", "BONDS_WITHOUT_HYDROGEN", words], "--charges", "m.prmtop", "m.inpcrd", "-o", "o.dx")


def test_labels_never_stop_a_run():
    for number, resid, expected in (("10000", "10000", "10000"), ("271a ", "10010", "10010"), ("**** ", "65536", "65536"),
                                    ("   1 ", "27af", "10159"), ("fffd ", "65533", "65533")):
        write_psf([("WAT", resid, "TIP3", name, q) for name, q, _ in WATER])
        pathlib.Path("m.pdb").write_text("".join(
            pdb_line(i + 1, name, "TIP3", "W", number, place, "WAT") for i, (name, _, place) in enumerate(WATER)))
        make("-q", "--charges", "m.psf", "m.pdb", "--place", "SOD:1", "--water", "solute", "--spacing", "2", "-o", "m.pqr")
        word = [line.split()[5] for line in pathlib.Path("m.pqr").read_text().split("\n") if line.startswith("ATOM")][0]
        assert word == expected, (number, resid, word)


def test_one_conformer():
    write_psf([("A", "1", "SER", n, q) for n, q in (("N", 0.1), ("CB", 0.2), ("OG", -0.3))])
    rows = (("N", " ", (0, 0, 0), 1), ("CB", "A", (1.5, 0, 0), 0.3), ("CB", "B", (0, 1.5, 0), 0.7),
            ("OG", "B", (0, 2.9, 0), 0.7), ("OG", "A", (2.9, 0, 0), 0.3))
    pathlib.Path("m.pdb").write_text("".join(
        pdb_line(i + 1, n, "SER", "A", "   1 ", place, occupancy=o, letter=letter)
        for i, (n, letter, place, o) in enumerate(rows)))
    for rule, x in ((), 0.0), (("--altloc", "A"), 2.9), (("--altloc", "first"), 2.9), (("--altloc", "occupancy"), 0.0):
        done = make("--charges", "m.psf", "m.pdb", *rule, "--place", "SOD:1", "--spacing", "1", "-o", "m.xyz")
        assert float(pathlib.Path("m.xyz").read_text().split("\n")[4].split()[1]) == x, rule
        assert "1 residue has alternate locations" in done.err, done.err
    refuse(2, ["--altloc 'AB'", "occupancy, first"], "--charges", "m.psf", "m.pdb", "--altloc", "AB", "-o", "m.dx")


def test_occupancies_that_are_none():
    """A word in the columns of an occupancy or a temperature factor is named once, with its line; blanks are not. CIF's brackets are an
    uncertainty."""
    write_psf([("A", "1", "ALA", n, 0.25) for n in ("N", "CA", "C", "O")])
    rows = [pdb_line(i + 1, n, "ALA", "A", "   1 ", (i, 1, 2)) for i, n in enumerate(("N", "CA", "C", "O"))]
    bad = [rows[0][:54] + " " * 12 + rows[0][66:], rows[1][:54] + "   abc" + rows[1][60:], rows[2][:60] + "******" + rows[2][66:], rows[3]]
    for text, words in ((rows, None), (bad, "m.pdb:2: 'abc' is no number")):
        pathlib.Path("m.pdb").write_text("".join(text))
        done = make("--charges", "m.psf", "m.pdb", "--place", "CLA:1", "--spacing", "1", "-o", "o.pdb")
        assert (words in done.err and "more such values" in done.err) if words else "is no number" not in done.err, done.err
        assert done.err.count("is no number") <= 1
    for occupancy, words in (("0.5(2)", None), ("?", None), ("half", "m.cif:14: 'half' is no number")):
        pathlib.Path("m.cif").write_text("data_m\nloop_\n" + "".join(f"_atom_site.{item}\n" for item in (
            "group_PDB", "id", "auth_atom_id", "auth_comp_id", "auth_asym_id", "auth_seq_id", "Cartn_x", "Cartn_y", "Cartn_z",
            "partial_charge", "occupancy")) + f"ATOM 1 N ALA LONGCHAINA -1234 1 2 3 0.5 {occupancy}\n" +
            "ATOM 2 N ALA LONGCHAINB 2 2 3 4 -0.5 1\n")
        done = make("m.cif", "--place", "CLA:1", "--spacing", "1", "-o", "o.pqr")
        assert words in done.err if words else "is no number" not in done.err, done.err
        assert "m.cif: 2 atoms have a name, residue, chain or segment of more than eight characters" in done.err, done.err
        assert "LONGCHAI -1234 " in pathlib.Path("o.pqr").read_text()
    done = make("m.cif", "--place", "CLA:1", "--spacing", "1", "--renumber", "-o", "o.pdb")
    refuse(8, ["o.pdb", "residue -1234", "-999", "--renumber", ".pqr"], "m.cif", "--place", "CLA:1", "--spacing", "1", "-o", "o.pdb")
    make("m.cif", "--place", "CLA:1", "--cell", "30,31,32", "--spacing", "1", "--ion-ion", "3", "-o", "o.cube", "--ions", "i.gro")
    assert pathlib.Path("i.gro").read_text().endswith("\n   3.00000   3.10000   3.20000\n")
    done = make("m.cif", "--place", "CLA:1", "--spacing", "1", "-o", "o.cube", "--ions", "i.gro")
    assert "i.gro: without a cell the box is 0 0 0" in done.out, done.out
    assert pathlib.Path("i.gro").read_text().endswith("\n   0.00000   0.00000   0.00000\n")
    make("m.cif", "--place", "CLA:1", "--cell", "30,31,32", "--spacing", "1", "--ion-ion", "3", "--ions", "i.pdb")
    assert "CRYST1   30.000   31.000   32.000" in pathlib.Path("i.pdb").read_text()


def test_atoms_without_positions():
    names = ("N", "HT1", "CA", "HA")
    write_psf([("A", "1", "ALA", n, q) for n, q in zip(names, (0.5, -0.5, 0.25, -0.25))])
    for bad, occupancy, word in (((0, 0, 0), -1, "psfgen"), ((9999, 9999, 9999), 1, "CHARMM")):
        pathlib.Path("m.pdb").write_text("".join(
            pdb_line(i + 1, n, "ALA", "A", "   1 ", bad if n == "HA" else (i, 1, 2), occupancy=occupancy if n == "HA" else 1)
            for i, n in enumerate(names)))
        refuse(3, ["m.pdb: 1 atom has no position", "HA (ALA 1)", word], "--charges", "m.psf", "m.pdb", "-o", "m.dx")


def test_drude_particles_on_their_atoms():
    """CHARMM puts them there, so they are no duplicates. Other atoms at one place are."""
    words = "is at the same position as atom"
    for names, warns in ((("N", "DN", "CA", "DCA"), False), (("N", "DC", "CA", "DCA"), True), (("DN", "N", "CA", "DCA"), True)):
        write_psf([("A", "1", "ALA", n, q) for n, q in zip(names, (1.5, -1.5, 1.75, -1.75))])
        pathlib.Path("m.pdb").write_text("".join(pdb_line(i + 1, n, "ALA", "A", "   1 ", (1.5 * (i // 2), 1, 2))
                                                 for i, n in enumerate(names)))
        assert (words in make("--charges", "m.psf", "m.pdb", "--dry-run").err) == warns, names


program.main(globals())
