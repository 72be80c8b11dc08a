#!/usr/bin/env python3
"""Compares the time that mri_recon forecasts in its plan with the time that it takes, on the CPU.

    forecast.py BUILD [--threads N,N,...] [--cases EXPRESSION] [--runs N] [--processor] [--report FILE.json]

BUILD is a build folder. Scans of many kinds are made by mri_phantom and reconstructed with the default options, with each
number of threads (default: 1, 2 and all cores). --cases is a regular expression for their names. A short run is repeated,
RUNS times at most (default 3), and the fastest counts, with the forecast that it printed. Below each line are the parts,
forecast/measured in ms, and the iterations. With --processor the processor time counts instead, and what was measured
before the plan does not: for one thread, where other programs use the machine.

Exits with 1 if a forecast is not within a factor of 1.5. What it needs: idle cores, and about a minute for one thread.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

BOUND = 1.5
LONG = 1.0  # s; longer runs are not repeated
BEFORE = ("read", "coils", "device")  # stages

HEAD = ("--phantom", "head", "--noise", 0.02)
SLICE = (*HEAD, "--without", "sensitivity")  # coil maps are estimated
VOLUME = ("--noise", 0.02, "--without", "sensitivity")
CASES = {
    "Cartesian 64^2, 1 coil": ("--matrix", "64,64,1", "--trajectory", "cartesian", *HEAD),
    "Cartesian 256^2, 1 coil": ("--matrix", "256,256,1", "--trajectory", "cartesian", *HEAD),
    "Cartesian 256^2, 8 coils, R = 2": ("--matrix", "256,256,1", "--trajectory", "cartesian", "--coils", 8, "--accelerate", 2, *SLICE),
    "Cartesian 192^2, 8 coils, R = 2, joint maps": ("--matrix", "192,192,1", "--trajectory", "cartesian", "--coils", 8, "--accelerate", 2,
                                                    "--calibration-lines", 2, *SLICE),
    "Poisson 160^2, 6 coils, R = 3": ("--matrix", "160,160,1", "--trajectory", "cartesian", "--coils", 6, "--poisson", 3, *SLICE),
    "radial 64^2, 4 coils, R = 2": ("--matrix", "64,64,1", "--coils", 4, "--spokes", 32, *SLICE),
    "radial 128^2, 1 coil": ("--matrix", "128,128,1", *HEAD),
    "radial 192^2, 8 coils, R = 2, maps in the file": ("--matrix", "192,192,1", "--coils", 8, "--spokes", 96, "--oversample", 2, *HEAD),
    "radial 192^2, 8 coils, R = 2": ("--matrix", "192,192,1", "--coils", 8, "--spokes", 96, "--oversample", 2, *SLICE),
    "radial 320^2, 12 coils, R = 2.5": ("--matrix", "320,320,1", "--coils", 12, "--spokes", 120, *SLICE),
    "spiral 256^2, 8 coils": ("--matrix", "256,256,1", "--coils", 8, "--trajectory", "spiral", *SLICE),
    "koosh ball 64^3, 1 coil": ("--matrix", 64, *VOLUME),
    "koosh ball 48^3, 6 coils, R = 4": ("--matrix", 48, "--coils", 6, "--spokes", 700, *VOLUME),
    "Cartesian 96 x 96 x 48, 4 coils": ("--matrix", "96,96,48", "--coils", 4, "--trajectory", "cartesian", "--noise", 0.02),
    "Cartesian 48^3, 6 coils, R = 2 x 2": ("--matrix", 48, "--coils", 6, "--trajectory", "cartesian", "--accelerate", "2,2", *VOLUME),
    "16 frames of radial 128^2, 8 coils, R = 5": ("--matrix", "128,128,1", "--coils", 8, "--frames", 16, "--spokes", 21, "--continue", *SLICE),
    "12 frames of Cartesian 128^2, 4 coils": ("--matrix", "128,128,1", "--coils", 4, "--frames", 12, "--trajectory", "cartesian", *SLICE),
}


def run(command):
    """Wall and processor seconds of a command."""
    began = time.monotonic()
    process = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    said = process.stderr.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"failed: {' '.join(map(str, command))}\n{said}")
    return time.monotonic() - began, usage.ru_utime + usage.ru_stime


def measure(recon, scan, threads, runs, processor, folder):
    """The fastest run."""
    best = None
    for _ in range(runs):
        wall, cpu = run([recon, "--device", "cpu", "--threads", threads, "--report", folder / "r.json", "-o", folder / "i.h5", scan])
        report = json.loads((folder / "r.json").read_text())
        seconds = cpu if processor else wall
        if best is None or seconds < best["seconds"]:
            best = {"threads": threads, "seconds": seconds, "wall": wall, "processor": cpu, "forecast": report["forecast"],
                    "stages": report["seconds"], "processor_stages": report["processor_seconds"],
                    "made": {name: report["reconstruction"].get(name, 0) for name in
                             ("first_images", "first_iterations", "iterations", "applications_of_normal")}}
        if wall > LONG:
            break
    stages = best["processor_stages" if processor else "stages"]
    stages["write"] = sum(stages.pop(name, 0) for name in ("combine", "write", "picture", "compare"))
    stages["before"] = best["seconds"] - sum(seconds for name, seconds in stages.items() if name not in BEFORE)
    parts = best["forecast"]["seconds"]
    if processor:
        speed = best["forecast"].get("measured_speed", 1)
        parts.update({name: stages["before"] if name == "before" else seconds / speed for name, seconds in parts.items()})
        best["forecast"]["total"] = sum(parts.values())
    best["ratio"] = best["forecast"]["total"] / best["seconds"]
    return best


def parts(row, processor):
    """Forecast/measured in ms of each part, and of the iterations."""
    stages = row["processor_stages" if processor else "stages"]
    words = [f"{name} {1e3 * seconds:.0f}/{1e3 * stages.get(name, 0):.0f}" for name, seconds in row["forecast"]["seconds"].items()
             if max(seconds, stages.get(name, 0)) > 5e-4]
    words += [f"{name.replace('_of_normal', '')} {row['forecast'][name]:.0f}/{made}" for name, made in row["made"].items() if made]
    words += [f"{name} {row['forecast'][name]:.3g}" for name in ("measured_speed", "measured_region") if name in row["forecast"]]
    return ", ".join(words)


def main():
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("build", type=pathlib.Path)
    asked.add_argument("--threads", default="")
    asked.add_argument("--cases", default="")
    asked.add_argument("--runs", type=int, default=3)
    asked.add_argument("--processor", action="store_true")
    asked.add_argument("--report", type=pathlib.Path)
    asked = asked.parse_args()
    build = asked.build.resolve()
    recon, phantom = build / "apps/mri_recon/mri_recon", build / "apps/mri_phantom/mri_phantom"
    cores = len(os.sched_getaffinity(0))
    threads = [int(n) for n in asked.threads.split(",")] if asked.threads else sorted({1, min(2, cores), cores})
    names = [name for name in CASES if re.search(asked.cases, name)]
    if not names:
        sys.exit(f"no case has a name like {asked.cases}; there are: {', '.join(CASES)}")
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for case in names:
            made, _ = run([phantom, "-q", "-o", folder / "s.h5", *CASES[case]])
            print(f"{case}: made in {made:.1f} s")
            for n in threads:
                row = {"case": case, **measure(recon, folder / "s.h5", n, asked.runs, asked.processor, folder)}
                rows.append(row)
                late = "" if 1 / BOUND <= row["ratio"] <= BOUND else "  <--"
                print(f"  {n:3d} thread{'s' if n > 1 else ' '}: forecast {row['forecast']['total']:7.3f} s, measured {row['seconds']:7.3f} s, "
                      f"ratio {row['ratio']:.2f}{late}\n      {parts(row, asked.processor)}", flush=True)
    within = sum(1 / BOUND <= row["ratio"] <= BOUND for row in rows)
    worst = max(rows, key=lambda row: max(row["ratio"], 1 / row["ratio"]))
    print(f"worst ratio: {worst['ratio']:.2f} ({worst['case']}, {worst['threads']} threads); "
          f"{within} of {len(rows)} within a factor of {BOUND}")
    if asked.report:
        out = {"benchmark": "forecast", "bound": BOUND, "processor_time": asked.processor, "cores": cores, "rows": rows}
        asked.report.write_text(json.dumps(out, indent=2) + "\n")
    return 0 if within == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
