"""Voxfield: sums over scattered points at every point of a regular grid.

Images from MRI scans, non-uniform Fourier transforms, electrostatic potentials and ions, on arrays of NumPy, PyTorch, CuPy or JAX.
docs/python.md has examples; every function's docstring has shapes, units, errors and sources.

Arrays are [z][y][x], x last; positions and points have the columns x, y, z.
"""
from ._electrostatics import UNITS, Grid, Map, PointValues, field_at, potential, potential_at
from ._imaging import ImagingOperator, LinearMap, Solution
from ._molecules import CionizeResult, Ions, Molecule, Solvent, cionize, place_ions, read_molecule, solvent
from ._nufft import NUFFT, nufft1, nufft2
from ._reconstruct import Reconstruction, Scan, espirit, read_scan, reconstruct, write_image
from ._results import ProgramWarning
from ._session import (ArgumentError, DeviceError, Error, IncompleteError, InputError, Interrupted, OutOfMemoryError, OutputError,
                       PrecisionWarning, UnsupportedError, devices)
from ._binding import ffi as _ffi, lib as _lib

__version__: str = _ffi.string(_lib.binding_version()).decode()

__all__ = ["ArgumentError", "CionizeResult", "DeviceError", "Error", "Grid", "ImagingOperator", "IncompleteError", "InputError",
           "Interrupted", "Ions", "LinearMap", "Map", "Molecule", "NUFFT", "OutOfMemoryError", "OutputError", "PointValues",
           "PrecisionWarning", "ProgramWarning", "Reconstruction", "Scan", "Solution", "Solvent", "UNITS", "UnsupportedError", "cionize",
           "devices", "espirit", "field_at", "nufft1", "nufft2", "place_ions", "potential", "potential_at", "read_molecule", "read_scan",
           "reconstruct", "solvent", "write_image"]
