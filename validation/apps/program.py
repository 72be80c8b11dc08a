"""Shared by the tests of the command line: running a program, cionize's maps, and an independent Coulomb sum.

A test file ends with `program.main(globals())`, which runs its functions test_*. Each gets an empty folder
(pathlib.Path, if it takes an argument), which is also the current directory, and raises AssertionError or Skip.
Call: `python3 test_x.py PROGRAM [DEVICE] [test_name ...]`; DEVICE is cpu (default), cuda or opencl. The last line counts what
passed, failed and was skipped, with the reasons. Exit status 0, 1 if a test failed, 77 if none could run.
"""
import collections
import math
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
DATA = HERE.parent.parent / "data"
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "peers")]
sys.dont_write_bytecode = True
import read_map  # noqa: E402  (strict readers of the formats)
import seeds  # noqa: E402

PROGRAM = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else sys.exit(__doc__)
NAME = os.path.basename(PROGRAM)
DEVICE = sys.argv[2] if sys.argv[2:3] in (["cpu"], ["cuda"], ["opencl"]) else "cpu"


# A shell without job control starts what it runs in the background with SIGINT ignored, and nohup so with SIGHUP. Programs
# under test would inherit that.
for _number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM):
    if signal.getsignal(_number) == signal.SIG_IGN:
        signal.signal(_number, signal.default_int_handler if _number == signal.SIGINT else signal.SIG_DFL)


class Skip(Exception):
    pass


SKIPPED = collections.Counter()  # reasons


def skip_part(reason):
    """Counts and prints that a part of a test cannot run; the test goes on without it."""
    SKIPPED[reason] += 1
    print(f"    SKIP: {reason}", flush=True)


class Done:
    """The result of a run of the program: exit status, and its output as text."""

    def __init__(self, process, out, err):
        self.status = process.returncode
        self.out = out.decode("utf-8", "replace")
        self.err = err.decode("utf-8", "replace")


def command(*arguments):
    return [PROGRAM, "--device", DEVICE, *map(str, arguments)]


def run(*arguments, prefix=(), timeout=300, **popen):
    """Runs the program on the device under test; captures stdout and stderr."""
    popen = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **popen}
    process = subprocess.Popen([*prefix, *command(*arguments)], **popen)
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise AssertionError(f"still running after {timeout} s: {arguments}") from None
    return Done(process, out or b"", err or b"")


def make(*arguments, **options):
    """Runs the program and requires success, with only warnings on stderr."""
    done = run(*arguments, **options)
    assert done.status == 0, f"{arguments}: exit {done.status}: {done.err}"
    assert all(line.startswith(f"{NAME}: warning: ") for line in done.err.splitlines()), f"{arguments}: {done.err}"
    return done


def slow(milliseconds):
    """An environment in which each pwrite() of a program takes longer: for runs that a test stops in the middle. (The address
    sanitizer wants to be the first library.)"""
    return {**os.environ, "LD_PRELOAD": os.environ["VOXFIELD_SLOW_PWRITE_LIBRARY"], "VOXFIELD_SLOW_PWRITE": str(milliseconds),
            "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}


def on_a_terminal(*arguments):
    """Returns what a terminal would receive, as one text."""
    master, slave = os.openpty()
    process = subprocess.Popen(command(*arguments), stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    shown = b""
    try:
        while piece := os.read(master, 65536):
            shown += piece
    except OSError:  # Linux reports a closed other end like this
        pass
    os.close(master)
    assert process.wait(timeout=300) == 0, shown
    return shown.decode()


def refuse(status, words, *arguments, **options):
    """Runs the program and requires the exit status `status`, one line of error that contains all the words, and an
    unchanged folder."""
    before = listing()
    done = run(*arguments, **options)
    what = f"{arguments}: exit {done.status}: {done.err!r}"
    assert done.status == status, f"{what}, expected exit {status}"
    lines = done.err.splitlines()
    assert lines and lines[-1].startswith(f"{NAME}: error: "), what
    assert sum("error:" in line for line in lines) == 1, what
    for word in [words] if isinstance(words, str) else words:
        assert word in done.err, f"{what}, expected '{word}'"
    after = listing()
    changed = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
    assert not changed, f"{what}, and it changed {changed}"
    return done


def listing(folder="."):
    """Every file under a folder with its contents (or its kind, if it is not a regular file)."""
    found = {}
    for path in sorted(pathlib.Path(folder).rglob("*")):
        state = path.lstat()
        found[str(path)] = (state.st_mode, path.read_bytes() if path.is_file() and os.access(path, os.R_OK) else None)
    return found


def as_nobody():
    """Returns a command prefix that makes permissions apply in the current folder, even if root runs the tests."""
    if os.geteuid() != 0:
        return []
    if not shutil.which("setpriv"):
        raise Skip("root ignores file permissions, and setpriv is missing")
    prefix = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    os.chown(".", 65534, 65534)
    if subprocess.run([*prefix, PROGRAM, "--version"], capture_output=True, check=False).returncode != 0:
        raise Skip("root ignores file permissions, and other users cannot run the program in its folder")
    return prefix


def shows_gpu():
    """Whether the system shows an NVIDIA GPU, usable or not, by the same signs that the programs check."""
    return any(map(os.path.exists, ("/dev/nvidiactl", "/proc/driver/nvidia", "/dev/dxg", "/dev/nvhost-gpu", "/dev/nvgpu")))


def is_sanitized():
    """Built with a sanitizer, which uses all of the address space."""
    content = pathlib.Path(PROGRAM).read_bytes()
    return b"__asan_init" in content or b"__tsan_init" in content


# ---- molecules ----


def sample(name):
    """Copies a molecule of data/ into the current folder."""
    shutil.copy(DATA / name, name)
    return name


def read_atoms(path):
    """(x, y, z, charge) of every atom of a PQR file with blanks between its fields."""
    with open(path, encoding="ascii") as stream:
        rows = [line.split() for line in stream if line.startswith(("ATOM", "HETATM"))]
    return [tuple(float(v) for v in row[-5:-1]) for row in rows]


def write_atoms(path, atoms):
    """Writes numbers with at most six decimals."""
    with open(path, "w", encoding="ascii") as stream:
        for n, (x, y, z, q) in enumerate(atoms, 1):
            stream.write(f"ATOM {n} X UNK {n} {x:.6f} {y:.6f} {z:.6f} {q:.6f} 1.0\n")
    return path


# ---- maps ----


def read(path):
    """A map, read by validation/peers, which share no code with the program: values with x fastest."""
    kind = read_map.kind_of(str(path))
    if kind == "h5":
        return read_h5(path)
    return {"dx": read_map.own_dx, "dx.gz": read_map.own_dx_gz, "mrc": read_map.own_mrc, "cube": read_map.own_cube}[kind](
        str(path), None)


def read_h5(path):
    """Reads by h5dump: geometry from the attributes, values from its binary output. Where there is none, by h5py."""
    if not shutil.which("h5dump"):
        try:
            import h5py
        except ImportError:
            raise Skip("no h5dump, no h5py") from None
        with h5py.File(path, "r") as file:
            data = file["potential"]
            geometry = [[float(v) for v in data.attrs[name]] for name in ("counts", "origin", "spacing")]
            return read_map.Map(*geometry, data[()].ravel().tolist())
    geometry = []
    for name in ("counts", "origin", "spacing"):
        text = subprocess.run(["h5dump", "-m", "%.17g", "-y", "-a", f"/potential/{name}", str(path)], check=True,
                              capture_output=True, text=True).stdout
        geometry.append([float(v) for v in text.split("DATA {")[1].split("}")[0].replace(",", " ").split()])
    try:
        return read_map.h5dump(str(path), read_map.Map(*geometry, []))
    except read_map.Skip as skip:
        raise Skip(str(skip)) from None


def bits(path):
    """The values of a single-precision map as stored; every format except cube keeps all bits."""
    return struct.pack(f"<{len(read(path).values)}f", *read(path).values)


def value(grid, i, j, k):
    nx, ny, _ = grid.counts
    return grid.values[(k * ny + j) * nx + i]


def position(grid, n):
    nx, ny, _ = grid.counts
    index = (n % nx, n // nx % ny, n // nx // ny)
    return tuple(grid.origin[a] + index[a] * grid.spacing[a] for a in range(3))


# ---- the physics, in double precision ----

# CODATA 2022 (h, c, e, k, N_A are exact). Here 1 / (4 pi eps0) follows from the fine-structure constant, as alpha hbar
# c / e^2.
ALPHA, PLANCK, LIGHT, CHARGE = 7.2973525643e-3, 6.62607015e-34, 299792458.0, 1.602176634e-19
BOLTZMANN, AVOGADRO = 1.380649e-23, 6.02214076e23


def unit_constant(unit, temperature=298.15):
    """C in V = C sum q / r, for charges in e and lengths in angstrom."""
    volt = ALPHA * PLANCK / (2 * math.pi) * LIGHT / CHARGE / 1e-10
    return {"e/A": 1.0, "V": volt, "kcal/mol/e": volt * CHARGE * AVOGADRO / 4184,
            "kT/e": volt * CHARGE / (BOLTZMANN * temperature)}[unit]


class Sum:
    """sum q / r at a point (power 2: q / r^2), and the sums for its error: S1 = sum |q| / r, S2 = sum |dV/dr|."""

    def __init__(self, atoms, point, r_min=0.1, power=1):
        terms, slopes = [], []
        for x, y, z, q in atoms:
            r = max(math.sqrt((x - point[0]) ** 2 + (y - point[1]) ** 2 + (z - point[2]) ** 2), r_min)
            terms.append(q / r ** power)
            slopes.append(power * abs(q) / r ** (power + 1))
        self.atoms = len(atoms)
        self.value = math.fsum(terms)
        self.s1 = power * math.fsum(map(abs, terms))
        self.s2 = math.fsum(slopes)

    def bound(self, spacing, double=False):
        """The error bound of the program's sum, derived at the head of unit/kernels/coulomb_sum/test_coulomb_sum.c: (n + 13.2) u S1 + 2
        P u S2, and 2^-50 S1 for the double sums of chunks. u is the unit roundoff; n the atoms in a chunk, at
        most 512 (GPU) or 256 (CPU); P the largest distance of a point from the centre of its block (32 points
        along each axis on a GPU, fewer on the CPU). 1e-9 of S1 is added for the constant, which this file
        computes from CODATA in another way."""
        u = 2.0 ** (-53 if double else -24)
        half = math.sqrt(sum((16.5 * h) ** 2 for h in spacing))
        return (1.01 * ((min(self.atoms, 512) + 13.2) * u + 2.0 ** -50) * self.s1 + 1.01 * 2 * half * u * self.s2
                + 1e-9 * abs(self.value))


# The rounding of a value's text: half a unit of the last digit.
DIGITS = {"dx": 0.5e-8, "dx.gz": 0.5e-8, "mrc": 0, "ccp4": 0, "cube": 0.5e-5, "h5": 0}


def compare(path, atoms, scale=1.0, points=None, double=False, text=0.0, r_min=0.1, power=1):
    """Compares every point of a map (or every n-th) with the sum times `scale`, within the bound and `text` of the
    value. Returns the root mean square of the errors relative to S1."""
    grid = read(path)
    total = len(grid.values)
    squares = []
    for n in range(0, total, max(total // points, 1) if points else 1):
        truth = Sum(atoms, position(grid, n), r_min, power)
        error = abs(grid.values[n] - scale * truth.value)
        allowed = abs(scale) * truth.bound(grid.spacing, double) * (1 + text) + text * abs(scale * truth.value)
        assert error <= allowed, (f"{path}: point {n} at {position(grid, n)}: {grid.values[n]!r}, expected "
                                  f"{scale * truth.value!r}: off by {error:.3g}, allowed {allowed:.3g}")
        squares.append((error / (abs(scale) * truth.s1)) ** 2)
    return math.sqrt(math.fsum(squares) / len(squares))


# ---- running the tests of a file ----


def part_of(tests):
    """All tests, or with VOXFIELD_TEST_PART=K/N the K-th, K+N-th and so on, at least one: for builds in which programs are
    slow, such as with sanitizers."""
    part, parts = map(int, (os.environ.get("VOXFIELD_TEST_PART") or "1/1").split("/"))
    chosen = tests[part - 1::parts] or [tests[part % len(tests)]]
    if parts > 1:
        print(f"part {part} of {parts}: {len(chosen)} of {len(tests)} tests", flush=True)
    return chosen


def main(names, probe=(DATA / "dipole.pqr", "--dry-run")):
    """`probe`: arguments of a run that shows whether the device exists."""
    chosen = [word for word in sys.argv[2:] if word.startswith("test_")]
    tests = [(name, test) for name, test in names.items() if name.startswith("test_") and (not chosen or name in chosen)]
    if unknown := set(chosen) - {name for name, _ in tests}:
        sys.exit(f"no such test: {' '.join(sorted(unknown))}")
    if not tests:
        sys.exit("no tests")
    if not chosen:
        tests = part_of(tests)
    failed = passed = 0
    if DEVICE != "cpu" and run("--version").status == 0:
        done = run(*probe)
        if done.status in (6, 8):
            print("SKIP: " + done.err.strip())
            sys.exit(77)
    for name, test in tests:
        began, busy = time.monotonic(), sum(os.times()[:4])
        with tempfile.TemporaryDirectory(prefix=NAME + "-") as folder:
            os.chdir(folder)
            try:
                test(*[pathlib.Path(folder)][:test.__code__.co_argcount])
                word = "ok"
                passed += 1
            except Skip as skip:
                SKIPPED[str(skip)] += 1
                word = f"SKIP: {skip}"
            except Exception:
                word = "FAILED\n" + traceback.format_exc()
                failed += 1
            os.chdir("/")
        print(f"{name:40} {time.monotonic() - began:5.2f} s, processor {sum(os.times()[:4]) - busy:5.2f} s  {word}", flush=True)
    why = "".join(f"; {count} x {reason}" for reason, count in SKIPPED.most_common())
    print(f"{passed} passed, {failed} failed, {SKIPPED.total()} skipped{why}")
    sys.exit(1 if failed else 0 if passed else 77)
