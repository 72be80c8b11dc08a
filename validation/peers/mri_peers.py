"""Shared by the tests of mri_recon against other programs: running it, its input and output, comparison, and an
exact sum.

A test file is called as `python3 test_x.py PROGRAM [DEVICE] [test_name ...]` and ends with
`mri_peers.main(globals(), TOOLS)`, which runs its functions test_*, each in an empty folder. DEVICE is cpu
(default) or cuda. Exit status 0; 1 if a test failed; 77 if none could run because the other programs, numpy or
h5py are missing.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import traceback

sys.dont_write_bytecode = True


def find_modules():
    """Restarts in the first Python that has numpy and h5py: this one, those in VOXFIELD_PYTHON, /usr/bin/python3."""
    try:
        import h5py  # noqa: F401
        import numpy  # noqa: F401
        return
    except ImportError:
        pass
    for python in [*filter(None, os.environ.get("VOXFIELD_PYTHON", "").split(":")), "/usr/bin/python3"]:
        usable = shutil.which(python) and os.path.realpath(python) != os.path.realpath(sys.executable)
        if usable and subprocess.run([python, "-c", "import h5py, numpy"], capture_output=True, check=False).returncode == 0:
            os.execv(shutil.which(python), [python, *sys.argv])
    print("SKIP: no Python here has numpy and h5py")
    sys.exit(77)


find_modules()
import h5py  # noqa: E402
import numpy as np  # noqa: E402

PROGRAM = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else sys.exit(__doc__)
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # BART has threads of its own, with which OpenBLAS's may crash
LONGEST = 1800  # seconds that a program may run
DEVICE = sys.argv[2] if sys.argv[2:3] in (["cpu"], ["cuda"]) else "cpu"


class Skip(Exception):
    pass


# ---- running programs ----


def call(*command):
    """Runs another program, which must succeed."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=LONGEST, check=False)
    assert done.returncode == 0, f"{' '.join(map(str, command))}: exit {done.returncode}: {done.stderr or done.stdout}"
    return done.stdout


def recon(*arguments):
    """Runs mri_recon on the device under test, which must succeed; returns its output."""
    done = subprocess.run([PROGRAM, *map(str, arguments), "--device", DEVICE], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=LONGEST, check=False)
    assert done.returncode == 0, f"mri_recon {' '.join(map(str, arguments))}: exit {done.returncode}: {done.stderr}"
    return done.stdout


def image(scan, *options):
    """The image that mri_recon makes of a file: complex [frame][z][y][x]."""
    out = f"{scan}.image.h5"
    recon(scan, "-o", out, *options)
    with h5py.File(out, "r") as file:
        return file["image"][...].astype(np.complex128)


# ---- comparison ----


def nrmse(found, truth):
    """|found - truth| / |truth| over all elements, after multiplying found by the best complex factor."""
    found, truth = np.ravel(found).astype(np.complex128), np.ravel(truth).astype(np.complex128)
    assert found.shape == truth.shape, f"{found.shape}, expected {truth.shape}"
    assert np.isfinite(found).all() and np.isfinite(truth).all() and np.vdot(found, found) > 0
    scale = np.vdot(found, truth) / np.vdot(found, found).real
    return float(np.linalg.norm(scale * found - truth) / np.linalg.norm(truth))


def bounded(what, value, bound):
    """Prints a value and its bound, and fails if it exceeds the bound or is NaN."""
    print(f"    {what}: {value:.2e} (at most {bound:.2g})", flush=True)
    assert value <= bound, f"{what}: {value:.3e}, allowed {bound:.2g}"


# ---- files ----


def write_scan(path, matrix, k, data, sensitivity=None, fov=(240.0, 240.0, 240.0)):
    """Writes a scan in the plain layout. matrix: x, y, z; k [sample][3] in cycles per field of view; data
    [coil][sample]; sensitivity [coil][z][y][x]."""
    with h5py.File(path, "w") as file:
        group = file.create_group("scan")
        group.attrs["matrix"] = np.array(matrix, np.int32)
        group.attrs["fov_mm"] = np.array(fov, np.float64)
        group["trajectory"] = np.asarray(k, np.float32)
        group["data"] = np.asarray(data, np.complex64)
        if sensitivity is not None:
            group["sensitivity"] = np.asarray(sensitivity, np.complex64)
    return path


# ---- the exact sums, in double precision ----


class Exact:
    """F, rho -> sum over n of rho_n exp(-i 2 pi k.r_n), with voxel n at (n - N/2)/N (N/2 rounded down), over images
    [z][y][x]. Also its adjoint, and F^H F: a convolution with Q(r) = sum over the samples of exp(i 2 pi k.r), so
    an FFT of twice the size computes it exactly. The exponential is a product over the axes, so a sum over all
    voxels costs a few small sums."""

    def __init__(self, matrix, k):
        self.k = np.asarray(k, np.float32).astype(np.float64)  # rounded as in files, so the sums have the same k
        self.matrix = matrix
        self.q = None

    def _sum(self, data, positions):
        x, y, z = (np.exp(2j * np.pi * np.outer(self.k[:, a], positions[a])) for a in range(3))
        return np.stack([(y * (data * z[:, n])[:, None]).T @ x for n in range(z.shape[1])])

    def adjoint(self, data):
        return self._sum(data, [(np.arange(n) - n // 2) / n for n in self.matrix])

    def normal(self, rho):
        if self.q is None:
            # Differences of positions 0, 1, ..., N - 1, -N, ..., -1 voxels, in the order of the transform.
            self.q = np.fft.fftn(self._sum(np.ones(len(self.k)), [np.fft.fftfreq(2 * n) * 2 for n in self.matrix]))
        shape = rho.shape
        out = np.fft.ifftn(self.q * np.fft.fftn(rho, self.q.shape))
        return out[:shape[0], :shape[1], :shape[2]]


def exact_cg(exact, maps, data, penalty, iterations):
    """The image that minimises sum_c |F s_c rho - d_c|^2 + penalty |rho|^2, by conjugate gradients in double
    precision."""
    residual = sum(np.conj(s) * exact.adjoint(d) for s, d in zip(maps, data))
    rho, p, size = np.zeros_like(residual), residual.copy(), np.vdot(residual, residual).real
    for _ in range(iterations):
        q = sum(np.conj(s) * exact.normal(s * p) for s in maps) + penalty * p
        step = size / np.vdot(p, q).real
        rho += step * p
        residual -= step * q
        size, before = np.vdot(residual, residual).real, size
        p = residual + size / before * p
    return rho


# ---- running the tests of a file ----


def skip_without_gpu():
    with tempfile.TemporaryDirectory() as folder:
        scan = write_scan(os.path.join(folder, "scan.h5"), (4, 4, 1), np.zeros((1, 3)), np.ones((1, 1)))
        done = subprocess.run([PROGRAM, scan, "-o", os.path.join(folder, "image.h5"), "--device", "cuda"],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LONGEST, check=False)
    if done.returncode in (6, 8):
        print("SKIP: " + done.stderr.strip())
        sys.exit(77)


def main(names, tools):
    missing = [tool for tool in tools if not shutil.which(tool)]
    if missing:
        print(f"SKIP: no {', '.join(missing)} here")
        sys.exit(77)
    chosen = [word for word in sys.argv[2:] if word.startswith("test_")]
    tests = [(name, test) for name, test in names.items() if name.startswith("test_") and (not chosen or name in chosen)]
    if not tests:
        sys.exit("no such test")
    if DEVICE == "cuda":
        skip_without_gpu()
    failed = passed = 0
    for name, test in tests:
        began = time.monotonic()
        print(name, flush=True)
        with tempfile.TemporaryDirectory(prefix="mri_recon-") as folder:
            os.chdir(folder)
            try:
                test(pathlib.Path(folder))
                word = "ok"
                passed += 1
            except Skip as skip:
                word = f"SKIP: {skip}"
            except Exception:
                word = "FAILED\n" + traceback.format_exc()
                failed += 1
            os.chdir("/")
        print(f"{name:40} {time.monotonic() - began:5.2f} s  {word}", flush=True)
    sys.exit(1 if failed else 0 if passed else 77)
