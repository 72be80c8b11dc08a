#!/usr/bin/env python3
"""Predicts how a program's time falls with threads, from a run on any machine.

    predict_threads.py BUILD [--threads 16] [--rows 14] PROGRAM ARGUMENTS...

BUILD is a build folder, PROGRAM one of its programs, which runs with `--threads 16` and trace_teams.c preloaded.
Printed are, for each number of threads, the time outside of parallel regions (which no thread shortens), that of the regions
(the slowest thread; dynamic loops by their pieces), a start and an end for each region (BARRIER), and the efficiency. Then the
functions with most of the time, and which cost most of it at --threads. Bandwidth of memory and the clock at full load are
left out: a prediction is a bound.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

BARRIER = {1: 0, 2: 3e-6, 4: 4e-6, 8: 6e-6, 16: 8e-6, 32: 12e-6}


def read_trace(path):
    rows = []
    for line in pathlib.Path(path).read_text().splitlines():
        where, *pairs = line.split()
        fields = dict(pair.split("=") for pair in pairs)
        rows.append({"where": where, "regions": int(fields.pop("regions")), "teams": int(fields.pop("teams")),
                     "before": float(fields.pop("before")), **{int(key): float(value) for key, value in fields.items()}})
    return rows


def names_of(program):
    text = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout
    return {int(match[1], 16): match[2] for match in re.finditer(r"^([0-9a-f]+) [tT] (.*)$", text, re.M)}


def total(rows, threads):
    return sum(row["before"] + row[threads] + row["teams"] * BARRIER[threads] for row in rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=16, choices=list(BARRIER))
    parser.add_argument("--rows", type=int, default=14)
    parser.add_argument("program")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    program = options.build.resolve() / "apps" / options.program / options.program
    library = options.build.resolve() / "validation" / "bench" / "libtrace_teams.so"
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder) / "trace"
        done = subprocess.run([program, *options.arguments, "--threads", str(options.threads)], check=False, stdout=subprocess.DEVNULL,
                              env={**os.environ, "LD_PRELOAD": str(library), "VF_TRACE": str(trace), "VF_TRACE_CORES": str(options.threads),
                                   "OMP_WAIT_POLICY": "passive"})
        if done.returncode != 0 or not trace.exists():
            sys.exit(f"failed: {options.program} {' '.join(options.arguments)}")
        rows = read_trace(trace)
    names = names_of(program)
    one = total(rows, 1)
    print(f"outside of regions {sum(row['before'] for row in rows):.3f} s; {sum(row['regions'] for row in rows)} regions, "
          f"{sum(row['teams'] for row in rows)} with a team")
    for threads in (size for size in BARRIER if size <= options.threads):
        print(f"{threads:3d} threads {total(rows, threads):8.3f} s  efficiency {one / total(rows, threads) / threads:.2f}")
    most = options.threads
    print(f"{'regions':>8}{'teams':>8}{'1, s':>9}{f'{most}, s':>9}{'eff.':>6}{'mean us':>9}{'before, s':>10}  function")
    for row in sorted(rows, key=lambda row: -(row["before"] + row[most] + row["teams"] * BARRIER[most]))[:options.rows]:
        name = row["where"] if row["where"] == "end" else names.get(int(row["where"], 16), row["where"])
        mean = row[most] / row["regions"] * 1e6 if row["regions"] else 0
        efficiency = row[1] / row[most] / most if row[most] else 0
        print(f"{row['regions']:8d}{row['teams']:8d}{row[1]:9.3f}{row[most]:9.4f}{efficiency:6.2f}{mean:9.1f}{row['before']:10.3f}  {name}")


if __name__ == "__main__":
    main()
