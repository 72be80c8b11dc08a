#!/usr/bin/env python3
"""Times both programs with several numbers of threads: how much faster more processors are (./run bench --threads LIST).

    time_threads.py run BUILD REPORT.json [--threads N,N,...] [--rounds N] [--cases REGEX] [--busy N] [--quick]
    time_threads.py show REPORT.json
    time_threads.py plot REPORT.json FILE.svg

BUILD is a build folder. Each round runs all numbers of threads, once upwards and once downwards in turn. All runs must give the bits
of the first, which has one thread; if not, the exit status is 1. Times are medians over the rounds.
The report is written after each case. --busy N: while it runs, N other processes compute, each all the time.
The efficiency is t1 / (n tn), t1 from the same round, and its median. The first rows are this machine's ceilings: multiply-adds in
registers (the clock falls when more cores work), and a copy of memory. Times are those of the stage that the case names, without
reading and writing files. Numbers of threads that the machine does not have, or that this process may not use (affinity, control
groups), are left out. What it needs: idle processors, 2 GB of memory, and about 8 minutes on two of them.
"""
import argparse
import array
import contextlib
import datetime
import json
import math
import os
import pathlib
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE), str(HERE.parent / "tables")]
import cionize_study  # noqa: E402
import mri_study  # noqa: E402
import plot_primitives as plot  # noqa: E402

THREADS = "1,2,4,8,16"
ROUNDS, FEWEST = 5, 3
LONG = 60  # s: a case that has taken longer stops after FEWEST rounds
DENSITY = 0.1  # atoms in a cubic angstrom, as in proteins
HEAD = ("--phantom", "head", "--coils", "8", "--noise", "0.02", "--without", "sensitivity")  # coil maps are estimated


def cases(quick):
    """(name, program, what makes its input, options, files to compare and the bytes before their values, {row: stage})."""
    atoms, fewer, plane, volume, larger = (2000, 500, 40, 12, 16) if quick else (200000, 16000, 192, 96, 128)
    # A sixth of what the edge of k-space needs; where that leaves too few near the centre, another method makes the maps, for seconds.
    spokes, more = (math.ceil(math.pi * edge ** 2 / (2 if quick else 12)) for edge in (volume, larger))
    maps, images = {"map.mrc": 1024}, {"image.cfl": 0, "maps.cfl": 0}
    return [
        (f"fast map, {atoms:,} atoms, 0.5 A", "cionize", (write_molecule, atoms), ("--method", "fast"), maps, {"potential": "compute"}),
        (f"exact map, {fewer:,} atoms, 0.5 A", "cionize", (write_molecule, fewer), ("--method", "exact"), maps, {"potential": "compute"}),
        (f"{plane}^2, 8 coils, sparse", "mri_recon", (make_scan, "--matrix", f"{plane},{plane},1", "--spokes", plane // 2, "--oversample", 2),
         (), images, {"solver": "solve"}),
        (f"{larger}^3, 8 coils, gridding", "mri_recon", (make_scan, "--matrix", larger, "--spokes", more), ("--method", "gridding"), images,
         {"NUFFT": "F^H d", "coil maps": "coil maps"}),
        (f"{volume}^3, 8 coils, sparse", "mri_recon", (make_scan, "--matrix", volume, "--spokes", spokes), (), images, {"solver": "solve"}),
    ]


# ---- how many threads ----

def limit_of(folder):
    """Processors that a control group may use."""
    for files in (["cpu.max"], ["cpu.cfs_quota_us", "cpu.cfs_period_us"]):
        with contextlib.suppress(OSError, ValueError):
            most, period = " ".join((folder / name).read_text(encoding="ascii") for name in files).split()
            return math.inf if most in ("max", "-1") else int(most) / int(period)
    return math.inf


def quota(root=pathlib.Path("/sys/fs/cgroup"), own=pathlib.Path("/proc/self/cgroup")):
    """Processors that this process may use by its control groups and those around them, of both versions."""
    least = math.inf
    with contextlib.suppress(OSError):
        for line in own.read_text(encoding="utf-8").splitlines():
            _, controllers, path = line.split(":", 2)
            if not controllers or "cpu" in controllers.split(","):
                top = root / controllers
                here = top / path.lstrip("/")
                around = [here, *here.parents]
                least = min([least, *map(limit_of, around[:around.index(top) + 1])])
    return least


def allowed(here=None, there=None, share=None):
    """The largest number of threads that can run at once, and why there are no more."""
    here, there = here or len(os.sched_getaffinity(0)), there or os.cpu_count()
    share = quota() if share is None else share
    if share < here:
        return max(1, math.floor(share)), f"a control group allows {share:.3g} processors"
    if here < there:
        return here, f"this process may use {here} of {there} processors"
    return here, f"this machine has {here} processor{'s' * (here > 1)}"


def numbers(text):
    """Numbers of threads from a list, and 1, which the others are compared with."""
    if not re.fullmatch(r"[0-9]{1,4}(,[0-9]{1,4})*", text) or 0 in map(int, text.split(",")):
        raise argparse.ArgumentTypeError(f"'{text}': expected numbers of threads, such as {THREADS}")
    return sorted({1, *map(int, text.split(","))})


def listed(words):
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def choose(asked, most, why):
    """What can be timed, and a sentence about the rest, or None."""
    left = [str(n) for n in asked if n > most]
    return [n for n in asked if n <= most], f"{listed(left)} threads are left out: {why}" if left else None


# ---- runs ----

def run(command, folder):
    """Wall seconds of a command."""
    began = time.monotonic()
    done = subprocess.run(list(map(str, command)), cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"failed: {' '.join(map(str, command))}\n{done.stderr}")
    return time.monotonic() - began


def write_molecule(_, folder, atoms):
    """Random atoms in a box, the same in each run."""
    draw, edge = random.Random(1), (atoms / DENSITY) ** (1 / 3)
    with open(folder / "input", "w", encoding="ascii") as stream:
        for n in range(1, atoms + 1):
            x, y, z = (edge * draw.random() for _ in range(3))
            stream.write(f"ATOM {n} X UNK {n} {x:.3f} {y:.3f} {z:.3f} {draw.uniform(-0.9, 0.9):.4f} 1.5\n")
    (folder / "input").rename(folder / "input.pqr")


def make_scan(build, folder, *words):
    run([build / "apps/mri_phantom/mri_phantom", "-q", *HEAD, *words, "-o", "input.h5"], folder)


def one_run(build, case, threads, folder):
    """Report of one run, with the seconds of the whole program."""
    _, program, _, options, _, _ = case
    files = {"cionize": ["--spacing", "0.5", "--border", "5", "-o", "map.mrc", "input.pqr"],
             "mri_recon": ["--save-coils", "maps.cfl", "-o", "image.cfl", "input.h5"]}[program]
    whole = run([build / f"apps/{program}/{program}", "-q", "--device", "cpu", "--threads", threads, *options, "--report", "report.json", *files],
                folder)
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    return {**report, "whole": whole}


def assert_values(name, data):
    """That results are equal says little if they are NaN or 0."""
    values = array.array("f")
    values.frombytes(data)
    if not math.isfinite(math.fsum(values)) or not any(values):
        sys.exit(f"failed: {name} has values that are not finite, or only zeros")


def verify(case, threads, folder, expected):
    """The files of this run have the bits of `expected`, which the first run fills."""
    name, _, _, _, files, _ = case
    for file, skip in files.items():
        data = (folder / file).read_bytes()[skip:]
        if file not in expected:
            assert_values(f"{name}: {file}", data)
            expected[file] = data
        elif data != expected[file]:
            sys.exit(f"failed: {name}: {file} has other bits with {threads} threads than in the first run, with 1")


def summarise(name, seconds, threads):
    return [{"case": name, "part": row, "seconds": {str(n): statistics.median(times[n]) for n in threads}, "seconds_of_rounds": times,
             "efficiency": {str(n): statistics.median(one / (n * several) for one, several in zip(times[threads[0]], times[n])) for n in threads}}
            for row, times in seconds.items()]


def measure(build, case, threads, most, folder):
    """{row: seconds of the rounds by number of threads}."""
    name, _, _, _, _, rows = case
    seconds, expected = {row: {n: [] for n in threads} for row in [*rows, "whole program"]}, {}
    began = time.monotonic()
    for done in range(most):
        if done >= FEWEST and time.monotonic() - began > LONG:
            break
        for n in threads if done % 2 == 0 else threads[::-1]:
            report = one_run(build, case, n, folder)
            verify(case, n, folder, expected)
            for row, stage in rows.items():
                seconds[row][n].append(report["seconds"][stage])
            seconds["whole program"][n].append(report["whole"])
    print(f"{name}: the same bits with {listed(list(map(str, threads)))} thread{'s' * (threads != [1])}", flush=True)
    return summarise(name, seconds, threads), report["device"]


@contextlib.contextmanager
def others(count):
    """That many processes that compute."""
    running = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def ceilings(build, threads, most):
    """Rows of what the machine can do, as those of measure()."""
    seconds = {part: {n: [] for n in threads} for part in ("1e12 multiply-adds", "copy of 1e11 bytes")}
    for done in range(most):
        for n in threads if done % 2 == 0 else threads[::-1]:
            said = subprocess.run([build / "validation/bench/time_ceilings", str(n)], capture_output=True, text=True, check=True).stdout
            for part, value in zip(seconds, map(float, said.split())):
                seconds[part][n].append(value)
    return summarise("this machine", seconds, threads)


def tell(rows, threads):
    for row in rows:
        print(f"{row['case']}: {row['part']}: " + ", ".join(f"{row['seconds'][str(n)]:.3g} s with {n}" for n in threads), flush=True)


def make_record(options):
    threads, left_out = choose(options.threads, *allowed())
    if left_out:
        print(left_out)
    build, load = options.build.resolve(), os.getloadavg()
    if load[0] > 0.5:
        print(f"other programs use this machine (load {load[0]:.1f}): times mean little")
    wanted = [case for case in cases(options.quick) if options.cases.search(case[0])]
    if not wanted:
        sys.exit("no case has such a name")
    record = {"benchmark": "threads", "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
              "processors": os.cpu_count(), "threads": threads, "left_out": left_out, "load": load, "busy": options.busy, "quick": options.quick}
    with others(options.busy):
        rows = ceilings(build, threads, options.rounds)
    tell(rows, threads)
    for case in wanted:
        with tempfile.TemporaryDirectory(prefix="time_threads") as name, others(options.busy):
            folder, (make, *words) = pathlib.Path(name), case[2]
            make(build, folder, *words)
            made, device = measure(build, case, threads, options.rounds, folder)
        rows += made
        mri_study.write({**record, "device": device.removeprefix("cpu: "), "rows": rows}, options.report)
        tell(made, threads)


# ---- what is shown ----

def show(record):
    """Seconds of one thread, and for others seconds and efficiency."""
    several = [str(n) for n in record["threads"][1:]]
    busy = {0: "", 1: "1 other process computes meanwhile.\n\n"}.get(record.get("busy", 0), f"{record.get('busy')} other processes compute meanwhile.\n\n")
    lines = [[row["case"], row["part"], mri_study.number(row["seconds"]["1"]),
              *(f"{mri_study.number(row['seconds'][n])} ({row['efficiency'][n]:.2f})" for n in several)] for row in record["rows"]]
    return busy + mri_study.table(("case", "part", "1 thread, s", *(f"{n} threads" for n in several)), lines)


MACHINE_COLORS = [(150, 80, 60), (150, 150, 150)]  # of dashed lines


def draw(record, canvas):
    """How many times as fast as one thread, and as many times as there are threads."""
    threads = record["threads"]
    curves = [(f"{re.sub(', sparse|, gridding|, 0.5 A', '', row['case'])}: {row['part']}".removesuffix(": potential"), [(n, row["efficiency"][str(n)] * n) for n in threads], color, False)
              for row, color in zip([row for row in record["rows"] if row["part"] != "whole program" and row["case"] != "this machine"], plot.COLORS)]
    machine = [row for row in record["rows"] if row["case"] == "this machine"]
    curves += [(row["part"], [(n, row["efficiency"][str(n)] * n) for n in threads], color, True) for row, color in zip(machine, MACHINE_COLORS)]
    curves.append(("as many times as threads", [(n, n) for n in threads], plot.DARK, True))
    axes = plot.LogAxes(threads, [y for _, points, _, _ in curves for _, y in points])
    return cionize_study.draw_all(canvas, f"Threads on {record['device']}", axes, {n: str(n) for n in threads}, "threads",
                                  "times as fast as one", curves)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    make = commands.add_parser("run")
    make.add_argument("build", type=pathlib.Path)
    make.add_argument("report", type=pathlib.Path)
    make.add_argument("--threads", type=numbers, default=numbers(THREADS))
    make.add_argument("--rounds", type=int, default=ROUNDS)
    make.add_argument("--cases", type=re.compile, default=re.compile(""), help="only cases whose names it matches")
    make.add_argument("--busy", type=int, default=0, help="other processes that compute meanwhile")
    make.add_argument("--quick", action="store_true", help="small cases, to test this program")
    for name in ("show", "plot"):
        other = commands.add_parser(name)
        other.add_argument("report", type=pathlib.Path)
        if name == "plot":
            other.add_argument("picture", type=pathlib.Path)
    options = parser.parse_args()
    if options.command == "run":
        make_record(options)
    record = json.loads(options.report.read_text(encoding="utf-8"))
    if options.command == "plot":
        plot.write(draw(record, plot.canvas_for(options.picture)), options.picture)
    else:
        print(f"\n{record['device']}; medians, in brackets the parallel efficiency\n\n{show(record)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
