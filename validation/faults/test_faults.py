#!/usr/bin/env python3
"""cionize under faults: full disks, signals, kills, closed streams, limits, files in the way, parallel runs.

usage: test_faults.py PROGRAM [DEVICE] [test_name ...]     (as validation/apps)

In every case, a file under the final name is complete, and a failed run says so once, with its exit status.
"""
import os
import pathlib
import random
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "apps"))
import program  # noqa: E402
from program import as_nobody, command, is_sanitized, make, read, refuse, run, sample, Skip, write_atoms  # noqa: E402

KINDS = ["dx", "dx.gz", "mrc", "cube", "h5"]
PROMPTLY = 2.0  # seconds of processor time from a signal to the end, for each core: a busy machine does not stretch them


def rest():
    """Files of the program other than the requested ones."""
    return [str(p) for p in pathlib.Path(".").rglob(".*.part*")]


def has_begun(process):
    """Whether the program has begun to write: to a file without a name, or, where there are none, a hidden one."""
    here = os.path.realpath(".") + "/"
    try:
        for descriptor in os.listdir(f"/proc/{process.pid}/fd"):
            target = os.readlink(f"/proc/{process.pid}/fd/{descriptor}")
            if target.startswith(here) and target.endswith(" (deleted)"):
                return True
    except OSError:
        pass
    return bool(rest())


large = tempfile.NamedTemporaryFile(suffix=".pqr")  # deleted when this program ends


def long_run():
    """A molecule and a grid that keep any device busy for many seconds: 130,000 atoms, 1e8 points."""
    if os.path.getsize(large.name) == 0:
        rng = random.Random(1)
        atoms = [(rng.uniform(0, 60), rng.uniform(0, 60), rng.uniform(0, 60), rng.choice((-1, 1))) for _ in range(13000)]
        write_atoms(large.name, atoms * 10)
    return ["-q", large.name, "--counts", "480,460,450", "--spacing", "0.2"]


def begin(arguments, output):
    """Starts the program, and returns when it has started to write."""
    process = subprocess.Popen(command(*arguments, "-o", output), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    until = time.monotonic() + 60
    while not has_begun(process):
        assert process.poll() is None, (process.returncode, process.stderr.read())
        assert time.monotonic() < until, "no temporary file"
        time.sleep(0.01)
    return process


def work(process):
    """Seconds of processor time that a running process has taken."""
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def end(process, number):
    """Sends a signal; returns exit status, stderr, and the processor time until the program ended, for each core."""
    before, ended = work(process), resource.getrusage(resource.RUSAGE_CHILDREN)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    took = now.ru_utime + now.ru_stime - ended.ru_utime - ended.ru_stime - before
    return process.returncode, err.decode(), took / os.cpu_count()


# ---- signals ----


def interrupt(arguments, kind, number, wait, promptly=PROMPTLY):
    """An interrupt takes effect at once, keeps existing files, and is reported once."""
    seconds = []
    for _ in range(6):  # a fast machine may finish before the signal
        pathlib.Path(f"a.{kind}").write_text("the map of before")
        process = begin(arguments, f"a.{kind}")
        time.sleep(wait)
        status, err, took = end(process, number)
        what = (kind, number, status, err, took)
        if status == 0:
            wait /= 4
            continue
        assert status == 130 and err.splitlines()[-1] == "cionize: error: interrupted", what
        assert err.count("error") == 1, what
        assert rest() == [] and pathlib.Path(f"a.{kind}").read_text() == "the map of before", what
        seconds.append(took)
        if took < promptly:
            return
    raise AssertionError(f"{kind}: {seconds} s of each core from the signal to the end")


def test_interrupt_while_computing(_):
    arguments = long_run()
    for kind, number in (("dx", signal.SIGINT), ("h5", signal.SIGTERM), ("mrc", signal.SIGHUP)):
        interrupt(arguments, kind, number, 0.3)
    if program.DEVICE == "cpu":
        interrupt([*arguments, "--method", "exact:ref"], "cube", signal.SIGINT, 0.1)


def test_interrupt_while_writing(_):
    """Two atoms and many points: nearly all the time goes into formatting, compressing and writing."""
    sample("dipole.pqr")
    for kind in KINDS:
        # The slowest format, in slabs of 128 MiB, which take seconds to compress.
        count, bytes_per_value = (640, 6.5) if kind == "dx.gz" else (480, 16)
        if shutil.disk_usage(".").free < count ** 3 * bytes_per_value:
            program.skip_part(f"not enough space for a large .{kind} file")
            continue
        interrupt(["dipole.pqr", "--counts", count], kind, signal.SIGTERM, 0.2, PROMPTLY / 2)


def test_second_signal_kills(_):
    process = begin(long_run(), "a.mrc")
    os.kill(process.pid, signal.SIGSTOP)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGTERM)
    os.kill(process.pid, signal.SIGCONT)
    _, err = process.communicate(timeout=60)
    assert process.returncode in (130, -signal.SIGINT, -signal.SIGTERM), (process.returncode, err)
    assert not os.path.exists("a.mrc")


def test_nohup(_):
    """A signal that the parent process ignores stays ignored."""
    sample("dipole.pqr")
    process = subprocess.Popen(command("-q", "dipole.pqr", "--counts", "250", "-o", "a.cube"), stdin=subprocess.DEVNULL,
                               preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    while not has_begun(process) and process.poll() is None:
        time.sleep(0.005)
    process.send_signal(signal.SIGHUP)
    assert process.wait(timeout=120) == 0 and os.path.exists("a.cube")


def test_kill(_):
    """A killed run leaves the earlier map, or none, and nothing else, if the file system can have files without names."""
    try:
        os.close(os.open(".", os.O_TMPFILE | os.O_RDWR))
        left = 0
    except OSError:
        left = 1
    arguments = long_run()
    for before in (None, b"the map of before"):
        if before:
            pathlib.Path("a.dx").write_bytes(before)
        process = begin(arguments, "a.dx")
        time.sleep(0.2)
        status, _, _ = end(process, signal.SIGKILL)
        assert status == -signal.SIGKILL
        assert (pathlib.Path("a.dx").read_bytes() if os.path.exists("a.dx") else None) == before
        assert len(rest()) == left and all(name.startswith(".a.dx.") for name in rest()), rest()
        make("-q", sample("dipole.pqr"), "--spacing", "1", "-o", "a.dx")
        assert read("a.dx").spacing == [1, 1, 1]
        for path in rest():
            os.remove(path)
        os.remove("a.dx")


# ---- disks and limits ----


def small_disk(folder, size):
    os.makedirs(folder, exist_ok=True)
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], capture_output=True, check=False)
    if done.returncode != 0:
        raise Skip(f"no small file system can be mounted: {done.stderr.decode().strip()}")


def test_full_disk(_):
    sample("dipole.pqr")
    points = 120 ** 3
    small_disk("disk", "4m")
    try:
        # Too small from the start: the error comes before the work.
        for kind in KINDS:
            refuse(4, [f"disk/a.{kind}", "not enough disk space", "free"], "dipole.pqr", "--counts", "200", "-o", f"disk/a.{kind}")
        done = run("dipole.pqr", "--counts", "200", "-o", "disk/a.mrc")
        assert "done" not in done.out and "30.5 MiB" in done.err and "4 MiB free" in done.err, done.err
        # Nearly enough: the disk fills up while the map is written, and an old map stays.
        subprocess.run(["mount", "-o", f"remount,size={15 * points // 4096 * 4096 - 409600}", "disk"], check=True)
        pathlib.Path("disk/a.dx").write_text("the map of before")
        refuse(4, ["disk/a.dx", "No space left"], "dipole.pqr", "--counts", "120", "-o", "disk/a.dx")
        # A report and a picture that do not fit.
        subprocess.run(["mount", "-o", "remount,size=40k", "disk"], check=True)
        refuse_beside(["disk/p.png", "No space left"], "--picture", "disk/p.png")
        try:
            pathlib.Path("disk/fill").write_bytes(b"x" * (1 << 20))
        except OSError:
            pass  # as intended
        refuse_beside(["disk/r.json", "No space left"], "--report", "disk/r.json")
        assert rest() == [] and pathlib.Path("disk/a.dx").read_text() == "the map of before"
    finally:
        subprocess.run(["umount", "disk"], check=True)


def refuse_beside(words, *arguments):
    """One output fails, the map does not: exit 4, and the map stays."""
    done = run("-q", "dipole.pqr", "--spacing", "1", "-o", "beside.dx", *arguments)
    assert done.status == 4 and all(word in done.err for word in words), (done.status, done.err)
    os.remove("beside.dx")
    assert rest() == []


def limit_file_size(size):
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    return limit


def test_file_size_limit(_):
    """Like a full disk, for every format, but without a mount: each write fails in turn."""
    sample("dipole.pqr")
    for kind in KINDS:
        make("dipole.pqr", "--spacing", "0.4", "-o", f"b.{kind}")
        size = os.path.getsize(f"b.{kind}")
        for at in (0, 1, 100, 2000, size // 3, size - 1000, size - 100):
            refuse(4, [f"a.{kind}", "File too large"], "dipole.pqr", "--spacing", "0.4", "-o", f"a.{kind}",
                   preexec_fn=limit_file_size(at), stdout=subprocess.DEVNULL)
        done = run("dipole.pqr", "--spacing", "0.4", "-o", f"a.{kind}", preexec_fn=limit_file_size(size + 4096))
        assert done.status == 0, (kind, done.err)


def test_ions_under_a_file_size_limit(_):
    """Files of ions, masks and saves of a script: each write fails in turn, and no file remains."""
    sample("1hpv.pqr")
    arguments = ["-q", "1hpv.pqr", "--spacing", "3"]
    for option, name in (("-o", "a.pdb"), ("-o", "a.pqr"), ("-o", "a.xyz"), ("--mask", "a.dx")):
        ions = [*arguments, "--place", "CLA:5", option]
        make(*ions, f"whole.{name}")
        size = os.path.getsize(f"whole.{name}")
        for at in (0, size // 2, size - 100):  # 100: the command in the map contains a shorter name
            refuse(4, [name, "File too large"], *ions, name, preexec_fn=limit_file_size(at))
    for command_name, name in (("SAVEION", "a.pdb"), ("SAVEGRID", "a.mrc")):
        pathlib.Path("s.cfg").write_text(f"GRIDSPACING 3\nBEGIN\nPLACEION CLA 5 -1\n{command_name} {name}\nEXIT\n")
        refuse(4, [name, "File too large"], "-q", "1hpv.pqr", "-i", "s.cfg", preexec_fn=limit_file_size(100))


def test_kill_while_placing(_):
    """The map is complete, and there are no files of ions."""
    write_atoms("a.pqr", [(x, y, 0, (-1) ** x) for x in range(20) for y in range(20)])
    process = subprocess.Popen(command("-q", "a.pqr", "--border", "20", "--place", "SOD:50000", "--ion-ion", "0.4", "--map",
                                       "m.mrc", "-o", "all.pqr", "--ions", "i.pdb"), stdin=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while not os.path.exists("m.mrc"):
        assert process.poll() is None and time.monotonic() < until
        time.sleep(0.01)
    process.kill()
    assert process.wait(timeout=60) == -signal.SIGKILL
    assert sorted(p for p in os.listdir(".") if not p.startswith(".")) == ["a.pqr", "m.mrc"] and len(read("m.mrc").values) > 1000


def test_little_memory(_):
    """With any limit of address space: success, or one message and exit 5. Not .h5: libhdf5 1.10 crashes in
    H5AC_create."""
    if is_sanitized():
        raise Skip("a sanitizer needs all of the address space")
    if program.DEVICE == "cuda":
        raise Skip("the NVIDIA driver reserves address space far beyond any limit worth trying")
    sample("dipole.pqr")
    seen = set()
    for threads in (1, 2, 24):
        for mebi in [*range(24, 80, 4), 100, 150, 200, 400]:
            bytes_ = mebi << 20
            limited = {"preexec_fn": lambda b=bytes_: resource.setrlimit(resource.RLIMIT_AS, (b, b))}
            done = run("-q", "dipole.pqr", "--spacing", "0.4", "--threads", threads, "-o", "a.dx", **limited)
            if done.status not in (0, 5) and run("--version", **limited).status != 0:
                continue  # it does not reach main: the kernel, the loader or the constructor of a library gives up
            seen.add(done.status)
            what = f"{mebi} MiB, {threads} threads: exit {done.status}: {done.err}"
            assert done.status in (0, 5), what
            assert rest() == [] and os.path.exists("a.dx") == (done.status == 0), what
            if done.status == 0:
                read("a.dx")
                os.remove("a.dx")
            else:
                told = [line for line in done.err.splitlines() if "this process may use" not in line]  # of 24 threads
                assert len(told) == 1 and told[0].startswith("cionize: error: "), what
    assert seen == {0, 5}, f"no limit made a difference: {seen}"


def test_few_files(_):
    sample("dipole.pqr")
    seen = set()
    for most in range(3, 60 if program.DEVICE == "cuda" else 12):
        done = run("-q", "dipole.pqr", "-o", "a.dx", "--picture", "a.png", "--report", "a.json",
                   preexec_fn=lambda n=most: resource.setrlimit(resource.RLIMIT_NOFILE, (n, n)))
        if done.status == 127 or "loading shared libraries" in done.err:
            continue
        # The GPU driver opens files, too, and has its own messages for that.
        no_gpu = program.DEVICE == "cuda" and done.status == 6 and "cionize: error: cuda:0" in done.err
        assert done.status in (0, 3, 4) or no_gpu, (most, done.status, done.err)
        assert done.status == 0 or no_gpu or "Too many open files" in done.err, (most, done.err)
        seen.add(done.status)
        assert rest() == []
    assert 0 in seen and len(seen) > 1, seen


# ---- streams ----


def test_closed_streams(_):
    """If standard streams are closed, the map must not get their file descriptors."""
    sample("dipole.pqr")
    grid = ["--spacing", "0.5", "--report", "r.json", "--progress"]
    make("dipole.pqr", *grid, "-o", "good.mrc")
    good = program.bits("good.mrc")
    for closed in ([1], [2], [1, 2], [0, 1, 2]):
        for kind in ("dx", "mrc"):
            process = subprocess.run(["sh", "-c", 'exec "$@" ' + " ".join(f"{fd}>&-" for fd in closed), "sh",
                                      *command("dipole.pqr", *grid, "-o", f"a.{kind}")], capture_output=True, check=False)
            assert process.returncode == 0, (closed, process)
            assert program.bits(f"a.{kind}") == good, (closed, kind)
    process = subprocess.run(["sh", "-c", 'exec "$@" 2>&-', "sh", *command("no.pqr")], capture_output=True, check=False)
    assert process.returncode == 3
    if not os.path.isdir("/proc/self/fd"):
        raise Skip("no /proc to look at")
    process = subprocess.Popen(["sh", "-c", 'exec "$@" >&- 2>&- <&-', "sh", *command(*long_run(), "-o", "long.mrc")])
    while not has_begun(process) and process.poll() is None:
        time.sleep(0.01)
    streams = [os.readlink(f"/proc/{process.pid}/fd/{fd}") for fd in (0, 1, 2)]
    process.kill()
    process.wait()
    assert streams == ["/dev/null"] * 3, streams


def test_nobody_reads_the_messages(_):
    """`cionize ... | head -1`: the run finishes the map."""
    sample("dipole.pqr")
    process = subprocess.Popen(command("dipole.pqr", "--counts", "100", "-o", "a.dx"), stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    assert process.stdout.readline().startswith(b"molecule")
    process.stdout.close()
    assert process.wait(timeout=120) == 0, process.stderr.read()
    assert read("a.dx").counts == [100] * 3
    with open("/dev/full", "w", encoding="ascii") as full:
        assert run("dipole.pqr", "-o", "b.dx", stdout=full).status == 0
    assert read("b.dx").counts == [41, 41, 43]


def test_named_pipe(_):
    """A pipe is written directly, and never replaced by renaming."""
    sample("dipole.pqr")
    for kind in ("dx", "dx.gz", "cube"):
        make("-q", "dipole.pqr", "-o", f"file.{kind}")
        os.mkfifo(f"pipe.{kind}")
        with open(f"copy.{kind}", "wb") as copy:
            cat = subprocess.Popen(["cat", f"pipe.{kind}"], stdout=copy)
            make("-q", "dipole.pqr", "-o", f"pipe.{kind}", timeout=60)
            assert cat.wait(timeout=60) == 0
        assert stat.S_ISFIFO(os.stat(f"pipe.{kind}").st_mode)
        assert read(f"copy.{kind}").values == read(f"file.{kind}").values
    for kind in ("mrc", "h5"):  # formats that seek: an error or another method, but no hang and no partial file
        os.mkfifo(f"pipe.{kind}")
        cat = subprocess.Popen(["cat", f"pipe.{kind}"], stdout=subprocess.PIPE)
        thread = threading.Thread(target=cat.communicate)
        thread.start()
        done = run("-q", "dipole.pqr", "-o", f"pipe.{kind}", timeout=60)
        assert (done.status == 0) == (kind == "mrc"), done.err
        if done.status != 0:
            assert f"pipe.{kind}: cannot write HDF5 to a pipe" in done.err, done.err
        cat.kill()
        thread.join()


# ---- existing files ----


def test_write_protected_output(_):
    """Renaming would bypass the write protection of a file."""
    sample("dipole.pqr")
    prefix = as_nobody()
    for name in ("a.dx", "a.h5"):
        pathlib.Path(name).write_text("precious")
        os.chmod(name, 0o444)
        refuse(4, [name, "Permission denied"], "dipole.pqr", "-o", name, prefix=prefix)
    pathlib.Path("p.png").write_text("precious")
    os.chmod("p.png", 0o444)
    refuse(4, ["p.png", "Permission denied"], "dipole.pqr", "-o", "b.dx", "--picture", "p.png", prefix=prefix)


def test_links(_):
    """A symbolic link stays; its target is replaced or created."""
    sample("dipole.pqr")
    os.makedirs("there/deep")
    for kind in ("dx", "h5"):
        pathlib.Path(f"there/old.{kind}").write_text("old")
        os.symlink(f"there/old.{kind}", f"one.{kind}")
        os.symlink(f"one.{kind}", f"two.{kind}")
        os.symlink(f"deep/new.{kind}", f"there/new.{kind}")
        os.symlink(f"there/new.{kind}", f"dangling.{kind}")
        os.symlink(os.path.abspath(f"there/absolute.{kind}"), f"absolute.{kind}")
        for link, target in (("two", "there/old"), ("dangling", "there/deep/new"), ("absolute", "there/absolute")):
            make("-q", "dipole.pqr", "-o", f"{link}.{kind}")
            assert os.path.islink(f"{link}.{kind}") and not os.path.islink(f"{target}.{kind}"), link
            assert len(read(f"{target}.{kind}").values) == 41 * 41 * 43
        assert os.path.islink(f"one.{kind}")
    os.symlink("loop.dx", "loop.dx")
    done = run("-q", "dipole.pqr", "-o", "loop.dx")
    assert done.status == 4 or os.path.isfile("loop.dx"), done.err
    assert rest() == []


def test_permissions(_):
    sample("dipole.pqr")
    for kind in ("dx", "h5"):
        for mode in (0o600, 0o640, 0o664, 0o755):
            pathlib.Path(f"a.{kind}").write_text("old")
            os.chmod(f"a.{kind}", mode)
            make("-q", "dipole.pqr", "-o", f"a.{kind}")
            assert stat.S_IMODE(os.stat(f"a.{kind}").st_mode) == mode, (kind, oct(os.stat(f"a.{kind}").st_mode))
        for mask in (0o022, 0o077, 0o027, 0):
            make("-q", "dipole.pqr", "-o", f"new{mask}.{kind}", "--picture", f"new{mask}.{kind}.png",
                 "--report", f"new{mask}.{kind}.json",
                 preexec_fn=lambda m=mask: os.umask(m))
            for name in (f"new{mask}.{kind}", f"new{mask}.{kind}.png", f"new{mask}.{kind}.json"):
                assert stat.S_IMODE(os.stat(name).st_mode) == 0o666 & ~mask, (name, oct(os.stat(name).st_mode))


def test_folder_that_goes_away(_):
    sample("dipole.pqr")
    os.mkdir("gone")
    process = subprocess.Popen(command("-q", "dipole.pqr", "--counts", "200", "-o", "gone/a.cube"), stdin=subprocess.DEVNULL,
                               stderr=subprocess.PIPE)
    while not has_begun(process) and process.poll() is None:
        time.sleep(0.002)
    process.send_signal(signal.SIGSTOP)
    shutil.rmtree("gone")
    process.send_signal(signal.SIGCONT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 4 and b"gone/a.cube" in err and b"No such file" in err, (process.returncode, err)


# ---- parallel runs, and early errors ----


def test_two_runs_on_one_output(_):
    sample("dipole.pqr")
    sample("point_charge.pqr")
    for kind in ("mrc", "dx", "h5"):
        for _ in range(3):
            both = [subprocess.Popen(command("-q", name, "--counts", "60", "-o", f"a.{kind}"), stderr=subprocess.PIPE)
                    for name in ("dipole.pqr", "point_charge.pqr")]
            for process in both:
                _, err = process.communicate(timeout=120)
                assert process.returncode == 0, err
            assert rest() == [] and read(f"a.{kind}").counts == [60] * 3


def test_unwritable_names_fail_before_the_work(_):
    """A run of many minutes must not end with "cannot write the picture". Reading the molecule takes less than a second of
    processor time, the sum minutes."""
    arguments = long_run()
    os.mkdir("folder")
    for more in (["--picture", "no/a.png"], ["--report", "no/a.json"], ["--picture", "folder"], ["--report", "folder"],
                 ["-o", "no/a.mrc"]):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        refuse(4, more[1], *arguments, *more, timeout=60)
        assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before < 20, more


program.main(globals())
