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
