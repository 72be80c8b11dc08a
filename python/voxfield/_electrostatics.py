"""Electrostatic potentials of point charges, on grids and at points."""
from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from . import _arrays
from ._binding import ffi, lib
from ._nufft import Place
from ._session import give, take, text_of

__all__ = ["Grid", "Map", "potential", "potential_at", "field_at", "UNITS"]

_E, _K, _NA, _EPS0 = 1.602176634e-19, 1.380649e-23, 6.02214076e23, 8.8541878188e-12  # CODATA 2022
_VOLTS = _E / (4 * math.pi * _EPS0 * 1e-10)
#: Units of potentials: the constant C of V = C q / r, r in angstrom and q in elementary charges (docs/conventions.md).
UNITS = {"e/A": 1.0, "V": _VOLTS, "kcal/mol/e": _VOLTS * _E * _NA / 4184, "kT/e": _VOLTS * _E / (_K * 298.15)}


class Grid(NamedTuple):
    """A regular grid. Lengths are in angstrom, in the order x, y, z; `shape` is that of arrays: (nz, ny, nx).

    >>> import voxfield
    >>> voxfield.Grid((0, 0, 0), (0.5, 0.5, 0.5), (10, 20, 30)).axes()[0].tolist()[-1]      # x is the last axis
    14.5
    """

    origin: tuple[float, float, float]
    spacing: tuple[float, float, float]
    shape: tuple[int, int, int]

    @classmethod
    def around(cls, positions: Any, spacing: float = 0.5, border: float = 10.0) -> "Grid":
        """The smallest grid around the positions (n, 3) with a border, in angstrom, whose origin is a multiple of the spacing.

        >>> import voxfield
        >>> voxfield.Grid.around([[0.0, 0, 0], [4, 2, 0]], spacing=1.0, border=2.0).shape
        (5, 7, 9)
        """
        atoms, _ = charges_of(positions, 0)
        if not 0 < spacing < math.inf or not 0 <= border < math.inf or len(atoms) == 0:
            raise ValueError("a grid needs positions, a positive spacing and a border >= 0")
        low = np.floor((atoms.min(0) - border) / spacing)
        high = np.ceil((atoms.max(0) + border) / spacing)
        if not max(high - low) < 2**31:
            raise ValueError(f"a spacing of {spacing:g} angstrom makes a grid of {max(high - low):.3g} points along an axis")
        counts = (high - low).astype(int) + 1
        return cls(tuple(float(v) for v in low * spacing), (float(spacing),) * 3,  # type: ignore[arg-type]
                   (int(counts[2]), int(counts[1]), int(counts[0])))

    def axes(self) -> tuple[np.ndarray[Any, Any], ...]:
        """The coordinates along x, y and z."""
        return tuple(o + h * np.arange(n) for o, h, n in zip(self.origin, self.spacing, self.shape[::-1]))


class Map:
    """Values on a grid: `values` [z][y][x], `grid`, `unit`, and `method`, which computed them. NumPy takes it for its values."""

    def __init__(self, values: Any, grid: Grid, unit: str = "", method: str = "") -> None:
        self.values, self.grid, self.unit, self.method = values, grid, unit, method

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray[Any, Any]:
        values = _arrays.host_array(self.values, "the map")
        return np.array(values, dtype) if copy else np.asarray(values, dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the values."""
        return tuple(self.values.shape)

    def to_grid_data(self) -> Any:
        """The same as a gridData.Grid, whose axes are x, y, z. Needs GridDataFormats.

        >>> import voxfield
        >>> m = voxfield.potential([[0, 0, 0]], [1.0], voxfield.Grid((1, 1, 1), (1, 1, 1), (2, 3, 4)), unit="e/A")
        >>> m.to_grid_data().grid.shape                                     # doctest: +SKIP
        (4, 3, 2)
        """
        from gridData import Grid as GridData

        return GridData(np.asarray(self).T, origin=np.array(self.grid.origin), delta=np.array(self.grid.spacing))

    def __repr__(self) -> str:
        return f"<voxfield.Map {self.shape} in {self.unit or 'its unit'}, origin {self.grid.origin}, spacing {self.grid.spacing}>"


def charges_of(positions: Any, charges: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Positions (n, 3) and charges (n,). An MDAnalysis AtomGroup has both."""
    if hasattr(positions, "positions") and not isinstance(positions, np.ndarray):
        atoms = positions
        positions = atoms.positions
        if charges is None:
            try:
                charges = atoms.charges
            except Exception as error:  # MDAnalysis raises an error of its own
                raise ValueError("these atoms have no charges; give them as an array") from error
    if charges is None:
        raise TypeError("charges are needed, unless the positions are an AtomGroup with charges")
    xyz = _arrays.geometry(positions, "positions", np.float64, (3,))
    q = np.broadcast_to(_arrays.geometry(charges, "charges", np.float64), (len(xyz),)) if np.ndim(charges) == 0 \
        else _arrays.geometry(charges, "charges", np.float64)
    if q.shape != (len(xyz),):
        raise ValueError(f"charges must have the shape ({len(xyz)},), not {q.shape}")
    return xyz, np.ascontiguousarray(q)


def cell_of(cell: Any) -> np.ndarray[Any, Any] | None:
    """The vectors of a cell, (3, 3), from three lengths, three lengths and three angles (degrees), or the vectors."""
    if cell is None:
        return None
    given = _arrays.geometry(cell, "cell", np.float64)
    if given.shape == (3,):
        return np.diag(given)
    if given.shape == (3, 3):
        return given
    if given.shape != (6,):
        raise ValueError("cell must be A, B, C; A, B, C, alpha, beta, gamma; or three vectors (rows)")
    a, b, c = given[:3]
    if (given[3:] > 0).all() and (given[3:] < np.pi).all():
        raise ValueError("the angles of the cell are below 3.15 degrees, so they may be in radians; give degrees")
    cosines = [0.0 if angle == 90 else float(np.cos(np.radians(angle))) for angle in given[3:]]
    sine = float(np.sqrt(max(1 - cosines[2] ** 2, 0.0)))
    if sine == 0:
        raise ValueError("gamma must be between 0 and 180 degrees")
    y = (cosines[0] - cosines[1] * cosines[2]) / sine
    z = 1 - cosines[1] ** 2 - y ** 2
    if not z > 0:
        raise ValueError("these angles make no cell")
    return np.array([[a, 0, 0], [b * cosines[2], b * sine, 0], [c * cosines[1], c * y, c * np.sqrt(z)]])


def _constant(unit: str, dielectric: float) -> float:
    if unit not in UNITS:
        raise ValueError(f"unit must be one of {', '.join(UNITS)}, not {unit!r}")
    if not dielectric > 0 or not np.isfinite(dielectric):
        raise ValueError("dielectric must be positive")
    return UNITS[unit] / dielectric


class _Charges:
    """The binding's structure, and what it points to."""

    def __init__(self, positions: Any, charges: Any, cell: Any, boundary: str, scale: float, r_min: float, sigma: float,
                 tolerance: float) -> None:
        if boundary not in ("tinfoil", "vacuum"):
            raise ValueError("boundary must be 'tinfoil' or 'vacuum'")
        if cell is not None and getattr(positions, "space_group", None):
            raise ValueError(f"the molecule is the asymmetric unit of a crystal (space group {positions.space_group}), so the cell lacks "
                             "its copies; read the file with symmetry='expand', or with symmetry='none' if it has all atoms of the cell")
        xyz, q = charges_of(positions, charges)
        columns = np.ascontiguousarray(xyz.T)
        vectors = cell_of(cell)
        self.kept = [columns, q, vectors]
        self.struct = ffi.new("binding_charges *", {"count": len(q), "vacuum": boundary == "vacuum", "scale": scale,
                                                    "r_min": float(r_min), "sigma": float(sigma), "tolerance": float(tolerance)})
        for name, array in zip(("x", "y", "z", "charge"), (*columns, q)):
            setattr(self.struct, name, ffi.from_buffer("double[]", array))
        if vectors is not None:
            self.struct.cell = ffi.from_buffer("double[]", np.ascontiguousarray(vectors))
            self.kept.append(vectors)
        self.positions = xyz


def potential(positions: Any, charges: Any = None, grid: Grid | float | None = None, method: str = "auto", accuracy: float = 1e-6,
              cell: Any = None, *, unit: str = "kT/e", dielectric: float = 1.0, r_min: float = 0.1, sigma: float = 0.0,
              boundary: str = "tinfoil", dtype: Any = np.float32, device: str = "cpu", threads: int | None = None,
              out: Any = None) -> Map:
    """The electrostatic potential of point charges on a grid: V = C sum_i q_i / max(|r - r_i|, r_min) / dielectric.

    Parameters
    ----------
    positions : array, (n, 3), in angstrom; or an MDAnalysis AtomGroup
    charges : array, (n,), in elementary charges; an AtomGroup has its own
    grid : Grid, or the spacing of one around the atoms; default 0.5 angstrom
        With a `cell`, the grid must cover the cell once.
    method : "auto", "exact" (every pair), "fast" (a mesh, to `accuracy`)
    accuracy : float
        rms error over rms potential, 1e-10 (float64) or 1e-6 (float32) to 0.1. Exact sums do not use it.
    cell : optional
        Periodic: lengths A, B, C; with angles in degrees; or three vectors. A net charge is neutralised by a background. `boundary` is
        "tinfoil" or "vacuum".
    unit : "kT/e" (298.15 K), "V", "kcal/mol/e", "e/A"
    r_min : bounds the poles at the atoms, angstrom
    sigma : > 0: Gaussian charges of this width, angstrom, as of VMD's PMEPot
    dtype : float32 (default) or float64
    out : optional array for the values, (nz, ny, nx); on a GPU for a map that stays there

    Returns a Map. Errors: ValueError, TypeError, voxfield.Error. Source: docs/conventions.md and docs/accuracy.md.

    >>> import numpy as np, voxfield
    >>> m = voxfield.potential([[0, 0, 0], [3, 0, 0]], [1, -1], voxfield.Grid((1, 0, 0), (1, 1, 1), (1, 1, 2)), unit="e/A")
    >>> np.asarray(m).round(4)
    array([[[ 0.5, -0.5]]], dtype=float32)
    """
    real = np.dtype(dtype)
    if real not in (np.float32, np.float64):
        raise TypeError(f"dtype must be float32 or float64, not {real}")
    if not isinstance(grid, Grid):
        if grid is not None and (np.ndim(grid) != 0 or isinstance(grid, (str, bytes))):
            raise TypeError(f"grid must be a voxfield.Grid or a spacing in angstrom, not {grid!r}")
        grid = _default_grid(positions, charges, 0.5 if grid is None else float(grid), cell)
    given = _Charges(positions, charges, cell, boundary, _constant(unit, dielectric), r_min, sigma, accuracy)
    shape = tuple(int(n) for n in grid.shape)
    if len(shape) != 3 or min(shape) < 1:
        raise ValueError(f"the grid's shape must be (nz, ny, nx), not {grid.shape}")
    if math.prod(shape) > 2**40:
        raise ValueError(f"a grid of {shape} points is too large")
    session = take(device, threads)
    try:
        like = _arrays.View(ffi.NULL, (), real, np.empty(0), "numpy")
        if out is not None and (interface := _arrays.cuda_interface(out) if type(out) is not np.ndarray else None):
            like = _arrays.cuda_view(out, interface, "out")
            like.pointer = ffi.NULL
            like.shape = (0,)
        target, values = _arrays.output(out, shape, real, like)
        used = ffi.new("char[64]")
        session.call(lib.binding_potential, given.struct, method.encode(), [float(v) for v in grid.origin],
                     [float(v) for v in grid.spacing], list(shape[::-1]), real == np.float64, target.pointer,
                     Place.of(target, session), used)
    finally:
        give(session)
    return Map(values, grid, unit, text_of(used))


def _default_grid(positions: Any, charges: Any, spacing: float, cell: Any) -> Grid:
    vectors = cell_of(cell)
    if vectors is None:
        xyz, _ = charges_of(positions, 0 if charges is None else charges)
        return Grid.around(xyz, spacing)
    if not 0 < spacing < math.inf:
        raise ValueError("a grid needs a positive spacing")
    lengths = np.diag(vectors)
    counts = np.maximum(np.ceil(lengths / spacing - 1e-9).astype(int), 1)
    steps = lengths / counts
    return Grid((0.0, 0.0, 0.0), tuple(float(h) for h in steps),  # type: ignore[arg-type]
                (int(counts[2]), int(counts[1]), int(counts[0])))


class PointValues(NamedTuple):
    """Potentials (m,) and fields (m, 3) at points."""

    potential: np.ndarray[Any, Any]
    field: np.ndarray[Any, Any]


def _at(points: Any, positions: Any, charges: Any, accuracy: float, cell: Any, unit: str, dielectric: float, r_min: float, sigma: float,
        boundary: str, threads: int | None, fields: bool) -> PointValues:
    where = _arrays.geometry(points, "points", np.float64, (3,))
    given = _Charges(positions, charges, cell, boundary, _constant(unit, dielectric), r_min, sigma, accuracy)
    values, field = np.empty(len(where)), np.empty((len(where) if fields else 0, 3))
    session = take("cpu", threads)
    try:
        session.call(lib.binding_points, given.struct, len(where), ffi.from_buffer("double[]", where),
                     ffi.from_buffer("double[]", values), ffi.from_buffer("double[]", field) if fields else ffi.NULL)
    finally:
        give(session)
    return PointValues(values, field)


def potential_at(points: Any, positions: Any, charges: Any = None, accuracy: float = 0.0, cell: Any = None, *, unit: str = "kT/e",
                 dielectric: float = 1.0, r_min: float = 0.1, sigma: float = 0.0, boundary: str = "tinfoil",
                 threads: int | None = None) -> np.ndarray[Any, Any]:
    """The potential at scattered points (m, 3), in angstrom: (m,), in double precision, on the CPU.

    `accuracy` 0 is exact; 1e-10 to 0.1: rms error over rms potential. The rest is as of `potential`.

    >>> import voxfield
    >>> voxfield.potential_at([[2, 0, 0]], [[0, 0, 0]], [1.0], unit="V").round(6)
    array([7.199823])
    """
    return _at(points, positions, charges, accuracy, cell, unit, dielectric, r_min, sigma, boundary, threads, False).potential


def field_at(points: Any, positions: Any, charges: Any = None, accuracy: float = 0.0, cell: Any = None, *, unit: str = "kT/e",
             dielectric: float = 1.0, r_min: float = 0.1, sigma: float = 0.0, boundary: str = "tinfoil",
             threads: int | None = None) -> PointValues:
    """Potential (m,) and field -grad V (m, 3), in the unit per angstrom, at scattered points: a PointValues (potential, field).

    >>> import voxfield
    >>> voxfield.field_at([[2, 0, 0]], [[0, 0, 0]], [1.0], unit="e/A").field.round(6) + 0.0
    array([[0.25, 0.  , 0.  ]])
    """
    return _at(points, positions, charges, accuracy, cell, unit, dielectric, r_min, sigma, boundary, threads, True)
