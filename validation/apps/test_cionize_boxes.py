#!/usr/bin/env python3
"""Boxes of simulations in free space: what cionize warns of where a file has a periodic cell that the run does not have.

usage: test_cionize_boxes.py PROGRAM [DEVICE] [test_name ...]
"""
import pathlib

import program
from ion_truth import numpy, vectors
from program import make
from test_cionize_periodic import cryst1, write_dcd


def wrapped(atoms, shape, whole=1):
    """Positions in the cell, as simulations write them: `whole` neighbours together, by the first of them."""
    cell = vectors(shape)
    turns = numpy.floor(atoms @ numpy.linalg.inv(cell) + 1e-9)
    return atoms - turns[numpy.arange(len(atoms)) // whole * whole] @ cell


def test_molecules_that_faces_cut(_):
    """A chain with bonds of 1.5 angstrom across the cell's faces, and waters whose hydrogen bonds cross them, but which are whole. Cut
    molecules have another potential in free space, and with --boundary vacuum; in a cell that is surrounded by a conductor they
    have the same."""
    cut, charges = "the faces of the periodic cell cut", numpy.tile([0.3, -0.3], 20)
    chain = numpy.array([(2 + 1.2 * i, 3 + 0.9 * (i % 2), 4 + 0.4 * i) for i in range(40)])
    water = numpy.array([(0.5, 5, 5), (-0.4, 5.3, 5), (0.5, 5.6, 5.7), (-2.2, 5.9, 5), (-3.1, 5.6, 5), (-2.2, 6.5, 5.7)])  # H...O 1.9

    def file_of(name, places, shape, names="C" * 40):
        with open(name, "w", encoding="ascii") as stream:
            stream.write(cryst1(shape))
            for n, ((x, y, z), q, letter) in enumerate(zip(places, charges, names), 1):
                stream.write(f"ATOM {n} {letter}{n} UNK {(n + 3) // 4} {x:.4f} {y:.4f} {z:.4f} {q:.4f} 1.0\n")
        return name

    def said(*arguments):
        return make(*arguments, "--spacing", "4", "-o", "a.dx").err

    for shape in (20, 25, 22, 90, 90, 90), (24, 22, 26, 75, 80, 65):
        file_of("whole.pqr", chain, shape)
        file_of("atoms.pqr", wrapped(chain, shape), shape)
        file_of("residues.pqr", wrapped(chain, shape, 4), shape)  # only bonds between residues are cut
        for name in ("atoms.pqr", "residues.pqr"):
            where = f"{name}: {cut} "
            assert where in said(name) and "add --cell input" in said(name), (name, shape)
            assert where in said(name, "--cell", "input", "--boundary", "vacuum")
            assert cut not in said(name, "--cell", "input") and cut not in said(name, "--select", "resid 1")
        assert cut not in said("whole.pqr") and cut not in said("whole.pqr", "--cell", "input", "--boundary", "vacuum")
        file_of("water.pqr", numpy.concatenate([wrapped(water[:3], shape, 3), wrapped(water[3:], shape, 3)]), shape, "OHHOHH")
        assert cut not in said("water.pqr"), shape
        write_dcd("a.dcd", [chain, chain, wrapped(chain, shape)], [shape] * 3)
        assert f"a.dcd: frame 3: {cut}" in said("whole.pqr", "--trajectory", "a.dcd")
        assert cut not in said("whole.pqr", "--trajectory", "a.dcd", "--frames", ":2")
        assert cut not in said("whole.pqr", "--trajectory", "a.dcd", "--select", "resid 1")
        assert cut not in said("atoms.pqr", "--trajectory", "a.dcd", "--cell", "input")
    # The numbers are those in the file, and so is the distance: 20 - 1.2 along x, 0.9 along y, 0.4 along z.
    file_of("atoms.pqr", wrapped(chain, (20, 25, 22, 90, 90, 90)), (20, 25, 22, 90, 90, 90))
    assert f"{cut} 2 bonds, the first between atoms 15 (C15) and 16 (C16), which are 18.8 A apart" in said("atoms.pqr", "--select", "resid 2 to 10")


def test_images_as_near_as_bonds(_):
    """A box that was just filled with water and ions has images of different molecules as near as bonds: no bonds. A wrapped
    molecule of water has one."""
    cut = "the faces of the periodic cell cut"
    # Images of the second oxygen and of the ion are 1.9 and 1.3 from the first oxygen.
    places = [(0.5, 5, 5), (0.9, 5.8, 5), (0.9, 4.6, 5.7), (18.6, 5, 5), (18.0, 5.5, 5), (18.0, 4.5, 5), (19.6, 5.9, 5.1)]
    names = [("O", "HOH", 1), ("H1", "HOH", 1), ("H2", "HOH", 1), ("O", "HOH", 2), ("H1", "HOH", 2), ("H2", "HOH", 2), ("LI", "LI", 3)]

    def said(atoms):
        with open("box.pqr", "w", encoding="ascii") as stream:
            stream.write(cryst1((20, 60, 60, 90, 90, 90)))  # too wide for water to fill it
            for (name, residue, number), (x, y, z) in zip(names, atoms):
                stream.write(f"ATOM 1 {name} {residue} {number} {x} {y} {z} {1 if name == 'LI' else -0.8 if name == 'O' else 0.4} 1.0\n")
        return make("box.pqr", "--spacing", "4", "-o", "a.dx").err

    assert cut not in said(places), said(places)
    x, y, z = places[1]
    assert f"{cut} 1 bond, the first between atoms 1 (O) and 2 (H1)" in said([places[0], (x + 19, y, z), *places[2:]])


def test_boxes_of_water(_):
    """A box of water in free space ends at its faces; a crystal has little water in its file, and free space may be meant."""
    filled = "water fills the periodic cell of the file, but the run is in free space"
    corners = [(3.1 * x, 3.1 * y, 3.1 * z) for x in range(4) for y in range(4) for z in range(4)]
    for edge, warned in ((12.5, True), (40, False)):
        text = cryst1((edge, edge, edge, 90, 90, 90)) + "ATOM 1 ZN ZN 1 6.0 6.0 6.0 2.0 1.0\n"
        for n, (x, y, z) in enumerate(corners):
            for name, dx, q in (("OW", 0, -0.8), ("HW1", -0.6, 0.4), ("HW2", 0.6, 0.4)):
                text += f"ATOM 1 {name} SOL {n + 2} {x + dx + 1:.3f} {y + 0.8 * abs(dx) + 1:.3f} {z + 1:.3f} {q} 1.0\n"
        pathlib.Path("box.pqr").write_text(text, encoding="ascii")
        ions = ["--place", "CLA:1", "--ion-solute", "3"]
        for wanted in ([], ["--points", "atoms"]):
            assert (f"box.pqr: {filled}" in make("box.pqr", *wanted, "--dry-run").err) == warned, (edge, wanted)
            assert filled not in make("box.pqr", *wanted, "--cell", "input", "--dry-run").err
        for wanted in (["--select", "not water"], ["--solvent"], ions):
            assert filled not in make("box.pqr", *wanted, "--dry-run").err, wanted
        assert "box.pqr has a periodic cell, but distances and energies of ions" in make("box.pqr", *ions, "--dry-run").err


if __name__ == "__main__":
    program.main(globals())
