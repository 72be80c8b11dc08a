"""Arrays of NumPy, PyTorch, CuPy, JAX and others: their addresses in, arrays of the same kind out.

Host memory is passed on without a copy if it is in C order and of the right type. Memory of a CUDA device is passed on with the
caller's stream; the library's work is put between what is in the stream and what follows.
"""
from __future__ import annotations

import sys
from typing import Any, Sequence

import numpy as np

from ._binding import ffi

COMPLEX = {np.dtype(np.complex64): False, np.dtype(np.complex128): True}


class View:
    """An array's memory. `kind`: the library that it came from."""

    __slots__ = ("pointer", "shape", "dtype", "owner", "kind", "cuda", "stream", "source")

    def __init__(self, pointer: Any, shape: tuple[int, ...], dtype: np.dtype[Any], owner: Any, kind: str,
                 cuda: int | None = None, stream: int = 0, source: Any = None) -> None:
        self.pointer, self.shape, self.dtype, self.owner, self.kind = pointer, shape, dtype, owner, kind
        self.cuda, self.stream, self.source = cuda, stream, source


def kind_of(array: Any) -> str:
    """The library of an array: "numpy", "torch", "cupy", "jax", or the name of another."""
    name = type(array).__module__.partition(".")[0]
    return "jax" if name == "jaxlib" else name


def plain(array: Any) -> Any:
    """The array; of a tensor of PyTorch one without a derivative, and with its conjugations carried out."""
    return array.detach().resolve_conj().resolve_neg() if kind_of(array) == "torch" else array


def cuda_interface(array: Any) -> dict[str, Any] | None:
    """__cuda_array_interface__, if the array is in the memory of a CUDA device. (Asking a tensor that is not raises.) JAX's arrays have
    one, too, but no stream that the caller could wait in, and nobody may write to them: they are copied through the host."""
    if kind_of(array) == "jax":
        return None
    try:
        found = getattr(plain(array), "__cuda_array_interface__", None)
    except (AttributeError, RuntimeError, TypeError, ValueError):
        return None
    return dict(found) if found is not None else None


def device_name(array: Any) -> str:
    """The device that holds the array: "cpu", "cuda:1"."""
    if kind_of(array) == "jax":
        place = next(iter(array.devices()))
        return f"cuda:{place.local_hardware_id or 0}" if place.platform in ("gpu", "cuda") else "cpu"
    return "cpu" if cuda_interface(array) is None else f"cuda:{_cuda_device(array)}"


def _cuda_device(array: Any) -> int:
    for name in ("index", "id"):  # PyTorch; CuPy
        device = getattr(array, "device", None)
        device = device() if callable(device) else device
        value = getattr(device, name, None)
        if isinstance(value, int):
            return value
    try:
        return int(array.__dlpack_device__()[1])
    except (AttributeError, TypeError, ValueError):
        return 0


def _cuda_stream(array: Any, interface: dict[str, Any], kind: str, device: int) -> int:
    """The stream that the caller works in: the library's current one, or that of the interface, or the default one (1)."""
    if kind == "torch":
        return int(sys.modules["torch"].cuda.current_stream(device).cuda_stream) or 1
    stream = interface.get("stream")
    if stream == 0:
        raise ValueError("__cuda_array_interface__ has stream 0, which its definition forbids")
    return int(stream) if stream else 1


def cuda_view(array: Any, interface: dict[str, Any], what: str, writable: bool = False) -> View:
    """A view of an array in the memory of a CUDA device."""
    kind = kind_of(array)
    shape = tuple(int(n) for n in interface["shape"])
    dtype = np.dtype(interface["typestr"])
    address, read_only = interface["data"]
    strides, expected = interface.get("strides"), dtype.itemsize
    if strides is not None:
        for n, stride in zip(reversed(shape), reversed(tuple(strides))):
            if n > 1 and stride != expected:
                raise ValueError(f"{what}: arrays on a GPU must be in C order without gaps; make it contiguous")
            expected *= n
    if interface.get("mask") is not None:
        raise TypeError(f"{what}: masked arrays are not supported")
    if writable and read_only:
        raise ValueError(f"{what} is read-only")
    device = _cuda_device(array)
    stream = _cuda_stream(array, interface, kind, device)
    return View(ffi.cast("void *", address or 0), shape, dtype, array, kind, device, stream, array)


def host_array(array: Any, what: str) -> np.ndarray[Any, Any]:
    """A NumPy array with the values of any array or sequence; without a copy if it is in host memory."""
    if isinstance(array, np.ndarray):
        if isinstance(array, np.ma.MaskedArray):
            raise TypeError(f"{what}: masked arrays are not supported; filled() makes an array of one")
        return array
    kind = kind_of(array)
    if kind == "torch":
        if array.requires_grad and sys.modules["torch"].is_grad_enabled():
            raise TypeError(f"{what} asks for a derivative, which voxfield does not have; pass the tensor's detach()")
        return np.asarray(plain(array).cpu())
    if cuda_interface(array) is not None and hasattr(array, "get"):  # CuPy
        return np.asarray(array.get())
    if not hasattr(array, "__array__") and hasattr(array, "__dlpack__"):
        return np.from_dlpack(array)
    found = np.asarray(array)
    if found.dtype == object:
        raise TypeError(f"{what} must be an array of numbers, not {type(array).__name__}")
    return found


def native(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """In C order and this machine's order of bytes."""
    return np.asarray(array, array.dtype.newbyteorder("="), order="C")


def flat_hint(what: str, shape: tuple[int, ...]) -> str:
    """What to do with points that have axes of readouts and samples, as SigPy's have."""
    if len(shape) < 3 or not 1 <= shape[-1] <= 3:
        return ""
    return f"; use {what}.reshape(-1, {shape[-1]}), and one axis for their values, too"


def geometry(array: Any, what: str, dtype: Any, columns: Sequence[int] | None = None) -> np.ndarray[Any, Any]:
    """A contiguous NumPy array of real numbers that are all finite; [n][columns] if columns are given."""
    found = host_array(array, what)
    if found.dtype.kind not in "fiu":
        raise TypeError(f"{what} must be real numbers, not {found.dtype}")
    if columns is not None and (found.ndim != 2 or found.shape[1] not in columns):
        wanted = " or ".join(str(n) for n in columns)
        raise ValueError(f"{what} must have the shape (n, {wanted}), not {found.shape}{flat_hint(what, found.shape)}")
    found = np.ascontiguousarray(found, dtype)
    if not np.isfinite(found).all():
        raise ValueError(f"{what} has values that are NaN or infinite")
    return found


def vector(array: Any, what: str, dtype: np.dtype[Any]) -> View:
    """A view of complex vectors of this type; real and less precise ones are converted, as are lists; more precise ones are refused."""
    has_type = not isinstance(array, (list, tuple, int, float, complex))
    if type(array) is not np.ndarray:
        array = plain(array)
        interface = cuda_interface(array)
        if interface is not None:
            view = cuda_view(array, interface, what)
            if view.dtype != dtype:
                raise TypeError(f"{what} is {view.dtype}; on a GPU it must be {dtype}")
            return view
        source, kind = array, kind_of(array)
        array = host_array(array, what)
    else:
        source, kind = array, "numpy"
    if array.dtype != dtype or not array.flags.c_contiguous:
        if array.dtype.kind not in "bfiuc":
            raise TypeError(f"{what} must be numbers, not {array.dtype}")
        if array.dtype.kind in "fc" and has_type and not np.can_cast(array.dtype, dtype, "safe"):
            ways = "make the plan with dtype='complex128', or " if array.dtype.itemsize <= 16 and array.dtype.name != "float128" and \
                dtype == np.complex64 else ""
            raise TypeError(f"{what} is {array.dtype}, and the plan {dtype}: {ways}convert {what}")
        array = np.asarray(array, dtype, order="C")
    return View(ffi.from_buffer(array), array.shape, array.dtype, array, kind, source=source)


def output(out: Any, shape: tuple[int, ...], dtype: np.dtype[Any], like: View) -> tuple[View, Any]:
    """The view of a result, and the array for it: `out` if it is given, else a new one. `finished` makes it one of the kind of `like`."""
    if out is not None:
        return _given(out, shape, dtype, like), out
    if like.cuda is not None:
        made = _new_on_cuda(like, shape, dtype)
        interface = cuda_interface(made)
        assert interface is not None
        return cuda_view(made, interface, "the result"), made
    array = np.empty(shape, dtype)
    return View(ffi.from_buffer(array), shape, dtype, array, like.kind), array


def finished(array: Any, out: Any, like: View) -> Any:
    """What to return when the values are there: JAX copies them."""
    return array if out is not None or like.cuda is not None else same_kind(array, like)


def _given(out: Any, shape: tuple[int, ...], dtype: np.dtype[Any], like: View) -> View:
    interface = cuda_interface(out) if type(out) is not np.ndarray else None
    if (interface is not None) != (like.cuda is not None):
        raise TypeError("out must be where the input is: both in host memory, or both on the same GPU")
    if interface is not None:
        view = cuda_view(out, interface, "out", writable=True)
        if view.cuda != like.cuda:
            raise ValueError(f"out is on cuda:{view.cuda}, and the input on cuda:{like.cuda}")
        start, source = int(ffi.cast("uintptr_t", view.pointer)), int(ffi.cast("uintptr_t", like.pointer))
        sizes = [int(np.prod(v.shape)) * v.dtype.itemsize for v in (view, like)]
        overlap = start < source + sizes[1] and source < start + sizes[0]
    else:
        array = host_array(out, "out")
        if not isinstance(out, np.ndarray) and kind_of(out) != "torch":
            raise TypeError(f"out must be an array of NumPy or PyTorch, or one on a GPU, not {type(out).__name__}")
        if not array.flags.writeable:
            raise ValueError("out is read-only")
        if not array.flags.c_contiguous:
            raise ValueError("out must be in C order without gaps")
        view = View(ffi.from_buffer(array), array.shape, array.dtype, array, "out")
        overlap = np.may_share_memory(array, like.owner)
    if view.shape != shape or view.dtype != dtype:
        raise ValueError(f"out must be {dtype} of shape {shape}, not {view.dtype} of shape {view.shape}")
    if overlap:
        raise ValueError("out overlaps the input")
    return view


def _new_on_cuda(like: View, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    if like.kind == "torch":
        torch = sys.modules["torch"]
        return torch.empty(shape, dtype=getattr(torch, dtype.name), device=like.source.device)
    if "cupy" in sys.modules:
        cupy = sys.modules["cupy"]
        with cupy.cuda.Device(like.cuda):
            return cupy.empty(shape, dtype)
    raise TypeError(f"a result in the memory of a GPU can be made by PyTorch or CuPy, and the input is of {like.kind}; "
                    "give the result's array as out=")


def of_kind(array: np.ndarray[Any, Any], source: Any) -> Any:
    """The array as one of the kind of `source`, in host memory."""
    return same_kind(array, View(None, (), array.dtype, None, kind_of(source), source=source))


def same_kind(array: np.ndarray[Any, Any], like: View) -> Any:
    """The array as one of the library that `like` came from, without a copy where that library can."""
    if like.kind == "torch":
        return sys.modules["torch"].from_numpy(array)
    if like.kind == "jax":
        places = like.source.devices()
        return sys.modules["jax"].device_put(array, next(iter(places)) if len(places) == 1 else None)
    return array
