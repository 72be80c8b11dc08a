"""What the tests of the Python package share: they run all functions test_* of a file, or those that are named.

usage: test_python_....py [test_name ...]      with the package's folder in PYTHONPATH

A test raises Skip if it cannot run; one that lacks a part calls skip_part.
"""
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from seeds import generator  # noqa: E402, F401


class Skip(Exception):
    pass


def skip_part(reason):
    print(f"    SKIP: {reason}", flush=True)


try:
    import numpy
except ImportError as error:
    print(f"SKIP: {error}")
    sys.exit(77)
try:
    import voxfield  # noqa: F401
except ModuleNotFoundError as error:
    # A package that is there but does not load has failed.
    print(f"SKIP: {error} (the Python package was not built: packages python3-dev, python3-cffi)")
    sys.exit(77)


def module(name):
    """An optional module; Skip if it is missing."""
    try:
        return __import__(name)
    except ImportError as error:
        raise Skip(f"No module named {name}") from error


def refuses(kind, words, function, *arguments, **named):
    """Expects an exception of this kind whose text has these words."""
    try:
        function(*arguments, **named)
    except kind as error:
        assert words in str(error), f"'{error}' does not say '{words}'"
        return error
    raise AssertionError(f"not refused: {words}")


def off(value, truth):
    """The error relative in the l2 norm; NaN is larger than any bound."""
    value, truth = numpy.asarray(value), numpy.asarray(truth)
    assert value.shape == truth.shape, (value.shape, truth.shape)
    error = float(numpy.linalg.norm((value - truth).ravel()) / numpy.linalg.norm(truth.ravel()))
    return error if error == error else float("inf")


def main(tests):
    wanted = sys.argv[1:] or [name for name in tests if name.startswith("test_")]
    skipped = failed = 0
    for name in wanted:
        start = time.perf_counter()
        try:
            tests[name]()
            print(f"{name}: {time.perf_counter() - start:.2f} s", flush=True)
        except Skip as reason:
            skipped += 1
            print(f"{name} SKIP: {reason}", flush=True)
        except Exception:  # noqa: BLE001 - the others run, too
            import traceback

            failed += 1
            print(f"{name} FAILED", flush=True)
            traceback.print_exc()
    sys.exit(1 if failed else 77 if skipped == len(wanted) else 0)
