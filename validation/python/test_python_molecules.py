#!/usr/bin/env python3
"""cionize as functions of the Python package: the bits of the program, ions, solvents, molecules of other packages, errors.

usage: test_python_molecules.py [test_name ...]      with the variables CIONIZE (program) and VOXFIELD_DATA (samples)

Maps of the same atoms must have the same bits, so there is no tolerance where not stated otherwise.
"""
import os
import pathlib
import subprocess
import tempfile

import numpy as np
import voxfield
from python_cases import Skip, generator, main, off, refuses, skip_part

DATA = pathlib.Path(os.environ.get("VOXFIELD_DATA", "data"))
DIPOLE, SALT, PROTEIN = DATA / "dipole.pqr", DATA / "nacl.pqr", DATA / "1hpv.pqr"


def program(*arguments):
    path = os.environ.get("CIONIZE")
    if not path:
        raise Skip("no cionize to compare with: the variable CIONIZE is not set")
    return subprocess.run([path, *map(str, arguments)], check=True, capture_output=True, text=True, timeout=300).stdout


def test_molecules():
    found = voxfield.read_molecule(PROTEIN)
    assert len(found) == len(found.charges) == len(found.radii) == len(found.names) and len(found) > 1000
    assert found.positions.shape == (len(found), 3) and found.names[0] and found.residue_numbers.dtype.kind == "i"
    lines = [line.split() for line in PROTEIN.read_text(encoding="ascii").splitlines() if line.startswith(("ATOM", "HETATM"))]
    assert np.array_equal(found.charges, [float(w[-2]) for w in lines]) and found.names == [w[2] for w in lines]
    assert off(voxfield.potential(found, grid=2.0), voxfield.potential(found.positions, found.charges, 2.0)) == 0
    refuses(voxfield.InputError, "nothing.pqr", voxfield.read_molecule, "nothing.pqr")


def write_crystal(path, head):
    """Three atoms in a triclinic cell, as pdb2pqr and others write PQR files; returns their positions and charges."""
    atoms, charges = np.array([[1.0, 2, 3], [4, 2, 5], [3, 6, 2]]), np.array([0.5, -0.75, 0.25])
    cell = "CRYST1   18.000   20.000   22.000  80.00  95.00 110.00 "
    path.write_text(head + cell + "".join(["P -1\n"] + [f"ATOM {n} C{n} LIG A {n} {x:.3f} {y:.3f} {z:.3f} {q:.3f} 1.5\n" for n, ((x, y, z), q) in
                                                       enumerate(zip(atoms, charges), 1)]), encoding="ascii")
    return atoms, charges


def test_crystals():
    """The asymmetric unit alone has another potential in the cell than the crystal, so arrays must not lose what the file says."""
    box, points = [18, 20, 22, 80, 95, 110], generator(2).uniform(0, 18, (20, 3))
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "crystal.pqr")
        atoms, charges = write_crystal(path, "")
        unit = voxfield.read_molecule(path)
        whole, same = voxfield.read_molecule(path, symmetry="expand"), voxfield.read_molecule(path, symmetry="none")
        asked = "asymmetric unit of a crystal (space group P -1)"
        for cell in ("input", box):
            refuses(voxfield.InputError, asked, voxfield.cionize, unit, points, cell=cell)
        refuses(ValueError, asked, voxfield.potential_at, points, unit, cell=box)
        refuses(ValueError, asked, voxfield.potential, unit, cell=unit.cell)
        refuses(ValueError, "expand is for files", voxfield.cionize, unit, points, cell="input", symmetry="expand")
        refuses(ValueError, "option select: a molecule is read with", voxfield.read_molecule, path, select="name C1")
        path.write_text(path.read_text(encoding="ascii").split("\n", 1)[1], encoding="ascii")
        refuses(voxfield.InputError, "no periodic cell", voxfield.read_molecule, path, symmetry="expand")
        copies = "".join(f"REMARK 350\nMTRIX{row}   2{-1.0 * (row == 1):10.6f}{-1.0 * (row == 2):10.6f}{-1.0 * (row == 3):10.6f}{9.0:15.5f}\n"
                         for row in (1, 2, 3))
        write_crystal(path, copies)
        path.write_text(path.read_text(encoding="ascii").replace("P -1", "P 1"), encoding="ascii")
        refuses(voxfield.InputError, "asymmetric unit", voxfield.cionize, voxfield.read_molecule(path), points, cell="input")
        refuses(voxfield.InputError, "non-crystallographic", voxfield.read_molecule, path, symmetry="expand")
    # All atoms of the cell: x and -x. Both sums are exact to 1e-9 of the rms potential.
    both = voxfield.potential_at(points, np.concatenate([atoms, -atoms]), np.concatenate([charges, charges]), 1e-9, box)
    one = voxfield.potential_at(points, atoms, charges, 1e-9, box)
    assert (len(unit), len(whole), len(same)) == (3, 6, 3) and (unit.space_group, whole.space_group, same.space_group) == ("P -1", None, None)
    for molecule, truth in ((whole, both), (same, one)):
        assert off(voxfield.cionize(molecule, points, cell="input", accuracy=1e-9).arrays["potential"], truth) < 1e-7
        assert off(voxfield.potential_at(points, molecule, accuracy=1e-9, cell=molecule.cell), truth) < 1e-7
    assert off(both, one) > 0.1
    # Free space has no copies.
    assert off(voxfield.cionize(unit, points).arrays["potential"], voxfield.potential_at(points, atoms, charges)) < 1e-12


def test_labels():
    """Labels as files of h5py and arrays of the type S have them mean what texts mean: ions find water by them."""
    corners = np.stack(np.meshgrid(*[[1.0, 7, 13, 19]] * 3, indexing="ij"), -1).reshape(-1, 3)
    atoms = (corners[:, None] + [[0, 0, 0], [0.96, 0, 0], [-0.24, 0.93, 0]]).reshape(-1, 3)
    names, charges, numbers = ["OW", "HW1", "HW2"] * 64, [-0.834, 0.417, 0.417] * 64, np.repeat(np.arange(64), 3)

    def place(names, residues, numbers):
        molecule = voxfield.Molecule(np.concatenate([atoms, [[10.0, 10, 10]]]), charges + [2.0], names=names, residues=residues,
                                     residue_numbers=numbers)
        return voxfield.place_ions(molecule, "CLA:2", ion_solute=3, ion_ion=5, cell="24,24,24", spacing=2)

    names, residues, numbers = names + ["ZN"], ["SOL"] * 192 + ["ZN"], np.append(numbers, 64)
    truth = place(names, residues, numbers)
    assert truth.report["water"]["molecules"] == 64
    for kind in (np.dtype("S"), np.dtype("U"), object):
        found = place(np.array(names, kind), np.array(residues, kind), numbers.astype(float))
        assert np.array_equal(found.positions, truth.positions) and found.report["water"] == truth.report["water"], kind
    for wrong in (numbers + 0.5, numbers + 2**32, numbers * 1e9):
        refuses(ValueError, "whole numbers of at most 32 bits", place, names, residues, wrong)
    refuses(ValueError, "NaN", place, names, residues, numbers * np.nan)
    refuses(ValueError, "zero byte", place, [name + "\0" for name in names], residues, numbers)
    refuses(ValueError, "zero byte", voxfield.read_molecule, "a\0b")
    refuses(ValueError, "has a zero byte", voxfield.cionize, atoms, charges=charges, select="all\0none")
    assert len(voxfield.read_molecule(os.fsencode(SALT))) == len(voxfield.read_molecule(SALT))


def test_the_bits_of_the_program():
    import h5py

    molecule = voxfield.read_molecule(SALT)
    made = voxfield.cionize(molecule, spacing=1, border=4)
    assert np.array_equal(made.arrays["map"], voxfield.cionize(SALT, spacing=1, border=4).arrays["map"])
    assert made.report["program"] == "cionize"
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "map.h5")
        program(SALT, "-o", path, "--spacing", 1, "--border", 4)
        with h5py.File(path) as file:
            maps = []
            file.visititems(lambda _, item: maps.append(item[()]) if isinstance(item, h5py.Dataset) and item.ndim == 3 else None)
    assert np.array_equal(maps[0], made.arrays["map"]), "function and program have other bits"
    grid = voxfield.Grid(tuple(made.arrays["origin"]), tuple(made.arrays["spacing"]), made.arrays["map"].shape)
    # The program measures which method is faster; both are to the same accuracy of 1e-6, and to rounding.
    assert off(voxfield.potential(molecule, grid=grid), made.arrays["map"]) < 1e-5


def test_points():
    rng = generator(1)
    atoms, charges, points = rng.uniform(-5, 5, (30, 3)), rng.uniform(-1, 1, 30), rng.uniform(-8, 8, (40, 3))
    made = voxfield.cionize(atoms, points, charges=charges, field=True, method="exact").arrays
    truth = voxfield.field_at(points, atoms, charges)
    assert off(made["potential"], truth.potential) < 1e-12 and off(made["field"], truth.field) < 1e-12


def test_ions():
    molecule = voxfield.read_molecule(DIPOLE)
    options = {"spacing": 1, "ion_solute": 3, "ion_ion": 4}
    found = voxfield.place_ions(molecule, ["SOD:2", "CLA:1"], **options)
    assert found.names == ["SOD", "SOD", "CLA"] and found.charges.tolist() == [1, 1, -1] and found.positions.shape == (3, 3)
    gaps = np.linalg.norm(found.positions[:, None] - molecule.positions[None], axis=2)
    assert gaps.min() >= 3 - 1e-6 and np.isfinite(found.energies).all()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "ions.xyz")
        program(DIPOLE, "-o", pathlib.Path(folder, "all.pdb"), "--ions", path, "--place", "SOD:2", "--place", "CLA:1", "--spacing", 1,
                "--ion-solute", 3, "--ion-ion", 4)
        rows = [line.split()[1:4] for line in path.read_text(encoding="ascii").splitlines()[2:]]
    assert abs(np.array(rows, float) - found.positions).max() < 1e-3  # digits of the file
    error = refuses(voxfield.IncompleteError, "", voxfield.place_ions, molecule, "SOD:500", border=6, **options)
    assert 0 < len(error.result.arrays["ions"]) < 500
    refuses(TypeError, "which ions", voxfield.place_ions, molecule)
    refuses(voxfield.Error, "XYZZY", voxfield.place_ions, molecule, "XYZZY:1")


def test_solvent():
    # Born: a charge in a sphere of radius a, 2 here: -1389.35 / 2a (1/eps_in - 1/eps_out) kJ/mol; the surface on a grid of 0.25 is
    # known to a few percent.
    born = voxfield.solvent([[0.0, 0, 0]], charges=[1.0], radii=[2.0], solute_dielectric=1, ionic_strength=0, spacing=0.25, border=6)
    truth = -1389.35 / 4 * (1 - 1 / 78.54)
    assert abs(born.energy / truth - 1) < 0.05, (born.energy, truth)
    assert born.map.shape == np.asarray(born.map).shape and off(born.atom_energy.sum(), born.energy) < 1e-6
    refuses(voxfield.Error, "", voxfield.solvent, [[0.0, 0, 0]], charges=[1.0], radii=[-1.0])
    refuses(ValueError, "radii must have the shape", voxfield.solvent, [[0.0, 0, 0]], charges=[1.0], radii=[1.0, 2.0])


def test_results_are_printed_in_a_line():
    """A notebook shows what a cell ends with: not all atoms of a protein."""
    protein = voxfield.read_molecule(PROTEIN)
    shown = repr(protein)
    assert shown == "<voxfield.Molecule of 3129 atoms: positions, charges, radii, names, residues, chains, elements, residue_numbers>", shown
    assert repr(voxfield.Molecule([[0.0, 0, 0]], [1.0])) == "<voxfield.Molecule of 1 atom: positions, charges>"
    ions = voxfield.place_ions(protein, ["SOD:2", "CLA:1"], spacing=2)
    assert repr(ions) == "<voxfield.Ions: 2 SOD, 1 CLA>", ions
    made = voxfield.cionize(protein, spacing=4)
    assert repr(made).startswith("<voxfield.CionizeResult: ") and f"map {made.arrays['map'].shape}" in repr(made), made
    born = voxfield.solvent([[0.0, 0, 0]], charges=[1.0], radii=[2.0], spacing=0.5, border=4)
    assert repr(born).startswith("<voxfield.Solvent: <voxfield.Map (") and f"energy {born.energy:.6g} kJ/mol" in repr(born), born
    assert max(len(repr(one)) for one in (protein, ions, made, born)) < 400


def test_atom_groups():
    try:
        import MDAnalysis
    except ImportError as error:
        skip_part(str(error))
        return
    universe = MDAnalysis.Universe(str(SALT))
    atoms = universe.atoms
    single = voxfield.cionize(atoms, spacing=2, border=4)
    assert off(single.arrays["map"], voxfield.cionize(SALT, spacing=2, border=4).arrays["map"]) < 1e-4  # its positions are single
    molecule = voxfield.Molecule.of(atoms)
    assert molecule.names is not None and list(molecule.names) == voxfield.read_molecule(SALT).names
    some = voxfield.cionize(atoms, select="name Na", spacing=2, border=4)
    assert some.arrays["map"].shape and off(some.arrays["map"], single.arrays["map"]) > 0.1


def test_refusals():
    make = voxfield.cionize
    refuses(TypeError, "charges are needed", make, [[0.0, 0, 0]])
    refuses(ValueError, "NaN", make, [[0.0, np.nan, 0]], charges=[1.0])
    refuses(voxfield.Error, "spacng", make, [[0.0, 0, 0]], charges=[1.0], spacng=1)
    refuses(ValueError, "only the program", make, [[0.0, 0, 0]], charges=[1.0], output="map.dx")
    refuses(TypeError, "are of the file", make, SALT, charges=[1.0])
    refuses(ValueError, "names must have 1 texts", make, voxfield.Molecule([[0.0, 0, 0]], [1.0], names=["A", "B"]))
    refuses(ValueError, "cell of a molecule", make, voxfield.Molecule([[0.0, 0, 0]], [1.0], cell=[1, 2]))
    stages = []
    refuses(voxfield.Interrupted, "", make, PROTEIN, spacing=0.5, progress=lambda *a: stages.append(a) or False)
    assert stages


if __name__ == "__main__":
    main(globals())
