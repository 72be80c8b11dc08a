"""The encoding of an MRI scan as a linear operator."""
from __future__ import annotations

import math
from typing import Any, NamedTuple, Sequence

import numpy as np

from . import _arrays
from ._binding import ffi, lib
from ._nufft import Place, accuracy_of, device_of, matrix_of, owned, points_of, precision_of, refuse_copy, warn_if_rounded
from ._session import give, take, warn

__all__ = ["ImagingOperator", "LinearMap", "Solution"]


class Solution(NamedTuple):
    """What ImagingOperator.solve found."""

    image: Any
    iterations: int
    residual: float


class LinearMap:
    """A linear map between arrays: `A(x)` or `A @ x`, its adjoint `A.H`, and `A.normal`, which is A.H A.

    `domain` and `codomain` are the shapes of arrays; further axes before them are for many vectors at once.
    """

    domain: tuple[int, ...]
    codomain: tuple[int, ...]
    dtype: np.dtype[Any]

    def _apply(self, x: Any, out: Any, which: int) -> Any:
        raise NotImplementedError

    def __call__(self, x: Any, out: Any = None) -> Any:
        return self._apply(x, out, 0)

    def __matmul__(self, x: Any) -> Any:
        return self._apply(x, None, 0)

    @property
    def H(self) -> "LinearMap":
        """The adjoint."""
        return _Derived(self, 1)

    @property
    def normal(self) -> "LinearMap":
        """A.H A, self-adjoint."""
        return _Derived(self, 2)

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns) of the matrix."""
        return math.prod(self.codomain), math.prod(self.domain)

    def as_linear_operator(self) -> Any:
        """The same as a scipy.sparse.linalg.LinearOperator, on vectors of one axis. Needs SciPy."""
        from scipy.sparse.linalg import LinearOperator

        return LinearOperator(self.shape, dtype=self.dtype,
                              matvec=lambda x: self(_for(self, x, self.domain)).ravel(),
                              rmatvec=lambda y: self.H(_for(self, y, self.codomain)).ravel())


def _for(a: LinearMap, x: Any, shape: tuple[int, ...]) -> Any:
    """SciPy's vectors may be more precise than the operator."""
    return np.asarray(x).reshape(shape).astype(a.dtype, copy=False)


class _Derived(LinearMap):
    """The adjoint (1) or the normal (2) of a map."""

    def __init__(self, of: LinearMap, which: int) -> None:
        self._of, self._which = of, which
        self.dtype = of.dtype
        self.domain = of.codomain if which == 1 else of.domain
        self.codomain = of.domain

    def _apply(self, x: Any, out: Any, which: int) -> Any:
        if self._which == 1 and which == 2:  # A A.H
            return self._of._apply(self._of._apply(x, None, 1), out, 0)
        if self._which == 2 and which == 2:
            return self._of._apply(self._of._apply(x, None, 2), out, 2)
        return self._of._apply(x, out, (1 - which) if self._which == 1 else 2)

    @property
    def H(self) -> LinearMap:
        return self._of if self._which == 1 else self

    def __repr__(self) -> str:
        return f"<{'adjoint' if self._which == 1 else 'normal'} of {self._of!r}>"


def _warn_of_units(k: np.ndarray[Any, Any], domain: tuple[int, ...]) -> None:
    """Says so if a trajectory covers so little of k-space that it is hardly in cycles per field of view."""
    large = [a for a, n in enumerate(domain[::-1]) if n > 4]
    if len(k) < 16 or not large:
        return
    extents = abs(k[:, large]).max(0)
    edges = np.array([domain[::-1][a] / 2 for a in large])
    if (extents <= 0.5).all():
        warn("the trajectory stays within 0.5, as if in cycles per voxel; multiply kx, ky, kz by the matrix, because it is in cycles "
             "per field of view", UserWarning)
    elif (extents <= 1.05 * np.pi).all() and (extents < edges / 4).all():
        warn("the trajectory stays within pi, as if in radians per voxel; multiply kx, ky, kz by the matrix over 2 pi, because it is in "
             "cycles per field of view", UserWarning)


class ImagingOperator(LinearMap):
    """The encoding of a scan: from an image x to the samples of each coil c,

        d_c(m) = sqrt(w_m) sum_n exp(-2 pi i (k_m . r_n + t_m f_n)) s_c(n) x(n)

    Parameters
    ----------
    trajectory : array, (M, d) or (M, 3)
        kx, ky, kz in cycles per field of view, as `points` of NUFFT. Samples on a grid are transformed by an FFT.
    maps : array, (coils, *shape), optional
        Complex coil maps s_c. None: one coil of 1.
    shape : optional
        Of the image, (ny, nx) or (nz, ny, nx); may be left out if there are maps.
    field_map : array, shape, optional
        f in Hz; needs `time`, (M,), in s.
    weights : array, (M,), optional
        w >= 0: weights of the samples in the sum of squares, such as density compensation.
    accuracy, device, dtype, threads : as of NUFFT

    `A.H` is the adjoint, `A.normal` is A.H A by a Toeplitz matrix that is made when it is first used (Fessler et al., IEEE Trans.
    Signal Process. 53 (2005) 3393), which is faster than A, then A.H, and `A.solve` reconstructs. Tensors of PyTorch are
    differentiable. Errors: ValueError, TypeError, voxfield.Error.

    >>> import numpy as np, voxfield
    >>> k = np.random.default_rng(1).uniform(-8, 8, (2000, 2)).astype(np.float32)
    >>> maps = np.ones((2, 16, 16), np.complex64)
    >>> A = voxfield.ImagingOperator(k, maps)
    >>> x = np.random.default_rng(2).standard_normal((16, 16)).astype(np.complex64)
    >>> A(x).shape, A.H(A(x)).shape
    ((2, 2000), (16, 16))
    >>> bool(np.allclose(A.normal(x), A.H(A(x)), atol=1e-3 * abs(A.normal(x)).max()))
    True
    >>> bool(abs(A.solve(A(x), lam=1e-6).image - x).max() < 0.01)
    True
    """

    def __init__(self, trajectory: Any, maps: Any = None, shape: Sequence[int] | None = None, *, field_map: Any = None,
                 time: Any = None, weights: Any = None, accuracy: float = 1e-5, device: str | None = None,
                 dtype: Any = np.complex64, threads: int | None = None) -> None:
        if maps is None and shape is None:
            raise TypeError("shape is needed if there are no maps")
        self.dtype = precision_of(dtype)
        given = None if maps is None else _finite_maps(maps, self.dtype)
        self.domain, matrix = matrix_of(given.shape[1:] if shape is None and given is not None else shape)
        if given is not None and given.shape[1:] != self.domain:
            raise ValueError(f"maps must have the shape (coils, {', '.join(map(str, self.domain))}), not {given.shape}")
        k = points_of(trajectory, len(self.domain), "trajectory")
        accuracy = accuracy_of(accuracy, self.dtype)
        warn_if_rounded(trajectory, k, accuracy)
        _warn_of_units(k, self.domain)
        self.coils = 1 if given is None else len(given)
        self.codomain = (self.coils, len(k)) if given is not None else (len(k),)
        if (field_map is None) != (time is None):
            raise ValueError("field_map and time are needed together: off-resonance adds the phase 2 pi time field_map")
        self._kept = [k, given]
        scan = ffi.new("binding_scan *", {"matrix": list(matrix), "samples": len(k), "coils": self.coils,
                                          "accuracy": float(accuracy), "is_double": _arrays.COMPLEX[self.dtype]})
        scan.k = ffi.from_buffer("float[]", k)
        if given is not None:
            scan.maps = ffi.from_buffer(given)
        for name, array, kind, wanted in (("time", time, "float", (len(k),)), ("field", field_map, "float", self.domain),
                                          ("weights", weights, "double", (len(k),))):
            if array is not None:
                setattr(scan, name, self._keep(array, name, kind, wanted))
        self._session = take(device_of(device, maps if maps is not None else trajectory), threads)
        out = ffi.new("binding_imaging **")
        try:
            self._session.call(lib.binding_imaging_create, scan, out)
        except BaseException:
            give(self._session)
            raise
        self._imaging = out[0]
        del self._kept
        owned(self, lib.binding_imaging_destroy, self._imaging, self._session)

    def _keep(self, array: Any, name: str, kind: str, shape: tuple[int, ...]) -> Any:
        checked = _arrays.geometry(array, {"field": "field_map"}.get(name, name), np.float32 if kind == "float" else np.float64)
        if checked.shape != shape:
            raise ValueError(f"{'field_map' if name == 'field' else name} must have the shape {shape}, not {checked.shape}")
        if name == "weights" and (checked < 0).any():
            raise ValueError("weights must not be negative")
        self._kept.append(checked)
        return ffi.from_buffer(kind + "[]", checked)

    @property
    def device(self) -> str:
        """The device that computes."""
        return self._session.key[0]

    def _apply(self, x: Any, out: Any, which: int) -> Any:
        if type(x) is not np.ndarray and _arrays.kind_of(x) == "torch" and x.requires_grad:
            from ._torch import apply_linear
            return apply_linear(self._apply_raw, x, out, which)
        return self._apply_raw(x, out, which)

    def _apply_raw(self, x: Any, out: Any, which: int) -> Any:
        view = _arrays.vector(x, "the data" if which == 1 else "the image", self.dtype)
        here = self.codomain if which == 1 else self.domain
        there = self.codomain if which == 0 else self.domain
        shape, rank = view.shape, len(here)
        if len(shape) < rank or shape[len(shape) - rank:] != here:
            raise ValueError(f"{'data' if which == 1 else 'images'} must have the shape {('...',) + here}, not {shape}".replace("'", ""))
        lead = shape[: len(shape) - rank]
        target, result = _arrays.output(out, lead + there, self.dtype, view)
        place = Place.of(view, self._session)
        steps = [math.prod(here) * self.dtype.itemsize, math.prod(there) * self.dtype.itemsize]
        source, to = ffi.cast("char *", view.pointer), ffi.cast("char *", target.pointer)
        for i in range(math.prod(lead)):
            self._session.call(lib.binding_imaging_apply, self._imaging, which, source + i * steps[0], to + i * steps[1], place)
        return _arrays.finished(result, out, view)

    def solve(self, data: Any, lam: float = 1e-3, iterations: int = 100, tolerance: float = 1e-4) -> Solution:
        """The image that minimises |sqrt(w) (A x - d)|^2 + lambda |x|^2, by conjugate gradients.

        `data`: what A returns, (coils, M): sqrt(w) d if there are weights. `lam` is relative to the diagonal of
        A.H A, on average over the image. Returns a Solution (image, iterations, residual). `voxfield.reconstruct` chooses priors and
        their strength by itself.
        """
        if not lam >= 0 or not math.isfinite(lam) or iterations < 0 or not tolerance >= 0:
            raise ValueError("lam, iterations and tolerance must be finite and >= 0")
        right = _arrays.host_array(self._apply_raw(data, None, 1), "data")
        right = np.ascontiguousarray(right, self.dtype)
        if not np.isfinite(right).all():
            raise ValueError("the data have values that are NaN or infinite")
        image = np.zeros(self.domain, self.dtype)
        used, residual = ffi.new("int *"), ffi.new("double *")
        self._session.call(lib.binding_imaging_solve, self._imaging, float(lam), int(iterations), float(tolerance),
                           ffi.from_buffer(right), ffi.from_buffer(image), used, residual)
        return Solution(_arrays.of_kind(image, data), int(used[0]), float(residual[0]))

    def __reduce_ex__(self, protocol: Any) -> Any:
        refuse_copy(self)

    def __repr__(self) -> str:
        return f"<voxfield.ImagingOperator {self.domain} -> {self.codomain}, {self.dtype}, {self.device}>"


def _finite_maps(maps: Any, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    found = _arrays.host_array(maps, "maps")
    if found.dtype.kind not in "fiuc" or found.ndim < 2 or len(found) == 0:
        raise ValueError(f"maps must be complex numbers of shape (coils, ...), not {found.dtype} of shape {found.shape}")
    found = np.ascontiguousarray(found, dtype)
    if not np.isfinite(found).all():
        raise ValueError("maps have values that are NaN or infinite")
    return found
