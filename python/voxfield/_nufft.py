"""Non-uniform Fourier transforms."""
from __future__ import annotations

import operator
import weakref
from typing import Any, NoReturn, Sequence

import numpy as np

from . import _arrays
from ._binding import ffi, lib
from ._session import Session, give, take, warn_precision

__all__ = ["NUFFT", "nufft1", "nufft2"]

_MOST_BATCH = 64
_LARGEST = 2**31 - 1
_ROUNDING = 2e-8  # times the largest axis: what rounding of points to single precision moves sums by
_FINEST_SINGLE = 1e-7  # kernels/gridding/gridding.h
_SINGLE_POINTS = 1e-6  # rounding of points to single precision moves sums by about this


def matrix_of(shape: Any, what: str = "shape") -> tuple[tuple[int, ...], Any]:
    """The shape as a tuple of 1 to 3 integers, and as the library's counts along x, y, z."""
    try:
        sizes = tuple(operator.index(n) for n in ((shape,) if np.ndim(shape) == 0 else shape))
    except TypeError as error:
        raise TypeError(f"{what} must be 1 to 3 positive integers, not {shape!r}") from error
    if not 1 <= len(sizes) <= 3 or min(sizes) < 1 or max(sizes) > _LARGEST:
        raise ValueError(f"{what} must be 1 to 3 positive integers, not {shape!r}")
    return sizes, ffi.new("int64_t[3]", (sizes[::-1] + (1, 1))[:3])


def points_of(points: Any, dimensions: int, what: str = "points") -> np.ndarray[Any, Any]:
    """Positions as [n][3] in single precision; components beyond the dimensions are 0."""
    checked = _checked_points(points, dimensions, what)
    single = np.zeros((len(checked), 3), np.float32)
    with np.errstate(over="ignore"):
        single[:, :dimensions] = checked[:, :dimensions]
    if not np.isfinite(single).all():
        raise ValueError(f"{what} has values that are too large for single precision")
    return single


def _checked_points(points: Any, dimensions: int, what: str) -> np.ndarray[Any, Any]:
    given = _arrays.host_array(points, what)
    if given.ndim == 1 and dimensions == 1:
        given = given[:, None]
    return _arrays.geometry(given, what, np.float32 if given.dtype == np.float32 else np.float64,
                            (dimensions,) if dimensions == 3 else (dimensions, 3))


def warn_if_rounded(points: Any, single: np.ndarray[Any, Any], accuracy: float) -> None:
    """Says so if the accuracy is finer than what single precision leaves of the points."""
    if accuracy < _SINGLE_POINTS:
        exact = _arrays.host_array(points, "points")
        exact = exact[:, None] if exact.ndim == 1 else exact
        if exact.dtype != np.float32 and not np.array_equal(exact, single[:, : exact.shape[1]]):
            warn_precision("this operator rounds points to single precision, 6e-8 of their size, which limits the accuracy of sums "
                           f"with these points to about {_SINGLE_POINTS:g}; float32 points are taken as they are")


def precision_of(dtype: Any) -> np.dtype[Any]:
    """The complex type of "complex64", "complex128", or of the real type of their parts."""
    found = np.result_type(np.dtype(dtype), np.complex64)
    if found not in _arrays.COMPLEX or np.dtype(dtype).kind not in "fc":
        raise TypeError(f"dtype must be complex64 or complex128, not {dtype}")
    return np.dtype(found)


def accuracy_of(accuracy: Any, dtype: np.dtype[Any]) -> float:
    """Plans in single precision cannot have the accuracies that packages in double precision use."""
    found = float(accuracy)
    if dtype == np.complex64 and 0 < found < _FINEST_SINGLE:
        raise ValueError(f"accuracy {found:g} needs dtype=complex128; the finest tolerance in single precision is {_FINEST_SINGLE:g}")
    return found


def device_of(device: str | None, array: Any) -> str:
    """The device that was named, or the one that holds the array."""
    if device is not None:
        return device
    return "cpu" if type(array) is np.ndarray else _arrays.device_name(array)


class Place:
    """Where the arrays of a call are, for the binding; made once for host memory."""

    host = ffi.new("binding_place *")

    @staticmethod
    def of(view: _arrays.View, session: Session) -> Any:
        if view.cuda is None:
            return Place.host
        if session.key[0] not in (f"cuda:{view.cuda}", "cuda" if view.cuda == 0 else ""):
            raise TypeError(f"the array is on cuda:{view.cuda}, and the plan on {session.key[0]}; make a plan with "
                            f"device='cuda:{view.cuda}', or copy the array")
        return ffi.new("binding_place *", {"on_device": 1, "stream": view.stream})


def _free(destroy: Any, pointer: Any, session: Session) -> None:
    with session.lock:
        from . import _session
        if not _session._forked:
            destroy(pointer)
    give(session)


def owned(owner: Any, destroy: Any, pointer: Any, session: Session) -> None:
    """Frees a plan, and gives its session back, when the owner goes."""
    weakref.finalize(owner, _free, destroy, pointer, session).atexit = False


def refuse_copy(plan: Any) -> NoReturn:
    """Plans hold memory and threads of this process."""
    raise TypeError(f"{type(plan).__name__} objects cannot be pickled or copied; send what they are made of, and make them where they are used")


class NUFFT:
    """A non-uniform Fourier transform between a grid and scattered points, both ways, for many vectors.

        forward(x)[m] = sum_n x[n] exp(-2 pi i k_m . r_n)          r_n = (n - N // 2) / N
        adjoint(c)[n] = sum_m c[m] exp(+2 pi i k_m . r_n)

    Parameters
    ----------
    points : array, (M, d) or (M, 3)
        k in cycles per field of view: [-N/2, N/2) along an axis of N voxels (others are folded back, which is exact). **The
        columns are kx, ky, kz, and x is the last axis of arrays.** For one dimension, (M,) will do. Plans in double precision take
        float64 as it is; plans in single precision round it, unless `accuracy` needs more.
    shape : 1 to 3 integers
        Of the grid: (nx,), (ny, nx) or (nz, ny, nx).
    accuracy : float
        Relative error in the l2 norm, 1e-7 to 0.1 in single and 1e-12 to 0.1 in double precision.
    device : str, optional
        "cpu", "cuda", "cuda:1", "opencl:0". By default where `points` are: the CPU, or the GPU that holds them.
    dtype : optional
        complex64 (default) or complex128: of vectors and arithmetic.
    threads : int, optional
        Of the CPU; by default all cores, or OMP_NUM_THREADS.

    Plans may be used by several threads; their calls take turns. Source of the method: Barnett, Magland and af Klinteberg, SIAM J.
    Sci. Comput. 41 (2019) C479. Errors: ValueError (shapes, NaN, accuracy), TypeError (dtypes), voxfield.Error.

    >>> import numpy as np, voxfield
    >>> k = np.random.default_rng(1).uniform(-16, 16, (500, 2)).astype(np.float32)
    >>> plan = voxfield.NUFFT(k, (32, 32), accuracy=1e-5)
    >>> image = np.zeros((32, 32), np.complex64)
    >>> image[16, 16] = 1                     # the centre: its transform is 1 everywhere
    >>> bool(np.allclose(plan.forward(image), 1, atol=1e-4))
    True
    >>> plan.adjoint(np.ones((4, 500), np.complex64)).shape
    (4, 32, 32)
    """

    def __init__(self, points: Any, shape: Sequence[int], accuracy: float = 1e-5, device: str | None = None, *,
                 dtype: Any = np.complex64, threads: int | None = None) -> None:
        self.shape, matrix = matrix_of(shape)
        self.dtype = precision_of(dtype)
        self.accuracy = accuracy_of(accuracy, self.dtype)
        k, pointers = self._points(points)
        self.samples = len(k)
        self._session = take(device_of(device, points), threads)
        out = ffi.new("binding_nufft **")
        try:
            self._session.call(lib.binding_nufft_create, matrix, len(k), *pointers, self.accuracy, _arrays.COMPLEX[self.dtype],
                               _MOST_BATCH, out)
        except BaseException:
            give(self._session)
            raise
        self._plan = out[0]
        owned(self, lib.binding_nufft_destroy, self._plan, self._session)

    def _points(self, points: Any) -> tuple[np.ndarray[Any, Any], tuple[Any, Any]]:
        """The points as [n][3], and as the binding's pointers to single and to double precision, one of which is NULL."""
        dimensions = len(self.shape)
        checked = _checked_points(points, dimensions, "points")
        fine = self.dtype == np.complex128 or self.accuracy < _ROUNDING * max(self.shape)
        if checked.dtype == np.float32 or not fine:
            k = points_of(checked, dimensions)
            return k, (ffi.from_buffer("float[]", k), ffi.NULL)
        k = np.zeros((len(checked), 3))
        k[:, :dimensions] = checked[:, :dimensions]
        return k, (ffi.NULL, ffi.from_buffer("double[]", k))

    @property
    def device(self) -> str:
        """The device that computes."""
        return self._session.key[0]

    @property
    def nbytes(self) -> int:
        """Memory that the plan holds on its device."""
        return int(lib.binding_nufft_bytes(self._plan))

    def set_points(self, points: Any) -> None:
        """Replaces the points by others, of any number; grid and tables stay, so this is faster than a new plan.

        >>> import numpy as np, voxfield
        >>> plan = voxfield.NUFFT(np.zeros((3, 1)), (8,))
        >>> plan.set_points(np.ones((5, 1)))
        >>> plan.forward(np.ones(8, np.complex64)).shape
        (5,)
        """
        k, pointers = self._points(points)
        with self._session.lock:
            self._session.call(lib.binding_nufft_set_points, self._plan, len(k), *pointers)
            self.samples = len(k)

    def forward(self, x: Any, out: Any = None) -> Any:
        """Values at the points, from the grid: type 2. `x`: (..., *shape). Returns (..., M), of the kind of `x`.

        `out`: an array for the result, in C order, which must not overlap `x`. Tensors of PyTorch are differentiable.
        NaN in `x` gives NaN.
        """
        return self._apply(x, out, 0)

    def adjoint(self, c: Any, out: Any = None) -> Any:
        """The grid from values at the points: type 1, the adjoint of `forward`. `c`: (..., M). Returns (..., *shape)."""
        return self._apply(c, out, 1)

    def _apply(self, vectors: Any, out: Any, adjoint: int) -> Any:
        if type(vectors) is not np.ndarray and _arrays.kind_of(vectors) == "torch" and vectors.requires_grad:
            from ._torch import apply_linear
            return apply_linear(self._apply_raw, vectors, out, adjoint)
        return self._apply_raw(vectors, out, adjoint)

    def _apply_raw(self, vectors: Any, out: Any, adjoint: int) -> Any:
        view = _arrays.vector(vectors, "c" if adjoint else "x", self.dtype)
        session = self._session
        with session.lock:  # `samples` and the plan change together
            here, there = ((self.samples,), self.shape) if adjoint else (self.shape, (self.samples,))
            shape, rank = view.shape, len(here)
            if len(shape) < rank or shape[len(shape) - rank:] != here:
                raise ValueError(f"{'c' if adjoint else 'x'} must have the shape {('...',) + here}, not {shape}".replace("'", ""))
            lead = shape[: len(shape) - rank]
            batch = 1
            for n in lead:
                batch *= n
            target, result = _arrays.output(out, lead + there, self.dtype, view)
            session.call(lib.binding_nufft_apply, self._plan, adjoint, batch, view.pointer, target.pointer, Place.of(view, session))
        return _arrays.finished(result, out, view)

    def __reduce_ex__(self, protocol: Any) -> Any:
        refuse_copy(self)

    def __repr__(self) -> str:
        return f"<voxfield.NUFFT {self.samples} points, grid {self.shape}, {self.dtype}, {self.accuracy:g}, {self.device}>"


def _dtype_like(values: Any) -> np.dtype[Any]:
    name = str(getattr(values, "dtype", "float64")).rpartition(".")[2]
    return np.dtype(np.complex64 if name in ("float32", "complex64", "float16") else np.complex128)


def nufft1(points: Any, values: Any, shape: Sequence[int], accuracy: float = 1e-5, device: str | None = None, *,
           threads: int | None = None) -> Any:
    """A grid from values at scattered points: NUFFT.adjoint in one call. `points` (M, d), `values` (..., M); returns (..., *shape).

    The precision is that of `values`. Make a plan (NUFFT) if the points are used again.

    >>> import numpy as np, voxfield
    >>> voxfield.nufft1(np.zeros((1, 2)), np.array([2 + 0j]), (2, 3)).real.round(4)
    array([[2., 2., 2.],
           [2., 2., 2.]])
    """
    plan = NUFFT(points, shape, accuracy, device_of(device, values), dtype=_dtype_like(values), threads=threads)
    return plan.adjoint(values)


def nufft2(points: Any, image: Any, accuracy: float = 1e-5, device: str | None = None, *, threads: int | None = None) -> Any:
    """Values at scattered points from a grid: NUFFT.forward in one call. `points` (M, d), `image` (..., [nz,] [ny,] nx), whose last
    d axes are the grid; returns (..., M).

    >>> import numpy as np, voxfield
    >>> voxfield.nufft2(np.zeros((1, 2)), np.ones((2, 3))).real.round(4)
    array([6.])
    """
    given = _arrays.host_array(points, "points")
    if given.ndim not in (1, 2):
        raise ValueError(f"points must have the shape (n, d), or (n,) for one dimension, not {given.shape}"
                         f"{_arrays.flat_hint('points', given.shape)}")
    dimensions = 1 if given.ndim == 1 else given.shape[-1]
    shape = tuple(np.shape(image) if not hasattr(image, "shape") else image.shape)
    if len(shape) < dimensions:
        raise ValueError(f"the image must have {dimensions} axes or more, as the points have {dimensions} components, not {len(shape)}")
    plan = NUFFT(points, shape[len(shape) - dimensions:], accuracy, device_of(device, image), dtype=_dtype_like(image),
                 threads=threads)
    return plan.forward(image)
