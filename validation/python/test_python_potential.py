#!/usr/bin/env python3
"""The Python package's potentials and fields against sums by NumPy, its grids, cells and units, what is refused, other packages.

usage: test_python_potential.py [test_name ...]

Bounds. Exact sums in double precision are off by rounding, 1e-12; in single precision 1e-6. Fast ones are off by 10 times their
accuracy, relative to the rms, at most (point_sum.h, docs/conventions.md).
"""
import numpy as np
import voxfield
from python_cases import generator, main, off, refuses, skip_part

GRID = voxfield.Grid((-4.0, -3.0, -5.0), (0.5, 1.0, 0.75), (9, 7, 11))


def molecule(rng, count=40):
    return rng.uniform(-5, 5, (count, 3)), rng.uniform(-1, 1, count)


def truth_at(points, atoms, charges, r_min=0.1):
    distance = np.linalg.norm(points[:, None] - atoms[None], axis=2)
    return (charges / np.maximum(distance, r_min)).sum(1)


def points_of(grid):
    x, y, z = grid.axes()
    return np.stack(np.meshgrid(z, y, x, indexing="ij")[::-1], axis=-1).reshape(-1, 3)


def test_grid():
    rng = generator(1)
    atoms, charges = molecule(rng)
    truth = truth_at(points_of(GRID), atoms, charges).reshape(GRID.shape)
    exact = voxfield.potential(atoms, charges, GRID, "exact", unit="e/A", dtype=float)
    assert off(exact, truth) < 1e-12 and exact.method == "exact" and exact.shape == GRID.shape
    assert off(voxfield.potential(atoms, charges, GRID, "exact", unit="e/A"), truth) < 1e-6
    assert off(voxfield.potential(atoms, charges, GRID, "fast", 1e-4, unit="e/A"), truth) < 1e-3
    volts = voxfield.potential(atoms, charges, GRID, unit="V", dielectric=78.5, dtype=float, accuracy=1e-9)
    assert off(volts, 14.3996454687 / 78.5 * truth) < 1e-8
    out = np.empty(GRID.shape, np.float64)
    assert voxfield.potential(atoms, charges, GRID, "exact", unit="e/A", dtype=float, out=out).values is out
    assert off(out, truth) < 1e-12
    for unit, constant in (("V", 14.3996454687), ("kcal/mol/e", 332.063713), ("kT/e", 560.459322)):  # docs/conventions.md
        assert abs(voxfield.UNITS[unit] / constant - 1) < 1e-9
    around = voxfield.potential(atoms, charges, 2.0)
    assert around.grid.spacing == (2.0,) * 3 and np.asarray(around).dtype == np.float32
    assert all(a[0] <= p - 10 and a[-1] >= q + 10 for a, p, q in zip(around.grid.axes(), atoms.min(0), atoms.max(0)))


def test_points():
    rng = generator(2)
    atoms, charges = molecule(rng)
    points = rng.uniform(-9, 9, (200, 3))
    truth = truth_at(points, atoms, charges)
    assert off(voxfield.potential_at(points, atoms, charges, unit="e/A"), truth) < 1e-12
    assert off(voxfield.potential_at(points, atoms, charges, 1e-5, unit="e/A"), truth) < 1e-4
    found = voxfield.field_at(points, atoms, charges, unit="e/A")
    step = 1e-4
    for a in range(3):
        shift = step * np.eye(3)[a]
        slope = (truth_at(points + shift, atoms, charges) - truth_at(points - shift, atoms, charges)) / (2 * step)
        # Differences are off by step^2 / 6 times the third derivative, 6 q / d^4, of atoms at d.
        near = np.linalg.norm(points[:, None] - atoms[None], axis=2).min(1)
        assert (abs(found.field[:, a] + slope) < 40 * step ** 2 / near ** 4 + 1e-9).all()
    assert off(found.potential, truth) < 1e-12
    assert voxfield.potential_at(np.zeros((0, 3)), atoms, charges).shape == (0,)


def test_cells():
    # Rock salt: Madelung's constant, 1.747564594633 (Borwein et al., J. Math. Phys. 26 (1985) 2999), over the distance.
    cube = 5.64
    sites = np.array([[i, j, k] for i in range(2) for j in range(2) for k in range(2)])
    signs = 1.0 - 2 * (sites.sum(1) % 2)
    at = voxfield.potential_at(sites * cube / 2 + [[0.2, 0, 0]] * 8, sites * cube / 2, signs, cell=(cube,) * 3, unit="e/A", sigma=1e-3)
    # Beside a site at 0.2: its own 1/0.2, and the rest, which is -M/d to second order in 0.2 (no quadrupole in a cube, and
    # the fourth order is below 1e-3).
    assert abs((at - signs / 0.2) * signs + 1.747564594633 / (cube / 2)).max() < 1e-3
    whole = np.diag((cube,) * 3)
    assert np.array_equal(at, voxfield.potential_at(sites * cube / 2 + [[0.2, 0, 0]] * 8, sites * cube / 2, signs, cell=whole,
                                                    unit="e/A", sigma=1e-3))
    grid = voxfield.potential(sites * cube / 2, signs, 0.47, cell=(cube, cube, cube, 90, 90, 90), dtype=float, accuracy=1e-8,
                              unit="e/A")
    assert grid.shape == (12, 12, 12) and abs(np.asarray(grid).mean()) < 1e-6 * np.asarray(grid).std()
    points = points_of(grid.grid)[1:40]
    assert off(np.asarray(grid).ravel()[1:40], voxfield.potential_at(points, sites * cube / 2, signs, cell=(cube,) * 3, unit="e/A")) \
        < 1e-7
    oblique = voxfield.potential_at([[1.0, 1, 1]], [[0, 0, 0.0]], [1.0], cell=(8, 8, 8, 60, 60, 90))
    assert np.isfinite(oblique).all()


def test_cells_in_radians():
    for angles in ((np.pi / 2,) * 3, (1.57, 1.57, 2.09)):
        refuses(ValueError, "in radians", voxfield.potential, [[1.0, 1, 1]], [1.0], 1.0, cell=(8, 8, 8, *angles))


def test_refusals():
    rng = generator(3)
    atoms, charges = molecule(rng)
    nan = atoms.copy()
    nan[7, 2] = np.nan
    make = voxfield.potential
    refuses(ValueError, "NaN", make, nan, charges, GRID)
    refuses(ValueError, "NaN", make, atoms, charges * np.inf, GRID)
    refuses(ValueError, "shape (n, 3)", make, atoms[:, :2], charges, GRID)
    refuses(ValueError, "charges must have the shape (40,)", make, atoms, charges[:-1], GRID)
    refuses(TypeError, "charges are needed", make, atoms)
    refuses(ValueError, "method", make, atoms, charges, GRID, "guess")
    refuses(ValueError, "unit", make, atoms, charges, GRID, unit="mV")
    refuses(ValueError, "dielectric", make, atoms, charges, GRID, dielectric=0)
    refuses(ValueError, "boundary", make, atoms, charges, GRID, boundary="open")
    for call in (make, lambda *a, **named: voxfield.field_at(atoms, *a[:2], **named)):
        refuses(ValueError, "r_min, 0, is not between 1e-06 and 1e+06", call, atoms, charges, GRID, r_min=0)
        refuses(ValueError, "sigma, -1, is not", call, atoms, charges, GRID, sigma=-1)
    refuses(TypeError, "float32 or float64", make, atoms, charges, GRID, dtype=int)
    refuses(ValueError, "shape must be", make, atoms, charges, GRID._replace(shape=(3, 0, 3)))
    refuses(ValueError, "grid", make, atoms, charges, GRID._replace(spacing=(1, float("nan"), 1)))
    refuses(ValueError, "out must be float32", make, atoms, charges, GRID, out=np.empty(GRID.shape))
    refuses(voxfield.Error, "", make, atoms, charges, GRID, "fast", 1e-20)
    refuses(ValueError, "positive spacing", make, atoms, charges, float("inf"))
    refuses(ValueError, "positive spacing", make, atoms, charges, 0, cell=(20, 20, 20))
    refuses(ValueError, "points along an axis", make, atoms, charges, 1e-9)
    refuses(ValueError, "too large", make, atoms, charges, 1e-5)
    refuses(TypeError, "a spacing in angstrom", make, atoms, charges, (8, 8, 8))
    refuses(ValueError, "cell must be", make, atoms, charges, GRID, cell=(1, 2))
    refuses(ValueError, "no cell", make, atoms, charges, GRID, cell=(9, 9, 9, 10, 90, 100))
    refuses(voxfield.Error, "neutral", voxfield.potential_at, atoms[:1], atoms, abs(charges), cell=(20, 20, 20), boundary="vacuum")
    refuses(ValueError, "shape (n, 3)", voxfield.potential_at, atoms[0], atoms, charges)


class Atoms:
    """What matters of an AtomGroup."""

    def __init__(self, positions, charges):
        self.positions, self.charges = positions, charges


def test_other_packages():
    rng = generator(4)
    atoms, charges = molecule(rng)
    truth = voxfield.potential(atoms, charges, GRID)
    assert np.array_equal(voxfield.potential(Atoms(atoms, charges), grid=GRID), truth)
    try:
        import MDAnalysis
    except ImportError as error:
        skip_part(str(error))
    else:
        universe = MDAnalysis.Universe.empty(40, trajectory=True)
        refuses(ValueError, "no charges", voxfield.potential, universe.atoms, grid=GRID)
        universe.add_TopologyAttr("charges", charges)
        universe.atoms.positions = atoms
        single = voxfield.potential(np.float32(atoms), charges, GRID)
        assert np.array_equal(voxfield.potential(universe.atoms, grid=GRID), single)
    try:
        import gridData  # noqa: F401
    except ImportError as error:
        skip_part(str(error))
        return
    grid = truth.to_grid_data()
    assert np.array_equal(grid.grid, np.asarray(truth).T) and tuple(grid.origin) == GRID.origin
    assert abs(grid.edges[0][:-1] + 0.25 - GRID.axes()[0]).max() < 1e-12, "points are centres of gridData's bins"


if __name__ == "__main__":
    main(globals())
