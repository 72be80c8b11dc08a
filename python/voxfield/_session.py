"""Sessions: a context of the C library with one device and a queue on it; errors; what happens after fork."""
from __future__ import annotations

import operator
import os
import sys
import threading
import warnings
from typing import Any

from ._binding import ffi, lib

__all__ = ["Error", "DeviceError", "OutOfMemoryError", "InputError", "OutputError", "UnsupportedError", "IncompleteError",
           "Interrupted", "PrecisionWarning", "Session", "devices"]


class Error(Exception):
    """An error of the library. `status` is its name in C, such as "VF_ERR_DEVICE"."""

    status = "VF_ERR_INTERNAL"


class ArgumentError(Error, ValueError):
    """An argument that the library refuses: out of range, NaN, or contradictory. Also a ValueError."""


class InputError(Error, OSError):
    """Input that is missing, unreadable or invalid. Also an OSError."""


class OutputError(Error, OSError):
    """Output that cannot be written. Also an OSError."""


class OutOfMemoryError(Error, MemoryError):
    """Not enough memory of the host or of a GPU. Also a MemoryError."""


class DeviceError(Error):
    """A device that is missing or has failed."""


class UnsupportedError(Error, NotImplementedError):
    """Something that this build, device or method does not support. Also a NotImplementedError."""


class IncompleteError(Error):
    """Only a part of the request was possible; `result` is that part."""

    result: Any = None


class Interrupted(Error):
    """The call was stopped by SIGINT, and the program's own handler raised nothing. (Python's handler raises KeyboardInterrupt.)"""


class PrecisionWarning(UserWarning):
    """An accuracy was asked for that the input does not have."""


_CLASSES = {
    "VF_ERR_ARGUMENT": ArgumentError,
    "VF_ERR_INPUT": InputError,
    "VF_ERR_OUTPUT": OutputError,
    "VF_ERR_MEMORY": OutOfMemoryError,
    "VF_ERR_DEVICE": DeviceError,
    "VF_ERR_DEVICE_MEMORY": OutOfMemoryError,
    "VF_ERR_UNSUPPORTED": UnsupportedError,
    "VF_ERR_INCOMPLETE": IncompleteError,
    "VF_ERR_CANCELLED": Interrupted,
}


def text_of(pointer: Any) -> str:
    """A C string; "" for NULL."""
    return "" if pointer == ffi.NULL else bytes(ffi.string(pointer)).decode(errors="replace")


def error_of(status: int, message: str) -> Error:
    """The exception of a status."""
    name = text_of(lib.binding_status_name(status))
    error = _CLASSES.get(name, Error)(message)
    error.status = name
    return error


_MOST_THREADS = 4096
_used = False
_forked = False


def _after_fork() -> None:
    global _forked
    _forked = _used


os.register_at_fork(after_in_child=_after_fork)


def check_process() -> None:
    """Refuses work in a child of fork, whose threads are missing."""
    global _used
    if _forked:
        raise Error("this process was forked from one that had used voxfield, so the threads that compute are missing here; "
                    "start workers with multiprocessing.get_context('spawn') or 'forkserver', or use voxfield only in the workers")
    _used = True


class Session:
    """A context with one device. Calls of one session exclude each other by its lock."""

    def __init__(self, device: str | None = "cpu", threads: int = 0) -> None:
        check_process()
        if device is not None and not isinstance(device, str):
            raise TypeError(f"device must be a text such as 'cpu' or 'cuda:0', not {type(device).__name__}")
        self.pointer: Any = None
        self.lock = threading.RLock()
        self.key = (device or "", threads)  # None: of programs, which choose devices themselves
        out = ffi.new("binding_session **")
        message = ffi.new("char[1024]")
        status = lib.binding_open(ffi.NULL if device is None else device.encode(), self.key[1], out, message)
        if status:
            raise error_of(status, text_of(message))
        self.pointer = out[0]

    @property
    def name(self) -> str:
        """The device's name and what it has."""
        return text_of(lib.binding_device_name(self.pointer))

    def call(self, function: Any, *arguments: Any) -> None:
        """Calls a function of the binding, and raises its error."""
        check_process()
        with self.lock:
            status = function(self.pointer, *arguments)
            if status:
                raise error_of(status, text_of(lib.binding_message(self.pointer)))

    def close(self) -> None:
        """Frees the session; everything made in it must be freed."""
        if self.pointer is not None and not _forked:
            lib.binding_close(self.pointer)
        self.pointer = None


_idle: dict[tuple[str, int], list[Session]] = {}
_idle_lock = threading.Lock()


def take(device: str, threads: int | None) -> Session:
    """A session of this device: an idle one, or a new one. Give it back by `give`."""
    check_process()
    count = 0 if threads is None else operator.index(threads)
    if not 0 <= count <= _MOST_THREADS:
        raise ValueError(f"threads must be between 0 (one per core) and {_MOST_THREADS}, not {threads}")
    with _idle_lock:
        found = _idle.get((device, count))
        if found:
            return found.pop()
    return Session(device, count)


def give(session: Session) -> None:
    """Keeps a session for the next one who wants such a one; at most four of a kind."""
    if _forked:
        return
    with _idle_lock:
        kept = _idle.setdefault(session.key, [])
        if len(kept) < 4:
            kept.append(session)
            return
    session.close()


def devices() -> list[tuple[str, str]]:
    """The devices of this machine that this build can use, as (name for `device=`, description). A GPU may be there twice, by CUDA and
    by OpenCL.

    >>> import voxfield
    >>> voxfield.devices()[0][0]
    'cpu'
    """
    found = []
    for kind, most in (("cpu", 1), ("cuda:{}", 64), ("opencl:{}", 64)):
        for name in map(kind.format, range(most)):
            try:
                session = take(name, None)
            except (DeviceError, UnsupportedError):
                break
            found.append((name, session.name))
            give(session)
    return found


def warn(text: str, category: type[Warning]) -> None:
    """A warning at the line of the user's code."""
    level, frame = 1, sys._getframe()
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == "voxfield":
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)


def warn_precision(text: str) -> None:
    warn(text, PrecisionWarning)
