"""Scans made by mri_phantom, and images made by mri_recon. VOXFIELD_PHANTOM names mri_phantom."""
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile

import program
from program import Skip

try:
    import h5py
    import numpy
except ImportError:
    h5py = numpy = None

PHANTOM = os.environ.get("VOXFIELD_PHANTOM") or sys.exit("VOXFIELD_PHANTOM is not set")


def need_h5py():
    if h5py is None:
        raise Skip("no h5py")


def skip_without_h5py():
    """Ends a program all of whose tests need h5py and numpy."""
    if h5py is None:
        print("SKIP: no h5py")
        sys.exit(77)


MADE = tempfile.TemporaryDirectory(prefix="scans-")  # the same arguments make the same bytes, so once is enough


def phantom(path, *arguments):
    words = [os.path.splitext(path)[1], *map(str, arguments)]
    made = os.path.join(MADE.name, hashlib.sha256(repr(words).encode()).hexdigest() + words[0])
    if not os.path.exists(made):
        subprocess.run([PHANTOM, "-q", "-o", made, *words[1:]], check=True, stdin=subprocess.DEVNULL)
    shutil.copyfile(made, path)
    return path


def image(path):
    need_h5py()
    with h5py.File(path) as file:
        return file["image"][...]


def relative(a, b):
    value = numpy.linalg.norm(a - b) / numpy.linalg.norm(b)
    assert numpy.isfinite(value)
    return value


# Runs a command and prints its peak memory in KiB. This is a separate process, because a child's peak is at least
# the memory of the process that started it.
MEASURE = """import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"""


def peak(*arguments):
    """The plan's estimate and the peak of the process's memory in bytes, with two threads."""
    said = subprocess.run([sys.executable, "-c", MEASURE, *program.command(*arguments, "-o", "i.h5", "--threads", 2)], check=True,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout
    number, unit = said.split("about ")[1].split(" of memory")[0].split()
    return float(number) * {"KiB": 2 ** 10, "MiB": 2 ** 20, "GiB": 2 ** 30}[unit], 1024 * int(said.split()[-1])


def run_tests(names):
    """program.main with a scan that shows whether the device exists."""
    with tempfile.TemporaryDirectory() as folder:
        probe = phantom(os.path.join(folder, "probe.h5"), "--matrix", "8,8,1")
        program.main(names, probe=(probe, "--dry-run"))
