#!/usr/bin/env python3
"""Compares two builds of the programs: is the new one as fast as the old one, with the same results?

    compare_builds.py OLD NEW cpu|cuda [--rounds N] [--cases REGEX] [--json FILE]

OLD and NEW are folders that contain the programs cionize, mri_recon and mri_phantom, also in subfolders. Each case
runs once with both builds, and the script compares their files, bit by bit, then by value. Then both run N times
(default 7) in the order old, new, new, old, ... The script prints the ratio of wall times new / old: its median over
the rounds, the least and the largest. The bar is a median of 1.02. The options fix everything that later versions
choose differently, so both builds solve the same problem.

Exit status: 0; 1 if a bar is missed, values differ or a program fails; 77 without numpy or h5py.
"""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

try:
    import h5py
    import numpy as np
except ImportError:
    print("SKIP: no Python here has numpy and h5py")
    sys.exit(77)

BAR = 1.02
VALUES = 1e-5  # relative l2 difference of two orders of summation in single precision: measured 1e-6
DATA = pathlib.Path(__file__).resolve().parents[2] / "data"

SCANS = {"radial": ["--matrix", "256,256,1", "--coils", "8", "--spokes", "100"],
         "koosh": ["--matrix", "64,64,64", "--coils", "8", "--spokes", "1500"],
         "frames": ["--matrix", "128,128,1", "--coils", "4", "--spokes", "40", "--frames", "16"]}
# Name: program, arguments without --device and output, dataset of the result.
CASES = {
    "map, 3,129 atoms, 0.5 angstrom": ("cionize", [str(DATA / "1hpv.pqr"), "--spacing", "0.5", "--method", "direct"], "potential"),
    "map and 20 ions": ("cionize", [str(DATA / "1hpv.pqr"), "--spacing", "1", "--method", "direct", "--place", "CLA:20", "--map-with-ions"], "potential"),
    "radial 256^2, 8 coils": ("mri_recon", ["radial.h5", "--lambda", "0.01", "--iterations", "60", "--tolerance", "0"], "image"),
    "koosh ball 64^3, 8 coils": ("mri_recon", ["koosh.h5", "--lambda", "0.01", "--iterations", "30", "--tolerance", "0"], "image"),
    "16 frames 128^2, 4 coils": ("mri_recon", ["frames.h5", "--lambda", "0.01", "--iterations", "60", "--tolerance", "0"], "image"),
    "direct sum, adjoint, 256^2": ("mri_recon", ["radial.h5", "--method", "adjoint", "--operator", "direct"], "image"),
}


def find(folder, program):
    found = [p for p in pathlib.Path(folder).rglob(program) if p.is_file() and os.access(p, os.X_OK)]
    if len(found) != 1:
        sys.exit(f"{folder}: expected one program {program}, found {len(found)}")
    return found[0].resolve()


def run(program, arguments):
    began = time.monotonic()
    done = subprocess.run([program, "-q", *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True, check=False)
    seconds = time.monotonic() - began
    if done.returncode != 0:
        sys.exit(f"failed: {program} {' '.join(arguments)}\n{done.stderr}")
    return seconds


def values(path, name):
    with h5py.File(path) as file:
        found = []
        file.visititems(lambda key, item: found.append(item[...]) if key.split("/")[-1] == name else None)
    return np.concatenate([part.ravel() for part in found])


def compare(programs, arguments, name):
    """Relative l2 difference of the results; 0 if they have the same bits."""
    results = []
    for which, program in programs.items():
        run(program, [*arguments, "-o", f"{which}.h5"])
        results.append(values(f"{which}.h5", name))
    old, new = results
    difference = np.linalg.norm(new - old) / np.linalg.norm(old)
    return 0.0 if old.tobytes() == new.tobytes() else float(difference)


def time_case(programs, arguments, rounds):
    ratios, seconds = [], {"old": [], "new": []}
    for i in range(rounds):
        took = {}
        for which in ("old", "new") if i % 2 == 0 else ("new", "old"):
            took[which] = run(programs[which], [*arguments, "-o", f"{which}.h5"])
            seconds[which].append(took[which])
        ratios.append(took["new"] / took["old"])
    return {"ratio": statistics.median(ratios), "least": min(ratios), "largest": max(ratios),
            "old_seconds": statistics.median(seconds["old"]), "new_seconds": statistics.median(seconds["new"])}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("device", choices=("cpu", "cuda"))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--cases", type=re.compile, default=re.compile(""))
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    builds = {"old": options.old, "new": options.new}
    programs = {name: {which: find(folder, name) for which, folder in builds.items()} for name in ("cionize", "mri_recon")}
    phantom = find(options.new, "mri_phantom")
    record = options.json.resolve() if options.json else None
    rows, failed = {}, False
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, words in SCANS.items():
            run(phantom, [*words, "--seed", "1", "-o", f"{name}.h5"])
        for case, (program, arguments, dataset) in CASES.items():
            if not options.cases.search(case):
                continue
            arguments = [*arguments, "--device", options.device]
            difference = compare(programs[program], arguments, dataset)
            row = {"difference": difference, **time_case(programs[program], arguments, options.rounds)}
            row["met"] = row["ratio"] <= BAR and difference <= VALUES  # NaN fails
            failed |= not row["met"]
            rows[case] = row
            bits = "same bits" if difference == 0 else f"differs by {difference:.1e}"
            print(f"{case:28} {bits:20} new / old {row['ratio']:.3f} ({row['least']:.3f} to {row['largest']:.3f})  "
                  f"{row['old_seconds']:.2f} s, {row['new_seconds']:.2f} s{'' if row['met'] else '  MISSED'}", flush=True)
        os.chdir("/")
    if record:
        record.write_text(json.dumps({"device": options.device, "rounds": options.rounds, "bar": BAR, "cases": rows}, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
