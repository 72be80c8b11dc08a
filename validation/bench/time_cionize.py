#!/usr/bin/env python3
"""Times cionize on a small task on the CPU, from start to end of the program, against its bar.

    time_cionize.py BUILD REPORT.json [--rounds N] [--molecule FILE.pqr]

BUILD is a build folder. Case: the sample protein with the program's defaults. Bar: the whole program takes at
most BAR times the unavoidable parts (time_cionize_parts: reading the file's bytes, one call of the kernel,
writing and syncing the map's bytes). Each of N rounds runs everything once, one after the other. Times are
medians over the rounds. The ratio is the median of the rounds' ratios, so a busy machine affects both sides.
Other outputs and an empty run are timed for comparison. Exit status: 0; 1 if the bar is missed or a program
failed.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BAR = 2
# Runs in addition to the default, with their arguments.
OUTPUTS = {"dx": [], "dx, picture": ["--picture", "map.png"], "dx.gz": [], "mrc": [], "cube": [], "h5": []}
# Waiting threads sleep, in the program and in its parts alike, because other programs may use the machine.
ENVIRONMENT = {**os.environ, "OMP_WAIT_POLICY": "passive"}


def run(command, folder):
    """Returns the seconds of a command."""
    began = time.perf_counter()
    done = subprocess.run(command, cwd=folder, env=ENVIRONMENT, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - began
    if done.returncode != 0:
        sys.exit(f"failed: {' '.join(map(str, command))}: {done.stderr.strip()}")
    return seconds


def one_round(build, molecule, folder):
    """{what: times}"""
    program, parts = build / "apps/cionize/cionize", build / "validation/bench/time_cionize_parts"
    row = {"empty": {"whole": run([program, "--version"], folder)}}
    for name, arguments in OUTPUTS.items():
        whole = run([program, "-q", *arguments, "--report", "report.json", "-o", f"map.{name.split(',')[0]}", molecule], folder)
        report = json.loads((folder / "report.json").read_text())
        row[name] = {"whole": whole, **report["seconds"], "device": report["device"]}
        if name == "dx":
            run([parts, molecule, "map.dx", "copy.dx", "parts.json"], folder)
            row["parts"] = {key: value for key, value in json.loads((folder / "parts.json").read_text()).items()
                            if key in ("kernel", "read", "write", "evaluations", "threads")}
            row["ratio"] = whole / sum(row["parts"][key] for key in ("kernel", "read", "write"))
    return row


def medians(rounds, key):
    return {name: statistics.median(row[key][name] for row in rounds) for name, value in rounds[0][key].items()
            if not isinstance(value, str)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("report", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--molecule", type=pathlib.Path, default=ROOT / "data" / "1hpv.pqr")
    parser.add_argument("--no-bar", action="store_true", help="exit 0 for any ratio, to test this program")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="time_cionize") as name:
        rounds = [one_round(options.build.resolve(), options.molecule.resolve(), pathlib.Path(name)) for _ in range(options.rounds)]
    parts, ratio = medians(rounds, "parts"), statistics.median(row["ratio"] for row in rounds)
    met = bool(ratio <= BAR)
    out = {"benchmark": "cionize", "case": f"{options.molecule.name}, defaults", "rounds": options.rounds,
           "device": rounds[0]["dx"]["device"], "parts": parts, "ratio": ratio,
           "ratios_of_rounds": [row["ratio"] for row in rounds], "bar": BAR, "met": met,
           "empty": medians(rounds, "empty")["whole"], "outputs": {name: medians(rounds, name) for name in OUTPUTS}}
    options.report.write_text(json.dumps(out, indent=2) + "\n")
    print(f"{out['case']}; {out['device']}; medians of {options.rounds} rounds, ms")
    print(f"{'':14}{'whole':>9}{'read':>9}{'plan':>9}{'compute':>9}{'write':>9}")
    for name, row in out["outputs"].items():
        print(f"{name:14}" + "".join(f"{1e3 * row[key]:9.1f}" for key in ("whole", "read", "plan", "compute", "write")))
    print(f"{'an empty run':14}{1e3 * out['empty']:9.1f}")
    print("unavoidable parts: " + ", ".join(f"{key} {1e3 * parts[key]:.1f}" for key in ("read", "kernel", "write")))
    print(f"ratio {ratio:.2f} (rounds {min(out['ratios_of_rounds']):.2f} to {max(out['ratios_of_rounds']):.2f}), bar {BAR}: "
          f"{'met' if met else 'MISSED'}")
    return 0 if met or options.no_bar else 1


if __name__ == "__main__":
    sys.exit(main())
