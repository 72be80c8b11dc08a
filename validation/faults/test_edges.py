#!/usr/bin/env python3
"""Both programs where a machine is unusual: pipes that nobody opens, streams that fail, few processes, little memory.

usage: test_edges.py CIONIZE cpu [test_name ...]     (as validation/apps)

VOXFIELD_RECON, VOXFIELD_PHANTOM and VOXFIELD_SHIM name mri_recon, mri_phantom and fault_shim.
"""
import contextlib
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "apps"))
import program  # noqa: E402
from program import as_nobody, command, listing, make, read, refuse, sample, Skip, write_atoms  # noqa: E402

RECON, PHANTOM, SHIM = (os.environ.get(f"VOXFIELD_{name}") for name in ("RECON", "PHANTOM", "SHIM"))


def scan(*arguments):
    subprocess.run([PHANTOM, "-q", "-o", "scan.h5", *map(str, arguments)], check=True)
    return "scan.h5"


def small_scan():
    return scan("--matrix", "24,24,1", "--coils", "4", "--spokes", "20")


def run(*words, prefix=(), **popen):
    """Runs a whole command line; returns a program.Done."""
    popen = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **popen}
    process = subprocess.Popen([*prefix, *map(str, words)], **popen)
    out, err = process.communicate(timeout=300)
    return program.Done(process, out or b"", err or b"")


def recon(*arguments):
    return [RECON, "-q", "--device", "cpu", *map(str, arguments)]


# ---- waiting ----


def catches(process, number):
    with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
        caught = next(line for line in status if line.startswith("SigCgt"))
    return int(caught.split()[1], 16) >> (number - 1) & 1


def interrupted(*words):
    process = subprocess.Popen(list(map(str, words)), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    while not catches(process, signal.SIGTERM):
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.005)
    time.sleep(0.3)  # until it waits; a signal before that must end it, too
    assert process.poll() is None, process.stderr.read()
    process.send_signal(signal.SIGTERM)
    try:
        _, err = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        raise AssertionError(f"{words}: waits on after SIGTERM") from None
    assert process.returncode == 130 and b"error: interrupted\n" in err, (words, process.returncode, err)


def test_first_signal_ends_a_wait_for_a_pipe(_):
    """open() of a pipe waits for its other end, and a handler that only takes a note does not end that."""
    sample("dipole.pqr")
    for name in ("in.pqr", "script.cfg", "charges.psf", "out.dx"):
        os.mkfifo(name)
    interrupted(*command("in.pqr", "-o", "a.dx"))
    interrupted(*command("dipole.pqr", "-i", "script.cfg", "-o", "a.pdb"))
    interrupted(*command("dipole.pqr", "-o", "out.dx"))
    small_scan()
    os.mkfifo("moves.txt")
    os.mkfifo("out.nii")
    interrupted(*recon("scan.h5", "--motion", "moves.txt", "-o", "i.h5"))
    interrupted(*recon("scan.h5", "-o", "out.nii"))
    assert not os.path.exists("a.dx") and not os.path.exists("i.h5")


def test_pipes_that_cannot_be_read(_):
    """BART's files are read at places of our choice: a pipe is refused, and not waited for."""
    os.mkfifo("a.cfl")
    os.mkfifo("a.hdr")
    done = run(*recon("a.cfl", "-o", "i.h5"))
    assert done.status == 3 and "a.hdr: cannot read: not a regular file" in done.err, (done.status, done.err)


# ---- streams ----


def test_closed_standard_output(_):
    """What is written to a closed stream is lost: an error where it is the result."""
    sample("dipole.pqr")

    def closed(*words):
        return run("sh", "-c", 'exec "$@" >&-', "sh", *words)

    os.symlink("/dev/stdout", "map.dx")
    done = closed(*command("-q", "dipole.pqr", "--spacing", "1", "-o", "map.dx"))
    assert done.status == 4 and "map.dx: cannot write: Bad file descriptor" in done.err, (done.status, done.err)
    done = closed(program.PROGRAM, "--help")
    assert done.status == 4 and "standard output" in done.err, (done.status, done.err)
    assert closed(*command("dipole.pqr", "--spacing", "1", "-o", "a.dx")).status == 0
    assert len(read("a.dx").values) > 100


def test_readers_that_have_seen_enough(_):
    """cionize --help | head: nobody reads the pipe any more. That is no error, although SIGPIPE is ignored."""
    for option in "--help", "--version":
        reads, writes = os.pipe()
        os.close(reads)
        done = subprocess.run(program.command(option), stdin=subprocess.DEVNULL, stdout=writes, stderr=subprocess.PIPE, check=False)
        os.close(writes)
        assert done.returncode == 0 and not done.stderr, (option, done)


def test_full_standard_output(_):
    sample("dipole.pqr")
    small_scan()
    with open("/dev/full", "w", encoding="ascii") as full:
        done = run(*command("dipole.pqr", "--spacing", "1", "--dry-run"), stdout=full)
        assert done.status == 4 and "standard output: No space left on device" in done.err, (done.status, done.err)
        done = run(*command("dipole.pqr", "--spacing", "1", "-o", "a.dx"), stdout=full)
        assert done.status == 0 and "warning: standard output: No space left" in done.err, (done.status, done.err)
        done = run(RECON, "scan.h5", "--dry-run", stdout=full)
        assert done.status == 4 and "standard output: No space left on device" in done.err, (done.status, done.err)


def test_devices_as_outputs(_):
    sample("dipole.pqr")
    small_scan()
    for kind in ("dx", "dx.gz", "mrc", "cube", "h5", "pdb", "png"):
        for device, status in (("null", 0), ("full", 4)):
            os.symlink(f"/dev/{device}", f"{device}.{kind}")
            more = {"pdb": ["--place", "SOD:2", "-o", f"{device}.pdb"],
                    "png": ["-o", "b.dx", "--picture", f"{device}.png"]}.get(kind, ["-o", f"{device}.{kind}"])
            done = run(*command("-q", "dipole.pqr", "--spacing", "1", *more))
            # HDF5 cannot be written without going back; it says so of all devices but /dev/null
            assert done.status == status, (kind, device, done.status, done.err)
            assert os.path.islink(f"{device}.{kind}")
    for kind in ("h5", "nii", "nii.gz"):
        for device, status in (("null", 0), ("full", 4)):
            os.symlink(f"/dev/{device}", f"image-{device}.{kind}")
            done = run(*recon("scan.h5", "--iterations", "2", "-o", f"image-{device}.{kind}"))
            assert done.status == status, (kind, device, done.status, done.err)


# ---- limits ----


def test_few_processes(_):
    """OpenMP ends the process if it gets no thread, so both programs try first."""
    sample("dipole.pqr")
    small_scan()
    prefix = as_nobody()
    for words, name, result in ((command("-q", "--threads", 4, "dipole.pqr", "--spacing", "1", "-o", "a.h5"), "cionize", "a.h5"),
                                (recon("--threads", 4, "scan.h5", "--iterations", "2", "-o", "i.h5"), "mri_recon", "i.h5")):
        seen = set()
        for most in (*range(1, 16), 500):
            before = listing()
            done = run(*words, prefix=prefix, preexec_fn=lambda n=most: resource.setrlimit(resource.RLIMIT_NPROC, (n, n)))
            what = (name, most, done.status, done.err)
            assert done.status in (0, 5), what
            if done.status == 0:
                os.remove(result)
            else:
                assert done.err.count(": error: ") == 1 and "ulimit -u" in done.err, what
            assert listing() == before, what
            seen.add(done.status)
        assert seen == {0, 5}, (name, seen)


@contextlib.contextmanager
def group(limit):
    """Processes of the group have no limit of their own; the group above has."""
    for root, name, most in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes", None), ("/sys/fs/cgroup", "memory.max", "+memory")):
        outer = pathlib.Path(root, f"voxfield-test-{os.getpid()}")
        inner = outer / "step"
        try:
            if most and "memory" not in pathlib.Path(root, "cgroup.controllers").read_text().split():
                continue
            outer.mkdir()
            if most:
                (outer / "cgroup.subtree_control").write_text(most)
            inner.mkdir()
            (outer / name).write_text(str(limit))
        except OSError:
            with contextlib.suppress(OSError):
                inner.rmdir()
            with contextlib.suppress(OSError):
                outer.rmdir()
            continue
        try:
            yield lambda: (inner / "cgroup.procs").write_text(str(os.getpid()))
        finally:
            for folder in (inner, outer):
                for _ in range(100):  # the kernel takes its time to see that processes are gone
                    with contextlib.suppress(OSError):
                        folder.rmdir()
                    if not folder.exists():
                        break
                    time.sleep(0.05)
        return
    raise Skip("no control group can be made here")


@contextlib.contextmanager
def on_a_disk():
    """A folder to work in whose files are not in memory: those of tmpfs, as /tmp may be, count as their writer's."""
    here = os.getcwd()
    for place in here, os.path.dirname(os.path.abspath(RECON)):
        kind = subprocess.run(["stat", "--file-system", "--format=%T", place], capture_output=True, text=True, check=True)
        if kind.stdout.strip() not in ("tmpfs", "ramfs"):
            with tempfile.TemporaryDirectory(dir=place) as folder:
                os.chdir(folder)
                try:
                    yield
                finally:
                    os.chdir(here)
            return
    raise Skip("all folders here are in memory (tmpfs)")


def test_memory_of_a_nested_group(_):
    """As under Slurm and in containers: the limit is on a group above. The program refuses or needs less; it is not
    killed."""
    with on_a_disk():
        run_in_nested_groups()


def run_in_nested_groups():
    with group(48 << 20) as enter:  # in containers, files may be in memory that stat does not show
        probe = ["dd", "if=/dev/zero", "of=probe", "bs=1M", "count=150"]
        if subprocess.run(probe, preexec_fn=enter, stderr=subprocess.DEVNULL, check=False).returncode != 0:
            raise Skip("files count as memory here")
    os.remove("probe")
    sample("dipole.pqr")
    scan("--matrix", "256,256,1", "--coils", "8", "--spokes", "64")
    large = ["-q", "dipole.pqr", "--counts", "320"]  # 33 million points: 131 MB in single precision
    seen = set()
    for mebi in (48, 96, 256):
        with group(mebi << 20) as enter:
            for words, result in (([*command(*large), "-o", "a.mrc"], "a.mrc"),
                                  ([*command(*large), "--place", "SOD:1", "-o", "a.pdb"], "a.pdb"),
                                  (recon("scan.h5", "--iterations", "2", "-o", "i.h5"), "i.h5")):
                done = run(*words, preexec_fn=enter)
                what = (mebi, words[1:], done.status, done.err)
                assert done.status in (0, 5), what
                assert os.path.exists(result) == (done.status == 0), what
                if done.status == 0:
                    os.remove(result)
                seen.add((result, done.status))
    assert {("a.pdb", 5), ("i.h5", 0)} <= seen, seen


def test_one_core(_):
    sample("dipole.pqr")
    core = min(os.sched_getaffinity(0))
    for words in (command("-q", "--threads", 8, "dipole.pqr", "--spacing", "1", "-o", "a.dx"),
                  command("-q", "dipole.pqr", "--spacing", "1", "-o", "b.dx")):
        assert run(*words, preexec_fn=lambda: os.sched_setaffinity(0, {core})).status == 0
    assert program.bits("a.dx") == program.bits("b.dx")


def test_small_stacks(_):
    sample("dipole.pqr")
    small_scan()
    for kibi in (256, 512, 1024):
        limited = {"preexec_fn": lambda k=kibi: resource.setrlimit(resource.RLIMIT_STACK, (k << 10, k << 10)),
                   "env": {**os.environ, "OMP_STACKSIZE": f"{kibi}k"}}
        for words in (command("-q", "--threads", 3, "dipole.pqr", "--spacing", "1", "--method", "fast", "-o", "a.dx", "--picture", "a.png"),
                      command("-q", "dipole.pqr", "--spacing", "1", "--place", "SOD:2", "-o", "a.pdb"),
                      recon("--threads", 3, "scan.h5", "--iterations", "2", "-o", "i.nii.gz", "--picture", "i.png")):
            done = run(*words, **limited)
            assert done.status == 0, (kibi, words, done.status, done.err)


def test_odd_environments(_):
    sample("dipole.pqr")
    odd = [{}, {"HOME": "", "PATH": "", "TMPDIR": "/no/such", "LC_ALL": "xx_YY", "LANG": "\udcff"},
           {"OMP_NUM_THREADS": "1"}, {"OMP_THREAD_LIMIT": "2"}, {"OMP_DYNAMIC": "true"}, {"GOMP_SPINCOUNT": "0"},
           {"VOXFIELD_ISA": "nonsense"}, {"COLUMNS": "-1", "TERM": "nonsense"}, {"X": "y" * 100000}]
    make("-q", "dipole.pqr", "--spacing", "1", "-o", "good.dx")
    for environment in odd:
        done = run(*command("-q", "--threads", 3, "dipole.pqr", "--spacing", "1", "-o", "a.dx"), env=environment)
        assert done.status == 0 and program.bits("a.dx") == program.bits("good.dx"), (environment, done.status, done.err)


def test_eight_at_once(_):
    """On one output: the last one stays, and it is whole."""
    sample("dipole.pqr")
    small_scan()
    make("-q", "dipole.pqr", "--spacing", "0.5", "-o", "good.dx")
    for words, result in ((command("-q", "dipole.pqr", "--spacing", "0.5", "-o", "a.dx"), "a.dx"),
                          (recon("scan.h5", "--iterations", "2", "-o", "i.h5"), "i.h5")):
        processes = [subprocess.Popen(words, stderr=subprocess.PIPE) for _ in range(8)]
        for process in processes:
            _, err = process.communicate(timeout=300)
            assert process.returncode == 0, err
        assert os.path.getsize(result) > 1000
    assert program.bits("a.dx") == program.bits("good.dx")
    assert sorted(listing()) == ["a.dx", "dipole.pqr", "good.dx", "i.h5", "scan.h5"], sorted(listing())


# ---- what reaches the disk ----


def calls(*words):
    environment = {**os.environ, "LD_PRELOAD": SHIM, "VOXFIELD_FAULT_COUNTS": "counts", "OMP_WAIT_POLICY": "passive"}
    done = run(*words, env=environment)
    if done.status == 77:
        raise Skip(done.err.strip())
    assert done.status == 0, done.err
    return {line.split()[0]: int(line.split()[1]) for line in open("counts", encoding="ascii")}


def test_syncs(_):
    """A file's bytes and the name in its folder: two syncs for each output, and one name, if there was no such file."""
    sample("dipole.pqr")
    small_scan()
    coarse = command("-q", "dipole.pqr", "--spacing", "1")
    for words, outputs in (([*coarse, "-o", "a.dx"], 1), ([*coarse, "-o", "a.h5"], 1),
                           ([*coarse, "-o", "b.mrc", "--picture", "b.png", "--report", "b.json"], 3),
                           ([*coarse, "--place", "SOD:2", "-o", "c.pdb", "--map", "c.dx"], 2),
                           (recon("scan.h5", "--iterations", "2", "-o", "i.h5"), 1),
                           (recon("scan.h5", "--iterations", "2", "-o", "i.cfl", "--picture", "i.png"), 3)):
        found = calls(*words)
        assert (found["sync"], found["name"]) == (2 * outputs, outputs), (words, found)
    found = calls(*coarse, "-o", "a.dx")  # exists: a link to a name of its own, and renamed
    assert (found["sync"], found["name"]) == (2, 3), found


def test_threads_begin_once(_):
    """OpenMP begins threads whenever a team grows, so all teams have one size. Each program begins the threads of two teams
    to see whether it gets them, and one less before that; then those of the main thread, and of one that computes pieces."""
    threads = 6
    write_atoms("cloud.pqr", [(i % 17 + 1, i % 13, i % 7, (-1) ** i) for i in range(1500)])
    scan("--matrix", "128,128,1", "--coils", "4", "--spokes", "100", "--noise", "0.02", "--without", "sensitivity")
    for words in ((recon("scan.h5", "--threads", threads, "-o", "i.h5")),
                  command("-q", "cloud.pqr", "--method", "fast", "--threads", threads, "-o", "a.mrc")):
        found = calls(*words)["thread"]
        assert threads <= found <= 5 * threads, (words, found)


def test_charges_that_are_too_large(_):
    """Refused before the map is written."""
    sample("dipole.pqr")
    for charge in ("1e308", "-1e300", "2e9"):
        refuse(2, ["at most 1e+09"], "-q", "dipole.pqr", "--place", f"SOD:1:{charge}", "-o", "a.pdb", "--map", "m.dx")
    write_atoms("far.pqr", [(0, 0, 0, 1)])
    make("-q", "far.pqr", "--spacing", "1", "--place", "XYZ:1:1e9", "-o", "b.pqr")


program.main(globals())
