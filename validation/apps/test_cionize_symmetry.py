#!/usr/bin/env python3
"""Crystals: a file with a space group is rejected without --symmetry; expanded, its map is that of the whole cell. And mmCIF
through the command line.

usage: test_cionize_symmetry.py PROGRAM [DEVICE] [test_name ...]
"""
import gzip
import json
import math
import pathlib

import program
from ion_truth import generator, numpy
from program import make, read, refuse

A, B, C = 18.0, 20.0, 22.0
OPERATORS = (lambda x, y, z: (x, y, z), lambda x, y, z: (A / 2 - x, -y, z + C / 2),
             lambda x, y, z: (-x, y + B / 2, C / 2 - z), lambda x, y, z: (x + A / 2, B / 2 - y, -z))  # P 21 21 21
TEXTS = ["x,y,z", "-x+1/2,-y,z+1/2", "-x,y+1/2,-z+1/2", "x+1/2,-y+1/2,-z"]
SMTRY = [(1, 1, 1, 0, 0, 0), (-1, -1, 1, A / 2, 0, C / 2), (-1, 1, -1, 0, B / 2, C / 2), (1, -1, -1, A / 2, B / 2, 0)]
ORIGIN = ["--spacing", "1", "--origin", "0.3,0.3,0.3"]
PRECISE = ["--precision", "double", "--accuracy", "1e-8"]


def cryst1(group):
    return f"CRYST1{A:9.3f}{B:9.3f}{C:9.3f}  90.00  90.00  90.00 {group:<11}{4:4}\n"


def remark_290():
    text = ""
    for n, op in enumerate(SMTRY, 1):
        for row in range(3):
            turn = [float(op[row]) if row == column else 0.0 for column in range(3)]
            text += f"REMARK 290   SMTRY{row + 1}{n:4}{turn[0]:10.6f}{turn[1]:10.6f}{turn[2]:10.6f}{op[3 + row]:15.5f}\n"
    return text


def molecule():
    """Atoms of an asymmetric unit: [(x, y, z, charge)], neutral."""
    rng = generator()
    places, charges = rng.uniform(1, 8, (10, 3)).round(3), rng.uniform(-0.6, 0.6, 10).round(3)
    charges[-1] = round(-float(charges[:-1].sum()), 3)
    return [(*map(float, place), float(charge)) for place, charge in zip(places, charges)]


def write(path, atoms, head, copies=1):
    text, n = head, 0
    for op in OPERATORS[:copies]:
        for x, y, z, q in atoms:
            n += 1
            place = op(x, y, z)
            text += f"ATOM {n} CA ALA A {n} {place[0]:.3f} {place[1]:.3f} {place[2]:.3f} {q:.3f} 1.5\n"
    pathlib.Path(path).write_text(text + "END\n", encoding="ascii")
    return path


def same_map(first, second):
    """Both maps are within 1e-8 (rms) of the exact one, on the same grid; DX keeps 12 digits."""
    a, b = (numpy.array(read(path).values) for path in (first, second))
    difference = numpy.sqrt(((a - b) ** 2).mean() / (b ** 2).mean())
    assert difference < 3e-8, difference
    assert numpy.sqrt((b ** 2).mean()) > 1


def test_expanded_crystal_has_the_map_of_the_cell(_):
    atoms = molecule()
    write("p1.pqr", atoms, cryst1("P 1"), 4)
    make("-o", "p1.dx", "p1.pqr", "--cell", "input", *ORIGIN, *PRECISE)
    write("listed.pqr", atoms, remark_290() + cryst1("P 21 21 21"))
    make("-o", "listed.dx", "listed.pqr", "--cell", "input", "--symmetry", "expand", *ORIGIN, *PRECISE)
    same_map("listed.dx", "p1.dx")
    # The cell's file, or numbers that are its cell, say the same.
    write("bare.pqr", atoms, "")
    make("-o", "file.dx", "bare.pqr", "--cell", "listed.pqr", "--symmetry", "expand", *ORIGIN, *PRECISE)
    same_map("file.dx", "p1.dx")
    make("-o", "numbers.dx", "listed.pqr", "--cell", f"{A},{B},{C}", "--symmetry", "expand", *ORIGIN, *PRECISE)
    same_map("numbers.dx", "p1.dx")
    # The whole cell, in a file that names the group.
    write("whole.pqr", atoms, cryst1("P 21 21 21"), 4)
    make("-o", "whole.dx", "whole.pqr", "--cell", "input", "--symmetry", "none", *ORIGIN, *PRECISE)
    same_map("whole.dx", "p1.dx")


def test_groups_by_name(_):
    atoms = molecule()
    write("asu.pqr", atoms, cryst1("P 21 21 21"))
    done = program.run("asu.pqr", "--cell", "input", "--symmetry", "expand", *ORIGIN, *PRECISE, "-o", "asu.dx")
    if done.status and "spglib" in done.err:
        assert "libsymspg-dev" in done.err and "REMARK 290" in done.err
        program.skip_part("built without spglib")
        return
    assert done.status == 0, done.err
    write("p1.pqr", atoms, cryst1("P 1"), 4)
    make("-o", "p1.dx", "p1.pqr", "--cell", "input", *ORIGIN, *PRECISE)
    same_map("asu.dx", "p1.dx")
    refuse(3, ["asu.pqr", "P 21 21 21", "4 copies", "--symmetry expand", "--symmetry none"], "asu.pqr", "--cell", "input")
    write("odd.pqr", atoms, cryst1("P 7"))
    refuse(3, ["odd.pqr", "P 7", "--symmetry"], "odd.pqr", "--cell", "input")
    refuse(3, ["odd.pqr", "'P 7' is no space group", "REMARK 290"], "odd.pqr", "--cell", "input", "--symmetry", "expand")
    write("tetragonal.pqr", atoms, cryst1("P 43 21 2"))
    refuse(3, ["P 43 21 2", "does not fit"], "tetragonal.pqr", "--cell", "input", "--symmetry", "expand")


def test_without_the_option_a_group_is_rejected(_):
    atoms = molecule()
    write("listed.pqr", atoms, remark_290() + cryst1("P 21 21 21"))
    advice = ["P 21 21 21", "4 copies", "--symmetry expand", "--symmetry none"]
    refuse(3, ["listed.pqr", *advice], "listed.pqr", "--cell", "input")
    refuse(3, ["listed.pqr", *advice], "listed.pqr", "--cell", f"{A},{B},{C}")
    write("bare.pqr", atoms, "")
    refuse(3, ["listed.pqr", *advice], "bare.pqr", "--cell", "listed.pqr")
    make("listed.pqr", "--cell", "40,40,40", "--dry-run")  # another cell than the crystal's
    for near in (f"{A + 0.1},{B - 0.4},{C}", f"{A},{B},{C},90,91,90"):  # rounded by hand, or meant for another axis
        refuse(3, ["listed.pqr", "not that of the crystal", "P 21 21 21", "--cell input"], "listed.pqr", "--cell", near)
        make("listed.pqr", "--cell", near, "--symmetry", "none", "--dry-run")
    make("listed.pqr", "--dry-run")  # in free space
    refuse(3, ["listed.pqr", "not that of the crystal", "P 21 21 21", "--cell input"], "listed.pqr", "--cell", "40,40,40", "--symmetry",
           "expand")
    write("unnamed.pqr", atoms, cryst1(""))
    said = make("unnamed.pqr", "--cell", "input", "--symmetry", "expand", "--dry-run").err
    assert "unnamed.pqr: no space group is stated, so --symmetry expand adds no atoms" in said, said
    write("stated.pqr", atoms, cryst1("P 1"))
    assert "space group" not in make("stated.pqr", "--cell", "input", "--symmetry", "expand", "--dry-run").err
    assert "no space group" in make("bare.pqr", "--cell", "40,40,40", "--symmetry", "expand", "--dry-run").err
    refuse(2, ["--symmetry", "--cell"], "listed.pqr", "--symmetry", "expand")
    refuse(2, ["--symmetry expand", "--trajectory"], "listed.pqr", "--cell", "input", "--symmetry", "expand", "--trajectory", "a.dcd")


def scale(rows, shift=0.0):
    return "".join(f"SCALE{n}    {row[0]:10.6f}{row[1]:10.6f}{row[2]:10.6f}     {shift:10.5f}\n" for n, row in enumerate(rows, 1))


def test_coordinates_of_other_axes(_):
    """Some old entries of the PDB have coordinates along the axes of the molecule: SCALE or _atom_sites says which."""
    atoms = molecule()
    straight, turned = ([1 / A, 0, 0], [0, 1 / B, 0], [0, 0, 1 / C]), ([0, 1 / A, 0], [-1 / B, 0, 0], [0, 0, 1 / C])
    other = ([0, 1 / 99, 0], [-1 / B, 0, 0], [0, 0, 1 / C])  # left there by another cell
    for group in ("P 1", "P 21 21 21"):
        expand = ["--symmetry", "expand", "--dry-run"]
        for n, rows in enumerate((straight, other)):
            write(f"{n}.pqr", atoms, cryst1(group) + scale(rows))
            make(f"{n}.pqr", "--cell", "input", *expand)
        write("turned.pqr", atoms, cryst1(group) + scale(turned))
        for cell in ("input", "turned.pqr", f"{A},{B},{C}"):
            refuse(3, ["turned.pqr", "turn both"], "turned.pqr", "--cell", cell, *expand)
        make("turned.pqr", "--dry-run")  # in free space
    write("shifted.pqr", atoms, cryst1("P 1") + scale(straight, 0.25))
    make("shifted.pqr", "--cell", "input", "--dry-run")
    write("shifted.pqr", atoms, cryst1("P 21 21 21") + scale(straight, 0.25))
    make("shifted.pqr", "--cell", "input", "--symmetry", "none", "--dry-run")
    refuse(3, ["shifted.pqr", "another origin"], "shifted.pqr", "--cell", "input", "--symmetry", "expand")
    write_cif("turned.cif", atoms, True)
    text = pathlib.Path("turned.cif").read_text()
    for rows, shift, options, words in ((straight, 0, expand, None), (turned, 0, expand, "turn both"),
                                        (straight, 0.25, expand, "another origin"), (other, 0, expand, None)):
        pathlib.Path("turned.cif").write_text(text + "\n" + "".join(
            [f"_atom_sites.fract_transf_matrix[{i + 1}][{j + 1}] {rows[i][j]:.6f}\n" for i in range(3) for j in range(3)] +
            [f"_atom_sites.fract_transf_vector[{i + 1}] {shift:.5f}\n" for i in range(3)]))
        if words:
            refuse(3, ["turned.cif", words], "turned.cif", "--cell", "input", *options)
        else:
            make("turned.cif", "--cell", "input", *options)


def test_ions_and_outputs_see_the_whole_cell(_):
    atoms = molecule()
    write("listed.pqr", atoms, remark_290() + cryst1("P 21 21 21"))
    write("p1.pqr", atoms, cryst1("P 1"), 4)
    for name, options in (("listed", ["--symmetry", "expand"]), ("p1", [])):
        make(f"{name}.pqr", "--cell", "input", *options, "--spacing", "1", "--ion-solute", "3", "--place", "SOD:2",
                    "-o", f"{name}.pdb", "--report", f"{name}.json", *PRECISE)
    # Four places are alike by symmetry, and rounding chooses; their energies are the same to the maps' 1e-8, of which the
    # energy at a point can be some tens.
    energies = [json.loads(pathlib.Path(f"{name}.json").read_text())["ions"]["energy"] for name in ("listed", "p1")]
    assert len(energies[0]) == 2 and numpy.allclose(energies[0], energies[1], rtol=1e-6, atol=0), energies
    lines = [line for line in pathlib.Path("listed.pdb").read_text().splitlines() if line.startswith("ATOM")]
    assert len(lines) == 40 and "".join(sorted({line[21] for line in lines})) == "ABCD"


def test_ions_in_the_water_of_a_crystal(_):
    """The operators that a file lists belong to one molecule only, when water divides it in two, or in three (--keep-water): a build with
    AddressSanitizer finds memory that is freed twice. The whole cell has four times the water."""
    draw = generator()
    places = draw.uniform(1, 8, (6, 3)).round(3)
    atoms, charges = "", [("LIG", n + 1, "ALA", "CA", q) for n, q in enumerate((0.5, -0.5, 0.25, -0.25))]
    for n, (x, y, z) in enumerate(places, 1):
        name, residue = ("CA", "ALA") if n <= 4 else ("O", "HOH")
        charges += [("LIG", n, "HOH", "O", 0.0)] if n > 4 else []
        atoms += f"ATOM  {n:5d}  {name:<3s} {residue} A{n:4d}    {x:8.3f}{y:8.3f}{z:8.3f}  1.00  0.00\n"
    pathlib.Path("m.psf").write_text(f"PSF NAMD\n{len(charges)} !NATOM\n" + "".join(
        f"{n} {s} {number} {residue} {name} C {q:.3f} 12.0 0\n" for n, (s, number, residue, name, q) in enumerate(charges, 1)), encoding="ascii")
    pathlib.Path("m.pdb").write_text(remark_290() + cryst1("P 21 21 21") + atoms + "END\n", encoding="ascii")
    options = ["m.pdb", "--charges", "m.psf", "--place", "SOD:1", "--ion-solute", "0.5", "--ion-ion", "0.5", "-o", "o.pdb", "--report",
               "r.json"]
    # A radius in which the water nearest to the rest stays, and the farthest does not: of the file alone, and of the whole crystal.
    for copies, cell in ((1, []), (1, ["--cell", "input", "--symmetry", "none"]), (4, ["--cell", "input", "--symmetry", "expand"])):
        edges = (A, B, C) if cell else (1e9, 1e9, 1e9)
        rest = [op(*place) for op in OPERATORS[:copies] for place in places[:4]]
        nearest = sorted(min(math.sqrt(sum((d - edge * round(d / edge)) ** 2 for d, edge in zip(numpy.subtract(place, other), edges)))
                             for other in rest) for place in places[4:])
        for keep, kept in (([], 0), (["--keep-water", f"within:{sum(nearest) / 2:.4f}"], copies)):
            make(*options, *cell, *keep)
            water = json.loads(pathlib.Path("r.json").read_text())["water"]
            assert (water["molecules"], water["kept_with_solute"], water["replaced"]) == (2 * copies, kept, 1), water
            text = pathlib.Path("o.pdb").read_text()
            residues = [line[17:20] for line in text.splitlines() if line.startswith("ATOM")]
            assert (residues.count("HOH"), residues.count("ALA")) == (2 * copies - 1, 4 * copies), text
            assert ("REMARK 290" in text) == (copies == 1), text


# ---- mmCIF ----


def write_cif(path, atoms, charges):
    items = ["group_PDB", "id", "type_symbol", "auth_atom_id", "auth_comp_id", "auth_asym_id", "auth_seq_id",
             "Cartn_x", "Cartn_y", "Cartn_z"] + (["pqr_partial_charge", "pqr_radius"] if charges else [])
    text = "data_T\nloop_\n" + "".join(f"_atom_site.{item}\n" for item in items)
    for n, (x, y, z, q) in enumerate(atoms, 1):
        text += f"ATOM {n} C CA ALA A {n} {x:.3f} {y:.3f} {z:.3f}" + (f" {q:.3f} 1.5\n" if charges else "\n")
    text += f"#\n_cell.length_a {A}\n_cell.length_b {B}\n_cell.length_c {C}\n"
    text += "_cell.angle_alpha 90\n_cell.angle_beta 90\n_cell.angle_gamma 90\n_symmetry.space_group_name_H-M 'P 21 21 21'\n"
    text += "loop_\n_space_group_symop.id\n_space_group_symop.operation_xyz\n"
    text += "".join(f"{n} {op}\n" for n, op in enumerate(TEXTS, 1))
    pathlib.Path(path).write_text(text, encoding="ascii")


def test_mmcif(_):
    atoms = molecule()
    write("p1.pqr", atoms, cryst1("P 1"), 4)
    make("-o", "p1.dx", "p1.pqr", "--cell", "input", *ORIGIN, *PRECISE)
    write_cif("own.cif", atoms, True)
    make("-o", "own.dx", "own.cif", "--cell", "input", "--symmetry", "expand", *ORIGIN, *PRECISE)
    same_map("own.dx", "p1.dx")
    write_cif("plain.cif", atoms, False)
    pathlib.Path("plain.psf").write_text(f"PSF NAMD\n{len(atoms)} !NATOM\n" + "".join(
        f"{n} P {n} ALA CA C {q:.3f} 12.0 0\n" for n, (_, _, _, q) in enumerate(atoms, 1)), encoding="ascii")
    with gzip.open("packed.cif.gz", "wt") as stream:
        stream.write(pathlib.Path("plain.cif").read_text())
    make("-o", "two.dx", "packed.cif.gz", "--charges", "plain.psf", "--cell", "own.cif", "--symmetry", "expand", *ORIGIN, *PRECISE)
    same_map("two.dx", "p1.dx")
    make("packed.cif.gz", "--charges", "plain.psf")  # beside the input
    assert pathlib.Path("packed.dx").exists()
    refuse(3, ["plain.cif", "without partial charges", "--charges"], "plain.cif")


def test_atoms_at_opposite_faces(_):
    """Programs that draw crystals write atoms on faces of the cell twice: 0 and 1 of an edge are one place."""
    for cell, twice in (("20,21,22", (20, 0, 0)), ("20,21,22", (-20, 21, 44)), ("20,21,22,90,90,120", (-10.5, 21 * 3 ** 0.5 / 2, 0))):
        for off, warned in ((0.002, True), (0.2, False)):
            place = [1 + x for x in twice]
            pathlib.Path("a.pqr").write_text(f"ATOM 1 ZN ION 1 1.0 1.0 1.0 1.0 1.0\nATOM 2 O ION 2 5.0 5.0 5.0 -2.0 1.0\nATOM 3 ZN2 ION 3 "
                                             f"{place[0] + off:.3f} {place[1]:.3f} {place[2]:.3f} 1.0 1.0\n", encoding="ascii")
            said = make("a.pqr", "--cell", cell, "--dry-run").err
            assert ("atom 1 (ZN) is at the place of an image of atom 3 (ZN2); 2 such atoms" in said) == warned, said
            assert "image of atom" not in make("a.pqr", "--dry-run").err
    pathlib.Path("a.pqr").write_text("ATOM 1 O RES 1 1.0 1.0 1.0 1.0 1.0\nATOM 2 D RES 1 1.0 1.0 1.0 -1.0 1.0\n", encoding="ascii")
    said = make("a.pqr", "--cell", "20,20,20", "--dry-run").err  # a warning of its own, and no other
    assert "same position" in said and "image of atom" not in said, said


def test_partly_occupied_sites(_):
    """Of small molecules: what disorder groups do not tell apart counts with its whole charge, and a warning says so."""
    head = "data_a\n" + "".join(f"_cell_length_{a} {n}\n" for a, n in zip("abc", (A, B, C))) + "".join(
        f"_cell_angle_{a} 90\n" for a in ("alpha", "beta", "gamma"))
    head += "loop_\n" + "".join(f"_atom_site_{item}\n" for item in ("label", "fract_x", "fract_y", "fract_z", "occupancy", "charge"))
    for occupancy, warned in (("0.5", True), ("0.50(2)", True), ("1.0", False), ("?", False)):
        pathlib.Path("a.cif").write_text(f"{head}Zn1 0.1 0.2 0.3 1 1\nO1 0.4 0.2 0.1 {occupancy} -0.5\nO2 0.45 0.2 0.1 {occupancy} -0.5\n", encoding="ascii")
        said = make("a.cif", "--cell", "input", "--dry-run").err
        assert ("2 atoms are partly occupied (the first is O1, 0.5)" in said) == warned, said


def test_lists_that_contradict(_):
    """Operators as texts that cannot be read, or that P 1 does not have: neither may count as a crystal without symmetry."""
    atoms = "loop_\n_atom_site_label\n_atom_site_fract_x\n_atom_site_fract_y\n_atom_site_fract_z\n_atom_site_charge\nC1 0.1 0.2 0.3 1\nO1 0.4 0.2 0.1 -1\n"
    cell = "data_a\n" + "".join(f"_cell_length_{a} {n}\n" for a, n in zip("abc", (A, B, C))) + "".join(
        f"_cell_angle_{a} 90\n" for a in ("alpha", "beta", "gamma"))
    texts, two = "loop_\n_symmetry_equiv_pos_as_xyz\n", "x,y,z\n-x,-y,-z\n"
    for head, said, expanded in ((texts + "x, y, z\n-x, -y, -z\n", "operators", "cannot be read"),  # six words, as they have no quotes
                                 (texts + "q,y,z\n", "operators", "cannot be read"),
                                 ("_symmetry_space_group_name_H-M 'P 1'\n" + texts + two, "2 copies", "space group P 1 has 1"),
                                 ("_symmetry_space_group_name_H-M P1\n_symmetry_Int_Tables_number 2\n", "P 1, number 2", "P 1, number 2")):
        pathlib.Path("a.cif").write_text(cell + head + atoms, encoding="ascii")
        refuse(3, ["a.cif", said, "--symmetry none"], "a.cif", "--cell", "input")
        refuse(3, ["a.cif", expanded], "a.cif", "--cell", "input", "--symmetry", "expand")
        make("a.cif", "--cell", "input", "--symmetry", "none", "--dry-run")
    write("box.pqr", molecule(), remark_290() + cryst1("P 1"))  # the box of a program, with remarks of the crystal
    make("box.pqr", "--cell", "input", "--dry-run")


def test_groups_without_a_name(_):
    """A group that is stated by its number in the tables, or by Hall's symbol alone, is not P 1."""
    atoms = "loop_\n_atom_site_label\n_atom_site_fract_x\n_atom_site_fract_y\n_atom_site_fract_z\n_atom_site_charge\nC1 0.1 0.2 0.3 1\nO1 0.4 0.2 0.1 -1\n"
    cell = "data_a\n" + "".join(f"_cell_length_{a} {n}\n" for a, n in zip("abc", (A, B, C))) + "".join(
        f"_cell_angle_{a} 90\n" for a in ("alpha", "beta", "gamma"))
    for tag, words in (("_symmetry_Int_Tables_number 19", "number 19"), ("_space_group_IT_number 19", "number 19"),
                       ("_symmetry_space_group_name_Hall 'P 2ac 2ab'", "Hall P 2ac 2ab"), ("_space_group_IT_number 1", None),
                       ("_symmetry_space_group_name_Hall 'P 1'", None), ("_space_group_IT_number ?", None),
                       ("_symmetry_space_group_name_H-M 'P 1'\n_symmetry_Int_Tables_number 1", None)):
        pathlib.Path("a.cif").write_text(f"{cell}{tag}\n{atoms}", encoding="ascii")
        if words:
            refuse(3, ["a.cif", words, "--symmetry none"], "a.cif", "--cell", "input")
            refuse(3, ["a.cif", words, "operators"], "a.cif", "--cell", "input", "--symmetry", "expand")
            make("a.cif", "--cell", "input", "--symmetry", "none", "--dry-run")
        else:
            make("a.cif", "--cell", "input", "--dry-run")


if __name__ == "__main__":
    program.main(globals())
