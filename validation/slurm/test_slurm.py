#!/usr/bin/env python3
"""The job scripts of docs/cluster.md, run as they stand there by a real Slurm: a private cluster of this machine alone, with
its own keys, ports and folder, which ends with the test. Whatever happened to a job, the map has the bytes of one run.

usage: test_slurm.py PROGRAM [DEVICE] [test_name ...]     VOXFIELD_SLOW_PWRITE_LIBRARY names the library of slow_pwrite.c

Skipped where Slurm is not installed (Debian: slurm-wlm), or where its daemons may not be started (they want root).
"""
import contextlib
import ctypes
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "apps"))
import program
from program import sample

DOCUMENT = program.HERE.parent.parent / "docs" / "cluster.md"
DAEMONS = ("munged", "slurmctld", "slurmd")
COMMANDS = ("sbatch", "scancel", "scontrol", "sinfo", "squeue", "srun")
FORBIDDEN = re.compile(r"permission denied|operation not permitted", re.I)
PATIENCE = 240  # seconds, for whatever should happen
PARTS = 4
PIECES = 20  # at least, of a run: the program writes them one by one
# A job with a limit of a minute is told to stop within 30 seconds (see test_time_limit), so this one is stopped for sure.
LONG = 40  # seconds
SHORT = 10
DEATH_SIGNAL, SUBREAPER = 1, 36  # of Linux's prctl
LIBC = ctypes.CDLL(None, use_errno=True)

CONFIGURATION = """ClusterName=voxfield
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
# cred_expire: how long a task waits after it was queued again. Two minutes are usual.
AuthInfo=socket={folder}/munge.socket,cred_expire=5
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldDebug=debug2
ProctrackType=proctrack/linuxproc
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SlurmdParameters=config_overrides
SchedulerType=sched/builtin
SchedulerParameters=sched_interval=2
{binding}
NodeName={host} NodeAddr=127.0.0.1 Port={node_port} CPUs=2 CoresPerSocket=2 RealMemory=4096
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
# Programs may use the cores that they asked for, and no others.
BINDING = "TaskPlugin=task/affinity\nTaskPluginParam=Cores"
BOUND = {0, 1} <= os.sched_getaffinity(0)  # the cores that Slurm would choose are there

# What the scripts find as cionize: it notes its process and its cores in the current folder.
WRAPPER = """#!/bin/sh
echo "$SLURM_ARRAY_TASK_ID $$ $(grep Cpus_allowed_list /proc/self/status)" >>started
[ -z "$VOXFIELD_SLOW_PWRITE" ] || export LD_PRELOAD='{slow}'
exec '{program}' "$@"
"""


def skip(reason):
    print("SKIP:", reason)
    sys.exit(77)


def wait_for(what, condition, seconds=PATIENCE):
    """The first true value of the condition. `what`: a text, or a function that makes one."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, f"after {seconds} s: {what() if callable(what) else what}"
        time.sleep(0.2)
    return value


# ---- the cluster ----


def free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("", 0))
        return [one.getsockname()[1] for one in sockets]


def descendants():
    """All processes that this one started, directly or not: orphans become its own children (see Cluster)."""
    children = {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, parent = stat.read_text(errors="replace").rpartition(")")[2].split()[:2]
            if state not in "ZX":
                children.setdefault(int(parent), []).append(int(stat.parent.name))
    found = [os.getpid()]
    for one in found:
        found += children.get(one, [])
    return found[1:]


class Cluster:
    """Everything that it starts is killed at the end, also by a failure; the daemons even if this process is killed."""

    def __enter__(self):
        LIBC.prctl(SUBREAPER, 1, 0, 0, 0)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
        self.folder = tempfile.mkdtemp(prefix="slurm-")
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_):
        end = time.monotonic() + 20
        while (left := descendants()) and time.monotonic() < end:
            for one in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(one, signal.SIGKILL)
            time.sleep(0.05)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        shutil.rmtree(self.folder, ignore_errors=True)
        if left:
            print(f"these processes are left: {left}")

    def start(self):
        folder = pathlib.Path(self.folder)
        folder.chmod(0o755)  # munged wants its socket to be found by all
        for name in ("state", "spool", "bin"):
            (folder / name).mkdir()
        key = folder / "munge.key"
        key.touch(0o600)
        key.write_bytes(os.urandom(128))
        wrapper = folder / "bin" / "cionize"
        wrapper.write_text(WRAPPER.format(program=program.PROGRAM, slow=os.environ["VOXFIELD_SLOW_PWRITE_LIBRARY"]), encoding="utf-8")
        wrapper.chmod(0o755)
        for name in [name for name in os.environ if re.match("S(LURM|BATCH|RUN|CANCEL|QUEUE)", name)]:
            del os.environ[name]
        os.environ.update(SLURM_CONF=f"{folder}/slurm.conf", PATH=f"{folder}/bin:{os.environ['PATH']}", LC_ALL="C",
                          SOURCE_DATE_EPOCH="1700000000")  # the time in the files
        controller, node = free_ports(2)
        (folder / "slurm.conf").write_text(CONFIGURATION.format(
            folder=folder, host=socket.gethostname().split(".")[0], controller_port=controller, node_port=node,
            binding=BINDING if BOUND else "TaskPlugin=task/none"), encoding="utf-8")
        self.daemon("munged", "--foreground", "--force", "--num-threads=10", f"--key-file={key}",
                    f"--socket={folder}/munge.socket", f"--pid-file={folder}/munge.pid", f"--log-file={folder}/munge.log",
                    f"--seed-file={folder}/munge.seed", ready=(folder / "munge.socket").exists)
        self.daemon("slurmctld", "-D", ready=lambda: slurm("scontrol", "ping", check=False).returncode == 0)
        self.daemon("slurmd", "-D", ready=lambda: "idle" in slurm("sinfo", "-h", "-o", "%T").stdout)

    def log(self, name):
        with contextlib.suppress(OSError):
            return pathlib.Path(self.folder, name + ".out").read_text(encoding="utf-8", errors="replace")
        return ""

    def daemon(self, name, *arguments, ready):
        def ends_with_this_process():
            LIBC.prctl(DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)

        with open(f"{self.folder}/{name}.out", "wb") as log:
            process = subprocess.Popen([shutil.which(name), *arguments], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                       start_new_session=True, preexec_fn=ends_with_this_process)
        try:
            wait_for(f"no {name}", lambda: process.poll() is not None or ready(), 60)
            assert process.poll() is None, f"{name} ended with status {process.returncode}"
        except AssertionError:
            if forbidden := [line for line in self.log(name).splitlines() if FORBIDDEN.search(line)]:
                skip(f"{name} may not be started here: {forbidden[-1].strip()}")
            print(self.log(name)[-4000:])
            raise


# ---- jobs ----


def slurm(*arguments, check=True, **environment):
    done = subprocess.run(arguments, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
                          env=os.environ | environment)
    assert not check or done.returncode == 0, f"{arguments}: {done.stderr}"
    return done


def submit(*arguments, seconds=None):
    """`seconds`: the least time that the program takes in this job, most of which it waits."""
    environment = {"VOXFIELD_SLOW_PWRITE": str(round(1000 * seconds / PIECES))} if seconds else {}
    return slurm("sbatch", "--parsable", *arguments, **environment).stdout.strip()


def states(job):
    """{task: state} of the tasks of an array, {"N/A": state} of another job."""
    lines = slurm("squeue", "-h", "-r", "-t", "all", "-j", job, "-o", "%K %T").stdout.splitlines()
    return dict(line.split() for line in lines)


def outputs(job):
    return "".join(f"-- {path}\n{path.read_text(encoding='utf-8')}" for path in sorted(pathlib.Path().glob(f"slurm-{job}*.out")))


def wait_until(job, state, task=None):
    """Until the tasks, or the one, have the state. They may be queued again on the way there, but not fail."""
    def reached():
        now = [value for key, value in states(job).items() if task in (None, key)]
        assert not {"FAILED", "TIMEOUT", "CANCELLED", "NODE_FAIL"} & {*now} - {state}, f"{now}\n{outputs(job)}"
        return now and {*now} == {state}

    wait_for(lambda: f"job {job} is not {state}: {states(job)}\n{outputs(job)}", reached)


def wait_until_never(job):
    """Until Slurm knows that what the job waits for will not be."""
    wait_for(lambda: f"job {job} may still start: {states(job)}",
             lambda: "DependencyNeverSatisfied" in slurm("scontrol", "show", "job", job).stdout)


def output(job, task):
    return pathlib.Path(f"slurm-{job}_{task}.out").read_text(encoding="utf-8")


def kept(job, task):
    """[(kept, all)] of the lines about kept layers in the task's output: one for each time that it went on."""
    lines = re.findall(r"^kept +(\d+) of (\d+) layers?, from \S+$", output(job, task), re.M)
    return [(int(some), int(every)) for some, every in lines]


def started(task):
    """[(process, cores)] of each time that the program was started for the task."""
    found = []
    for line in pathlib.Path("started").read_text(encoding="ascii").splitlines():
        words = line.split()
        if words[0] == str(task):
            ends = [list(map(int, span.split("-"))) for span in words[-1].split(",")]
            found.append((int(words[1]), sum(last - first + 1 for first, *_, last in (2 * end for end in ends))))
    return found


def scripts(options="--method fast"):
    """Writes the document's scripts into the current folder, as they stand or with other options of cionize."""
    blocks = re.findall(r"^```bash\n(.*?)^```$", DOCUMENT.read_text(encoding="utf-8"), re.M | re.S)
    named = {name: block for block in blocks for name in re.findall(r"^#SBATCH --job-name=(\w+)$", block, re.M)}
    assert {"map", "join", "job"} <= set(named), f"{DOCUMENT} has the scripts {sorted(named)}"
    for name in ("map", "join", "job"):
        assert named[name].count("--method fast") == 1, named[name]
        pathlib.Path(f"{name}.sh").write_text(named[name].replace("--method fast", options), encoding="utf-8")


def one_run():
    """Starts the document's second command without --join in the folder `one`; the jobs go first."""
    found = re.search(r"^srun (cionize .*) --join ", pathlib.Path("join.sh").read_text(encoding="utf-8"), re.M)
    os.mkdir("one")
    shutil.copy("molecule.pqr", "one")
    return subprocess.Popen(["nice", "-n", "19", "sh", "-c", f"exec {found[1]} --quiet"], cwd="one", stdin=subprocess.DEVNULL)


def assert_one_run(process):
    """The map has the bytes of the one run, and no parts are left."""
    assert process.wait(timeout=PATIENCE) == 0
    assert not list(pathlib.Path().glob("map.mrc.*")), sorted(os.listdir())
    one, two = (pathlib.Path(folder, "map.mrc").read_bytes() for folder in ("one", "."))
    at = next((n for n, (x, y) in enumerate(zip(one, two)) if x != y), min(len(one), len(two)))
    assert one == two, f"maps of {len(one)} and {len(two)} bytes: they differ from byte {at}"


def some_megabytes():
    """Writes molecule.pqr and the scripts for a map of this size."""
    sample("1hpv.pqr")
    os.rename("1hpv.pqr", "molecule.pqr")
    scripts("--method exact --spacing 0.7")


def wait_for_layers(part, parts):
    """Until the file of a part has some, of 1.6 MB."""
    file = pathlib.Path(f"map.mrc.part-{part}-of-{parts}")
    wait_for(f"no layers in {file}", lambda: file.exists() and file.stat().st_size > 500000)


# ---- tests ----


def test_array(_):
    """The two scripts as they stand. The second waits for all tasks of the first. Programs have the cores they want."""
    sample("1hpv.pqr")
    os.rename("1hpv.pqr", "molecule.pqr")
    scripts()
    one = one_run()
    job = submit(f"--array=1-{PARTS}", "map.sh")
    joining = submit(f"--dependency=afterok:{job}", "join.sh")
    wait_until(joining, "COMPLETED")
    assert states(job) == {str(part): "COMPLETED" for part in range(1, PARTS + 1)}, states(job)
    for part in range(1, PARTS + 1):
        assert re.search(rf"^part +{part} of {PARTS}: ", output(job, part), re.M), output(job, part)
        if BOUND:
            assert [cores for _, cores in started(part)] == [2], f"the program is started on {started(part)}"
    if not BOUND:
        program.skip_part("this process may not use the first two cores, so Slurm binds no programs to cores")
    assert_one_run(one)
    alone = submit("--array=3", "map.sh")
    wait_until(alone, "FAILED")
    assert "cionize: error: --part '3/1': " in output(alone, 3), output(alone, 3)


def test_time_limit(_):
    """Slurm looks at limits twice a minute, and sends a signal if 30 seconds more would be too late: with a limit of a minute
    and 30 seconds to stop, at the first look. The script queues the task again, which goes on, perhaps to be cut off again."""
    some_megabytes()
    looks = CLUSTER.log("slurmctld").count("job time limits")  # not while the program starts: it should get far
    wait_for("Slurm does not look at limits", lambda: CLUSTER.log("slurmctld").count("job time limits") > looks, 60)
    one = one_run()
    job = submit("--array=1-1", "--time=1", "--cpus-per-task=1", "map.sh", seconds=LONG)
    joining = submit(f"--dependency=afterok:{job}", "join.sh")
    wait_until(job, "COMPLETED")
    wait_until(joining, "COMPLETED")
    times = len(kept(job, 1))
    assert times >= 1 and output(job, 1).count("cionize: error: interrupted") == times, output(job, 1)
    assert len(started(1)) == times + 1, started(1)
    some = [0, *(layers for layers, _ in kept(job, 1)), kept(job, 1)[0][1]]
    assert some == sorted({*some}), output(job, 1)  # more each time
    assert_one_run(one)
    print(f"    layers kept, of all: {kept(job, 1)}")


def test_killed(_):
    """The program of a task is killed with SIGKILL: the task fails, and goes on when it is queued again. Another is queued
    again while it runs. A job that waited for tasks that failed never starts, so the second script is submitted again."""
    some_megabytes()
    one = one_run()
    job = submit("--array=1-2", "--cpus-per-task=1", "map.sh", seconds=SHORT)
    joining = submit(f"--dependency=afterok:{job}", "join.sh")
    wait_for_layers(1, 2)
    os.kill(started(1)[0][0], signal.SIGKILL)
    wait_until(job, "FAILED", "1")
    assert "Killed" in output(job, 1), output(job, 1)
    slurm("scontrol", "requeue", f"{job}_1")
    slurm("scontrol", "update", f"JobId={job}_1", "MinMemoryNode=1000")
    wait_for_layers(2, 2)
    slurm("scontrol", "requeue", f"{job}_2")
    wait_until(job, "COMPLETED")
    wait_until_never(joining)
    wait_until(submit("join.sh"), "COMPLETED")
    assert "MinMemoryNode=1000M" in slurm("scontrol", "show", "job", f"{job}_1").stdout
    for task in "12":
        (some, every), = kept(job, task)
        assert 0 < some < every and len(started(task)) == 2, (output(job, task), started(task))
    assert_one_run(one)


def test_cancelled(_):
    """The script does not undo `scancel`. The job that waits for the array never starts. The array is submitted again."""
    some_megabytes()
    one = one_run()
    job = submit("--array=1-2", "--cpus-per-task=1", "map.sh", seconds=SHORT)
    joining = submit(f"--dependency=afterok:{job}", "join.sh")
    wait_for_layers(2, 2)
    slurm("scancel", f"{job}_2")
    wait_until(job, "COMPLETED", "1")
    wait_until_never(joining)
    assert states(job)["2"] == "CANCELLED" and len(started(2)) == 1, states(job)
    again = submit("--array=1-2", "--cpus-per-task=1", "map.sh")
    wait_until(submit(f"--dependency=afterok:{again}", "join.sh"), "COMPLETED")
    (first, all_of_first), = kept(again, 1)
    (second, all_of_second), = kept(again, 2)
    assert first == all_of_first and 0 < second < all_of_second, outputs(again)
    assert_one_run(one)


def has_records(name):
    """Whether a file of pieces has some. The layers themselves are in the map's file."""
    try:
        data = pathlib.Path(name).read_bytes()
    except FileNotFoundError:
        return False
    return len(data) > 48 and len(data) > 48 + sum(struct.unpack_from("<II", data, 32)) + 32


def short_mpi_job(library, name, way):
    """The script of an MPI job, with as many ranks as there are cores."""
    plugin = pathlib.Path(os.path.realpath(program.PROGRAM)).parents[2] / "lib" / "voxfield" / f"voxfield_{library}.so"
    if not plugin.exists():
        raise program.Skip(f"no plugin for {name}")
    offered = slurm("srun", "--mpi=list", check=False)
    if way not in re.findall(r"\S+", offered.stdout + offered.stderr):
        raise program.Skip(f"this Slurm has no {way}, which {name} needs")
    sample("1hpv.pqr")
    os.rename("1hpv.pqr", "molecule.pqr")
    scripts()
    script = pathlib.Path("job.sh")
    script.write_text(script.read_text(encoding="utf-8").replace("--mpi=pmi2", f"--mpi={way}"), encoding="utf-8")
    one = one_run()
    job = submit("--ntasks=2", "job.sh")
    wait_until(job, "COMPLETED")
    assert re.search(rf"^ranks +2, 2 of them on this machine; {name}", outputs(job), re.M), outputs(job)
    assert_one_run(one)


def test_open_mpi_job(_):
    short_mpi_job("openmpi", "Open MPI", "pmix")


def test_mpi_job(_):
    """Also one that all ranks are told to stop: the script queues it again, and it goes on."""
    short_mpi_job("mpich", "MPICH", "pmi2")
    os.remove("map.mrc")
    shutil.rmtree("one")
    some_megabytes()
    one = one_run()
    job = submit("--ntasks=2", "job.sh", seconds=SHORT)
    wait_for("layers of both ranks", lambda: has_records("map.mrc.pieces") and has_records("map.mrc.pieces-1"))
    slurm("scancel", "--signal=USR1", job)
    wait_until(job, "COMPLETED")
    (some, every), = re.findall(r"^kept +(\d+) of (\d+) layers?, from \S+$", outputs(job), re.M)
    assert 0 < int(some) < int(every) and outputs(job).count("cionize: error: interrupted") == 1, outputs(job)
    assert_one_run(one)


os.environ["PATH"] += ":/usr/sbin:/sbin"
if missing := [name for name in DAEMONS + COMMANDS if not shutil.which(name)]:
    skip(f"no Slurm on this machine (Debian: slurm-wlm): {', '.join(missing)}")
if os.geteuid() != 0:
    skip("Slurm's daemons are started by root only")
with (CLUSTER := Cluster()):
    program.main(globals())
