"""Jobs of several ranks, for tests: mpirun of both MPIs, its processes, and their input.

VOXFIELD_TEST_MPI is openmpi (default) or mpich; VOXFIELD_PHANTOM names mri_phantom, which mri_recon's tests need;
VOXFIELD_SLOW_PWRITE_LIBRARY names the library of slow_pwrite.c, which test_mpi.py needs.
"""
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

import program
from ion_truth import generator, random_molecule, whole, write_dcd, write_molecule
from program import Done, listing, NAME, PROGRAM, sample
from seeds import draw, program_seed
from two_folders import two_folders

DRAW = draw()
KIND = os.environ.get("VOXFIELD_TEST_MPI") or "openmpi"
OTHER = {"openmpi": "mpich", "mpich": "openmpi"}[KIND]
SIGN = {"openmpi": b"Open", "mpich": b"HYDRA"}  # in the launcher's --version
FLAGS = {"openmpi": ["--oversubscribe"], "mpich": []}
ITEM = {"cionize": "layer", "mri_recon": "frame"}[NAME]
LIMIT = 60  # seconds, after which a job is said to hang
os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")


def launcher(kind):
    """Its name; None: there is none."""
    for name in (f"mpirun.{kind}", "mpirun"):
        if shutil.which(name):
            version = subprocess.run([name, "--version"], capture_output=True, check=False, timeout=LIMIT).stdout
            if SIGN[kind] in version:
                return name
    return None


def has_plugin(kind):
    return any((pathlib.Path(PROGRAM).parents[n] / f"lib/voxfield/voxfield_{kind}.so").exists() for n in range(3))


MPIRUN = {kind: launcher(kind) for kind in (KIND, OTHER) if has_plugin(kind) and launcher(kind)}


def share(cases):
    """Half of the cases, in an order that is drawn: the test with the other MPI, which draws the same, has the others. All, if
    the other one is not there."""
    draw().shuffle(cases)
    return cases[sorted(MPIRUN).index(KIND)::len(MPIRUN)]


# ---- jobs ----


class Job:
    """mpirun -n COUNT PROGRAM ARGUMENTS. `failing`: what VOXFIELD_SIMULATE_FAILURE is for some ranks; `each`: more arguments;
    `slow`: how many milliseconds longer a piece takes to write."""

    def __init__(self, count, *arguments, kind=KIND, failing=None, each=None, prefix=(), exe=PROGRAM, slow=0):
        words = [exe, *program.command(*arguments)[1:]]
        what = ["-n", str(count), *words]
        if failing or each:
            what = []
            for rank in range(count):
                simulated = ["env", f"VOXFIELD_SIMULATE_FAILURE={failing[rank]}"] if rank in (failing or {}) else []
                what += [*([":"] if rank else []), "-n", "1", *simulated, *words, *(each[rank] if each else [])]
        self.words = [*prefix, MPIRUN[kind], *FLAGS[kind], *what]
        self.out, self.err = tempfile.TemporaryFile(), tempfile.TemporaryFile()
        self.process = subprocess.Popen(self.words, stdin=subprocess.DEVNULL, stdout=self.out, stderr=self.err,
                                        env=program.slow(slow) if slow else None)

    def ranks(self):
        """The processes of the program in this folder. Name and folder are there until a process has closed its files. The
        program may have started itself again, as /proc/self/exe."""
        found = []
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if (folder / "comm").read_text().strip() in (NAME, "exe") and os.readlink(folder / "cwd") == os.getcwd():
                    found.append(int(folder.name))
            except OSError:  # it has ended
                pass
        return found

    @staticmethod
    def send(number, pids):
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def texts(self):
        return [file.seek(0) or file.read() for file in (self.out, self.err)]

    def done(self, limit=LIMIT):
        """Waits for mpirun and all ranks."""
        until = time.monotonic() + limit
        while self.process.poll() is None or self.ranks():
            if time.monotonic() > until:
                left = self.ranks()
                self.send(signal.SIGKILL, [*left, self.process.pid])
                raise AssertionError(f"after {limit} s {len(left)} ranks are still there: {self.words}: {self.texts()}")
            time.sleep(0.01)
        done = Done(self.process, *self.texts())
        done.own = "".join(line for line in done.err.splitlines(True) if line.startswith(f"{NAME}: "))  # without mpirun's
        return done


def job(count, *arguments, **options):
    """A job that must succeed, with only warnings."""
    done = Job(count, *arguments, **options).done()
    assert done.status == 0 and done.err == done.own and "error:" not in done.err, (
        f"{count} ranks, {arguments}: exit {done.status}: {done.out}{done.err}")
    return done


def refuse_job(status, words, count, *arguments, **options):
    """A job that must fail, with one line of error from all ranks together, and an unchanged folder."""
    before = listing()
    done = Job(count, *arguments, **options).done()
    what = f"{count} ranks, {arguments}: exit {done.status}: {done.err!r}"
    lines = done.own.splitlines()
    assert done.status == status, f"{what}, expected exit {status}"
    assert len(lines) == 1 and lines[-1].startswith(f"{NAME}: error: "), what
    assert done.err.count("error: ") == 1 and all(word in lines[-1] for word in words), f"{what}, expected {words}"
    assert listing() == before, f"{what}, and it changed files"
    return done


def phantom(name, frames, matrix, spokes, *more):
    subprocess.run([os.environ["VOXFIELD_PHANTOM"], "-q", "-o", name, "--phantom", "head", "--matrix", f"{matrix},{matrix},1",
                    "--coils", "3", "--spokes", str(spokes), "--frames", str(frames), "--continue", "--image-snr", "20",
                    "--noise-scan", "--seed", str(program_seed()), *more], check=True, stdin=subprocess.DEVNULL, timeout=LIMIT)


def trajectory(_):
    """A molecule of 40 atoms, and 5 frames of it."""
    numbers = generator()
    atoms = whole(random_molecule(numbers, 40), 2)
    write_molecule("a.pqr", atoms)
    for name, frames in (("t.dcd", 5), ("l.dcd", 130)):  # one block and four
        write_dcd(name, atoms[:, :3] + numbers.normal(0, 0.5, (frames, len(atoms), 3)))


MAKERS = {"a.pqr": trajectory, "t.dcd": trajectory, "l.dcd": trajectory, "s.h5": lambda name: phantom(name, 6, 20, 8),
          "m.mrd": lambda name: phantom(name, 6, 20, 8), "one.h5": lambda name: phantom(name, 1, 20, 8),
          "long.h5": lambda name: phantom(name, 12, 20, 8), "longer.h5": lambda name: phantom(name, 24, 20, 8)}


def inputs(*names):
    for name in names:
        if not os.path.exists(name):
            MAKERS.get(name, sample)(name)
    two_folders(*names)


def why_not():
    """What this test cannot run without; None: nothing is missing."""
    return (f"no mpirun.{KIND} on this machine" if not launcher(KIND) else
            f"no plugin voxfield_{KIND}.so beside {PROGRAM}" if not has_plugin(KIND) else
            "VOXFIELD_PHANTOM is not set" if NAME != "cionize" and not os.environ.get("VOXFIELD_PHANTOM") else None)
