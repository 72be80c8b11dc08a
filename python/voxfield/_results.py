"""Calls of the programs: options by name, listeners, results."""
from __future__ import annotations

import os
import warnings
from typing import Any, Callable, Iterable, Mapping

import numpy as np

from . import _arrays
from ._binding import ffi, lib
from ._session import Error, IncompleteError, Session, text_of

Progress = Callable[[str, float], Any]
Log = Callable[[str], Any]

_TYPES = {"float32": "f4", "float64": "f8", "complex64": "c8", "complex128": "c16", "int32": "i4", "int64": "i8", "uint8": "u1"}


class ProgramWarning(UserWarning):
    """What a program warns of."""


class Result:
    """The arrays and texts that a call made, by name; copies, so that they stay."""

    def __init__(self, pointer: Any) -> None:
        self.arrays: dict[str, np.ndarray[Any, Any]] = {}
        self.texts: dict[str, str] = {}
        self.pointer = ffi.gc(pointer, lib.binding_result_free)
        for i in range(lib.binding_result_count(pointer)):
            name = text_of(lib.binding_result_name(pointer, i))
            view = lib.binding_result_array(pointer, name.encode())
            if view.data == ffi.NULL:
                self.texts[name] = text_of(lib.binding_result_text(pointer, name.encode()))
                continue
            dtype = np.dtype(text_of(view.type))
            shape = tuple(view.dims[0: view.rank])
            size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
            self.arrays[name] = np.frombuffer(ffi.buffer(view.data, size), dtype).reshape(shape).copy() if size else np.zeros(shape, dtype)


def no_zeros(text: bytes, what: str) -> bytes:
    """A text for C, which would end at a zero byte."""
    if b"\0" in text:
        raise ValueError(f"{what} {text!r} has a zero byte")
    return text


def path_bytes(path: Any) -> bytes:
    """The name of a file as the system has it; bytes and names that are not UTF-8, too."""
    return no_zeros(os.fsencode(path), "the path")


_REPEATED = {"place", "select", "minus", "solvent_map"}


def _value(name: str, value: Any) -> bytes:
    return no_zeros(os.fsencode(value) if isinstance(value, (str, os.PathLike)) else str(value).encode(), f"the option {name}")


def options_of(options: Mapping[str, Any]) -> list[bytes | None]:
    """Names and values in turn. Underscores are hyphens; True is a flag; None and False leave an option out; sequences are joined by
    commas; those of options that may be repeated repeat them."""
    words: list[bytes | None] = []
    for name, value in options.items():
        if value is None or value is False:
            continue
        if name in _REPEATED and not isinstance(value, str) and isinstance(value, Iterable):
            for each in value:
                words += [name.replace("_", "-").encode(), _value(name, each)]
            continue
        words.append(name.replace("_", "-").encode())
        if value is True:
            words.append(None)
        elif isinstance(value, str) or not isinstance(value, Iterable):
            words.append(_value(name, value))
        else:
            words.append(_value(name, ",".join(str(v) for v in value)))
    return words


def arrays_of(arrays: Mapping[str, Any]) -> tuple[Any, list[Any]]:
    """The binding's arrays, and what they point to."""
    found: list[Any] = []
    kept: list[Any] = []
    for name, given in arrays.items():
        if given is None:
            continue
        array = _arrays.host_array(given, name)
        if array.dtype.name not in _TYPES:
            if array.dtype.kind not in "biuf":
                raise TypeError(f"{name} must be numbers, not {array.dtype}")
            array = array.astype(np.float32 if array.dtype.kind != "i" else np.int64)
        array = _arrays.native(array)
        if array.ndim > 8:
            raise ValueError(f"{name} has {array.ndim} axes")
        texts = [ffi.new("char[]", name.encode()), ffi.new("char[]", _TYPES[array.dtype.name].encode())]
        memory = ffi.from_buffer(array)
        kept += [array, memory, *texts]
        found.append({"name": texts[0], "type": texts[1], "data": memory, "rank": array.ndim,
                      "dims": list(array.shape) + [0] * (8 - array.ndim)})
    return ffi.new("binding_array[]", found), kept


class Listener:
    """Hears of a call. What a callback raises stops the call, and is raised by it."""

    def __init__(self, session: Session, progress: Progress | None, log: Log | None) -> None:
        self.session, self.progress, self.log = session, progress, log
        self.warnings: list[str] = []
        self.raised: BaseException | None = None
        self._handle = ffi.new_handle(self)
        self.pointer = ffi.new("binding_listener *", {"log": lib.python_log, "user": self._handle,
                                                      "progress": lib.python_progress if progress else ffi.NULL})

    def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Runs a callback."""
        if self.raised is not None:
            return
        try:
            if function(*arguments) is False:
                lib.binding_cancel(self.session.pointer)
        except BaseException as error:  # KeyboardInterrupt, too
            self.raised = error
            lib.binding_cancel(self.session.pointer)


@ffi.def_extern()  # type: ignore[untyped-decorator]
def python_log(user: Any, level: int, text: Any) -> None:
    """A note or a warning of a call."""
    listener: Listener = ffi.from_handle(user)
    if level:
        listener.warnings.append(text_of(text))
    if listener.log is not None:
        listener.run(listener.log, ("warning: " if level else "") + text_of(text))


@ffi.def_extern()  # type: ignore[untyped-decorator]
def python_progress(user: Any, stage: Any, share: float) -> None:
    """The progress of a call."""
    listener: Listener = ffi.from_handle(user)
    if listener.progress is not None:
        listener.run(listener.progress, text_of(stage), share)


def call(function: Any, options: Mapping[str, Any], *arguments: Any, progress: Progress | None = None, log: Log | None = None,
         stacklevel: int = 3) -> tuple[Result, list[str]]:
    """Calls a program's function with a session of its own; returns its result and its warnings."""
    words = options_of(options)
    texts = [ffi.NULL if word is None else ffi.new("char[]", word) for word in words]
    listed = ffi.new("char *[]", texts + [ffi.NULL])
    out = ffi.new("vf_result **")
    session = Session(None)
    listener = Listener(session, progress, log)
    try:
        session.call(function, listener.pointer, *arguments, len(words) // 2, listed, out)
    except Error as error:
        if out[0] != ffi.NULL:
            found = Result(out[0])
            if isinstance(error, IncompleteError):
                error.result = found
        if listener.raised is not None:
            raise listener.raised from None
        raise
    finally:
        session.close()
    if listener.raised is not None:
        raise listener.raised
    for text in listener.warnings:
        warnings.warn(text, ProgramWarning, stacklevel=stacklevel)
    return Result(out[0]), listener.warnings
