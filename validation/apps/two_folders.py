"""Shared by the tests of runs in parts: a run in folder `one`, its double in folder `two`, and runs that are stopped."""
import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import time

import program

os.environ["SOURCE_DATE_EPOCH"] = "1700000000"  # the time in the files


@contextlib.contextmanager
def inside(folder):
    before = os.getcwd()
    os.chdir(folder)
    yield
    os.chdir(before)


def two_folders(*names):
    """Both with the input: a file's header has the command, so a run and its double have the same names."""
    for folder in ("one", "two"):
        shutil.rmtree(folder, ignore_errors=True)
        os.mkdir(folder)
        for name in names:
            shutil.copy(name, folder)


def parts_in(folder):
    return {name for name in os.listdir(folder) if re.search(r"\.part-\d+-of-\d+$|\.pieces(-\d+|-map)?$", name)}


def assert_same(what, where=""):
    """Both folders have the same files, apart from parts."""
    one, two = ({path.name: path.read_bytes() for path in pathlib.Path(where + folder).iterdir()
                 if path.name not in parts_in(where + folder)} for folder in ("one", "two"))
    assert one.keys() == two.keys() != set(), f"{what}: {sorted(one)}, {sorted(two)}"
    for name, a in one.items():
        if a != two[name]:
            at = len(os.path.commonprefix([a, two[name]]))
            raise AssertionError(f"{what}: {name} of {len(a)} and {len(two[name])} bytes: they differ from byte {at}")


def size_of(name):
    with contextlib.suppress(FileNotFoundError):
        return os.path.getsize(name)
    return 0


def stopped(number, when, *arguments, slow=0):
    """A run that gets a signal as soon as `when`, of the seconds that it has run, says so. `slow`: how many milliseconds longer
    it takes to write a piece."""
    quiet, pipe = subprocess.DEVNULL, subprocess.PIPE
    with subprocess.Popen(program.command(*arguments), stdin=quiet, stdout=pipe, stderr=pipe,
                          env=program.slow(slow) if slow else None) as process:
        began = time.monotonic()
        while process.poll() is None and not when(time.monotonic() - began):
            time.sleep(0.001)
        process.send_signal(number)  # nothing if it has ended
        return program.Done(process, *process.communicate(timeout=300))
