#!/usr/bin/env python3
"""What dividing a run costs, measured, and how a map scales over ranks, simulated.

usage: ranks_study.py CIONIZE [--json FILE] [--quick] [--simulate] [--markdown]

Measured, on this machine, in pairs (one run after the other, medians of the ratios). Where times scatter by 4 %, the
median of 10 ratios is good to about 1.6 %:
  journal   a run that keeps its layers (--journal yes), beside one that does not
  mpi       two ranks of one thread each, beside one process of two threads; with each MPI that is there. MPI's start, which
            takes as long whatever the run, is given apart: it is that of a map of one point
Simulated, by `cionize --dry-run --ranks N` (apps/program/job_plan.c), which is fed by the speed that it measures here:
  strong    one map, ever more ranks
  weak      a map that grows with the ranks
Network: an answer of rank 0 takes 1 ms (it polls), and it answers 50,000 requests a second. Nothing else goes over the network
but files. Before all, the simulation is compared with a job of two ranks.
"""
import argparse
import json
import os
import pathlib
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

SAMPLE = pathlib.Path(__file__).resolve().parents[2] / "data" / "1hpv.pqr"
RANKS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000)
ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMP_WAIT_POLICY": "passive"}


def run(*words):
    began = time.monotonic()
    done = subprocess.run([str(word) for word in words], env={**os.environ, **ROOT}, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{words}: exit {done.returncode}: {done.stderr}")
    return time.monotonic() - began, done.stdout


def mpirun(kind, ranks):
    return [f"mpirun.{kind}", *(["--oversubscribe", "--bind-to", "none"] if kind == "openmpi" else []), "-n", ranks]


def seconds_of(text):
    """A time as the programs print it."""
    units = {"ms": 1e-3, "us": 1e-6, "s": 1, "min": 60, "h": 3600, "d": 86400}
    return sum(float(number) * units[unit] for number, unit in re.findall(r"([\d.]+) (us|ms|s|min|h|d)\b", text))


def paired(pairs, one, two):
    """The medians of the times, and of the ratios of the second to the first."""
    times = []
    for n in range(pairs + 1):
        a, b = (one(), two()) if n % 2 else (two(), one())[::-1]
        if n > 0:  # the first warms up
            times.append((a, b))
    return {"one": statistics.median(a for a, _ in times), "two": statistics.median(b for _, b in times),
            "ratio": statistics.median(b / a for a, b in times), "pairs": pairs}


def overheads(program, spacing, pairs):
    common = [program, SAMPLE, "-q", "--method", "exact", "--spacing", spacing, "-o", "m.mrc", "--device", "cpu"]
    tiny = [program, SAMPLE, "-q", "--counts", 1, "-o", "t.mrc", "--device", "cpu"]
    found = {"journal": paired(pairs, lambda: run(*common, "--threads", 2, "--journal", "no")[0],
                               lambda: run(*common, "--threads", 2, "--journal", "yes")[0])}
    for kind in ("openmpi", "mpich"):
        if not shutil.which(f"mpirun.{kind}"):
            continue
        start = paired(pairs, lambda: run(*tiny)[0], lambda: run(*mpirun(kind, 2), *tiny)[0])
        found[kind] = paired(pairs, lambda: run(*common, "--threads", 2, "--mpi", "no")[0],
                             lambda: run(*mpirun(kind, 2), *common, "--threads", 1)[0])
        found[kind]["start"] = start["two"] - start["one"]
        found[kind]["ratio_without_start"] = (found[kind]["two"] - found[kind]["start"]) / found[kind]["one"]
    return found


def simulated(program, ranks, *options):
    text = run(program, SAMPLE, "--method", "exact", "--dry-run", "--ranks", ranks, "-o", "m.mrc", "--device", "cpu", *options)[1]
    line = re.search(r"^ranks +\d+: about (.*?), of which (.*?) each rank does again; (\d+) pieces?, efficiency ([\d.]+)$", text, re.M)
    return {"ranks": ranks, "seconds": seconds_of(line[1]), "pieces": int(line[3]), "efficiency": float(line[4])}


def compared(program, spacing, pairs):
    """Computing times of two ranks of one thread: simulated, and as the job's report has it."""
    options = ["--spacing", spacing, "--threads", 1]
    kind = next((kind for kind in ("mpich", "openmpi") if shutil.which(f"mpirun.{kind}")), None)
    if not kind:
        return None
    found = []
    for _ in range(pairs):
        guess = simulated(program, 2, *options)["seconds"]
        run(*mpirun(kind, 2), program, SAMPLE, "-q", "--method", "exact", "-o", "m.mrc", "--device", "cpu", "--report", "r.json", *options)
        found.append((guess, json.loads(pathlib.Path("r.json").read_text(encoding="utf-8"))["seconds"]["compute"]))
    return {"simulated": statistics.median(a for a, _ in found), "measured": statistics.median(b for _, b in found)}


def table(study):
    lines = ["| ranks | one map: pieces | efficiency | 250 layers a rank: pieces | efficiency |", "|---|---|---|---|---|"]
    for strong, weak in zip(study["strong"], study["weak"]):
        lines.append(f"| {strong['ranks']} | {strong['pieces']} | {strong['efficiency']:.3f} | {weak['pieces']} | "
                     f"{weak['efficiency']:.3f} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("program")
    parser.add_argument("--json")
    parser.add_argument("--quick", action="store_true", help="a tiny map and few pairs, to try the study itself")
    parser.add_argument("--simulate", action="store_true", help="only what is simulated")
    parser.add_argument("--markdown", action="store_true", help="the table of docs/cluster.md")
    given = parser.parse_args()
    program = os.path.abspath(given.program)
    spacing, pairs, fine, layers = (0.8, 1, 0.2, 20) if given.quick else (0.16, 10, 0.05, 250)
    result = os.path.abspath(given.json) if given.json else None
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        study = {"machine": platform.processor() or platform.machine(), "date": time.strftime("%Y-%m-%d"),
                 "overheads": {} if given.simulate else overheads(program, spacing, pairs),
                 "two_ranks": None if given.simulate else compared(program, spacing, min(pairs, 5)),
                 "strong": [simulated(program, n, "--spacing", fine) for n in RANKS],
                 "weak": [simulated(program, n, "--counts", f"214,190,{layers * n}", "--spacing", 0.2) for n in RANKS]}
        os.chdir(before)
    assert all(0 < row["efficiency"] <= 1.05 for row in study["strong"]), study["strong"]
    if result:
        pathlib.Path(result).write_text(json.dumps(study, indent=1) + "\n", encoding="utf-8")
    print(table(study) if given.markdown else json.dumps(study, indent=1))


if __name__ == "__main__":
    main()
